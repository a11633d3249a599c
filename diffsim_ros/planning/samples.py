"""A plan over samples of what is uncertain, whose motions can be simulated by an executor."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..executors import SideBySide
from ..inverse.simulation_problem import SimulationProblem, body_slots
from ..inverse.wide import Residuals
from .config import PlanConfig
from .evaluation import evaluated
from .execution_check import every_other_executed, executed_problem, halved

Task = tuple[np.ndarray, tuple[int, ...]]
"""A point (nz,), or several (n, nz), and indices of samples."""
SENDING = 0.003
"""Seconds that the driver spends on a task of Ray, at most: below it does the motion itself."""
FRESH_SEED = 1
"""Added to the seed: samples for evaluation differ from those of the search."""


@dataclass(frozen=True)
class PlanSamples:
    """A plan over its samples.

    deviation  of the joints as executed
    executed   joints are so in every other sample
    fresh      samples that the search does not use, at half of the step
    """

    config: PlanConfig
    deviation: Mapping[str, float]
    executed: bool = False
    fresh: bool = False

    def __getstate__(self) -> dict[str, Any]:
        """Without the problem, which is made again."""
        return {one.name: getattr(self, one.name) for one in fields(self)}

    @property
    def on_one_thread(self) -> PlanSamples:
        """The same for a worker, which has one."""
        config = self.config
        return replace(self, config=replace(config, search={**config.search, "threads": 1}))

    @cached_property
    def problem(self) -> SimulationProblem:
        """Residuals of all samples."""
        config, robust = self.config, self.config.robust
        count, seed, objectives = robust.samples, robust.seed, config.objectives
        if self.fresh:
            count, seed, objectives = robust.fresh, robust.seed + FRESH_SEED, config.goals
        trials = robust.trials(config.scene, objectives, count, seed)
        if self.executed:
            trials = every_other_executed(trials)
        problem = executed_problem(config, trials, self.deviation if self.executed else {})
        return problem.simulated_by(halved) if self.fresh else problem

    def distances(self, z: np.ndarray, only: Sequence[int]) -> list[dict[str, float] | None]:
        """Distances from the goals in these samples; None where one cannot be simulated."""
        config = self.config
        slots, values = body_slots(config.scene.engine), config.map.named(z)
        runs = self.problem.rollouts(z, only=only)
        return [evaluated(config, run, slots, values)[0] if run.ok else None for run in runs]


def residuals_by(side: SideBySide, samples: PlanSamples) -> Residuals | None:
    """Residuals at many points, motions by an executor; None: as the problem does it.

    The first point, which is done here, tells whether a motion takes longer than to send it.
    """
    if not side:
        return None
    shared = samples.on_one_thread

    def residuals(points: Sequence[np.ndarray], cancel: Any) -> list[list[np.ndarray] | None]:
        problem, count = samples.problem, len(samples.problem.trials)
        if side.executor is None:
            (found,) = side.results(
                some_residuals, [(np.asarray(points), tuple(range(count)))], lambda: shared,
                lambda _: problem.residuals(points, cancel=cancel), cancel=cancel,
            )  # fmt: skip
            return found or []
        begun = time.perf_counter()
        first = problem.residuals(points[:1], cancel=cancel)
        if time.perf_counter() - begun < SENDING * count:
            return [*first, *problem.residuals(points[1:], cancel=cancel)]
        tasks = [(z[None], (k,)) for z in np.asarray(points[1:]) for k in range(count)]
        rows = side.results(
            some_residuals, tasks, lambda: shared,
            lambda k: some_residuals(samples, tasks[k], cancel), cancel=cancel,
        )  # fmt: skip
        one = [None if row is None else row[0] for row in rows]
        return first + [_joined(one[i : i + count]) for i in range(0, len(one), count)]

    return residuals


def _joined(rows: Sequence[list[np.ndarray] | None]) -> list[np.ndarray] | None:
    """Residuals of a point's samples, each of which was a task."""
    kept = [row[0] for row in rows if row is not None]
    return kept if len(kept) == len(rows) else None


def some_residuals(shared: PlanSamples, task: Task, cancel: Any) -> Any:
    """Residuals at points (n, nz) in some samples as a task of an executor."""
    points, only = task
    return shared.problem.residuals(list(points), only=only, cancel=cancel)


def distances_by(
    side: SideBySide, samples: PlanSamples, z: np.ndarray
) -> list[dict[str, float] | None]:
    """`PlanSamples.distances` in all samples, motions by an executor."""
    everything = tuple(range(len(samples.problem.trials)))
    tasks = [(z, everything)]
    if side.executor is not None:
        tasks = [(z, (k,)) for k in everything]
    found = side.results(
        some_distances, tasks, lambda: samples.on_one_thread,
        lambda k: samples.distances(*tasks[k]),
    )  # fmt: skip
    return [row for rows in found for row in rows or [None]]


def some_distances(shared: PlanSamples, task: Task, cancel: Any) -> Any:
    """Distances in some samples as a task of an executor."""
    return shared.distances(*task)
