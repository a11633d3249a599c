"""Kinematics of a robot's tree, for many configurations at once.

Arrays of joint values are (..., n) in the order of `Robot.joints`; loops run over joints only.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros.errors import InputError

from ..rotation import skew
from .robot import Robot


def joint_poses(robot: Robot, q: np.ndarray, base: np.ndarray | None = None) -> list[np.ndarray]:
    """Poses (..., 4, 4) of the bodies that the joints move.

    base  pose (4, 4), or one a configuration (..., 4, 4), of a base that may move: they are in its
          outer frame then, else in the base frame
    """
    q, poses = np.asarray(q, float), []
    for i, joint in enumerate(robot.joints):
        at = joint.origin @ joint_motion(joint.axis, joint.turns, q[..., i])
        poses.append(at if joint.parent < 0 else poses[joint.parent] @ at)
    return poses if base is None else [base @ pose for pose in poses]


def joint_motion(axis: np.ndarray, turns: bool, q: np.ndarray) -> np.ndarray:
    """Pose (..., 4, 4) of a body in its joint's frame, at positions q (...) about or along a unit
    axis (3,)."""
    pose = np.zeros((*q.shape, 4, 4))
    pose[..., :, :] = np.eye(4)
    if not turns:
        pose[..., :3, 3] = q[..., None] * axis
        return pose
    cross = skew(axis)
    sine, cosine = np.sin(q)[..., None, None], np.cos(q)[..., None, None]
    pose[..., :3, :3] = np.eye(3) + sine * cross + (1.0 - cosine) * (cross @ cross)
    return pose


def link_pose(robot: Robot, q: np.ndarray, link: str, base: np.ndarray | None = None) -> np.ndarray:
    """Pose (..., 4, 4) of a link; `base` as of `joint_poses`."""
    frame, q = robot.frame(link), np.asarray(q, float)
    if frame.carrier < 0:
        pose = np.broadcast_to(frame.pose, (*q.shape[:-1], 4, 4))
    else:
        pose = joint_poses(robot, q)[frame.carrier] @ frame.pose
    return pose if base is None else base @ pose


def jacobian(robot: Robot, q: np.ndarray, link: str) -> np.ndarray:
    """(..., 6, n): velocity [m/s] of a link's origin, then its angular velocity, by joint rates.

    Both in axes of the base frame.
    """
    q, frame = np.asarray(q, float), robot.frame(link)
    out = np.zeros((*q.shape[:-1], 6, q.shape[-1]))
    poses, tip = joint_poses(robot, q), link_pose(robot, q, link)[..., :3, 3]
    for i in robot.branch(frame.carrier):
        joint = robot.joints[i]
        axis = poses[i][..., :3, :3] @ joint.axis
        if joint.turns:
            out[..., :3, i] = np.cross(axis, tip - poses[i][..., :3, 3])
            out[..., 3:, i] = axis
        else:
            out[..., :3, i] = axis
    return out


def moving_jacobian(robot: Robot, q: np.ndarray, link: str, base: np.ndarray) -> np.ndarray:
    """(..., 6, 6 + n): as `jacobian`, for a base at a pose (..., 4, 4), all in its outer frame.

    The first six columns are by the velocity of the base's origin and its angular velocity.
    """
    J, turn = jacobian(robot, q, link), base[..., :3, :3]
    arm = link_pose(robot, q, link, base)[..., :3, 3] - base[..., :3, 3]
    out = np.zeros((*J.shape[:-1], 6 + J.shape[-1]))
    out[..., :6] = np.eye(6)
    out[..., :3, 3:6] = -skew(arm)
    out[..., :3, 6:], out[..., 3:, 6:] = turn @ J[..., :3, :], turn @ J[..., 3:, :]
    return out


def jacobian_slopes(robot: Robot, q: np.ndarray, link: str) -> np.ndarray:
    """d(jacobian)/dq (..., 6, n, n): entry [i, j, k] is dJ_ij/dq_k.

    A joint turns the columns of the joints behind it, itself included, with the tool; for those
    before it, it changes only the moment arm.
    """
    J = jacobian(robot, q, link)
    linear, angular = np.moveaxis(J[..., :3, :], -1, 0), np.moveaxis(J[..., 3:, :], -1, 0)
    out = np.zeros((*J.shape, J.shape[-1]))
    along = robot.branch(robot.frame(link).carrier)[::-1]  # from the tool to the base
    for place, k in enumerate(along):
        for j in along[: place + 1]:  # k carries j
            out[..., :3, j, k] = np.cross(angular[k], linear[j])
            out[..., 3:, j, k] = np.cross(angular[k], angular[j])
        for j in along[place + 1 :]:
            out[..., :3, j, k] = np.cross(angular[j], linear[k])
    return out


def chain(robot: Robot, link: str):
    """The engine's Chain from the base to a link, and which joints (m,) of the robot it has.

    `Chain.poses(q)` gives what `link_pose` and `jacobian` give, a hundred times as fast.
    InputError: a link that no joint moves.
    """
    from diffsim_ros import _engine

    frame = robot.frame(link)
    indices = robot.branch(frame.carrier)
    if not indices:
        raise InputError(robot.place, "link", link, "a link that joints move")
    joints = [robot.joints[i] for i in indices]
    made = _engine.Chain(
        np.stack([joint.origin for joint in joints]),
        np.stack([joint.axis for joint in joints]),
        [joint.turns for joint in joints],
        frame.pose[None],
    )
    return made, np.array(indices)


def body_motions(robot: Robot, q, qd) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Per body: pose (..., 4, 4), omega (..., 3) and velocity (..., 3) of its frame's origin.

    All in the base frame [m, rad, s].
    """
    q, qd = np.asarray(q, float), np.asarray(qd, float)
    zero, found = np.zeros((*q.shape[:-1], 3)), []
    for i, (joint, pose) in enumerate(zip(robot.joints, joint_poses(robot, q), strict=True)):
        if joint.parent < 0:
            w = v = zero
            arm = pose[..., :3, 3]
        else:
            before, w, v = found[joint.parent]
            arm = pose[..., :3, 3] - before[..., :3, 3]
        axis, rate = pose[..., :3, :3] @ joint.axis, qd[..., i, None]
        v = v + np.cross(w, arm)
        if joint.turns:
            w = w + axis * rate
        else:
            v = v + axis * rate
        found.append((pose, w, v))
    return found
