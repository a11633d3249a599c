"""Does the verdict on a fit tell a wrong model from a right one?  Synthetic tosses of a cube.

Each recording is five tosses as in `calibration`, of a cube or a table that is not the model's in
one respect (MISFITS), estimated as a user would: `uncertainty.method: auto`, halves compared.  A
misfit matters where it moves a parameter by more than two of its own standard deviations, those of
the result; its verdict must then be below "good".  Of the right model the verdict must be "good",
and its 95 % intervals must cover.
"""

from __future__ import annotations

import copy
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffsim_ros.executors import InProcess
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.rotation import quat_exp, quat_log, quat_matrix, quat_multiply
from diffsim_ros.sensing.observation import PoseTrial, pose_values

from . import calibration
from .calibration import QUANTILE, TRUTH, deviation
from .common import binomial_bounds, judged, share, side_by_side

RECORDINGS, RIGHT = 20, 100
NAMES = ("friction", "normal_stiffness", "normal_damping", "tangential_stiffness")
MATTERS = 2.0
"""Standard deviations by which a misfit must move a parameter to matter."""
FOUND, GOOD, COVERAGE = 0.90, 0.95, (0.90, 0.99)
SEED = 7_000_000

Scene = dict
Recording = Callable[[PoseTrial], PoseTrial]


def _inertia(scene: Scene) -> None:
    scene["bodies"]["cube"]["inertia"] *= 1.2


def _scale(scene: Scene) -> None:
    scene["bodies"]["cube"]["shape"]["box"]["size"] = [1.03 * calibration.EDGE] * 3


def _corners(scene: Scene) -> None:
    scene["bodies"]["cube"]["contact_spheres"]["corners"]["radius"] *= 2.0


def _slope(scene: Scene) -> None:
    angle = math.radians(1.0)
    scene["sdfs"]["table"]["plane"]["normal"] = [math.sin(angle), 0.0, math.cos(angle)]


def _damping_law(scene: Scene) -> None:
    contact = scene["contact"][0]
    contact.pop("c_n")
    contact |= {"damping": "thesis", "k_d": 60.0}


def _friction_law(scene: Scene) -> None:
    scene["contact"][0] |= {"c_s": 2.0 * TRUTH["friction"], "f_0": 20.0}


def _rolling(scene: Scene) -> None:
    scene["contact"][0]["c_roll"] = 0.004


def _pivot(trial: PoseTrial) -> PoseTrial:
    """The tracked point is 4 mm off the centre of mass."""
    return _moved(trial, trial.position + quat_matrix(trial.orientation) @ [4e-3, 0.0, 0.0])


def _delay(trial: PoseTrial) -> PoseTrial:
    """Orientations come half a frame later than positions."""
    q = trial.orientation
    step = quat_log(quat_multiply(_conjugate(q[:-1]), q[1:]))
    late = np.concatenate([q[:1], quat_multiply(q[:-1], quat_exp(0.5 * step))])
    return _moved(trial, trial.position, late)


def _clock(trial: PoseTrial) -> PoseTrial:
    """The tracker runs 2 % faster than it says."""
    return _moved(trial, trial.position, None, 1.02)


def _conjugate(q: np.ndarray) -> np.ndarray:
    return q * [-1.0, -1.0, -1.0, 1.0]


def _moved(
    trial: PoseTrial, position: np.ndarray, orientation: np.ndarray | None = None,
    rate: float = 1.0,
) -> PoseTrial:  # fmt: skip
    """The recording with other poses, or another clock."""
    orientation = trial.orientation if orientation is None else orientation
    values = pose_values(np.hstack([position, orientation]))
    poses = replace(trial.poses, values=values, t=trial.poses.t * rate)
    return replace(trial, poses=poses, dt=trial.dt * rate)


@dataclass(frozen=True)
class Misfit:
    """What a thing has that its model has not: another scene, or another recording of it."""

    scene: Callable[[Scene], None] = lambda scene: None
    recording: Recording = lambda trial: trial


MISFITS: Mapping[str, Misfit] = {
    "inertia": Misfit(_inertia),
    "scale": Misfit(_scale),
    "corners": Misfit(_corners),
    "slope": Misfit(_slope),
    "damping_law": Misfit(_damping_law),
    "friction_law": Misfit(_friction_law),
    "rolling": Misfit(_rolling),
    "pivot": Misfit(recording=_pivot),
    "delay": Misfit(recording=_delay),
    "clock": Misfit(recording=_clock),
}


@dataclass(frozen=True)
class Outcome:
    """One recording: grade, status, deviations of the parameters in their standard deviations."""

    grade: str
    status: str
    deviations: Mapping[str, float]
    named: tuple[str, ...]

    @property
    def shift(self) -> float:
        """The largest deviation; without an interval it does not count."""
        return max((abs(z) for z in self.deviations.values() if math.isfinite(z)), default=0.0)


def outcome(misfit: Misfit, seed: int, cancel: Any = None) -> Outcome:
    """Throw, blur, estimate."""
    truth = copy.deepcopy(calibration.scene())
    misfit.scene(truth)
    trials, _ = calibration.Thrower(truth).tosses(seed, calibration.TOSSES)
    section = calibration.parameters(NAMES) | calibration.known_scale()
    source = dict(calibration.configuration(section).source)
    config = load_estimation(source | {"uncertainty": {"method": "auto"}})
    trials = [misfit.recording(trial) for trial in trials]
    result = estimate(config, observations={"train": trials}, report=False, cancel=cancel)
    found = {p.name: deviation(p, TRUTH[p.name]) for p in result.parameters if not p.fixed}
    verdict = result.verdict
    grade, advice = ("", ()) if verdict is None else (verdict.grade, verdict.advice)
    return Outcome(grade, result.status, found, advice)


def outcomes(recordings: Mapping[str, Sequence[int]]) -> dict[str, list[Outcome]]:
    """Of recordings, seeds by misfit, all side by side on all cores."""
    tasks = [(name, seed) for name, seeds in recordings.items() for seed in seeds]
    rows = side_by_side(_outcome, tasks, here=InProcess(), what="recordings")
    found: dict[str, list[Outcome]] = {name: [] for name in recordings}
    for (name, _), row in zip(tasks, rows, strict=True):
        found[name].append(Outcome(**row))
    return found


def _outcome(shared: None, task: tuple[str, int], cancel: Any) -> dict:
    name, seed = task
    return vars(outcome(Misfit() if name == "right" else MISFITS[name], seed, cancel))


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """The whole item; Missed names the bars that were not met."""
    seed = SEED + 100_000 * seed
    figures: dict = {"right": {}, "misfits": {}}
    count = share(RECORDINGS, fraction)
    all_done = outcomes(
        {"right": range(seed, seed + share(RIGHT, fraction))}
        | {
            name: range(seed + 1000 * k, seed + 1000 * k + count)
            for k, name in enumerate(MISFITS, 1)
        }
    )
    right = all_done["right"]
    good = sum(one.grade == "good" for one in right)
    covered = {n: sum(abs(o.deviations[n]) <= QUANTILE for o in right) for n in NAMES}
    figures["right"] = {
        "recordings": len(right), "good": good, "covered": covered,
        "grades": dict(Counter(one.grade for one in right)),
    }  # fmt: skip
    found = matter = 0
    for name in MISFITS:
        done = all_done[name]
        matters = [one for one in done if one.shift > MATTERS]
        below = sum(one.grade != "good" for one in matters)
        figures["misfits"][name] = {
            "recordings": len(done), "matters": len(matters), "below_good": below,
            "grades": dict(Counter(one.grade for one in done)),
            "converged": sum(one.status == "converged" for one in done),
            "median_shift": float(np.median([one.shift for one in done])),
            "advice": Counter(a for one in done for a in one.named).most_common(1),
        }  # fmt: skip
        print(name, figures["misfits"][name], flush=True)
        found, matter = found + below, matter + len(matters)
    figures |= {"matter": matter, "found": found}
    missed = []
    if found < binomial_bounds(matter, FOUND, 1.0, fraction)[0]:
        missed.append(f"{found} of {matter} misfits that matter are below good")
    if good < binomial_bounds(len(right), GOOD, 1.0, fraction)[0]:
        missed.append(f"{good} of {len(right)} right models are good")
    low, high = binomial_bounds(len(right), *COVERAGE, fraction)
    missed += [
        f"{n}: {c} of {len(right)} intervals cover"
        for n, c in covered.items()
        if not low <= c <= high
    ]
    return judged(figures, missed)
