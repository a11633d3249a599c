"""Distance of plans from their goals over fresh samples of what is uncertain."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..executors import ALONE, SideBySide
from .samples import PlanSamples, distances_by


@dataclass(frozen=True)
class Spread:
    """Distances from the goals over fresh samples, before and after.

    before, after  goal -> (fresh,) [m, m/s or rad];  evaluations  of the mean over samples
    """

    before: Mapping[str, np.ndarray]
    after: Mapping[str, np.ndarray]
    evaluations: int

    def costs(self, allowed: Mapping[str, float], guides: frozenset[str]) -> tuple[float, float]:
        """Mean over samples of the sum of squares of (distance / tolerance), before and after."""
        before, after = (
            float(np.mean(sum((found[n] / allowed[n]) ** 2 for n in found if n not in guides)))
            for found in (self.before, self.after)
        )
        return before, after

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
    plans: Sequence[tuple[PlanSamples, Mapping[str, float]]], evaluations: int,
    side: SideBySide = ALONE,
) -> Spread:  # fmt: skip
    """Distances of two plans from their goals over fresh samples; failed ones are infinite.

    plans  (its fresh samples, controls) before and after
    side   who simulates them
    """
    found = []
    for samples, controls in plans:
        config = samples.config
        rows = distances_by(side, samples, config.map.scaled(controls))
        names = [goal.name for goal in config.goals]
        found.append({
            n: np.array([np.inf if row is None else row[n] for row in rows]) for n in names
        })  # fmt: skip
    before, after = found
    return Spread(before, after, evaluations)
