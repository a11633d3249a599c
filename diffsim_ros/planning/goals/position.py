"""The centre of mass, of the body or of some vertices, or one point, at one place."""

from __future__ import annotations

import numpy as np

from ...fields import Field, Section
from ...inverse.goals import Goal
from .entry import GoalEntry

ASKED = ("position",)
PASSES = True
KEYS: Section = {
    "position": Field("vector3", "of the centre of mass, `point`, mean of `vertices`", "m"),
    "line": Field("vector3", "direction: only the distance from the line through `position`", "1"),
    "point": Field("vector3", "of a rigid body, its own frame", "m"),
}


def check(entry: GoalEntry) -> None:
    """Rules between its keys."""
    entry.of_rigid("point")
    for key in ("point", "line"):
        entry.together(key, "position")


def read(entry: GoalEntry) -> Goal:
    """See the module."""
    goal, across = entry.goal, None
    if goal["line"] is not None:
        _, size, rows = np.linalg.svd(np.array([goal["line"]]))
        if not size[0] > 0:
            raise entry.error("line", "a direction, not all zero")
        across = rows[1:]
    at = {"local": goal["point"]} if goal["point"] is not None else entry.centre()
    return Goal(goal["body"], entry.frames, goal["position"], entry.sigma, across=across,
                softness=goal["softness"], name=entry.name, **at)  # fmt: skip
