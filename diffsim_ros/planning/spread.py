"""Distance of plans from their goals over fresh samples of what is uncertain."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..inverse.simulation_problem import SimulationProblem, body_slots
from .config import PlanConfig
from .evaluation import evaluated

FRESH_SEED = 1
"""Added to the seed: samples for evaluation differ from those of the search."""


@dataclass(frozen=True)
class Spread:
    """Distances from the goals over fresh samples, before and after.

    before, after  goal -> (fresh,) [m, m/s or rad];  evaluations  of the mean over samples
    """

    before: Mapping[str, np.ndarray]
    after: Mapping[str, np.ndarray]
    evaluations: int

    def figures(self) -> dict[str, Any]:
        """Mean, median, 95th percentile and largest of each; how many samples."""
        found: dict[str, Any] = {}
        for name in self.before:
            both = (("before", self.before[name]), ("after", self.after[name]))
            found[name] = {when: _summary(distances) for when, distances in both}
        samples = len(next(iter(self.before.values())))
        return {"goals": found, "samples": samples, "evaluations": self.evaluations}


def _summary(distances: np.ndarray) -> dict[str, float]:
    return {
        "mean": float(distances.mean()),
        "median": float(np.median(distances)),
        "p95": float(np.quantile(distances, 0.95)),
        "largest": float(distances.max()),
    }


def measured(
    config: PlanConfig, problem_of: Callable[..., SimulationProblem],
    plans: Sequence[Mapping[str, float]], evaluations: int,
) -> Spread:  # fmt: skip
    """Distances of plans (before, after) from goals over fresh samples; failed ones are infinite.

    problem_of  (config, trials) -> SimulationProblem
    """
    robust, scene = config.robust, config.scene
    trials = robust.trials(scene, config.goals, robust.fresh, robust.seed + FRESH_SEED)
    problem, slots, found = problem_of(config, trials), body_slots(scene.engine), []
    for controls in plans:
        z = config.map.scaled(controls)
        values = config.map.named(z)
        rows = [evaluated(config, run, slots, values)[0] if run.ok else None
                for run in problem.rollouts(z)]  # fmt: skip
        names = [goal.name for goal in config.goals]
        found.append({
            n: np.array([np.inf if row is None else row[n] for row in rows]) for n in names
        })  # fmt: skip
    before, after = found
    return Spread(before, after, evaluations)
