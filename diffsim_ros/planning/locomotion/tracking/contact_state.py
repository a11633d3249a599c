"""Equations of motion of a legged robot with what touches the ground: feet, balls and wheels."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffsim_ros.errors import InputError

from ..legged_robot import LeggedRobot

KINDS = ("point", "passive", "actuated", "welded")


class ContactModel:
    """Of one robot with n joints, w wheels that turn and m end effectors.

    States are q (7 + n,): base's position [m], quaternion (x, y, z, w), joints; and
    qd (6 + n + w,): base's velocity in the world, angular in its own axes, joints, then the wheels'
    speeds on their links [rad/s].  A thin wheel looks alike whatever its angle.

    names   (n + w) of joints, then of wheels;  wheels  numbers of the end effectors that turn
    size    n + w
    """

    def __init__(self, robot: LeggedRobot, balls: Mapping[str, float] | None = None) -> None:
        """balls: radii [m] of point feet that are balls, which roll; others are points.

        InputError: an end effector of a kind that is not tracked, a ball that is no point foot.
        """
        for effector in robot.end_effectors:
            if effector.kind not in KINDS:
                rule = f"one that is tracked: {', '.join(KINDS)}"
                remedy = "describe a skate as passive wheels"
                where = f"end effector {effector.name}"
                raise InputError(robot.name, where, effector.kind, rule, remedy)
        given = dict(balls or {})
        points = [e.name for e in robot.end_effectors if e.kind == "point"]
        for name, radius in given.items():
            if name not in points:
                rule = f"of a point foot: {', '.join(points) or 'none'}"
                raise InputError(robot.name, "balls", name, rule)
            if not (np.isfinite(radius) and radius >= 0.0):
                raise InputError(robot.name, f"balls: {name}", radius, "a radius >= 0 [m]")
        self.robot, self.wheels = robot, robot.spinning
        self.tree = robot.model(wheels=True)
        mounts, first = robot.mounts(), len(robot.joint_names) + 2
        self.names = robot.joint_names + tuple(
            robot.end_effectors[j].spin_name for j in self.wheels
        )
        self.size = len(self.names)
        standing = robot.link_poses(robot.stance, robot.standing_base())
        up = np.array([standing[k - 1][2, :3] for k in mounts.links])
        of_balls = np.array([given.get(e.name, 0.0) for e in robot.end_effectors])
        self.radii = of_balls + mounts.radii
        self.axes, self.centres = mounts.axes, mounts.positions + of_balls[:, None] * up
        self.links = [int(k) for k in mounts.links]
        for k, j in enumerate(self.wheels):  # each on a link of its own, about whose origin it is
            self.links[j], self.centres[j] = first + k, 0.0

    def __call__(self, q: np.ndarray, qd: np.ndarray) -> dict[str, np.ndarray]:
        """M, h, J, bias, point, velocity and the rest of the engine's `contact_dynamics`."""
        whole = np.concatenate([q, np.zeros(len(self.wheels))])
        found = self.tree.contact_dynamics(
            whole, qd, self.links, self.centres, self.radii, self.axes
        )
        return {name: np.asarray(value) for name, value in found.items()}

    def check(self, q: np.ndarray, qd: np.ndarray) -> None:
        """InputError: an estimate of another shape, numbers that are not finite."""
        n = len(self.robot.joint_names)
        wheels = f", the last {len(self.wheels)} speeds of wheels" if self.wheels else ""
        for name, row, size, of in (("q", q, 7 + n, ""), ("qd", qd, 6 + self.size, wheels)):
            if np.shape(row) != (size,) or not np.all(np.isfinite(row)):
                raise InputError("state estimate", name, row, f"{size} finite numbers{of}")
