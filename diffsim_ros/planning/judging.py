"""How far a motion is from each goal, and what is near enough."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..inverse.goals import Goal
from ..inverse.guides import KeyLimit
from ..inverse.objectives import PoseTrack
from .config import PlanConfig

SHOWN = 40
"""Points of a goal that are drawn at most."""


def judged(
    config: PlanConfig, run: Any, slots: Mapping[str, Any], values: Mapping[str, float]
) -> tuple[dict[str, float], bool]:
    """(goal or limit -> distance [m, m/s, m/s^2 or rad], whether all that must be are reached)."""
    distances = {}
    for goal in config.goals:
        slot = slots[goal.body]
        if isinstance(goal, PoseTrack):  # an orientation: the residual is an angle over sigma
            r = goal.term(run, slot, values).residual
            distances[goal.name] = float(np.linalg.norm(r, axis=1).max() * goal.sigma_rotation[0])
        else:
            distances[goal.name] = goal.reached(run, slot)
    distances |= {limit.name: limit.peak(values) for limit in _limits(config)}
    allowed = tolerances(config)
    must = (name for name in distances if name not in config.guides)
    return distances, all(distances[name] <= allowed[name] for name in must)


def tolerances(config: PlanConfig) -> dict[str, float]:
    """Goal or limit -> what is near enough [m, m/s, m/s^2 or rad]."""
    found = {}
    for goal in config.goals:
        if isinstance(goal, PoseTrack):  # its sigma is that of a mean square
            found[goal.name] = float(goal.sigma_rotation[0]) / np.sqrt(len(goal.sigma_rotation))
        else:
            found[goal.name] = float(goal.sigma)
    return found | {limit.name: float(limit.limit) for limit in _limits(config)}


def _limits(config: PlanConfig) -> list[KeyLimit]:
    return [kept for kept in config.together if isinstance(kept, KeyLimit)]


def places(goal: Any) -> list[tuple[str, np.ndarray]]:
    """(name, place [m]) of a goal's targets, for pictures."""
    if not isinstance(goal, Goal) or goal.rate:
        return []
    if len(goal.target) == 1:
        return [(goal.name, goal.target[0])]
    shown = np.unique(np.linspace(0, len(goal.target) - 1, SHOWN).round().astype(int))
    return [(f"{goal.name} {i}", goal.target[i]) for i in shown]
