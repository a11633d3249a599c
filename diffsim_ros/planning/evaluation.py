"""Distance of a motion from each goal, and whether it is within tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .config import GoalObjective, PlanConfig

SHOWN = 40
"""Points of a goal that are drawn at most."""


def evaluated(
    config: PlanConfig, run: Any, slots: Mapping[str, Any], values: Mapping[str, float]
) -> tuple[dict[str, float], bool]:
    """(goal or limit -> distance, in its tolerance's unit; whether all required are reached)."""
    distances = {g.name: g.reached(run, slots[g.body]) for g in config.goals}
    distances |= {limit.name: limit.peak(values) for limit in config.limits}
    allowed = tolerances(config)
    must = (name for name in distances if name not in config.guides)
    return distances, all(distances[name] <= allowed[name] for name in must)


def tolerances(config: PlanConfig) -> dict[str, float]:
    """Goal or limit -> tolerance [m, m/s, m/s^2, rad, or an output's unit]."""
    found = {goal.name: goal.tolerance for goal in config.goals}
    return found | {limit.name: float(limit.limit) for limit in config.limits}


def places(goal: GoalObjective) -> list[tuple[str, np.ndarray]]:
    """(name, place [m]) of a goal's targets, for pictures."""
    targets = goal.targets
    if len(targets) < 2:
        return [(goal.name, place) for place in targets]
    shown = np.unique(np.linspace(0, len(targets) - 1, SHOWN).round().astype(int))
    return [(f"{goal.name} {i}", targets[i]) for i in shown]
