"""A PLAN.yaml's `robot`: which arm acts, what it holds, and the controls that follow from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError, nearest
from ..fields import Reader
from ..inverse.parameters import Parameter
from ..robots.arm import Arm, load_arm
from ..robots.controller import Settings
from ..rotation import quat_matrix
from ..scene.controllers import FOLLOWING, read_following
from ..scene.model import SceneModel
from ..scene.placing import absolute
from . import robot_schema as schema
from .release import DELAY, SHIFT, Release, rate_name, value_name

HELD = ("rigid", "solid")
"""Types of bodies that a tool can hold: those that start as rigid ones do."""


@dataclass(frozen=True)
class ReleaseTask:
    """An arm that throws: the controls are its joints' values and rates at the release.

    release     how they set the body's start;  parameters  controls, and what is held
    hold, lead, jitter  [s] of the trajectory and the gripper
    margin      share of the arm's limits of rates that the plan may use
    tracking    controller whose lag is anticipated, None: none is
    """

    release: Release
    parameters: tuple[Parameter, ...]
    hold: float
    lead: float
    jitter: float
    margin: float
    tracking: Settings | None

    @property
    def arm(self) -> Arm:
        """The arm that throws."""
        return self.release.arm


@dataclass(frozen=True)
class EndEffectorTask:
    """An arm whose tool carries a handle of the scene.

    in_tool      pose (4, 4) of the handle in the tool's frame
    turn         (3, 3) of the handle in the world, or None: as its keys say
    stretch      how many times as long the task may take where limits bind
    margin       share of the arm's limits of rates that the plan may use
    tracking     controller whose lag is anticipated, None: none is
    """

    arm: Arm
    handle: str
    in_tool: np.ndarray
    turn: np.ndarray | None
    stretch: float
    margin: float
    tracking: Settings | None
    parameters: tuple[Parameter, ...] = ()


def read_robot(
    reader: Reader, value: object, scene: SceneModel
) -> ReleaseTask | EndEffectorTask | None:
    """Section `robot` of a plan; InputError naming key, value and rule."""
    if value is None:
        return None
    robot = reader.section(schema.ROBOT, value, "robot")
    arm = _arm(reader, robot["arm"])
    if robot["margin"] > 1:
        raise reader.error("robot.margin", robot["margin"], "greater than 0, at most 1")
    if (robot["grasp"] is None) == (robot["hand"] is None):
        rule = "either `grasp` (of what it throws) or `hand`"
        raise reader.error("robot", sorted(k for k in robot if robot[k]), rule, "give exactly one")
    if robot["hand"] is not None:
        if robot["release"] is not None:
            raise reader.error("robot.release", robot["release"], "given together with `grasp`")
        return _hand(reader, robot, arm, scene)
    return _throw(reader, robot, arm, scene)


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


def _pose(reader: Reader, value: object, key: str) -> np.ndarray:
    pose = reader.section(schema.POSE, value, key)
    turn, matrix = np.array(pose["orientation"], float), np.eye(4)
    matrix[:3, :3] = quat_matrix(turn / np.linalg.norm(turn))
    matrix[:3, 3] = pose["position"]
    return matrix


def _hand(reader: Reader, robot: Mapping, arm: Arm, scene: SceneModel) -> EndEffectorTask:
    hand = reader.section(schema.HAND, robot["hand"], "robot.hand")
    handles = [n for n, b in scene.description["bodies"].items() if b["type"] == "handle"]
    if hand["handle"] not in handles:
        near = nearest(hand["handle"], handles)
        raise reader.error("robot.hand.handle", hand["handle"], "a handle of the scene", near)
    turn = None
    if hand["orientation"] is not None:
        q = np.array(hand["orientation"], float)
        turn = quat_matrix(q / np.linalg.norm(q))
    in_tool = _pose(reader, hand["in_tool"], "robot.hand.in_tool")
    tracking = _tracking(reader, robot["tracking"], arm)
    return EndEffectorTask(
        arm, hand["handle"], in_tool, turn, hand["stretch"], robot["margin"], tracking
    )


def _throw(reader: Reader, robot: Mapping, arm: Arm, scene: SceneModel) -> ReleaseTask:
    grasp = reader.section(schema.GRASP, robot["grasp"], "robot.grasp")
    given = reader.section(schema.RELEASE, robot["release"], "robot.release")
    bodies = scene.description["bodies"]
    known = [n for n, b in bodies.items() if b["type"] in HELD]
    if grasp["body"] not in known:
        near = nearest(grasp["body"], known)
        rule = "a rigid body or solid of the scene"
        raise reader.error("robot.grasp.body", grasp["body"], rule, near)
    gravity = np.array(scene.description["world"]["gravity"], float)
    in_tool = _pose(reader, grasp["in_tool"], "robot.grasp.in_tool")
    release = Release(arm, grasp["body"], in_tool, gravity)
    if given["share"] > 1:
        raise reader.error("robot.release.share", given["share"], "greater than 0, at most 1")
    held = [Parameter(name, "s" if name == DELAY else "m", 0.0, free=False)
            for name in (DELAY, *SHIFT)]  # fmt: skip
    share = min(given["share"], robot["margin"])
    found = (*_joint_controls(reader, given, arm, share), *held)
    times = (given[key] for key in ("hold", "lead", "jitter"))
    return ReleaseTask(
        release, found, *times, robot["margin"], _tracking(reader, robot["tracking"], arm)
    )


def _tracking(reader: Reader, value: object, arm: Arm) -> Settings | None:
    if value is None:
        return None
    given = reader.section(FOLLOWING, value, "robot.tracking")
    return read_following(reader, given, arm.robot, "robot.tracking")


def _joint_controls(reader: Reader, given: Mapping, arm: Arm, share: float) -> list[Parameter]:
    """Values, then rates of all joints at release; those that are not chosen are held.

    share  of the limits of rates, at most
    """
    robot, limits = arm.robot, arm.limits
    key, at = "robot.release", arm.home
    if given["positions"] is not None:
        at = robot.values(given["positions"], f"{key}.positions", place=reader.place)
    rates = robot.values(given["rates"], f"{key}.rates", place=reader.place)
    free = {key: _joints(reader, given[key], f"robot.release.{key}", robot)
            for key in ("chosen", "swung")}  # fmt: skip
    found, width, weight = [], given["range"], given["weight"]

    def control(name: str, unit: str, value: float, low: float, high: float, free: bool) -> None:
        if not low <= value <= high:
            rule = f"from {low:.4g} to {high:.4g} {unit}"
            raise InputError(reader.place, f"robot.release: {name}", value, rule)
        half = 0.5 * (high - low)
        prior = {"prior_mean": value, "prior_sigma": half / np.sqrt(weight)} if weight else {}
        found.append(Parameter(name, unit, value, low, high, typical=half, free=free,
                               **(prior if free else {})))  # fmt: skip

    for name, value, low, high in zip(
        robot.joint_names, at, limits.lower, limits.upper, strict=True
    ):
        near, far = max(low, value - width), min(high, value + width)
        bounds = (near, far) if low <= value <= high else (low, high)
        control(value_name(name), "rad", float(value), *map(float, bounds), name in free["chosen"])
    for name, rate, most in zip(robot.joint_names, rates, limits.velocity, strict=True):
        most = float(share * most)
        control(rate_name(name), "rad/s", float(rate), -most, most, name in free["swung"])
    return found


def _joints(reader: Reader, names: list | None, key: str, robot) -> tuple[str, ...]:
    if names is None:
        return robot.joint_names
    for name in names:
        if name not in robot.joint_names:
            near = nearest(name, robot.joint_names)
            raise reader.error(key, name, "a joint that moves", near)
    return tuple(names)
