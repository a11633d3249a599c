"""An axis of the body along a direction."""

from __future__ import annotations

import numpy as np

from ...fields import Field, Section
from ...inverse.guides import Heading, affine_axis
from ...inverse.marker_track import Carrier, RigidPoints, SoftPoints
from .entry import GoalEntry

ASKED = ("axis",)
PASSES = False
KEYS: Section = {
    "axis": Field("vector3", "of the body, its own frame, that points in `direction`", "1"),
    "direction": Field("vector3", "world frame", "1"),
}


def check(entry: GoalEntry) -> None:
    """Rules between its keys."""
    if entry.goal["axis"] is not None and not entry.body.TURNS:
        raise entry.error("axis", "of a body that has one: no particle")
    entry.together("direction", "axis")
    entry.together("axis", "direction")


def read(entry: GoalEntry) -> Heading:
    """See the module."""
    goal = entry.goal
    return Heading(goal["body"], entry.frames, _axis(entry), goal["direction"], entry.sigma,
                   name=entry.called("axis"))  # fmt: skip


def _axis(entry: GoalEntry) -> Carrier:
    axis = np.array(entry.goal["axis"])
    if not np.linalg.norm(axis) > 0:
        raise entry.error("axis", "a direction, not all zero")
    if not entry.soft:
        return RigidPoints(np.array([np.zeros(3), axis / np.linalg.norm(axis)]))
    nodes, own, masses = entry.vertices()
    weights = affine_axis(own, masses, axis / np.linalg.norm(axis))
    if weights is None:
        rule = "a direction in which the vertices extend"
        raise entry.error("axis", rule, "a flat sheet has none along its normal")
    return SoftPoints(nodes, np.array([np.zeros(len(nodes)), weights]), np.zeros((2, 3)))
