"""Which law of contact predicts the real cube's tosses, tried before one is built in the engine.

Half of the tosses is for development: laws are fitted to short pieces of one fold's tosses (a
tenth of a second from a measured state, so that errors do not grow by chaos) and predict the
pieces of the other fold.  The other half was not looked at while laws were chosen; it is predicted
by both folds' fits.  Whole tosses: parameters fitted to each of four folds predict the tosses of
the three others (benchmark of data/cube_toss/README.md), paired toss by toss.  At last the share
of these errors that no law can take away: a cube that gets at every touch a random part of its
spin, as large as what the law leaves of the first impact, is predicted without that part.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from scipy.optimize import least_squares

from diffsim_ros.real2sim.bootstrap import interval
from diffsim_ros.real2sim.scenarios.height import HeightOptions, start_state
from diffsim_ros.rotation import quat_conjugate, quat_log, quat_matrix, quat_multiply
from diffsim_ros.sensing.observation import PoseTrial
from diffsim_ros.sensing.tosses import read_tosses, repeated, toss_ids

from .common import ROOT
from .cube_benchmark import LABELS, as_rows, toss_errors
from .cube_prototype import HALF, RATE, SCALE, SIGNS, Law, simulate
from .cube_whole import WHOLE

FILE = ROOT / "data" / "cube_toss" / "tosses.npz"
SPLIT_SEED = 16
FRAMES, EVERY, AROUND = 12, 20, 2
"""Frames of a piece, frames between starts, frames on both sides for velocities."""
SMOOTH = (1.5e-4, 2.5e-3)
"""Most that a parabola may leave of the five poses around a start [m], [rad]: no impact there."""
SLOW = (0.15, 1.0)
"""A cube that is slower has come to rest [m/s], [rad/s]."""
SUBSTEPS = 16
"""Steps per frame of a piece; whole tosses have those that their laws were fitted with."""
SIGMA = np.repeat([1.5e-3, 0.02], 3)
"""What an error of a piece is divided by [m], [rad]."""
BEFORE = Law(stiffness=4e5, damping_ratio=1.9, tangential_time=8e-4, radius=3e-3, inertia=1.06e-3)
SPREADS = {
    "friction": 0.5, "friction_unloaded": 0.5, "unload": 1.0, "stiffness": 1.5,
    "damping_ratio": 1.0, "tangential_time": 1.5, "radius": 3e-3, "inertia": 0.2,
    "height": 1e-3, "exponent": 0.3, "relaxing": 1.5, "relaxation": 1.0,
}  # fmt: skip
"""Standard deviations of the prior, of logarithms but for ADDITIVE; centred on the first guess."""
ADDITIVE = ("radius", "height", "exponent")
COMMON = tuple(SPREADS)[:8]
LAWS: Mapping[str, tuple[Law, tuple[str, ...]]] = {
    "present": (BEFORE, COMMON),
    "relaxing": (
        replace(BEFORE, stiffness=1.2e5, tangential_time=3e-3, relaxing=8.5, relaxation=2.2e-3),
        (*COMMON, "relaxing", "relaxation"),
    ),
}
"""First guess, and the numbers that are fitted."""
KICK = 1.4
"""Random spin per touch that leaves of the first impact what is measured [rad/s by m/s]."""
AFTER = 9
"""Frames after the first touch at which what is left of it is compared."""


@dataclass(frozen=True)
class Pieces:
    """Starts (n, 13), measured poses (n, FRAMES, 7), which frames there are, and whose they are."""

    start: np.ndarray
    measured: np.ndarray
    there: np.ndarray
    toss: np.ndarray
    first: np.ndarray  # whether it is the benchmark's start

    def weights(self) -> np.ndarray:
        """Of every frame but the start; 1 for a piece."""
        counted = self.there.copy()
        counted[:, 0] = False
        return counted / counted.sum(axis=1, keepdims=True)


def groups(path=FILE) -> list[list[int]]:
    """Ids of the tosses, those that repeat one another together."""
    copies, found = repeated(path), {}
    for i in toss_ids(path):
        found.setdefault(copies.get(i, i), []).append(i)
    return list(found.values())


def folds(fraction: float = 1.0) -> list[list[int]]:
    """Four folds of tosses: two of the development half, two of the other one."""
    found = groups()
    order = np.random.default_rng(SPLIT_SEED).permutation(len(found))
    parts = [order[a::2][b::2] for a in range(2) for b in range(2)]
    parts = [part[: max(2, round(fraction * len(part)))] for part in parts]
    return [sorted(i for k in part for i in found[k]) for part in parts]


def pieces(trials: Sequence[PoseTrial]) -> Pieces:
    """Short pieces of these tosses, from states that five smooth poses around them give."""
    rows = [row for trial in trials for row in _pieces(trial)]
    start, measured, there, toss, first = zip(*rows, strict=True)
    return Pieces(*(np.array(column) for column in (start, measured, there, toss, first)))


def _pieces(trial: PoseTrial):
    begin = start_state(trial, HeightOptions())
    poses = np.concatenate([trial.position, trial.orientation], axis=1)
    state = (begin.position, begin.orientation, begin.velocity, begin.angular_velocity)
    yield _piece(trial, poses, begin.sample, np.concatenate(state), True)
    t = np.arange(-AROUND, AROUND + 1) / RATE
    powers = np.stack([np.ones_like(t), t, t * t], axis=1)
    last = begin.sample
    for i in range(max(begin.sample + 3, AROUND), len(poses) - FRAMES):
        if i - last < EVERY and last != begin.sample:
            continue
        around = poses[i - AROUND : i + AROUND + 1]
        turn = quat_log(quat_multiply(around[:, 3:], quat_conjugate(poses[i, 3:])))
        lines = np.linalg.lstsq(powers, np.concatenate([around[:, :3], turn], axis=1))[0]
        left = np.abs(powers @ lines - np.concatenate([around[:, :3], turn], axis=1)).max(axis=0)
        if left[:3].max() > SMOOTH[0] or left[3:].max() > SMOOTH[1]:
            continue
        velocity, spin = lines[1, :3], lines[1, 3:]
        if np.linalg.norm(velocity) < SLOW[0] and np.linalg.norm(spin) < SLOW[1]:
            return
        state = np.concatenate([lines[0, :3], poses[i, 3:], velocity, spin])
        yield _piece(trial, poses, i, state, False)
        last = i


def _piece(trial: PoseTrial, poses: np.ndarray, i: int, state: np.ndarray, first: bool):
    found = poses[i : i + FRAMES]
    there = np.arange(FRAMES) < len(found)
    padded = np.concatenate([found, np.repeat(found[-1:], FRAMES - len(found), axis=0)])
    return state, padded, there, trial.id, first


def errors(found: np.ndarray, of: Pieces) -> np.ndarray:
    """Errors (n, FRAMES, 6) in units of SIGMA: position, and rotation vector."""
    turn = quat_log(quat_multiply(found[..., 3:], quat_conjugate(of.measured[..., 3:])))
    return np.concatenate([found[..., :3] - of.measured[..., :3], turn], axis=-1) / SIGMA


def cost(law: Law, of: Pieces) -> np.ndarray:
    """Mean over its frames of sqrt(1 + |e|^2) - 1, for every piece."""
    e = errors(simulate(law, of.start, FRAMES, substeps=SUBSTEPS), of)
    return ((np.sqrt(1 + (e**2).sum(axis=-1)) - 1) * of.weights()).sum(axis=1)


def fitted(guess: Law, names: Sequence[str], of: Pieces, evaluations: int) -> Law:
    """The law whose numbers `names` fit these pieces best, under the prior (SPREADS)."""
    weight = np.sqrt(of.weights())[..., None]

    def at(u: np.ndarray) -> Law:
        values = {}
        for name, x in zip(names, u * [SPREADS[name] for name in names], strict=True):
            value = getattr(guess, name)
            values[name] = value + x if name in ADDITIVE else value * np.exp(x)
            if name == "radius":
                values[name] = max(values[name], 0.0)
        return replace(guess, **values)

    def residuals(u: np.ndarray) -> np.ndarray:
        e = errors(simulate(at(u), of.start, FRAMES, substeps=SUBSTEPS), of)
        squared = (e**2).sum(axis=-1, keepdims=True)
        # |e| -> sqrt(2 (sqrt(1 + |e|^2) - 1)), so that half the sum of squares is the cost
        robust = np.sqrt(2 / (np.sqrt(1 + squared) + 1)) * e * weight
        return np.concatenate([robust.ravel(), u])

    def jacobian(u: np.ndarray) -> np.ndarray:
        step, here = 0.02, residuals(u)
        return np.stack([(residuals(u + step * d) - here) / step for d in np.eye(len(u))], axis=1)

    found = least_squares(residuals, np.zeros(len(names)), jacobian, max_nfev=evaluations)
    return at(found.x)


def by_toss(values: np.ndarray, of: Pieces) -> dict[int, float]:
    """Mean over the pieces of every toss."""
    return {int(i): float(values[of.toss == i].mean()) for i in np.unique(of.toss)}


def compared(parts: Sequence[Pieces], names: Sequence[str], evaluations: int) -> dict:
    """Every law's errors of pieces it was not fitted to, and differences to the first law's."""
    table: dict = {}
    reference: dict = {}
    for name in names:
        guess, free = LAWS[name]
        laws = [fitted(guess, free, part, evaluations) for part in parts[:2]]
        found: dict[str, dict] = {"development": {}, "other_half": {}, "first_impact": {}}
        for k, law in enumerate(laws):
            unseen = parts[1 - k]
            values = cost(law, unseen)
            found["development"] |= by_toss(values, unseen)
            first = zip(unseen.toss[unseen.first], values[unseen.first], strict=True)
            found["first_impact"] |= {int(i): float(v) for i, v in first}
        for part in parts[2:]:
            mean = np.mean([cost(law, part) for law in laws], axis=0)
            found["other_half"] |= by_toss(mean, part)
        reference = reference or found
        table[name] = {"laws": [{n: getattr(law, n) for n in free} for law in laws]}
        for key, values in found.items():
            rows = np.array([[values[i], values[i] - reference[key][i]] for i in sorted(values)])
            table[name][key] = float(rows[:, 0].mean())
            table[name][f"{key}_difference"] = float(rows[:, 1].mean())
            table[name][f"{key}_difference_interval"] = interval(rows, 0)[1]
    return table


def starts_of(trials: Sequence[PoseTrial]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Starts (n, 13) of the benchmark, and the measured poses from there on."""
    starts, measured = [], []
    for trial in trials:
        s = start_state(trial, HeightOptions())
        starts.append(np.concatenate([s.position, s.orientation, s.velocity, s.angular_velocity]))
        poses = np.concatenate([trial.position, trial.orientation], axis=1)
        measured.append(poses[s.sample :])
    return np.array(starts), measured


def benchmark(found: np.ndarray, measured: Sequence[np.ndarray]) -> np.ndarray:
    """Errors (n, 3) of whole tosses (cube_benchmark.toss_errors)."""
    return as_rows(
        toss_errors(p[: len(m), :3], p[: len(m), 3:], m[:, :3], m[:, 3:])
        for p, m in zip(found, measured, strict=True)
    )


def whole(trials: Sequence[Sequence[PoseTrial]]) -> dict:
    """Whole tosses of every fold by the laws fitted to the three others, means of the three."""
    table, reference = {}, None
    for name, laws in WHOLE.items():
        rows = []
        for k, part in enumerate(trials):
            start, measured = starts_of(part)
            frames = max(len(m) for m in measured)
            others = [law for j, law in enumerate(laws) if j != k]
            found = [simulate(law, start, frames) for law in others]
            rows.append(np.mean([benchmark(one, measured) for one in found], axis=0))
        errors_of_law = np.concatenate(rows)
        reference = errors_of_law if reference is None else reference
        difference = errors_of_law - reference
        ranges = interval(difference, 0)
        table[name] = dict(zip(LABELS, errors_of_law.mean(axis=0).tolist(), strict=True)) | {
            "difference": dict(zip(LABELS, difference.mean(axis=0).tolist(), strict=True)),
            "difference_interval": dict(zip(LABELS, ranges, strict=True)),
            "laws": [asdict(law) for law in laws],
        }
    return table


def touch(poses: np.ndarray) -> int:
    """First frame of poses (n, 7) in which a corner is less than 1 mm above the table."""
    low = (quat_matrix(poses[:, 3:]) @ SIGNS)[:, 2].min(axis=-1) * HALF / SCALE
    return int(np.argmax(poses[:, 2] + low < 1e-3))


def floor(trials: Sequence[PoseTrial], repeats: int) -> dict:
    """Errors that a perfect law has where every touch adds a random part to the spin."""
    law = WHOLE["relaxing"][1]
    start, measured = starts_of(trials)
    frames = max(len(m) for m in measured)
    nominal = simulate(law, start, frames, substeps=SUBSTEPS)
    frame = [min(touch(m) + AFTER, len(m) - 1) for m in measured]

    def after(truth: Sequence[np.ndarray]) -> float:
        turns = [
            np.linalg.norm(quat_log(quat_multiply(nominal[i, k, 3:], quat_conjugate(m[k, 3:]))))
            for i, (k, m) in enumerate(zip(frame, truth, strict=True))
        ]
        return float(np.degrees(np.sqrt(np.mean(np.square(turns)))))

    rows, left = [], []
    for seed in range(repeats):
        disturbed = simulate(law, start, frames, substeps=SUBSTEPS, kick=KICK, seed=seed)
        truth = [d[: len(m)] for d, m in zip(disturbed, measured, strict=True)]
        rows.append(benchmark(nominal, truth))
        left.append(after(truth))
    return {
        "kick": KICK,
        "rotation_after_first_impact_deg": {"measured": after(measured), "random": np.mean(left)},
        "measured": dict(zip(LABELS, benchmark(nominal, measured).mean(axis=0), strict=True)),
        "random": dict(zip(LABELS, np.mean(rows, axis=(0, 1)), strict=True)),
    }


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """The whole item; a tenth has two laws, two steps of their fits and no whole tosses."""
    all_of_it = fraction >= 1
    trials = [read_tosses(FILE, ids) for ids in folds(fraction)]
    parts = [pieces(part) for part in trials]
    names = list(LAWS) if all_of_it else ["present", "relaxing"]
    figures = {
        "tosses": [len(part) for part in trials],
        "pieces": [len(part.toss) for part in parts],
        "short": compared(parts, names, 5 if all_of_it else 2),
    }
    if all_of_it:
        figures["whole"] = whole(trials)
        figures["floor"] = floor(trials[0] + trials[1], 2)
        low, high = figures["short"]["relaxing"]["other_half_difference_interval"]
        assert high < 0, f"a relaxing contact is no better on the other half: {low:.3g} {high:.3g}"
    return figures
