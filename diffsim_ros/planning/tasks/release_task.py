"""An arm throws: the controls are its joints' values and rates at the release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...errors import InputError, nearest
from ...fields import REQUIRED, Field, Reader, Section
from ...parameter import Parameter
from ...robots.arm import Arm
from ...robots.controller import Settings
from ...robots.robot import Capsule, Robot
from ...robots.time_scaling import through_state
from ...rotation import quat_exp, quat_matrix
from ...scene.model import SceneModel
from ...scene.placing import pose_mapping
from ..arm_motion import Carried, clearance, derated, executed_motion, sent, turn_difference
from ..config import PlanConfig
from ..controls import control
from ..release import DELAY, SHIFT, Release, rate_name, value_name
from .parts import read_pose, read_tracking, slower

HELD = ("rigid", "solid")
"""Types of bodies that a tool can hold: those that start as rigid ones do."""
ASKED = "grasp"
KEYS: Section = {
    "grasp": Field("mapping", "of a body that the tool holds and throws"),
    "release": Field("mapping", "of that body: the joints' state is what the plan chooses"),
}
GRASP: Section = {
    "body": Field("text", "a rigid body or solid of the scene", default=REQUIRED),
    "in_tool": Field("mapping", "pose of its centre in the tool's frame", default={}),
}

RELEASE: Section = {
    "positions": Field("any", "joint values there, first guess: list or {joint: rad}; else home"),
    "rates": Field("any", "joint rates there, first guess [rad/s]", default=0.0),
    "chosen": Field("list", "joints whose values the plan chooses; absent: all"),
    "swung": Field("list", "joints whose rates it chooses; absent: all"),
    "range": Field(
        "number", "of a value from the first guess", "rad", default=0.5, minimum=0, strict=True
    ),
    "share": Field(
        "number", "of the velocity limits, at most", "1", default=0.9, minimum=0, strict=True
    ),
    "weight": Field(
        "number", "of the squares of (state - first guess) / range", default=1e-3, minimum=0
    ),
    "hold": Field("number", "constant velocity about the release", "s", default=0.04, minimum=0),
    "lead": Field("number", "of the gripper's command before it", "s", default=0.0, minimum=0),
    "jitter": Field("number", "standard deviation of its time", "s", default=0.0, minimum=0),
}
SECTIONS = {"robot.grasp": GRASP, "robot.release": RELEASE}


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

    controls_key = "robot.release"
    holds = True

    def bound(
        self, reader: Reader, scene: SceneModel, parameters: list[Parameter]
    ) -> tuple[SceneModel, list[Parameter], list[Any]]:
        """See Task.bound."""
        return scene, parameters, [self.release]

    def held(self, scene: SceneModel) -> list[Capsule]:
        """A ball about what the arm throws."""
        info, frame = scene.bodies[self.release.body], self.arm.robot.frame(self.arm.tool)
        centre = (frame.pose @ self.release.in_tool)[:3, 3]
        return [Capsule(self.release.body, frame.carrier, np.stack([centre, centre]), info.reach)]

    def carried(self, config: PlanConfig, controls: Mapping[str, float]) -> Carried:
        """Through the release at constant rates; the gripper is commanded `lead` before."""
        named = config.map.named(config.map.scaled(controls))
        theta, names = [named[n] for n in self.release.names], self.arm.robot.joint_names
        q, qd, *_ = self.release.split(theta)
        limits = derated(self.arm, self.margin).limits
        trajectory = through_state(limits, self.arm.home, q, qd, names=names, hold=self.hold)
        release: Any = trajectory.release  # a number, of through_state
        if self.lead > release:
            rule = f"at most the {release:.3g} s until the release"
            raise InputError(config.place, "robot.release.lead", self.lead, rule)
        figures = {
            "scene_starts": release,
            "release": release,
            "gripper": release - self.lead,
            "release_speed": self.release.tool_speed(theta),
        }
        clear = clearance(config.scene, self.arm, self.held(config.scene))
        return sent(self.arm, self.tracking, trajectory, clear, figures)

    def deviation(
        self, config: PlanConfig, controls: Mapping[str, float], carried: Carried
    ) -> dict[str, float]:
        """See Task.deviation: of the body's start, where the joints are at the release."""
        named, release = config.map.named(config.map.scaled(controls)), self.release
        motion, late = executed_motion(carried, self.arm.robot.joint_names, self.tracking)
        q, qd, _ = motion.at(carried.figures["release"] + late)
        wanted = release.values([named[name] for name in release.names])
        done = release.values([*q, *qd, 0.0, 0.0, 0.0, 0.0])
        turned = quat_matrix(quat_exp(done[3:6])) @ quat_matrix(quat_exp(wanted[3:6])).T
        difference = done - wanted
        difference[3:6] = turn_difference(wanted[3:6], turned)
        return dict(zip(release.scene_parameters, difference.tolist(), strict=True))

    def tightened(
        self, config: PlanConfig, bound: InputError, controls: Mapping[str, float], load: Callable
    ) -> tuple[PlanConfig, str]:
        """A lower rate of the joint that a limit stopped; of all where no joint is named."""
        joints = self.arm.robot.joint_names
        meant = [name for name in joints if name in bound.key] or list(joints)
        return slower(config, bound, controls, {rate_name(name) for name in meant})

    def to_twin(
        self, scene: dict[str, Any], shift: dict[str, np.ndarray], jitter: float
    ) -> dict[str, Any]:
        """See Task.to_twin."""
        in_tool = self.release.in_tool.copy()
        in_tool[:3, 3] += shift.pop(self.release.body, np.zeros(3))
        return {
            "grasp": {"body": self.release.body, "in_tool": pose_mapping(in_tool)},
            "gripper": {"latency": self.lead, "jitter": jitter},
        }


def read(reader: Reader, robot: Mapping, arm: Arm, scene: SceneModel) -> ReleaseTask:
    """Keys `grasp` and `release` of section `robot`."""
    grasp = reader.section(GRASP, robot["grasp"], "robot.grasp")
    given = reader.section(RELEASE, robot["release"], "robot.release")
    bodies = scene.description["bodies"]
    known = [n for n, b in bodies.items() if b["type"] in HELD]
    if grasp["body"] not in known:
        near = nearest(grasp["body"], known)
        rule = "a rigid body or solid of the scene"
        raise reader.error("robot.grasp.body", grasp["body"], rule, near)
    gravity = np.array(scene.description["world"]["gravity"], float)
    in_tool = read_pose(reader, grasp["in_tool"], "robot.grasp.in_tool")
    release = Release(arm, grasp["body"], in_tool, gravity)
    if given["share"] > 1:
        raise reader.error("robot.release.share", given["share"], "greater than 0, at most 1")
    held = [Parameter(name, "s" if name == DELAY else "m", 0.0, free=False)
            for name in (DELAY, *SHIFT)]  # fmt: skip
    share = min(given["share"], robot["margin"])
    found = (*_joint_controls(reader, given, arm, share), *held)
    return ReleaseTask(
        release, found, given["hold"], given["lead"], given["jitter"], robot["margin"],
        read_tracking(reader, robot["tracking"], arm),
    )  # fmt: skip


def _joint_controls(reader: Reader, given: Mapping, arm: Arm, share: float) -> list[Parameter]:
    """Values, then rates of all joints at release; those that are not chosen are fixed.

    share  of the limits of rates, at most
    """
    robot, limits = arm.robot, arm.limits
    key, at = "robot.release", arm.home
    if given["positions"] is not None:
        at = robot.values(given["positions"], f"{key}.positions", 0.0, reader.place, "rad or m")
    rates = robot.values(given["rates"], f"{key}.rates", 0.0, reader.place, "rad/s or m/s")
    free = {key: _joints(reader, given[key], f"robot.release.{key}", robot)
            for key in ("chosen", "swung")}  # fmt: skip
    found, width, weight = [], given["range"], given["weight"]

    def add(name: str, unit: str, value: float, low: float, high: float, free: bool) -> None:
        if not low <= value <= high:
            rule = f"from {low:.4g} to {high:.4g} {unit}"
            raise InputError(reader.place, f"robot.release: {name}", value, rule)
        found.append(control(name, unit, value, (low, high), weight=weight, free=free))

    for name, value, low, high in zip(
        robot.joint_names, at, limits.lower, limits.upper, strict=True
    ):
        near, far = max(low, value - width), min(high, value + width)
        low, high = (near, far) if low <= value <= high else (low, high)
        chosen = name in free["chosen"]
        add(value_name(name), "rad", float(value), float(low), float(high), chosen)
    for name, rate, most in zip(robot.joint_names, rates, limits.velocity, strict=True):
        most = float(share * most)
        add(rate_name(name), "rad/s", float(rate), -most, most, name in free["swung"])
    return found


def _joints(reader: Reader, names: list | None, key: str, robot: Robot) -> tuple[str, ...]:
    if names is None:
        return robot.joint_names
    for name in names:
        if name not in robot.joint_names:
            near = nearest(name, robot.joint_names)
            raise reader.error(key, name, "a joint that moves", near)
    return tuple(names)
