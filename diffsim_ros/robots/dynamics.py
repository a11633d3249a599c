"""Inverse dynamics of a robot's tree, and their regressor, for many states at once.

Recursive Newton-Euler (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 5.3), with
forces and moments in axes of the base frame.  The efforts are linear in the ten inertial parameters
of every body (Atkeson, An and Hollerbach, IJRR 5, 1986):

    tau = Y(q, q', q'') phi,  phi of a body = (m, m c, I xx, yy, zz, xy, xz, yz)             (1)

with mass m [kg], first moment m c [kg m] and inertia I [kg m^2] about the origin of the body's
frame, all in that frame (the order of inverse.pseudo_inertia.ten).  Arrays of joint values are
(..., n).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffsim_ros.errors import InputError

from ..rotation import skew
from .kinematics import joint_poses
from .robot import Robot

GRAVITY = (0.0, 0.0, -9.81)
"""[m/s^2] in axes of the base frame."""
PARAMETERS = ("mass", "mx", "my", "mz", "xx", "yy", "zz", "xy", "xz", "yz")
"""Inertial parameters of a body, in the order of phi."""


def inertial_parameters(robot: Robot) -> np.ndarray:
    """phi (n, 10) of every body, as the URDF has it."""
    rows = []
    for joint in robot.joints:
        m, c = joint.inertial.mass, joint.inertial.centre
        inertia = joint.inertial.inertia + m * (c @ c * np.eye(3) - np.outer(c, c))
        rows.append([m, *(m * c), *inertia[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]])
    return np.array(rows)


def inverse_dynamics(
    robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray,
    gravity: Sequence[float] = GRAVITY,
) -> np.ndarray:  # fmt: skip
    """Efforts (..., n) [N m, of sliders N] that joints exert at positions, velocities and
    accelerations (..., n), without friction and rotors.

    gravity  (3,) [m/s^2] in axes of the base frame.  InputError: arrays of other shapes.
    """
    states = _accelerations(robot, *_checked(robot, q, qd, qdd), gravity)
    wrenches = []
    for joint, (pose, w, dw, a) in zip(robot.joints, states, strict=True):
        R, own = pose[..., :3, :3], joint.inertial
        arm = R @ own.centre
        force = own.mass * (a + np.cross(dw, arm) + np.cross(w, np.cross(w, arm)))
        spin = R @ own.inertia @ np.swapaxes(R, -1, -2)
        moment = _times(spin, dw) + np.cross(w, _times(spin, w)) + np.cross(arm, force)
        wrenches.append([force, moment])
    out = np.zeros((*np.shape(states[0][3])[:-1], len(robot.joints)))
    for i in reversed(range(len(robot.joints))):
        joint, (pose, *_) = robot.joints[i], states[i]
        force, moment = wrenches[i]
        axis = pose[..., :3, :3] @ joint.axis
        out[..., i] = np.sum(axis * (moment if joint.turns else force), axis=-1)
        if joint.parent >= 0:
            arm = pose[..., :3, 3] - states[joint.parent][0][..., :3, 3]
            wrenches[joint.parent][0] = wrenches[joint.parent][0] + force
            wrenches[joint.parent][1] = wrenches[joint.parent][1] + moment + np.cross(arm, force)
    return out


def regressor(
    robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray,
    gravity: Sequence[float] = GRAVITY,
) -> np.ndarray:  # fmt: skip
    """Y (..., n, 10 n) of equation (1); arguments as of `inverse_dynamics`."""
    states = _accelerations(robot, *_checked(robot, q, qd, qdd), gravity)
    n = len(robot.joints)
    out = np.zeros((*np.shape(states[0][3])[:-1], n, 10 * n))
    for i, (pose, w, dw, a) in enumerate(states):
        R = pose[..., :3, :3]
        force, moment = _columns(R, *(_times(np.swapaxes(R, -1, -2), x) for x in (w, dw, a)))
        for j in robot.branch(i):
            there, joint = states[j][0], robot.joints[j]
            axis = (there[..., :3, :3] @ joint.axis)[..., None, :]
            block = out[..., j, 10 * i : 10 * (i + 1)]
            if joint.turns:
                arm = skew(pose[..., :3, 3] - there[..., :3, 3])
                block[...] = (axis @ (moment + arm @ force))[..., 0, :]
            else:
                block[...] = (axis @ force)[..., 0, :]
    return out


def _columns(R: np.ndarray, w: np.ndarray, dw: np.ndarray, a: np.ndarray) -> tuple:
    """Force and moment (..., 3, 10) about a body's origin by phi, axes of the base.

    w, dw, a  angular velocity, its rate and the origin's acceleration less gravity, body axes
    """
    force, moment = np.zeros((*a.shape, 10)), np.zeros((*a.shape, 10))
    spin = skew(w)
    force[..., 0] = a
    force[..., 1:4] = skew(dw) + spin @ spin
    moment[..., 1:4] = -skew(a)
    moment[..., 4:] = _inertia_times(dw) + spin @ _inertia_times(w)
    return R @ force, R @ moment


def _inertia_times(w: np.ndarray) -> np.ndarray:
    """(..., 3, 6): I w by the entries xx, yy, zz, xy, xz, yz of I."""
    out = np.zeros((*w.shape, 6))
    for k, (i, j) in enumerate(((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))):
        out[..., i, k] += w[..., j]
        if i != j:
            out[..., j, k] += w[..., i]
    return out


def _times(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return (matrix @ vector[..., None])[..., 0]


def _accelerations(
    robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray, gravity: Sequence[float]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Per body: pose (..., 4, 4), angular velocity, its rate, and acceleration of the origin less
    gravity (..., 3), in axes of the base."""
    zero = np.zeros((*q.shape[:-1], 3))
    found: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []
    for i, (joint, pose) in enumerate(zip(robot.joints, joint_poses(robot, q), strict=True)):
        if joint.parent < 0:
            w, dw, a, arm = zero, zero, zero - np.asarray(gravity, float), pose[..., :3, 3]
        else:
            before, w, dw, a = found[joint.parent]
            arm = pose[..., :3, 3] - before[..., :3, 3]
        a = a + np.cross(dw, arm) + np.cross(w, np.cross(w, arm))
        axis = pose[..., :3, :3] @ joint.axis
        rate, change = qd[..., i, None] * axis, qdd[..., i, None] * axis
        if joint.turns:
            w, dw = w + rate, dw + change + np.cross(w, rate)
        else:
            a = a + change + 2.0 * np.cross(w, rate)
        found.append((pose, w, dw, a))
    return found


def _checked(robot: Robot, *arrays: np.ndarray) -> list[np.ndarray]:
    found = [np.asarray(array, float) for array in arrays]
    shape = found[0].shape
    for name, array in zip(("q", "qd", "qdd"), found, strict=True):
        if array.shape != shape or shape[-1:] != (len(robot.joints),):
            rule = f"(..., {len(robot.joints)}), of one shape"
            raise InputError("inverse dynamics", name, array.shape, rule)
    return found
