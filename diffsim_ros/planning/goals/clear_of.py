"""A body at a distance from a surface at rest."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...fields import Field, Section
from ...inverse.guides import ClearanceGuide
from ...inverse.marker_track import Carrier, RigidPoints, SoftPoints
from ...scene.sdfs import resolve_surface, surface_of
from .entry import GoalEntry

ASKED = ("clear_of",)
PASSES = False
ONE_NODE = SoftPoints(np.zeros(1, int), np.ones((1, 1)), np.zeros((1, 3)))
"""A particle as a carrier of points."""
KEYS: Section = {
    "clear_of": Field("any", "a surface of the scene or an inline one, at rest, to keep away from"),
    "clearance": Field("number", "from it", "m", default=0.0, minimum=0),
}


def check(entry: GoalEntry) -> None:
    """No rules."""


def read(entry: GoalEntry) -> ClearanceGuide:
    """See the module."""
    goal = entry.goal
    points, radius = _touching(entry)
    return ClearanceGuide(goal["body"], entry.frames, points, _surface(entry),
                          goal["clearance"] + radius, entry.sigma,
                          name=entry.called("clear_of"))  # fmt: skip


def _touching(entry: GoalEntry) -> tuple[Carrier, np.ndarray | float]:
    """Points that keep clear, and their radii [m]."""
    if entry.soft or entry.goal["points"] is not None:
        return entry.points()[0], 0.0
    if entry.body.touches:
        contact_spheres = entry.body.contact_spheres_at_start()
        if entry.body.TURNS:
            return RigidPoints(contact_spheres.centres()), contact_spheres.radius
        return ONE_NODE, contact_spheres.radius
    return ONE_NODE if not entry.body.TURNS else entry.points()[0], 0.0


def _surface(entry: GoalEntry) -> Any:
    named = entry.scene.parts.sdfs
    place = f"{entry.key}.clear_of"
    surface = resolve_surface(entry.reader, named, entry.goal["clear_of"], place)
    return surface_of(surface, named).engine(named)
