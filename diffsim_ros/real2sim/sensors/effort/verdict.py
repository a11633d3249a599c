"""Verdict on efforts: are they predicted, joint by joint, and is what is left noise?

Predictions are held against a constant and against the regression on five coefficients a joint.
What is left within the filter's band, where a wrong law leaves something, is held against the noise
of the efforts as logged, seen in their fourth differences while a joint moves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ....inverse.adequacy import ALPHA, LEVEL
from ....sensing.observation import Observation
from ...efforts import EffortModel, JointError
from ...efforts.friction import LAWS
from ...efforts.samples import Samples
from ...efforts.signals import low_passed
from ...results import Verdict

POOR = 0.5
"""Share of a constant's error from which on predictions explain little."""
WORSE = 1.1
"""Times the error of five coefficients from which on a model is worse, beyond two sigma."""
WORST = 1.2
"""The same of the geometric mean over the joints, from which on predictions mislead."""
SMALL = 0.02
"""Share of a constant's error below which what is left counts as explained, noise or not."""
NEAR_ONE = 0.3
"""Estimated gains that are so near to 1, all of them, are those of torques."""
LEAST = 16
"""Samples of a run in which a joint moves, of which noise is taken."""
DIFFERENCES = 4
"""Order of the differences that noise is seen in: of smooth efforts they are next to nothing."""
SPREAD = 70.0
"""Sum of squares of their coefficients 1, -4, 6, -4, 1."""
WIDTH = 2.0
"""Differences of white noise that are worth an independent number."""
LEAST_DOF = 8.0
"""Degrees of freedom on either side of a comparison with noise."""


def geometric_mean(values: Sequence[float]) -> float:
    """Of numbers >= 0."""
    with np.errstate(divide="ignore"):
        return float(np.exp(np.mean(np.log(values))))


class Evidence:
    """What speaks against a model of efforts.

    errors   of the joints that move in what is judged
    held_out whether that was not fitted
    """

    def __init__(self, model: EffortModel, errors: Sequence[JointError], held_out: bool) -> None:
        self.model, self.held_out = model, held_out
        self.kinds = dict(zip(model.robot.joint_names, model.kinds, strict=True))
        self.errors = {e.joint: e for e in errors}
        self.power: dict[str, np.ndarray] = {}

    @property
    def stuck(self) -> list[str]:
        """Joints whose efforts are no measurements."""
        return [name for name, kind in self.kinds.items() if kind == "stuck"]

    @property
    def seen(self) -> list[JointError]:
        """Errors of the other joints that move."""
        return [e for name, e in self.errors.items() if name not in self.stuck]

    def hold_against_noise(self, log: Observation, samples: Samples, predicted: np.ndarray) -> None:
        """Add a trial that was fitted: of every joint, sums of squares of what is left in the
        filter's band and of noise, with their degrees of freedom (2, 2).

        samples, predicted  several per period of the bandwidth, and the model's efforts there
        """
        motion, taken = samples.motions[0], samples.taken[0]
        t, rate = log.t - log.t[0], 1.0 / log.interval
        kept = _kept_share(self.model.bandwidth, rate)
        for j, name in enumerate(self.model.robot.joint_names):
            measured = log.column(log.measured["effort"], name)
            speed = np.interp(t, motion.t[taken], samples.moving[:, j].astype(float))
            inside = (t >= motion.t[taken[0]]) & (t <= motion.t[taken[-1]])
            seen = inside & (speed > 0.99) & np.isfinite(measured)
            into = self.power.setdefault(name, np.zeros((2, 2)))
            for run in _runs(seen):
                fast = np.diff(measured[run], DIFFERENCES)
                into[1] += fast @ fast / SPREAD / WIDTH, len(fast) / WIDTH
            on = samples.moving[:, j]
            off, weight = (samples.effort - predicted)[on, j], samples.weights[on, j]
            # as many independent numbers as the band has, and their part of white noise
            dof = len(off) * kept * rate * (motion.t[taken[1]] - motion.t[taken[0]])
            into[0] += np.average(off**2, weights=weight) * dof / kept if len(off) else 0.0, dof

    def coloured(self) -> dict[str, tuple[float, float]]:
        """Joint -> mean square of what is left over that of noise, and the probability that noise
        gives it; of joints whose noise can be seen."""
        from scipy.stats import f as fisher  # takes half a second, and nodes start without it

        found = {}
        for e in self.seen:
            (slow, n), (fast, m) = self.power.get(e.joint, np.zeros((2, 2)))
            if n >= LEAST_DOF and m >= LEAST_DOF and fast > 0.0:
                ratio = float(slow / n / (fast / m))
                found[e.joint] = (ratio, float(fisher.sf(ratio, n, m)))
        return found

    def verdict(self) -> Verdict:
        """Grade, reason, advice and figures."""
        seen, new = self.seen, "new motion" if self.held_out else "the motion that was fitted"
        poor = [e for e in seen if e.rms > POOR * e.constant]
        worse = [e for e in seen if e.ratio > max(WORSE, 1.0 + 2.0 * _known(e.ratio_sigma))]
        colours = self.coloured()
        large = [e.joint for e in seen if e.rms > SMALL * e.constant]
        loud = {
            name: ratio
            for name, (ratio, chance) in colours.items()
            if name in large and chance * len(colours) < ALPHA and ratio > LEVEL**2
        }
        figures = {
            "error_over_constant": {e.joint: e.share for e in seen},
            "error_over_five": {e.joint: e.ratio for e in seen},
            "left_over_noise": {name: ratio for name, (ratio, _) in colours.items()},
        }
        doubts, advice = self._doubts(worse, loud), self._advice(worse, loud)
        if not seen:
            doubts.insert(0, "no joint's efforts are measurements")
        over = geometric_mean([e.ratio for e in seen]) if seen else np.nan
        if not seen or 2 * len(poor) >= len(seen) or over > WORST:
            reasons = [_off(poor, new)] if poor else []
            return Verdict("misleading", "; ".join([*reasons, *doubts]), tuple(advice), figures)
        if poor:
            doubts.insert(0, _off(poor, new))
        if not doubts:
            reason = f"efforts on {new} are predicted, and what is left is noise"
            if len(large) < len(seen):
                reason += f", or below {100 * SMALL:g} % of a constant's error"
            return Verdict("good", reason, tuple(advice), figures)
        shares = [e.share for e in seen if e not in poor]
        told = (
            f"efforts on {new} are off by {min(shares):.2g} to {max(shares):.2g} of a constant's "
            f"error, {over:.2g} of that of five coefficients a joint"
        )
        return Verdict("usable", "; ".join([told, *doubts]), tuple(advice), figures)

    def _doubts(self, worse: Sequence[JointError], loud: dict[str, float]) -> list[str]:
        found = []
        if not self.model.settled:
            found.append("the optimum was not found")
        if not self.held_out:
            found.append("nothing was held out")
        if self.stuck:
            found.append(
                f"efforts of {', '.join(self.stuck)} say nothing: they have one value at most "
                "samples"
            )
        if worse:
            names = ", ".join(f"{e.joint} ({e.ratio:.2g} of their error)" for e in worse)
            found.append(f"five coefficients a joint predict better: {names}")
        if loud:
            worst = max(loud, key=loud.__getitem__)
            found.append(
                f"what is left is not noise in {len(loud)} of {len(self.seen)} joints: in "
                f"{worst} it is {np.sqrt(loud[worst]):.2g} times as large"
            )
        return found

    def _advice(self, worse: Sequence[JointError], loud: dict[str, float]) -> list[str]:
        found, gains = [], self.model.coefficients.gain
        if any(self.kinds[e.joint] == "given" for e in worse):
            found.append("take measurement.gains out: they are estimated then, with their sign")
        if loud and self.model.options.gammas == (np.inf,):
            found.append("let the inertias be estimated too: fit.inertias: auto")
        untried = [name for name in LAWS if name not in self.model.options.friction]
        if loud and untried:
            found.append(f"try other laws too: fit.friction with {', '.join(untried)}")
        told = [k in ("estimated", "reference") for k in self.kinds.values()]
        if any(told) and np.all(np.abs(gains[told] - 1.0) < NEAR_ONE):
            found.append("gains are near 1: if efforts are in N m, set measurement.gains to 1")
        if not self.held_out:
            found.append("hold out a part of the log: data.validate, with trials or spans")
        return found


def _off(poor: Sequence[JointError], new: str) -> str:
    names = ", ".join(f"{e.joint} ({e.share:.2g} of its error)" for e in poor)
    return f"efforts on {new} are predicted little better than by a constant: {names}"


def _known(sigma: float) -> float:
    return sigma if np.isfinite(sigma) else 0.0


def _kept_share(bandwidth: float, rate: float) -> float:
    """Share of white noise's mean square that the filter keeps."""
    count = int(8 * rate / bandwidth) + 1
    pulse = np.zeros((2 * count + 1, 1))
    pulse[count] = 1.0
    return float(np.sum(low_passed(pulse, bandwidth, rate) ** 2))


def _runs(seen: np.ndarray) -> Iterator[slice]:
    """Runs of LEAST and more samples of a mask."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], seen.astype(int), [0]])))
    for first, end in zip(edges[::2], edges[1::2], strict=True):
        if end - first >= LEAST:
            yield slice(first, end)
