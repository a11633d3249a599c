"""A robot's tree of an MJCF whose root body moves freely."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.rotation import quat_matrix

from .kinematics import joint_motion
from .mjcf import HINGE, SLIDE, Mjcf
from .robot import NOTHING, Frame, Inertial, Joint, Robot


def robot_of_mjcf(
    mjcf: Mjcf, held: Mapping[str, float]
) -> tuple[Robot, dict[str, tuple[str, np.ndarray, float]]]:
    """The tree below the one body that moves freely, with every MJCF body as a link.

    held  position [rad or m] of joints that are held still; what they carry is merged
    Returns the robot, and of every joint (frame at its anchor, axis (3,) in it, largest speed:
    infinite, as an MJCF has none).  InputError: no free body or several, balls, unknown names.
    """
    return _MjcfTree(mjcf, held).walk()


class _MjcfTree:
    def __init__(self, mjcf: Mjcf, held: Mapping[str, float]) -> None:
        self.mjcf, self.model, self.held = mjcf, mjcf.model, held
        names = [joint.name for joint in mjcf.joints]
        for name, value in held.items():
            if name not in names:
                rule = "a joint of the MJCF"
                raise InputError(mjcf.place, "held", name, rule, nearest(name, names))
            if not math.isfinite(value):
                raise InputError(mjcf.place, f"held.{name}", value, "a finite number [rad or m]")
        self.joints: list[Joint] = []
        self.inertials: list[Inertial] = [NOTHING]  # of the base, then of the joints' bodies
        self.frames: dict[str, Frame] = {}
        self.axes: dict[str, tuple[str, np.ndarray, float]] = {}

    def walk(self) -> tuple[Robot, dict[str, tuple[str, np.ndarray, float]]]:
        mjcf, model = self.mjcf, self.model
        free = [b for b in mjcf.bodies if mjcf.free(b)]
        if len(free) != 1:
            got = [mjcf.body_names[b] for b in free]
            raise InputError(mjcf.place, "worldbody", got, "one body with a free joint")
        root = free[0]
        self._link(root, -1, np.eye(4), "")
        for b in range(root + 1, model.nbody):  # parents come first
            above = mjcf.body_names[model.body_parentid[b]]
            if above not in self.frames:
                continue
            frame, pose = self.frames[above], np.eye(4)
            pose[:3, :3] = quat_matrix(model.body_quat[b][[1, 2, 3, 0]])
            pose[:3, 3] = model.body_pos[b]
            carrier, pose = self._through_joints(b, frame.carrier, frame.pose @ pose, above)
            self._link(b, carrier, pose, above)
        joints = tuple(
            Joint(**{**vars(joint), "inertial": inertial})
            for joint, inertial in zip(self.joints, self.inertials[1:], strict=True)
        )
        name = mjcf.body_names[root]
        robot = Robot(mjcf.place, name, name, joints, self.frames, (), self.inertials[0])
        return robot, self.axes

    def _link(self, body: int, carrier: int, pose: np.ndarray, parent: str) -> None:
        """An MJCF body as a link that is fixed in what joint `carrier` moves."""
        model = self.model
        self.frames[self.mjcf.body_names[body]] = Frame(carrier, pose, parent)
        turn = quat_matrix(model.body_iquat[body][[1, 2, 3, 0]])
        inertia = turn @ np.diag(model.body_inertia[body]) @ turn.T
        own = Inertial(float(model.body_mass[body]), model.body_ipos[body].copy(), inertia)
        self.inertials[carrier + 1] = self.inertials[carrier + 1].plus(own.moved(pose))

    def _through_joints(
        self, body: int, carrier: int, pose: np.ndarray, parent: str
    ) -> tuple[int, np.ndarray]:
        """The joints of an MJCF body one after the other; its carrier, and its pose there."""
        model, mjcf = self.model, self.mjcf
        for joint in mjcf.joints_of(body):
            kind = model.jnt_type[joint.index]
            if kind not in (HINGE, SLIDE):
                rule = "hinges and slides; a ball is three hinges"
                raise InputError(mjcf.place, f"joint {joint.name}", joint.kind, rule)
            anchor, axis = np.eye(4), model.jnt_axis[joint.index].copy()
            anchor[:3, 3] = model.jnt_pos[joint.index]
            back = np.eye(4)
            back[:3, 3] = -anchor[:3, 3]
            rest = float(model.qpos0[joint.coordinate])
            name, own = f"{joint.name}_frame", pose @ anchor
            if joint.name in self.held:
                own = own @ joint_motion(axis, joint.turns, np.array(self.held[joint.name] - rest))
                self.frames[name] = Frame(carrier, own, parent)
            else:
                own = own @ joint_motion(axis, joint.turns, np.array(-rest))
                self.joints.append(
                    Joint(joint.name, "revolute" if joint.turns else "prismatic", carrier, name,
                          own, axis, joint.lower, joint.upper, math.inf, joint.effort_upper,
                          joint.damping, joint.friction, NOTHING)
                )  # fmt: skip
                self.inertials.append(NOTHING)
                carrier, own = len(self.joints) - 1, np.eye(4)
                self.frames[name] = Frame(carrier, own, parent)
            self.axes[joint.name] = (name, axis, math.inf)
            pose = own @ back
        return carrier, pose
