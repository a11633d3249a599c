"""Gaits of compliant robots: motors' targets of a cycle, through the full dynamics [G 4.7.2].

A nominal motion that takes motors for strong and feet for hard is executed by the scene's robot:
motors of low gain, soft feet, contact with the ground.  Changes of its targets, the same in every
cycle, are found by Gauss-Newton with the exact sensitivities of the whole motion: the mean speed as
wanted, the trunk upright and at its height, every cycle like the one before.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from ...errors import NotConverged
from ...inverse.optimizers import LMOptions, levenberg_marquardt
from ...inverse.simulation_problem import SimulationProblem, body_slots
from ...inverse.solution import Iteration, Solution
from ...inverse.trial import Trial
from ...rotation import quat_matrix
from ..samples import FRESH_SEED
from .compliant_config import UP, CompliantConfig, load_compliant

Report = Callable[[int, float], None]
"""Called with (iteration, objective)."""


@dataclass(frozen=True)
class GaitFigures:
    """What a motion does over the counted cycles.

    speed, speeds    mean over all, of each cycle (K,) [m/s];  missed  share by which speed is off
    tilt, turn       roll and pitch together, turn from the direction: root of the mean square [rad]
    height, sag      mean of the trunk's [m]; root of the mean square about it
    drift            farthest across the direction [m]
    """

    speed: float
    speeds: tuple[float, ...]
    missed: float
    tilt: float
    turn: float
    height: float
    sag: float
    drift: float

    def document(self) -> dict[str, Any]:
        """Plain data."""
        return {**vars(self), "speeds": list(self.speeds)}


@dataclass(frozen=True)
class CompliantResult:
    """A refined gait.

    status      "reached", "not_reached" or "cancelled"
    targets     (n, m) [rad] of one cycle, joints as in config.nominal
    before, after   figures of the nominal motion and of the refined one;  motion  its rollout
    objective, objective_first;  solution  the end of the search
    robust      speeds over fresh samples before and after, (fresh,) each; None: not asked for
    """

    config: CompliantConfig
    status: str
    targets: np.ndarray
    before: GaitFigures
    after: GaitFigures
    motion: Any
    objective: float
    objective_first: float
    solution: Solution
    rollouts: int
    seconds: float
    robust: tuple[np.ndarray, np.ndarray] | None = None


def problem_of(config: CompliantConfig, trials: Sequence[Trial] = ()) -> SimulationProblem:
    """The refinement as a problem of the inverse layer, over these trials or the scene's own."""
    scene = config.scene
    trials = trials or [Trial(config.name, scene.steps, config.objectives)]
    threads = config.search["threads"]
    return SimulationProblem(scene.engine, scene.options, config.map, trials, threads=threads)


def refine(
    config: CompliantConfig | str | Path | Mapping, *, progress: Report | None = None,
    cancel: Any = None,
) -> CompliantResult:  # fmt: skip
    """Find targets of one cycle with which the robot walks as wanted.

    progress  called with (iteration, objective)
    cancel    _engine.CancelToken; when cancelled the best so far is returned
    Raises InputError for unusable input, NotConverged if the nominal motion cannot be simulated.
    """
    if not isinstance(config, CompliantConfig):
        config = load_compliant(config)
    begun = time.perf_counter()
    first = _motion(config, config.map.start, cancel)
    before = figures(config, first)
    if config.height is None:
        config = replace(config, height=before.height)
    end = _search(problem_of(config), config, config.map.start, progress, cancel)
    rollouts, robust = 1, None
    if end.status == "start_failed":
        raise NotConverged(end.message)
    start = problem_of(config).evaluate(config.map.start).value
    rollouts += 1 + end.evaluations
    if config.robust is not None and not getattr(cancel, "cancelled", False):
        nominal, trials = end, _samples(config, config.robust.samples, config.robust.seed)
        end = _search(problem_of(config, trials), config, end.z, progress, cancel)
        rollouts += len(trials) * end.evaluations
        robust = _speeds(config, nominal.z), _speeds(config, end.z)
    motion = _motion(config, end.z, None)
    after = figures(config, motion)
    reached = abs(after.missed) <= config.tolerances["speed"]
    status = "reached" if reached else "not_reached"
    if getattr(cancel, "cancelled", False):
        status = "cancelled"
    return CompliantResult(
        config, status, config.targets(end.parameters), before, after, motion, end.value, start,
        end, rollouts + 1, time.perf_counter() - begun, robust,
    )  # fmt: skip


def _search(
    problem: SimulationProblem, config: CompliantConfig, z: np.ndarray, progress: Report | None,
    cancel: Any,
) -> Solution:  # fmt: skip
    def on_step(entry: Iteration) -> None:
        if progress is not None:
            progress(entry.iteration, entry.value)

    gain, most = config.search["gain"], config.search["iterations"]
    options = LMOptions(
        max_iterations=most, gradient_tolerance=1e-6, cost_tolerance=gain, kink_tolerance=gain,
        step_tolerance=1e-6, target=config.search["enough"],
    )  # fmt: skip
    end = levenberg_marquardt(problem, z, options=options, callback=on_step, cancel=cancel)
    if end.status != "beyond":
        return end
    options = replace(options, max_iterations=most - end.iterations, target=None)
    last = levenberg_marquardt(problem, end.z, options=options, callback=on_step, cancel=cancel)
    return replace(
        last, iterations=end.iterations + last.iterations, history=end.history + last.history,
        evaluations=end.evaluations + last.evaluations,
    )  # fmt: skip


def _motion(config: CompliantConfig, z: np.ndarray, cancel: Any) -> Any:
    """The rollout at z; NotConverged with the engine's message."""
    (run,) = problem_of(config).rollouts(z, cancel=cancel)
    if not run.ok:
        raise NotConverged(f"{config.name}: {run.status}: {run.message}")
    return run


def _samples(config: CompliantConfig, count: int, seed: int) -> list[Trial]:
    assert config.robust is not None
    return config.robust.trials(config.scene, config.objectives, count, seed)


def _speeds(config: CompliantConfig, z: np.ndarray) -> np.ndarray:
    """Mean speeds over fresh samples (fresh,) [m/s]; NaN where a motion failed."""
    assert config.robust is not None
    trials = _samples(config, config.robust.fresh, config.robust.seed + FRESH_SEED)
    runs = problem_of(config, trials).rollouts(z)
    return np.array([figures(config, run).speed if run.ok else np.nan for run in runs])


def figures(config: CompliantConfig, motion: Any) -> GaitFigures:
    """Figures of a motion of the config's scene over its counted cycles."""
    slot = body_slots(config.scene.engine)[config.options["body"]]
    whole = float(config.speed(each=False).speeds(motion, slot)[0])
    speeds = config.speed(each=True).speeds(motion, slot)
    x = motion.position[config.frames, slot.index]
    turn = quat_matrix(motion.orientation[config.frames, slot.index])
    along = np.array([*config.options["direction"][:2], 0.0])
    along /= np.linalg.norm(along)
    across, ahead = np.cross(UP, along), turn @ config.facing
    tilt = np.arccos(np.clip(turn[:, 2, 2], -1.0, 1.0))
    yaw = np.arctan2(ahead @ across, ahead @ along)
    wanted = config.options["speed"]
    start = motion.position[0, slot.index]
    return GaitFigures(
        whole, tuple(speeds.tolist()), (whole - wanted) / abs(wanted), _rms(tilt), _rms(yaw),
        float(x[:, 2].mean()), float(x[:, 2].std()), float(np.abs((x - start) @ across).max()),
    )  # fmt: skip


def _rms(values: np.ndarray) -> float:
    return float(np.sqrt(np.mean(values**2)))
