"""Inverse dynamics of a robot's tree, and their regressor, for many states at once.

The engine's (native/articulated).  The efforts are linear in the ten inertial parameters of every
body (Atkeson, An and Hollerbach, IJRR 5, 1986):

    tau = Y(q, q', q'') phi,  phi of a body = (m, m c, I xx, yy, zz, xy, xz, yz)             (1)

with mass m [kg], first moment m c [kg m] and inertia I [kg m^2] about the origin of the body's
frame, all in that frame (the order of inverse.pseudo_inertia.ten).  Arrays of joint values are
(..., n).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffsim_ros.errors import InputError

from .robot import Robot
from .tree import GRAVITY, model_of

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
    return model_of(robot, gravity).inverse_dynamics(*_checked(robot, q, qd, qdd))


def regressor(
    robot: Robot, q: np.ndarray, qd: np.ndarray, qdd: np.ndarray,
    gravity: Sequence[float] = GRAVITY,
) -> np.ndarray:  # fmt: skip
    """Y (..., n, 10 n) of equation (1); arguments as of `inverse_dynamics`."""
    return model_of(robot, gravity).regressor(*_checked(robot, q, qd, qdd))


def _checked(robot: Robot, *arrays: np.ndarray) -> list[np.ndarray]:
    found = [np.asarray(array, float) for array in arrays]
    shape = found[0].shape
    for name, array in zip(("q", "qd", "qdd"), found, strict=True):
        if array.shape != shape or shape[-1:] != (len(robot.joints),):
            rule = f"(..., {len(robot.joints)}), of one shape"
            raise InputError("inverse dynamics", name, array.shape, rule)
    return found
