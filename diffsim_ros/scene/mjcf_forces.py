"""Forces of an MJCF as links of a scene: actuators, springs, gravity compensation, and what a free
joint's damping and armature come to."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from diffsim_ros.robots.mjcf import Mjcf, MjcfJoint, Placed
from diffsim_ros.robots.mjcf_actuators import LinearForce, MjcfMotor
from diffsim_ros.robots.mjcf_lines import MjcfLine
from diffsim_ros.robots.plain_names import plain
from diffsim_ros.scene import robot_pieces as pieces
from diffsim_ros.units import MOST_TURNED

Array = np.ndarray
Acted = MjcfJoint | MjcfLine


class MjcfForces:
    """Links of one robot.

    prefix  of names in the scene
    joints  the scalar joints, then tendons that are coordinates of their own
    q       coordinates (n,) of both at the start
    """

    def __init__(
        self, mjcf: Mjcf, start: Placed, prefix: str, joints: Sequence[Acted], q: Array
    ) -> None:
        self.mjcf, self.start, self.prefix, self.q = mjcf, start, prefix, q
        self.joints = joints

    def springs(self) -> list[dict]:
        """Springs of joints: position motors that nobody moves."""
        found = []
        for joint in self.mjcf.scalars:
            if joint.stiffness > 0:
                name = self._new(f"{joint.name}_spring")
                numbers = (number(joint.rest, joint), joint.stiffness, 0.0)
                found.append(self._follower(name, joint, *numbers))
        return found

    def motors(self, motors: list[MjcfMotor], word: str = "") -> list[dict]:
        """Motors, and springs of tendons, by the names of their joints or by those in the file.

        word  after the name in the file, of springs; else names are JOINT_drive
        """
        found = []
        for motor in motors:
            joint, force = self.joints[motor.joint], motor.force
            first = f"{motor.name}_{word}" if word else pieces.motor_name(joint.name)
            name, limits = self._new(first), _limits(force)
            if force.stiffness > 0:
                target = number(motor.load / force.stiffness, joint)
                numbers = (target, force.stiffness, force.damping)
                found.append(self._follower(name, joint, *numbers) | limits)
                continue
            if force.by_control or force.constant:
                found.append({
                    "name": name, "type": "motor", "joint": self.prefix + joint.name,
                    "kind": "torque" if joint.turns else "force", "keys": [motor.load],
                } | limits)  # fmt: skip
                name = self._new(f"{first}_damping")
            if force.damping > 0:
                still = number(float(self.q[motor.joint]), joint)
                found.append(self._follower(name, joint, still, 0.0, force.damping) | limits)
        return found

    def _new(self, name: str) -> str:
        """A name in the scene that nothing has."""
        return self.prefix + self.mjcf.names.take("", "", plain(name))

    def _follower(
        self, name: str, joint: Acted, key: float | str, stiffness: float, damping: float
    ) -> dict[str, Any]:
        return {
            "name": name, "type": "motor", "joint": self.prefix + joint.name, "kind": "position",
            "keys": [key], "stiffness": stiffness, "damping": damping,
        }  # fmt: skip

    def compensation(self, gravity: Array) -> list[dict]:
        """Forces against gravity (3,) on bodies that have `gravcomp`, at their centres of mass."""
        mjcf, model, found = self.mjcf, self.mjcf.model, []
        if not mjcf.flags.passive or not mjcf.flags.gravity or not np.any(gravity):
            return found
        for lead in mjcf.bodies:
            group = np.flatnonzero(model.body_weldid == lead)
            shares = model.body_gravcomp[group] * model.body_mass[group]
            if not np.any(shares):
                continue
            name = self.mjcf.body_names[lead]
            total = float(shares.sum())
            arms = np.array([
                (mjcf.in_lead(b) @ np.append(model.body_ipos[b], 1))[:3] for b in group
            ]) - mjcf.inertials[lead].centre  # fmt: skip
            for arm, share in ([(shares @ arms / total, total)] if total else
                               zip(arms, shares, strict=True)):  # fmt: skip
                found.append({
                    "name": self._new(f"{name}_gravcomp"), "type": "force",
                    "body": self.prefix + name, "point": arm.tolist(),
                    "force": (-share * gravity).tolist(),
                })  # fmt: skip
        return found

    def free_joints(self, gravity: Array, turn: Array, at: Array, damped: bool) -> list[dict]:
        """What damps free bodies, and their armatures: a joint to the world without stiffness, a
        payload at the body's origin and the force that its weight is not."""
        mjcf, model, found = self.mjcf, self.mjcf.model, []
        for lead in mjcf.bodies:
            if not mjcf.free(lead):
                continue
            first = int(model.body_dofadr[lead])
            damping = float(model.dof_damping[first]) if mjcf.flags.damper else 0.0
            armature = float(model.dof_armature[first])
            name, own = mjcf.body_names[lead], self.prefix + mjcf.body_names[lead]
            origin = -mjcf.inertials[lead].centre
            place = self.start.body(lead).seen(turn, at).position
            if damping > 0 and damped:
                found.append({
                    "name": self._new(f"{name}_damping"), "type": "joint", "kind": "ball",
                    "body_b": own, "position": place.tolist(),
                    "coordinates": "maximal", "stiffness": 0.0, "damping": damping,
                    "friction_damping": damping,
                })  # fmt: skip
            if armature > 0 and damped:
                found.append({
                    "name": self._new(f"{name}_armature"), "type": "payload", "body": own,
                    "mass": armature, "origin": origin.tolist(), "inertia": [armature] * 3,
                })  # fmt: skip
                if np.any(gravity):
                    found.append({
                        "name": self._new(f"{name}_armature_lift"), "type": "force", "body": own,
                        "point": origin.tolist(), "force": (-armature * gravity).tolist(),
                    })  # fmt: skip
        return found


def _limits(force: LinearForce) -> dict[str, float]:
    """Keys of a link for the limits of a motor's force."""
    ends = {"effort_lower": force.lower, "effort_upper": force.upper}
    return {word: end for word, end in ends.items() if math.isfinite(end)}


def number(q: float, joint: Acted) -> float | str:
    """A coordinate as a file has it: an angle beyond a turn names its unit."""
    q = float(q)
    return f"{q!r} rad" if joint.turns and abs(q) > MOST_TURNED else q
