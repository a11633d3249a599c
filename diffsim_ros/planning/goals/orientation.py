"""The orientation of a rigid body."""

from __future__ import annotations

import numpy as np

from ...fields import Field, Section
from ...inverse.goals import OrientationGoal
from .entry import GoalEntry

ASKED = ("orientation",)
PASSES = False
KEYS: Section = {
    "orientation": Field("quaternion", "of a rigid body, x y z w"),
}


def check(entry: GoalEntry) -> None:
    """Of rigid bodies only."""
    entry.of_rigid("orientation")


def read(entry: GoalEntry) -> OrientationGoal:
    """See the module."""
    turned = np.tile(entry.goal["orientation"], (len(entry.frames), 1))
    each = entry.sigma * np.sqrt(len(entry.frames))
    given = {"sigma_rotation": each, "name": f"{entry.name} orientation"}
    return OrientationGoal(entry.goal["body"], entry.frames, None, turned, **given)
