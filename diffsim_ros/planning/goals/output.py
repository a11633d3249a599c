"""An output of the scene near a value or within limits: a force, torque, tension or stress."""

from __future__ import annotations

from ...errors import InputError
from ...fields import Field, Section
from ...inverse.output_goals import OutputGoal
from .entry import GoalEntry

ASKED = ("output",)
PASSES = False
LIMITS = ("near", "at_most", "at_least")
KEYS: Section = {
    "output": Field(
        "text",
        "of the scene: floor.force (its magnitude), floor.force.z, motor.torque, foam.von_mises "
        "(every tetrahedron), foam.strain[12].xx; `body` then only names the goal",
    ),
    "near": Field("number", "value of the output, in its unit, as `tolerance`"),
    "at_most": Field("number", "largest value of the output"),
    "at_least": Field("number", "smallest value of the output"),
}


def check(entry: GoalEntry) -> None:
    """Values belong to an output."""
    for key in LIMITS:
        entry.together(key, "output")


def read(entry: GoalEntry) -> OutputGoal:
    """See the module."""
    goal = entry.goal
    name = entry.called("output") if goal["name"] else goal["output"]
    try:
        return OutputGoal(
            body=goal["body"], frames=entry.frames, scene=entry.scene.engine,
            output=goal["output"], sigma=entry.sigma, name=name,
            **{key: goal[key] for key in LIMITS},
        )  # fmt: skip
    except InputError as error:
        raise entry.reader.error(f"{entry.key}.{error.key}", error.value, error.accepted,
                                 error.remedy) from None  # fmt: skip
