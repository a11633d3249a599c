"""A body that an arm's tool holds and releases: how the joints at the release set its start.

With q, qd at the release, X(q) the place of the body's centre in the world and J(q) the tool's
Jacobian there, the body flies on with

    x = X(q),  R = R(q),  v = J_v(q) qd,  omega = J_w(q) qd,

    dx = J_v dq,  dphi = J_w dq,  d(v, omega) = (dJ/dq qd) dq + J dqd,

exactly, with the second derivatives of the kinematics.  A release that comes d late happens at
q + qd d (the trajectory passes the release at constant rates); gravity and spin are reversed
over d, so that the scene's clock still starts at the planned release.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..robots.arm import Arm
from ..robots.kinematics import jacobian_slopes, link_pose, moving_jacobian
from ..robots.robot import Frame, Robot
from ..rotation import (
    left_jacobian,
    left_jacobian_inverse,
    quat_exp,
    quat_from_matrix,
    quat_log,
    quat_matrix,
)

AXES = ("x", "y", "z")
KINDS = ("position", "rotation", "velocity", "angular_velocity")
HELD = "held body"
DELAY = "release.delay"
"""Parameter: how much later than planned the body is free [s]; held at 0 but in samples."""
SHIFT = tuple(f"release.shift.{axis}" for axis in AXES)
"""Parameters: displacement of all of it from the plan, world frame [m]; likewise."""


def value_name(joint: str) -> str:
    """Name of the control that is a joint's value at the release."""
    return f"{joint}.value"


def rate_name(joint: str) -> str:
    """Name of the control that is its rate."""
    return f"{joint}.rate"


@dataclass(frozen=True)
class Release:
    """Parameters: values and rates of all joints at release, delay and shift; see `Group`.

    body     whose start they set;  in_tool  its pose (4, 4) in the tool's frame
    gravity  (3,) of the scene [m/s^2]
    """

    arm: Arm
    body: str
    in_tool: np.ndarray
    gravity: np.ndarray
    name: str = "release"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters: values, rates, delay, shift."""
        joints = self.arm.robot.joint_names
        return (*map(value_name, joints), *map(rate_name, joints), DELAY, *SHIFT)

    @property
    def scene_parameters(self) -> tuple[str, ...]:
        """Engine parameters of the body's start, in the order of `values`."""
        return tuple(f"{self.body}.{kind}.{axis}" for kind in KINDS for axis in AXES)

    @cached_property
    def robot(self) -> Robot:
        """The robot with the held body's frame among its links."""
        robot, tool = self.arm.robot, self.arm.robot.frame(self.arm.tool)
        frames = {**robot.frames, HELD: Frame(tool.carrier, tool.pose @ self.in_tool)}
        return replace(robot, frames=frames)

    def split(
        self, theta: Sequence[float] | np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """Joint values at the release (n,), their rates (n,), delay [s], shift (3,) [m]."""
        theta = np.asarray(theta, float)
        n = len(self.arm.robot.joints)
        q, qd, delay, shift = theta[:n], theta[n : 2 * n], theta[2 * n], theta[2 * n + 1 :]
        return q + delay * qd, qd, delay, shift

    def _turned(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Pose (4, 4) of the body in the world and its Jacobian (6, n) there."""
        base = np.asarray(self.arm.base)
        J = moving_jacobian(self.robot, q, HELD, base)[:, 6:]
        return link_pose(self.robot, q, HELD, base), J

    def values(self, theta: Sequence[float] | np.ndarray) -> np.ndarray:
        """Position, rotation vector, velocity, angular velocity (12,) of the body."""
        q, qd, delay, shift = self.split(theta)
        pose, J = self._turned(q)
        v, omega = (J @ qd).reshape(2, 3)
        back = quat_matrix(quat_exp(-delay * omega))
        x = pose[:3, 3] - delay * v + 0.5 * delay**2 * self.gravity + shift
        rotation = quat_log(quat_from_matrix(back @ pose[:3, :3]))
        return np.concatenate([x, rotation, v - delay * self.gravity, omega])

    def jacobian(self, theta: Sequence[float] | np.ndarray) -> np.ndarray:
        """d(values)/d(theta) (12, 2 n + 4)."""
        q, qd, delay, _ = self.split(theta)
        n, turn = len(q), np.asarray(self.arm.base)[:3, :3]
        _, J = self._turned(q)
        slopes = np.einsum("ijk,j->ik", jacobian_slopes(self.robot, q, HELD), qd)
        slopes = np.vstack([turn @ slopes[:3], turn @ slopes[3:]])
        rate = np.hstack([slopes, J + delay * slopes])  # d(v, omega)/d(q, qd)
        place = np.hstack([J, delay * J])
        by_delay, omega = slopes @ qd, J[3:] @ qd
        back = quat_matrix(quat_exp(-delay * omega))
        lag = -left_jacobian(-delay * omega)
        inverse = left_jacobian_inverse(self.values(theta)[3:6])
        out = np.zeros((12, 2 * n + 4))
        out[:3, : 2 * n] = place[:3] - delay * rate[:3]
        out[:3, 2 * n] = delay * (self.gravity - by_delay[:3])
        out[:3, 2 * n + 1 :] = np.eye(3)
        out[3:6, : 2 * n] = inverse @ (back @ place[3:] + delay * lag @ rate[3:])
        out[3:6, 2 * n] = inverse @ (back @ omega + lag @ (omega + delay * by_delay[3:]))
        out[6:, : 2 * n] = rate
        out[6:, 2 * n] = by_delay
        out[6:9, 2 * n] -= self.gravity
        return out

    def tool_speed(self, theta: Sequence[float] | np.ndarray) -> float:
        """Speed of the body's centre at the release [m/s]."""
        q, qd, _, _ = self.split(theta)
        return float(np.linalg.norm((self._turned(q)[1] @ qd)[:3]))
