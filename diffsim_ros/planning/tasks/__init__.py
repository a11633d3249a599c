"""What an arm does in a plan: one file a task, and its line in TASKS."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from ...fields import Reader
from ...robots.arm import Arm, load_arm
from ...scene.model import SceneModel
from ...scene.placing import absolute
from .. import robot_schema as schema
from ..config import Task
from . import end_effector_task, release_task

TASKS: dict[str, Callable[[Reader, Mapping, Arm, SceneModel], Task]] = {
    "grasp": release_task.read, "end_effector": end_effector_task.read,
}  # fmt: skip
"""Key of section `robot` that asks for a task -> (reader, section, arm, scene) -> Task."""


def read_task(reader: Reader, value: object, scene: SceneModel) -> Task | None:
    """Section `robot` of a plan; InputError naming key, value and rule."""
    if value is None:
        return None
    robot = reader.section(schema.ROBOT, value, "robot")
    arm = _arm(reader, robot["arm"])
    if robot["margin"] > 1:
        raise reader.error("robot.margin", robot["margin"], "greater than 0, at most 1")
    asked = [key for key in TASKS if robot[key] is not None]
    if len(asked) != 1:
        rule = "either " + " or ".join(f"`{key}`" for key in TASKS)
        raise reader.error("robot", sorted(k for k in robot if robot[k]), rule, "give exactly one")
    return TASKS[asked[0]](reader, robot, arm, scene)


def _arm(reader: Reader, value: object) -> Arm:
    if not isinstance(value, (str, Mapping)):
        raise reader.error("robot.arm", value, "path of a robot's YAML, or its mapping")
    place = Path(reader.place)
    arm = load_arm(absolute(reader, value) if isinstance(value, str) else value,
                   base=place if place.is_dir() else place.parent)  # fmt: skip
    if arm.base is None:
        remedy = "calibrate, and write `base:` into the arm's YAML"
        raise reader.error("robot.arm.base", None, "the pose of its base in the world", remedy)
    return arm
