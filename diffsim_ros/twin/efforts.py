"""Efforts of a twin's joints: what drives exert on the motion that they make, and what is read.

    effort = gain (tau + armature q'' + damping q' + friction q'/sqrt(q'^2 + slip^2)) + offset

with tau of robots.dynamics for the URDF's bodies and the payload; where the controller has an
`arm` of its own (scene/driven_arm.py), gain times what its drives exert.  A reading has noise.
What the gripper holds, and what touches the arm, is not in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..fields import Reader
from ..robots.arm import Arm
from ..robots.dynamics import inverse_dynamics
from ..robots.robot import Inertial, Robot
from ..scene.driven_arm import DYNAMIC, DrivenArm
from ..scene.schema_robots import CARRIED, UNITS
from ..scene.shapes import six_of, symmetric
from . import schema
from .sensors import generator

GRAVITY = np.array([0.0, 0.0, -9.81])
"""[m/s^2], world."""


@dataclass(frozen=True)
class JointEfforts:
    """Of n joints; robot: with the payload; gravity (3,) in axes of its base; slip [rad/s or m/s];
    the others (n,), units as in schema.EFFORTS."""

    robot: Robot
    gravity: np.ndarray
    slip: float
    damping: np.ndarray
    friction: np.ndarray
    armature: np.ndarray
    gain: np.ndarray
    offset: np.ndarray
    sigma: np.ndarray

    def exerted(self, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray) -> np.ndarray:
        """By drives (..., n) at positions, velocities and accelerations (..., n)."""
        tau = inverse_dynamics(self.robot, q, qd, qdd, self.gravity)
        tau = tau + self.armature * qdd + self.damping * qd
        return tau + self.friction * qd / np.sqrt(qd**2 + self.slip**2)

    def read(self, exerted: np.ndarray) -> np.ndarray:
        """What is read of efforts (..., n), without noise."""
        return self.gain * exerted + self.offset

    def noise(self, seed: int, episode: int, number: int) -> np.ndarray:
        """Of one reading (n,) of an episode."""
        draw = generator(seed, episode, "efforts", number)
        return self.sigma * draw.normal(size=len(self.sigma))


def read_efforts(
    reader: Reader, value: object, arm: Arm, driven: DrivenArm | None = None
) -> JointEfforts | None:
    """Section `efforts` of a twin; None: joint states have none.  InputError.

    driven  the arm of the twin's controller, which has rotors, friction and payload, where it has
    """
    if value is None:
        return None
    given, robot = reader.section(schema.EFFORTS, value, "efforts"), arm.robot
    if driven is not None:
        for name in DYNAMIC:
            if given[name] != schema.EFFORTS[name].default:
                rule = "none: controller.arm has it"
                raise reader.error(f"efforts.{name}", given[name], rule)
        given |= {name: driven.given[name] for name in DYNAMIC}

    def numbers(name: str, unit: str) -> np.ndarray:
        if given[name] is None:
            return np.array([getattr(joint, name, 0.0) for joint in robot.joints])
        return robot.values(given[name], f"efforts.{name}", place=reader.place, unit=unit)

    found = {name: numbers(name, UNITS[name]) for name in ("damping", "friction", "armature")}
    found |= {name: numbers(name, "") for name in ("gain", "offset", "sigma")}
    for name in ("damping", "friction", "armature", "sigma"):
        if np.any(found[name] < 0):
            raise reader.error(f"efforts.{name}", given[name], "0 or more")
    gravity = np.array(arm.base)[:3, :3].T @ GRAVITY
    if given["payload"] is not None:
        robot = _carrying(reader, robot, given["payload"])
    return JointEfforts(robot, gravity, given["slip_rate"], **found)


def _carrying(reader: Reader, robot: Robot, value: Mapping) -> Robot:
    """The robot with a payload on one of its links."""
    key = "efforts.payload"
    carried = reader.section(CARRIED, value, key)
    frame = robot.frame(carried["link"])
    if frame.carrier < 0:
        raise reader.error(f"{key}.link", carried["link"], "a link that a joint moves")
    if carried["inertia"] == "uniform":
        rule = "numbers: a payload has no shape"
        raise reader.error(f"{key}.inertia", carried["inertia"], rule)
    inertia = symmetric(six_of(carried["inertia"]))
    more = Inertial(carried["mass"], np.array(carried["centre"], float), inertia)
    joints = list(robot.joints)
    joint = joints[frame.carrier]
    joints[frame.carrier] = replace(joint, inertial=joint.inertial.plus(more.moved(frame.pose)))
    return replace(robot, joints=tuple(joints))
