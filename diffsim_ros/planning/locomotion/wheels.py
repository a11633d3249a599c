"""What the motors of wheels turn, of the spins of a plan."""

from __future__ import annotations

import numpy as np

from .legged_robot import LeggedRobot
from .motion import MotionStates, base_poses


def wheel_speeds(robot: LeggedRobot, state: MotionStates) -> np.ndarray:
    """(N, m) [rad/s] of wheels relative to the links that carry them: what a wheel's motor turns.

    A plan's spin is that about the axis in a frame that only steers and leans; the link turns in
    it.  state: at N >= 2 times at equal intervals
    """
    step = state.times[1] - state.times[0]
    return turned_on_links(robot, state.positions, state.base, state.spins, step)


def turned_on_links(
    robot: LeggedRobot, positions: np.ndarray, base: np.ndarray, spins: np.ndarray, step: float
) -> np.ndarray:
    """As `wheel_speeds`, of samples `step` [s] apart: joints (N, n), base (N, 7), spins (N, m)."""
    out = np.zeros_like(spins)
    poses, mounts = robot.link_poses(positions, base_poses(base)), robot.mounts()
    for j in robot.spinning:
        turn = poses[mounts.links[j] - 1][:, :3, :3]
        axis = turn @ mounts.axes[j]
        # The rolling direction, and a direction that is fixed to the link: the angle between.
        ahead = np.cross(axis, [0.0, 0.0, 1.0])
        ahead /= np.linalg.norm(ahead, axis=1)[:, None]
        fixed = turn @ _across(mounts.axes[j])
        angle = np.arctan2(
            np.einsum("ni,ni->n", np.cross(ahead, fixed), axis), np.einsum("ni,ni->n", ahead, fixed)
        )
        out[:, j] = spins[:, j] - np.gradient(np.unwrap(angle), step)
    return out


def _across(axis: np.ndarray) -> np.ndarray:
    other = np.cross(axis, np.eye(3)[int(np.argmin(np.abs(axis)))])
    return other / np.linalg.norm(other)
