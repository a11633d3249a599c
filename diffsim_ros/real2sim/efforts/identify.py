"""Inertias, gains and friction of an arm from logged positions and efforts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy.special import chdtri

from ...errors import InputError, nearest
from ...robots.dynamics import GRAVITY
from ...robots.robot import Robot
from ...sensing.observation import Observation
from .friction import COMPARED, LAWS, FrictionLaw
from .physical import thickened
from .regression import Coefficients, Regression
from .samples import FIVE, ROWS, STILL, Samples, fast_speeds
from .signals import LATE, FilteredMotion, band_of, motion_of, velocity_lag
from .signs import OWN, beyond_zero, without_worst

FOLDS = 5
"""Contiguous parts of the trials, each predicted from the others, that choices are made by."""
PAYLOAD_GAMMA = 1e-5
"""The same where a payload is estimated: it keeps the body physical, and says next to nothing."""
PAYLOAD_SIZE = 0.1
"""[m] Radius of gyration of the body that it is near to: of a thin one heavier ones are far."""
GAMMAS = (np.inf, 1e0, 1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
"""Weights of the URDF's inertias that are compared; inf: they are held."""
CLEAR = 3.0
"""A gain is determined if it is so many times its standard deviation."""
WRONG = 2.0
"""A coefficient has the wrong sign if it is so many times its standard deviation beyond 0."""
BETTER = 0.05
"""Share by which errors have to be lower for another law of friction than the first one."""
STUCK = 0.5
"""An effort that has one value at more than this share of the samples in which its joint moves is
no measurement: a current within the dead band of its driver."""
LAWS_SHARE = 0.3
"""Of the work that is done once friction's laws are compared."""
LEAST_ROWS = 20
"""Samples of a joint that moves in a half that counts."""
BLOCKS = 8
"""Contiguous parts of the trials, every other one of which makes a half."""
HALF, MANY = 0.5, 0.02
"""Weight below which a sample is an outlier, and share of them that a note tells of."""
LEVEL, FAR = 0.95, 4.0
"""Quantile of the chi-square distribution beyond which standard deviations are enlarged, and how
many of them a coefficient's halves are apart at most: one that a half does not tell is no measure
of the others."""
Masks = tuple[np.ndarray, ...]
GoOn = Callable[[float], bool]
"""Told the share that is done; False: stop, with the best so far."""


@dataclass(frozen=True)
class EffortOptions:
    """How efforts are identified.

    bandwidth  [Hz] of the filter, None: by the motions (signals.band_of)
    friction   names of the laws that are compared, joint by joint
    gains      effort per N m (or N) of joints where it is known; others are estimated. For torques
               in N m: 1 for all
    gammas     weights of the URDF's inertias that are compared
    payload    link whose mass, centre and inertia alone are estimated, the other bodies as in the
               URDF: what the robot carries there, or lacks. "": none, gammas say
    physical   rotors and friction that come out with the wrong sign are 0 (signs.py)
    gravity    (3,) [m/s^2] in axes of the base frame
    """

    bandwidth: float | None = None
    friction: tuple[str, ...] = COMPARED
    gains: Mapping[str, float] = field(default_factory=dict)
    gammas: tuple[float, ...] = GAMMAS
    payload: str = ""
    physical: bool = False
    gravity: tuple[float, float, float] = GRAVITY


@dataclass(frozen=True)
class EffortModel:
    """What predicts efforts.

    robot, options  as given;  bandwidth [Hz] of the filter
    fast        (n,) fast speed of every joint;  laws  of friction
    coefficients, covariance  of them: phi, gains, and per joint armature, offset, friction
    baseline    (n, 5) coefficients of the five-coefficient regression (samples.FIVE)
    mean        (n,) effort of the training samples
    sigma       (n,) spread of the baseline's residuals [effort];  notes  sentences for reports
    kept        of every joint, False for coefficients that are 0 for their sign (2 + k,)
    kinds       of the gains: estimated, given, reference (held at its value with the URDF's
                inertias), unseen (efforts do not tell it) or stuck (no measurement)
    settled     whether the descent ended by its own rule
    halves      differences of two halves' coefficients over their standard deviations (k,)
    """

    robot: Robot
    options: EffortOptions
    bandwidth: float
    fast: np.ndarray
    laws: tuple[FrictionLaw, ...]
    coefficients: Coefficients
    covariance: np.ndarray
    baseline: np.ndarray
    mean: np.ndarray
    sigma: np.ndarray
    notes: tuple[str, ...]
    kinds: tuple[str, ...]
    kept: tuple[np.ndarray, ...]
    settled: bool
    halves: np.ndarray

    def samples(self, logs: Sequence[Observation], rows: float = ROWS) -> Samples:
        """Samples of other trials of the same robot, by the same filter, `rows` a period of it."""
        names = self.robot.joint_names
        motions = tuple(motion_of(log, names, self.bandwidth) for log in logs)
        return Samples(self.robot, motions, self.fast, self.options.gravity, rows)

    @property
    def enlargement(self) -> float:
        """Factor on standard deviations by which the halves agree; 1: they do as it is."""
        near, count = np.clip(self.halves, -FAR, FAR), len(self.halves)
        square = float(near @ near)
        if not count or square <= chdtri(count, 1.0 - LEVEL):
            return 1.0
        return float(np.sqrt(square / count))

    def predicted(self, samples: Samples) -> np.ndarray:
        """Efforts (N, n) of samples, in the log's unit."""
        c = self.coefficients
        columns = [
            c.predicted(j, samples.Y[:, j], samples.columns(j, law))
            for j, law in enumerate(self.laws)
        ]
        return np.stack(columns, axis=1)


@dataclass(frozen=True)
class JointError:
    """How far efforts of one joint are from those measured, where it moves [effort].

    rms, five, constant  root mean squares of the model's, the five coefficients' and the mean's
    ratio, ratio_sigma   rms over five; its standard deviation by leaving out stretches of time
    samples              how many there are, a quarter of a period of the bandwidth apart
    NaN where efforts do not change at all.
    """

    joint: str
    law: str
    rms: float
    five: float
    constant: float
    ratio: float
    ratio_sigma: float
    samples: int

    @property
    def share(self) -> float:
        """rms over constant."""
        return self.rms / self.constant if self.constant > 0 else np.nan


def errors_of(model: EffortModel, samples: Samples) -> list[JointError]:
    """Of every joint that moves in samples (`EffortModel.samples`)."""
    predicted, found = model.predicted(samples), []
    for j, name in enumerate(model.robot.joint_names):
        on = samples.moving[:, j]
        if not on.any():
            continue
        effort, where = samples.effort[on, j], samples.stretch[on]
        off = np.stack([
            effort - predicted[on, j],
            effort - samples.five[on, j] @ model.baseline[j],
            effort - model.mean[j],
        ]) ** 2  # fmt: skip
        rms, five, constant = np.sqrt(off.mean(axis=1))
        parts = np.unique(where)
        left = [off[:2, where != s].mean(axis=1) for s in parts] if len(parts) > 1 else []
        ratios = np.sqrt([a / b if b > 0 else np.nan for a, b in left])
        spread = np.sqrt((len(parts) - 1) * np.var(ratios)) if left else np.nan
        found.append(
            JointError(
                name, model.laws[j].name, float(rms), float(five), float(constant),
                float(rms / five) if five > 0 else np.nan, float(spread), int(on.sum()),
            )
        )  # fmt: skip
    return found


def identify(
    robot: Robot, logs: Sequence[Observation], options: EffortOptions | None = None,
    go_on: GoOn = lambda share: True,
) -> EffortModel:  # fmt: skip
    """Fit the efforts of all joints of a robot in trials of its log (`sensing.joints.trials`).

    The law of friction of each joint, then the weight of the URDF's inertias, are those that best
    predict parts of the trials that were left out.  Commands and logged velocities are not used.
    InputError: joints or efforts that the log lacks, trials that are too short, unknown laws or
    joints, a joint that never moves.
    """
    options = options or EffortOptions()
    bandwidth = _checked(robot, logs, options)
    names = robot.joint_names
    motions = tuple(motion_of(log, names, bandwidth) for log in logs)
    samples = Samples(robot, motions, fast_speeds(motions), options.gravity)
    for name, count in zip(names, samples.moving.sum(axis=0), strict=True):
        if count < 20:
            rule = "at least 20 samples in which it moves"
            remedy = "leave it out of the joints: it is held still then"
            raise InputError(logs[0].place, f"joint {name}", int(count), rule, remedy)
    baseline, mean, sigma = _baseline(samples)
    gains = np.array([options.gains.get(name, np.nan) for name in names])
    stuck = stuck_shares(logs, motions, samples.fast, names) > STUCK
    phi0 = thickened(samples.inertias)
    laws = _laws(samples, options.friction, phi0, sigma, gains, stuck, go_on)
    found, regression, kinds, kept, notes = _fitted(
        samples, laws, phi0, sigma, gains, stuck & np.isnan(gains), options, go_on
    )
    notes += [*_outlying(samples), *_late(logs, robot, bandwidth)]
    covariance = regression.covariance(found)
    return EffortModel(
        robot, options, bandwidth, samples.fast, laws, found, covariance, baseline, mean, sigma,
        tuple(notes), kinds, kept, found.settled, _halves(regression, found, stuck),
    )  # fmt: skip


def stuck_shares(
    logs: Sequence[Observation], motions: Sequence[FilteredMotion], fast: np.ndarray,
    names: Sequence[str],
) -> np.ndarray:  # fmt: skip
    """Of every joint the share (n,) of the samples in which it moves that have its commonest
    effort."""
    found = np.zeros(len(names))
    for j, name in enumerate(names):
        values = []
        for log, motion in zip(logs, motions, strict=True):
            speed = np.interp(log.t - log.t[0], motion.t, np.abs(motion.qd[:, j]))
            own = log.column(log.measured["effort"], name)
            values.append(own[np.isfinite(own) & (speed > STILL * fast[j])])
        every = np.concatenate(values)
        if len(every):
            found[j] = np.unique(every, return_counts=True)[1].max() / len(every)
    return found


def _checked(robot: Robot, logs: Sequence[Observation], options: EffortOptions) -> float:
    """The bandwidth; InputError for what does not fit together."""
    if not logs:
        raise InputError("efforts", "trials", 0, "at least one")
    for name in options.friction:
        if name not in LAWS:
            raise InputError("efforts", "friction", name, "a law", nearest(name, LAWS))
    for name, value in options.gains.items():
        if name not in robot.joint_names:
            near = nearest(name, robot.joint_names)
            raise InputError("efforts", f"gains.{name}", value, "a joint of the robot", near)
        if not (np.isfinite(value) and value != 0):
            raise InputError("efforts", f"gains.{name}", value, "a number other than 0")
    if not options.gammas or not all(g > 0 for g in options.gammas):
        raise InputError("efforts", "gammas", options.gammas, "numbers > 0")
    if options.payload and robot.frame(options.payload).carrier < 0:
        raise InputError("efforts", "payload", options.payload, "a link that a joint moves")
    for log in logs:
        for name in robot.joint_names:
            log.column(log.measured["position"], name)
    return options.bandwidth or band_of(logs, robot.joint_names)


def _baseline(samples: Samples) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients (n, 5), mean efforts (n,) and spreads (n,) of what the five leave."""
    n = len(samples.robot.joints)
    found, mean, sigma = np.zeros((n, len(FIVE))), np.zeros(n), np.zeros(n)
    for j in range(n):
        on = samples.moving[:, j]
        columns, effort = samples.five[on, j], samples.effort[on, j]
        scale = np.maximum(np.abs(columns).max(axis=0), 1e-12)
        found[j] = np.linalg.lstsq(columns / scale, effort, rcond=1e-10)[0] / scale
        mean[j] = effort.mean()
        # without outliers: one joint at its end stop is to weigh no less than the others
        root = np.sqrt(samples.weights[on, j])
        scaled = root[:, None] * columns / scale
        own = root * effort - scaled @ np.linalg.lstsq(scaled, root * effort, rcond=1e-10)[0]
        sigma[j] = max(float(own.std()), 1e-6 * float(abs(effort).max()))
    return found, mean, np.where(sigma > 1e-12, sigma, 1.0)  # 1: efforts that are all 0


def folds(regression: Regression) -> list[np.ndarray]:
    """Masks over the stretches of FOLDS contiguous parts with about as many samples each."""
    total = np.cumsum(regression.counts.sum(axis=0))
    part = np.minimum((FOLDS * (total - 0.5) / total[-1]).astype(int), FOLDS - 1)
    return [part == k for k in np.unique(part)]


def _laws(
    samples: Samples, wanted: Sequence[str], phi0: np.ndarray, sigma: np.ndarray,
    gains: np.ndarray, stuck: np.ndarray, go_on: GoOn,
) -> tuple[FrictionLaw, ...]:  # fmt: skip
    """For every joint the law that best predicts what is left out, with the URDF's inertias, by the
    geometric mean of the errors; the first unless another is better by BETTER, or efforts are
    stuck."""
    scores = []
    for k, name in enumerate(wanted):
        if not go_on(LAWS_SHARE * k / len(wanted)):
            break
        rows = samples.rows([LAWS[name]] * len(sigma))
        regression = Regression(rows, phi0, sigma, gains)
        with np.errstate(divide="ignore"):
            errors = 0.5 * np.log(regression.left_out(np.inf, folds(regression)))
        scores.append(np.nanmean(errors, axis=0))
    if len(scores) < 2:
        return tuple(LAWS[wanted[0]] for _ in sigma)
    scores[0] = np.where(stuck, -np.inf, scores[0] + np.log(1.0 - BETTER))
    return tuple(LAWS[wanted[k]] for k in np.argmin(scores, axis=0))


def _fitted(
    samples: Samples, laws: Sequence[FrictionLaw], phi0: np.ndarray, sigma: np.ndarray,
    gains: np.ndarray, stuck: np.ndarray, options: EffortOptions, go_on: GoOn,
) -> tuple[Coefficients, Regression, tuple[str, ...], Masks, list[str]]:  # fmt: skip
    """Coefficients at the best weight of the URDF's inertias, kinds of gains, which others are
    kept, sentences on them.

    Gains that the efforts do not determine are 0: with a body that nothing else shows, one would
    grow and the other vanish.  What is determined is judged at the URDF's inertias, then at those
    found.
    """
    names, n = samples.robot.joint_names, len(samples.robot.joints)
    unseen, free = np.zeros(n, bool), np.ones(n, bool)
    kept = tuple(np.ones(len(OWN) + len(law.terms), bool) for law in laws)
    gammas = options.gammas
    if options.payload:
        gammas = (PAYLOAD_GAMMA,)
        free = np.arange(n) == samples.robot.frame(options.payload).carrier
        phi0 = np.where(free[:, None], thickened(phi0, PAYLOAD_SIZE), phi0)
    while True:
        rows, notes = samples.rows(laws, kept), []
        held = np.where(unseen | stuck, 0.0, gains)
        kinds = np.where(np.isnan(gains), "estimated", "given").astype("<U9")
        kinds[unseen], kinds[stuck] = "unseen", "stuck"
        if stuck.any():
            listed = ", ".join(np.array(names)[stuck])
            notes.append(
                f"efforts of {listed} have one value at most samples in which the joint moves: "
                "they say nothing of it"
            )
        if unseen.any():
            listed = ", ".join(np.array(names)[unseen])
            notes.append(
                f"efforts do not tell the gain of {listed}: friction and rotor alone there"
            )
        scaled = np.isnan(gains).all() and np.isfinite(gammas).any() and not options.payload
        if scaled and not (unseen | stuck).all():
            # efforts alone do not tell heavier bodies from larger gains
            regression = Regression(rows, phi0, sigma, held)
            best = regression.heaviest(~(unseen | stuck))
            held[best] = regression.gain_at(best, phi0)
            kinds[best] = "reference"
            notes.append(
                f"no gain is given: that of {names[best]} is held at {held[best]:.6g}, its value "
                "with the URDF's inertias, to which those found are relative"
            )
        regression = Regression(rows, phi0, sigma, held, free, samples.block)
        found = regression.fitted(_gamma(regression, gammas, go_on))
        if scaled and not np.isfinite(found.gamma):  # bodies are the URDF's: all gains are told
            gammas = (np.inf,)
            continue
        spread = np.sqrt(np.maximum(np.diagonal(regression.covariance(found)), 0.0))
        own = spread[phi0.size : phi0.size + n]
        more = np.isnan(held) & (np.abs(found.gain) < CLEAR * own)
        beyond = [
            0.0 * far if says_nothing else far
            for far, says_nothing in zip(beyond_zero(found, laws, spread), stuck, strict=True)
        ]
        if more.any():
            unseen |= more
        elif options.physical and any(far.any() for far in beyond):
            kept, gammas = without_worst(kept, beyond), (found.gamma,)
        else:
            notes += _wrong(names, laws, beyond, kept)
            return found, regression, tuple(kinds), kept, notes


def _wrong(
    names: Sequence[str], laws: Sequence[FrictionLaw], beyond: Sequence[np.ndarray],
    kept: Sequence[np.ndarray],
) -> list[str]:  # fmt: skip
    """A sentence on coefficients of the wrong sign: those that were taken out, else those that are
    there, by more than noise."""
    gone = not all(own.all() for own in kept)
    out = [~own for own in kept] if gone else [far > WRONG for far in beyond]
    listed = [
        f"{term}_{name}"
        for name, law, own in zip(names, laws, out, strict=True)
        for term, wrong in zip((*OWN, *law.terms), own, strict=True)
        if wrong
    ]
    if not listed:
        return []
    told = "taken as 0" if gone else "no motion can be simulated with them"
    return [f"came out with the wrong sign: {', '.join(listed)}: {told}"]


def _halves(regression: Regression, c: Coefficients, stuck: np.ndarray) -> np.ndarray:
    """Differences of gains and friction of two halves of the trials over their standard deviations,
    each by its own half (k,); of joints that move in both and whose efforts are measurements."""
    at = np.unique(regression.blocks, return_inverse=True)[1]
    counts = np.bincount(at, regression.counts.sum(axis=0))
    middle = (np.cumsum(counts) - 0.5 * counts) / counts.sum()
    many = min(BLOCKS, round(counts.sum() ** 2 / float(counts @ counts)))
    odd = np.minimum((many * middle).astype(int), many - 1)[at] % 2 == 1
    if odd.all() or not odd.any():
        return np.zeros(0)
    ends = [regression.fitted(c.gamma, without) for without in (odd, ~odd)]
    apart = np.concatenate([
        ends[0].gain - ends[1].gain,
        *(a - b for a, b in zip(ends[0].friction, ends[1].friction, strict=True)),
    ])  # fmt: skip
    spreads = [
        np.sqrt(np.maximum(np.diagonal(regression.covariance(end, without))[c.phi.size :], 0.0))
        for end, without in zip(ends, (odd, ~odd), strict=True)
    ]
    shares = np.array([[own[~odd].sum(), own[odd].sum()] for own in regression.counts])
    seen = (shares.min(axis=1) >= LEAST_ROWS) & ~stuck
    owners = np.concatenate([
        np.arange(len(c.gain)), *(np.full(len(f), j) for j, f in enumerate(c.friction))
    ])  # fmt: skip
    on = seen[owners] & (np.minimum(*spreads) > 0)
    return apart[on] / np.hypot(*spreads)[on]


def _gamma(regression: Regression, gammas: Sequence[float], go_on: GoOn) -> float:
    """The largest weight that predicts what is left out no worse than the best does, within the
    standard error of their difference over the parts; of joints that have a gain."""
    order = sorted(gammas, reverse=True)
    if len(order) == 1:
        return order[0]
    loaded, parts = regression.gains != 0.0, folds(regression)
    if not loaded.any():
        return order[0]
    errors: list[np.ndarray] = []
    for k, g in enumerate(order):
        if errors and not go_on(LAWS_SHARE + (1.0 - LAWS_SHARE) * k / len(order)):
            break
        errors.append(regression.left_out(g, parts)[:, loaded])
    scores = np.array([np.nanmean(0.5 * np.log(table), axis=1) for table in errors])
    worse = scores - scores[np.argmin(scores.mean(axis=1))]
    allowed = worse.std(axis=1, ddof=1) / np.sqrt(len(parts)) if len(parts) > 1 else 0.0
    return order[int(np.argmax(worse.mean(axis=1) <= allowed))]


def _outlying(samples: Samples) -> list[str]:
    """Sentences on joints of whose samples many count less."""
    found = []
    for j, name in enumerate(samples.robot.joint_names):
        share = float(np.mean(samples.weights[samples.moving[:, j], j] < HALF))
        if share > MANY:
            found.append(
                f"{100 * share:.2g} % of the samples of {name} count less than half: an end stop, "
                "a push?"
            )
    return found


def _late(logs: Sequence[Observation], robot: Robot, bandwidth: float) -> list[str]:
    """Sentences on logged velocities that lag the positions."""
    found = []
    for log in logs:
        late = velocity_lag(log, robot.joint_names, bandwidth)
        if late is not None and abs(late) > LATE * log.interval:
            found.append(
                f"{log.place}: logged velocities come {late:.3g} s after the positions: not used"
            )
    return found
