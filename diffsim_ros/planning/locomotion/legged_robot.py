"""A robot with end effectors, as the motion generator takes it.

The joints of a plan are those of the legs.  A wheel's own joint is none of them: its link is fixed
to its parent with its mass, and its speed is a variable of its own [G 2.4.1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.robots.kinematics import joint_poses
from diffsim_ros.robots.robot import Inertial, Robot
from diffsim_ros.robots.tree import GRAVITY
from diffsim_ros.rotation import quat_exp, quat_from_matrix, quat_matrix

from .end_effector import EndEffector

CLOSE = 1e-6
"""Largest gap [m] between a foot and the ground in a standing pose."""
FLAT = 1e-3
"""Least sine of the angle between a wheel's axis and the vertical."""
ITERATIONS = 200
SLIGHT = 1e-6
"""Least moment of inertia of a wheel about its axis, over the robot's mass times its radius^2."""
LOW = 0.005
"""[m] over the ground: what is lower in the standing pose touches it."""


@dataclass(frozen=True)
class Mounts:
    """Where end effectors are on the links of `LeggedRobot.model()`, as arrays of m rows.

    links      (m,) index of the model's link
    positions  (m, 3) [m] of points or wheels' centres, in that link's frame
    axes       (m, 3) unit rotation axes in that frame, zero for point feet
    radii      (m,) [m];  speeds  (m,) [rad/s]
    """

    links: np.ndarray
    positions: np.ndarray
    axes: np.ndarray
    radii: np.ndarray
    speeds: np.ndarray


@dataclass(frozen=True, eq=False)
class LeggedRobot:
    """A robot whose base moves freely, with end effectors and a standing pose.

    robot        tree of the joints that the plan moves; wheels are merged with what carries them
    stance       (n,) joint values [rad or m] of the standing pose, in the order of the joints
    description  what it was built from (`description.RobotDescription`), None for a URDF or MJCF
    """

    name: str
    robot: Robot
    end_effectors: tuple[EndEffector, ...]
    stance: np.ndarray
    description: Any = None

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Names of the joints, in the order of arrays of joint values."""
        return self.robot.joint_names

    @property
    def lower(self) -> np.ndarray:
        """(n,) lower limits of positions [rad or m]; -inf where there are none."""
        return self.robot.limits["lower"]

    @property
    def upper(self) -> np.ndarray:
        """(n,) upper limits of positions [rad or m]; inf where there are none."""
        return self.robot.limits["upper"]

    @property
    def speed(self) -> np.ndarray:
        """(n,) largest speeds [rad/s or m/s]; inf where none are known."""
        return self.robot.limits["velocity"]

    @property
    def legs(self) -> tuple[str, ...]:
        """Names of the legs, in the order of their first end effectors."""
        return tuple(dict.fromkeys(effector.leg for effector in self.end_effectors))

    @cached_property
    def whole(self) -> list[tuple[int, Inertial]]:
        """(carrier, Inertial in its frame) of the base, carrier -1, and of every joint's body."""
        bodies = [(i, joint.inertial) for i, joint in enumerate(self.robot.joints)]
        return [(-1, self.robot.base_inertial), *bodies]

    @cached_property
    def mass(self) -> float:
        """[kg] of all links, wheels included."""
        return float(sum(inertial.mass for _, inertial in self.whole))

    @property
    def spinning(self) -> list[int]:
        """Numbers of the end effectors that are wheels which turn on their links."""
        return [j for j, effector in enumerate(self.end_effectors) if effector.spins]

    def model(self, gravity: Sequence[float] = GRAVITY, *, wheels: bool = False) -> Any:
        """Engine's `ArticulatedModel` with a base that moves freely.

        Its joints are `base.position` (translation), `base` (quaternion x, y, z, w), then those of
        the robot: joint i of the robot is the model's joint and link i + 2.

        wheels  then also those of the wheels that turn, in the order of `spinning`, their moments
                of inertia as armature: gyroscopic moments of spinning wheels are left out
        """
        tree, base = self.robot, self.robot.base_inertial
        eye, zero, z = np.eye(3), np.zeros(3), np.array([0.0, 0.0, 1.0])
        joints = [
            _engine.TreeJoint("base.position", "translation", -1, eye, zero, z),
            _engine.TreeJoint("base", "spherical", 0, eye, zero, z),
        ]
        links = [
            _engine.TreeLink("base.position"),
            _engine.TreeLink(tree.base, base.mass, base.centre, base.inertia),
        ]
        for joint in tree.joints:
            kind = "revolute" if joint.turns else "prismatic"
            R, r, own = joint.origin[:3, :3], joint.origin[:3, 3], joint.inertial
            joints.append(_engine.TreeJoint(joint.name, kind, joint.parent + 2, R, r, joint.axis))
            links.append(_engine.TreeLink(joint.body, own.mass, own.centre, own.inertia))
        for j in self.spinning if wheels else ():
            one, at = self.end_effectors[j], self.mounts()
            moment = max(one.moment, SLIGHT * self.mass * one.radius**2)
            carrier, name = int(at.links[j]), f"{one.name}.wheel"
            place, axis = at.positions[j], at.axes[j]
            joints.append(_engine.TreeJoint(name, "revolute", carrier, eye, place, axis, moment))
            links.append(_engine.TreeLink(name))
        try:
            return _engine.ArticulatedModel(joints, links, np.asarray(gravity, float))
        except _engine.InvalidInput as error:
            raise InputError(tree.place, "tree", str(error), "a tree of bodies") from error

    def mounts(self) -> Mounts:
        """Where the end effectors are on the links of `model()`."""
        return self._mounts

    @cached_property
    def _mounts(self) -> Mounts:
        links, positions, axes = [], [], []
        for effector in self.end_effectors:
            frame = self.robot.frame(effector.link)
            axis = np.zeros(3) if effector.axis is None else effector.axis
            links.append(frame.carrier + 2)
            positions.append(frame.pose[:3, :3] @ effector.position + frame.pose[:3, 3])
            axes.append(frame.pose[:3, :3] @ axis)
        return Mounts(
            np.array(links, int), np.reshape(positions, (-1, 3)), np.reshape(axes, (-1, 3)),
            np.array([effector.radius for effector in self.end_effectors]),
            np.array([effector.speed for effector in self.end_effectors]),
        )  # fmt: skip

    def clear_points(self) -> list[tuple[int, np.ndarray]]:
        """(link of `model()`, position in its frame [m]) of points that stay above the ground:
        corners of a described body, and places of joints; none that lie lower than `LOW` in the
        standing pose."""
        found = [(joint.parent + 2, joint.origin[:3, 3]) for joint in self.robot.joints]
        if self.description is not None:
            body = self.description.body
            for sign in np.array(np.meshgrid(*[(-0.5, 0.5)] * 3)).reshape(3, -1).T:
                found.append((1, body.centre + sign * body.size))
        standing = self.link_poses(self.stance, self.standing_base())
        heights = [
            standing[link - 1][2, :3] @ position + standing[link - 1][2, 3]
            for link, position in found
        ]
        return [one for one, height in zip(found, heights, strict=True) if height > LOW]

    def state(
        self, q: np.ndarray | None = None, position: np.ndarray | None = None,
        quaternion: np.ndarray | None = None,
    ) -> np.ndarray:  # fmt: skip
        """(7 + n,) positions of `model()`; by default the standing pose."""
        if position is None or quaternion is None:
            position, quaternion = self.standing_pose()
        return np.concatenate([position, quaternion, self.stance if q is None else q])

    def link_poses(self, q: np.ndarray, base: np.ndarray) -> list[np.ndarray]:
        """Poses (..., 4, 4) of the base and of every joint's body, for joint values q (..., n) and
        poses (..., 4, 4) of the base."""
        return [base, *joint_poses(self.robot, q, base)]

    def effector_places(self, q: np.ndarray, base: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Points or wheels' centres, and unit axes (zero: a point foot), both (..., m, 3) in the
        world; arguments as of `link_poses`."""
        poses, mounts = self.link_poses(q, base), self.mounts()
        centres, axes = [], []
        for link, position, axis in zip(mounts.links, mounts.positions, mounts.axes, strict=True):
            pose = poses[link - 1]
            centres.append(pose[..., :3, :3] @ position + pose[..., :3, 3])
            axes.append(pose[..., :3, :3] @ axis)
        return np.stack(centres, axis=-2), np.stack(axes, axis=-2)

    def contact_points(self, q: np.ndarray, base: np.ndarray) -> np.ndarray:
        """Lowest points (..., m, 3) of the end effectors in the world, as of `link_poses`.

        A wheel's is its centre plus radius times the direction of steepest descent in its plane.
        """
        centres, axes = self.effector_places(q, base)
        down = axes * axes[..., 2:] - np.array([0.0, 0.0, 1.0])
        length = np.maximum(np.linalg.norm(down, axis=-1, keepdims=True), 1e-12)
        return centres + self.mounts().radii[:, None] * down / length

    def centre_of_mass(self, q: np.ndarray, base: np.ndarray) -> np.ndarray:
        """(..., 3) [m] of the whole robot in the world, as of `link_poses`."""
        poses = self.link_poses(q, base)
        total = sum(
            inertial.mass * (pose[..., :3, :3] @ inertial.centre + pose[..., :3, 3])
            for (_, inertial), pose in zip(self.whole, poses, strict=True)
        )
        return np.asarray(total) / self.mass

    def outline(self, q: np.ndarray, base: np.ndarray) -> dict[str, Any]:
        """One pose, q (n,) and base (4, 4), as `viz.legged_robot.draw_robot` takes it."""
        poses, mounts = self.link_poses(q, base), self.mounts()
        centres, axes = self.effector_places(q, base)
        places = [pose[:3, 3] for pose in poses]
        lines = [
            (places[joint.parent + 1], place)
            for joint, place in zip(self.robot.joints, places[1:], strict=True)
        ]
        lines += [(places[k - 1], centre) for k, centre in zip(mounts.links, centres, strict=True)]
        return {
            "segments": np.array(lines), "centres": centres, "wheel_axes": axes,
            "radii": mounts.radii, "points": self.contact_points(q, base),
            "centre_of_mass": self.centre_of_mass(q, base),
            "names": [effector.name for effector in self.end_effectors],
        }  # fmt: skip

    def standing_base(self) -> np.ndarray:
        """(4, 4) pose of the base in the standing pose; see `standing_pose`."""
        position, quaternion = self.standing_pose()
        base = np.eye(4)
        base[:3, :3], base[:3, 3] = quat_matrix(quaternion), position
        return base

    def standing_pose(self) -> tuple[np.ndarray, np.ndarray]:
        """Position (3,) [m] and quaternion (4,) of the base with all feet on the plane z = 0.

        Height, roll and pitch are those of least squares of the feet's heights, and the least turn
        where feet leave one open; x and y are 0.  InputError: a foot that is farther than CLOSE
        from the plane (the farthest is named), a wheel that lies flat.
        """
        base, gaps = self._settled
        worst = int(np.argmax(np.abs(gaps)))
        if not abs(gaps[worst]) <= CLOSE:
            effector = self.end_effectors[worst]
            rule = f"all feet within {CLOSE:g} m of one plane in the standing pose"
            remedy = "change the stance, or where the leg is attached"
            got = f"{gaps[worst]:+.6g} m from it"
            raise InputError(self.robot.place, f"end effector {effector.name}", got, rule, remedy)
        return base[:3, 3].copy(), quat_from_matrix(base[:3, :3])

    def settled_state(self) -> np.ndarray:
        """(7 + n,) positions of `model()`: the stance on the plane z = 0 by least squares of the
        feet's heights, whether all of them touch it or not."""
        base, _ = self._settled
        return self.state(None, base[:3, 3], quat_from_matrix(base[:3, :3]))

    @cached_property
    def _settled(self) -> tuple[np.ndarray, np.ndarray]:
        """Pose (4, 4) of the base that least squares of the feet's heights give, and these (m,)."""
        points, axes = self.effector_places(self.stance, np.eye(4))
        radii, turn, height = self.mounts().radii, np.eye(3), 0.0
        for _ in range(ITERATIONS):
            p, a = points @ turn.T, axes @ turn.T
            across = np.sqrt(np.maximum(1.0 - a[:, 2] ** 2, 0.0))  # sine of axis and vertical
            self._refuse_flat(across)
            gaps = height + p[:, 2] - radii * across
            slope = radii * a[:, 2] / across  # of the gap by the axis' vertical part
            J = np.stack(
                [np.ones(len(p)), p[:, 1] + slope * a[:, 1], -p[:, 0] - slope * a[:, 0]], axis=1
            )
            step = -np.linalg.lstsq(J, gaps, rcond=1e-9)[0]
            if np.abs(step).max() < 1e-14:
                break
            height += step[0]
            turn = quat_matrix(quat_exp([step[1], step[2], 0.0])) @ turn
        base = np.eye(4)
        base[:3, :3], base[2, 3] = turn, height
        return base, self.contact_points(self.stance, base)[:, 2]

    def _refuse_flat(self, across: np.ndarray) -> None:
        for effector, sine in zip(self.end_effectors, across, strict=True):
            if effector.radius > 0.0 and sine < FLAT:
                key = f"end effector {effector.name}: axis"
                raise InputError(
                    self.robot.place, key, "vertical in the standing pose", "a wheel on its rim"
                )
