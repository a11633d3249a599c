"""Planning again for a target that has moved, from where the last plan ended."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import InputError, nearest
from ..inverse.optimizers import LMOptions
from .config import PlanConfig
from .plan import plan
from .result import PlanResult

QUICK = LMOptions(max_iterations=12, gradient_tolerance=1e-14, negligible=1e-3)
"""A gain of 1e-3 is that of coming nearer by 4.5 % of the tolerance."""


def retargeted(
    config: PlanConfig, target: Sequence[float] | None, goal: str | None = None
) -> PlanConfig:
    """The plan with another place (3,) [m, world] for a goal; default: the first with a place.

    A target of None does not change it.  InputError names the goal, or the coordinates.
    """
    with_targets = [g.name for g in config.goals if len(g.targets)]
    if target is None and goal in (None, "", *with_targets):
        return config
    if not with_targets:
        raise InputError(config.place, "goals", [], "a goal with a position, to move it")
    name = with_targets[0] if not goal else goal
    if name not in with_targets:
        rule = "a goal with a position"
        raise InputError(config.place, "goal", name, rule, nearest(name, with_targets))
    given = [] if target is None else list(target)
    place = np.asarray(given, float)
    if place.shape != (3,) or not np.all(np.isfinite(place)):
        raise InputError(config.place, "target", given, "x, y, z in m, finite")
    goals = tuple(g.aimed_at(place) if g.name == name else g for g in config.goals)
    return replace(config, goals=goals)


def replan(
    result: PlanResult, target: Sequence[float] | None, goal: str | None = None, *,
    cancel: Any = None,
) -> PlanResult:  # fmt: skip
    """A plan for another target, begun at the best of `result`: one start, no continuation stages.

    target  (3,) [m, world] of `goal`, by default the first with a place
    A robust plan is not made robust again: that takes longer.
    """
    config = retargeted(result.config, target, goal)
    search = {**config.search, "starts": 1, "continuation": []}
    config = replace(config, search=search, robust=None)
    return plan(config, first=result.best.controls, options=QUICK, cancel=cancel)
