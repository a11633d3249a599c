"""The real cube's tosses predicted by the middle of many random motions.

What no law explains of an impact is taken as random: every touch adds to the two horizontal
components of the spin a part of standard deviation `kick` times the speed of approach.  Its size is
the one with the least energy score on the tosses that the law was fitted to.  Predicted is the
middle of an ensemble (inverse/ensemble.py), and beside it one motion without the random part.

Laws of one fold of the development half predict its other fold, and laws of both folds the other
half, which was not looked at while the random part and the centre were chosen.  All are
paired toss by toss with one motion of the present law.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from diffsim_ros.inverse.ensemble import centre, distances, energy_score
from diffsim_ros.real2sim.bootstrap import interval
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.sensing.observation import PoseTrial
from diffsim_ros.sensing.tosses import read_tosses

from .common import judged
from .cube_benchmark import LABELS
from .cube_laws import FILE, SUBSTEPS, benchmark, folds, starts_of
from .cube_prototype import Law, simulate
from .cube_whole import WHOLE

MEMBERS, FEW = 32, 6
"""Motions of a prediction, and of the choice of the random part."""
KICKS = (0.7, 1.0, 1.4, 2.0, 2.8)
"""Random parts that are tried [rad/s by m/s]; a parabola in their logarithm gives the best."""
CENTRES = {"median": 0.0, "middle": 1.0, "mean": np.inf}
"""What the ensemble's single prediction is: weight of squares (inverse/ensemble.py)."""
LEVEL = 0.9
"""Of the regions whose coverage is counted."""
CHANCES = (0.0, 0.5, 0.8, 0.95, 1.0)
"""Ends of the bins in which forecasts of the final face are held against what came."""


@dataclass(frozen=True)
class Fold:
    """Tosses of a fold: starts (n, 13), measured poses of each, and the frames of the longest."""

    ids: tuple[int, ...]
    start: np.ndarray
    measured: list[np.ndarray]
    frames: int

    @classmethod
    def of(cls, trials: Sequence[PoseTrial]) -> Fold:
        """The fold of these recordings."""
        start, measured = starts_of(trials)
        return cls(tuple(t.id for t in trials), start, measured, max(map(len, measured)))

    def single(self, law: Law) -> np.ndarray:
        """Errors (n, 3) of one motion, with the steps that laws were fitted with."""
        return benchmark(simulate(law, self.start, self.frames), self.measured)

    def ensemble(self, law: Law, kick: float, members: int, seed: int) -> np.ndarray:
        """Poses (members, n, frames, 7)."""
        starts = np.tile(self.start, (members, 1))
        found = simulate(law, starts, self.frames, substeps=SUBSTEPS, kick=kick, seed=seed)
        return found.reshape(members, len(self.start), self.frames, 7)

    def score(self, poses: np.ndarray) -> float:
        """Energy scores of an ensemble in units of the present law's errors, both added up."""
        total = np.zeros(2)
        for k, m in enumerate(self.measured):
            total += [s.mean() for s in energy_score(poses[:, k, : len(m)], m)]
        return float((total / len(self.measured) / UNITS).sum())

    def centres(self, poses: np.ndarray) -> dict[str, np.ndarray]:
        """Errors (n, 3) of the ensemble's single predictions."""
        found: dict[str, np.ndarray] = {}
        for name, square in CENTRES.items():
            each = [centre(poses[:, k, : len(m)], square) for k, m in enumerate(self.measured)]
            found[name] = benchmark(each, self.measured)  # type: ignore[arg-type]
        return found


UNITS = np.array([0.012, np.radians(14.0)])
"""What scores of position [m] and orientation [rad] are divided by."""


def kick_of(law: Law, fold: Fold, members: int = FEW, kicks: Sequence[float] = KICKS) -> float:
    """The random part with the least energy score on the tosses that the law was fitted to."""
    scores = [fold.score(fold.ensemble(law, kick, members, 0)) for kick in kicks]
    best = int(np.clip(np.argmin(scores), 1, len(kicks) - 2))
    near = slice(best - 1, best + 2)
    curved, sloped, _ = np.polyfit(np.log(kicks[near]), scores[near], 2)
    if curved <= 0:  # noise of few members hides the least
        return float(kicks[int(np.argmin(scores))])
    return float(np.exp(np.clip(-sloped / (2 * curved), *np.log([kicks[0], kicks[-1]]))))


def face(q: np.ndarray) -> np.ndarray:
    """Which of six faces is up (...), of quaternions (..., 4)."""
    up = quat_matrix(q)[..., 2, :]
    axis = np.abs(up).argmax(axis=-1)
    return 2 * axis + (np.take_along_axis(up, axis[..., None], axis=-1)[..., 0] < 0)


def forecasts(fold: Fold, poses: np.ndarray) -> dict[str, np.ndarray]:
    """Of every toss's last frame: whether the ball about the centre that holds 90 % of the
    members holds what was measured, and the share of members on the face that came."""
    found = []
    for k, m in enumerate(fold.measured):
        last = poses[:, k, len(m) - 1]
        middle = centre(last)
        radii = [np.quantile(d, LEVEL) for d in distances(last, middle)]
        missed = [d[0] for d in distances(m[None, -1], middle)]
        faces = np.bincount(face(last[:, 3:]), minlength=6) / len(last)
        came = faces[int(face(m[-1, 3:]))]
        found.append([missed[0] <= radii[0], missed[1] <= radii[1], came, faces.max(),
                      faces.argmax() == face(m[-1, 3:])])  # fmt: skip
    names = ("position", "orientation", "came", "likeliest", "right")
    return dict(zip(names, np.array(found, float).T, strict=True))


def calibration(of: Mapping[str, np.ndarray]) -> dict:
    """Coverage of the 90 % balls, and how often faces came that were said to be so likely."""
    bins = []
    for low, high in pairwise(CHANCES):
        inside = (of["likeliest"] > low) & (of["likeliest"] <= high)
        if inside.any():
            said, came = of["likeliest"][inside].mean(), of["right"][inside].mean()
            bins.append({"tosses": int(inside.sum()), "said": float(said), "came": float(came)})
    return {
        "position_inside_90": float(of["position"].mean()),
        "orientation_inside_90": float(of["orientation"].mean()),
        "face_right": float(of["right"].mean()),
        "faces": bins,
    }


def beside(errors: np.ndarray, reference: np.ndarray) -> dict:
    """Means of errors (n, 3), and paired differences with 95 % intervals."""
    difference = errors - reference
    ranges = interval(difference, 0)
    return dict(zip(LABELS, errors.mean(axis=0).tolist(), strict=True)) | {
        "difference": dict(zip(LABELS, difference.mean(axis=0).tolist(), strict=True)),
        "difference_interval": dict(zip(LABELS, ranges, strict=True)),
        "excludes_equality": [bool(high < 0 or low > 0) for low, high in ranges],
    }


def pairs(count: int) -> list[tuple[str, int, list[int]]]:
    """(half, fold predicted, folds whose laws predict it)."""
    halves = [("development", 0, [1]), ("development", 1, [0])]
    return halves + [("other_half", k, [k - 2]) for k in range(2, count)]


def predicted(
    parts: Sequence[Fold], every: Mapping[str, Sequence[Law]], members: int, few: int,
    kicks_tried: Sequence[float],
) -> tuple[dict, dict]:  # fmt: skip
    """Half -> law and prediction -> errors (n, 3), means of the folds' laws; and the rest."""
    table: dict[str, dict[str, list[np.ndarray]]] = {}
    more: dict = {"kick": {}, "calibration": {}}
    for name, laws in every.items():
        kicks = [kick_of(laws[k], parts[k], few, kicks_tried) for k in (0, 1)]
        more["kick"][name] = kicks
        seen: dict[str, list[dict]] = {}
        for half, k, others in pairs(len(parts)):
            fold, rows = parts[k], table.setdefault(half, {})
            single = [fold.single(laws[j]) for j in others]
            rows.setdefault(f"{name}, one motion", []).append(np.mean(single, axis=0))
            found = []
            for j in others:
                poses = fold.ensemble(laws[j], kicks[j], members, 1 + j)
                found.append(fold.centres(poses))
                seen.setdefault(half, []).append(forecasts(fold, poses))
            for what in CENTRES:
                errors = np.mean([one[what] for one in found], axis=0)
                rows.setdefault(f"{name}, {what}", []).append(errors)
        more["calibration"][name] = {
            half: calibration({key: np.concatenate([one[key] for one in each]) for key in each[0]})
            for half, each in seen.items()
        }
    joined = {h: {n: np.concatenate(e) for n, e in rows.items()} for h, rows in table.items()}
    return joined, more


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """The whole item; a tenth has one half, one law and few members."""
    whole = fraction >= 1
    parts = [Fold.of(read_tosses(FILE, ids)) for ids in folds(fraction)]
    parts = parts if whole else parts[:2]
    if whole:
        members, (ours, more) = MEMBERS, predicted(parts, WHOLE, MEMBERS, FEW, KICKS)
    else:
        members, present = 8, {"present": WHOLE["present"]}
        ours, more = predicted(parts, present, members, 4, KICKS[1:4])
    figures: dict = {"tosses": [len(f.ids) for f in parts], "members": members, **more}
    for half, rows in ours.items():
        reference = rows["present, one motion"]
        figures[half] = {name: beside(errors, reference) for name, errors in rows.items()}
    if whole:
        better = figures["development"]["relaxing, mean"]["difference_interval"]
        beyond = sum(high < 0 for _, high in better.values())
        judged(figures, [] if beyond >= 2 else [f"the mean is better in {beyond} of three"])
    return figures
