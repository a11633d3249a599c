"""Tasks of an arm in a plan: one file a kind of task, and its name in KINDS.

A kind has ASKED, the key of section `robot` that selects it; KEYS, all that are its own there;
SECTIONS, the tables of these; read(reader, robot, arm, scene), its config.Task.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ...fields import REQUIRED, Field, Reader, Section
from ...robots.arm import Arm, load_arm
from ...scene.controllers import ARM_TABLES, FOLLOWING
from ...scene.model import SceneModel
from ...scene.placing import absolute
from ..config import Task
from . import end_effector_task, release_task, strike_task
from .parts import POSE

KINDS = (release_task, end_effector_task, strike_task)
ARM: Section = {
    "arm": Field("any", "robots/*.yaml of the arm (relative to this file)", default=REQUIRED),
    "margin": Field(
        "number",
        "share of the limits of velocity, acceleration and jerk that a plan may use, at most 1",
        "1",
        default=0.9,
        minimum=0,
        strict=True,
    ),
}
"""Of every plan with an arm."""
ROBOT: Section = {
    "arm": ARM["arm"],
    **{key: field for kind in KINDS for key, field in kind.KEYS.items()},
    "margin": ARM["margin"],
    "tracking": Field(
        "mapping",
        "how joints follow the controller, which is anticipated in what is sent; absent: not",
    ),
}
SECTIONS: dict[str, Section] = {
    "robot": ROBOT,
    **{key: section for kind in KINDS for key, section in kind.SECTIONS.items()},
    "robot.TASK.in_tool": POSE,
    "robot.tracking": FOLLOWING,
    **{f"robot.tracking.{key}": section for key, section in ARM_TABLES.items()},
}


def read_task(reader: Reader, value: object, scene: SceneModel) -> Task | None:
    """Section `robot` of a plan; InputError naming key, value and rule."""
    if value is None:
        return None
    robot = reader.section(ROBOT, value, "robot")
    arm = read_arm(reader, robot)
    asked = [kind for kind in KINDS if robot[kind.ASKED] is not None]
    if len(asked) != 1:
        rule = "either " + " or ".join(f"`{kind.ASKED}`" for kind in KINDS)
        raise reader.error("robot", sorted(k for k in robot if robot[k]), rule, "give exactly one")
    (kind,) = asked
    for other in KINDS:
        for key in other.KEYS if other is not kind else ():
            if robot[key] is not None:
                rule = f"given together with `{other.ASKED}`"
                raise reader.error(f"robot.{key}", robot[key], rule)
    return kind.read(reader, robot, arm, scene)


def read_arm(reader: Reader, robot: Mapping) -> Arm:
    """Keys `arm` and `margin` of section `robot`: an arm whose base is known."""
    value = robot["arm"]
    if not isinstance(value, (str, Mapping)):
        raise reader.error("robot.arm", value, "path of a robot's YAML, or its mapping")
    place = Path(reader.place)
    arm = load_arm(absolute(reader, value) if isinstance(value, str) else value,
                   base=place if place.is_dir() else place.parent)  # fmt: skip
    if arm.base is None:
        remedy = "calibrate, and write `base:` into the arm's YAML"
        raise reader.error("robot.arm.base", None, "the pose of its base in the world", remedy)
    if robot["margin"] > 1:
        raise reader.error("robot.margin", robot["margin"], "greater than 0, at most 1")
    return arm
