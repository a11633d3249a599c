"""The velocity of the centre of mass."""

from __future__ import annotations

from ...fields import Field, Section
from ...inverse.goals import Goal
from .entry import GoalEntry

ASKED = ("velocity",)
PASSES = False
KEYS: Section = {
    "velocity": Field("vector3", "of the centre of mass", "m/s"),
}


def check(entry: GoalEntry) -> None:
    """No rules."""


def read(entry: GoalEntry) -> Goal:
    """See the module."""
    name = f"{entry.name} velocity"
    return Goal(entry.goal["body"], entry.frames, entry.goal["velocity"], entry.sigma, rate=True,
                name=name, **entry.centre())  # fmt: skip
