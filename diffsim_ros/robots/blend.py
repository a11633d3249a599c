"""From where the robot stands to where a trajectory begins, smoothly and within limits."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diffsim_ros.errors import InputError

from .arm import Arm
from .command import JointSample
from .trajectory import JointTrajectory
from .trajectory_limits import beyond_limits, jumps

GROWTH = 1.2
"""Factor between two durations that are tried."""
PERIOD = 0.008
"""[s] of the controller, and between the points of a blend that is made of straight lines."""


def blended(
    trajectory: JointTrajectory,
    arm: Arm,
    start: JointSample,
    *,
    duration: float = 0.0,
    reach: float = 0.5,
    shortest: float = 0.1,
    longest: float = 5.0,
    place: str = "trajectory",
) -> JointTrajectory:
    """The trajectory after a polynomial from the present state to its first point, from t = 0 on.

    It is of fifth degree, or third where the trajectory gives no accelerations.  duration [s]: of
    the blend, 0: the shortest that keeps the limits, between `shortest` and `longest`; reach
    [rad or m]: farthest that a joint is moved.  The release moves with the trajectory.
    Raises InputError naming joint, value and limit.
    """
    position, velocity = start.rows(trajectory.names)
    gap = np.abs(trajectory.positions[0] - position)
    k = int(np.argmax(gap))
    if not gap[k] <= reach:
        key = f"joint {trajectory.names[k]}: first position"
        rule = f"within {reach:g} of the present {position[k]:.6g}"
        remedy = "move the robot near it first, or allow the driver more (blend_reach)"
        raise InputError(place, key, float(trajectory.positions[0, k]), rule, remedy)
    tried = duration or shortest
    while True:
        made = _with_blend(trajectory, position, velocity, tried)
        corners = jumps([made], velocity, arm.limits, PERIOD)
        found = [corner for corner in corners if corner.time <= tried]
        found += beyond_limits(_first(made, tried), arm.limits, jerk=False)
        if not found:
            return made
        tried *= GROWTH
        if duration or tried > longest:
            last = duration or longest
            key = f"blend of {last:g} s: {found[0].key}"
            raise InputError(place, key, found[0].value, found[0].rule, "ask for a longer blend")


def _with_blend(
    trajectory: JointTrajectory, position: np.ndarray, velocity: np.ndarray, duration: float
) -> JointTrajectory:
    rows = {"positions": position, "velocities": velocity, "accelerations": 0.0 * position}
    shift = duration - float(trajectory.times[0])
    times = np.concatenate([[0.0], trajectory.times + shift])
    if trajectory.velocities is None:
        return _with_lines(trajectory, position, velocity, duration)
    joined = {
        key: np.concatenate([row[None], getattr(trajectory, key)])
        for key, row in rows.items()
        if getattr(trajectory, key) is not None
    }
    return replace(trajectory, times=times, release=_later(trajectory, shift), **joined)


def _with_lines(
    trajectory: JointTrajectory, position: np.ndarray, velocity: np.ndarray, duration: float
) -> JointTrajectory:
    """The blend sampled densely, because the controller draws straight lines."""
    from scipy.interpolate import BPoly

    still = 0.0 * position
    rate = np.diff(trajectory.positions[:2], axis=0)[0] / np.diff(trajectory.times[:2])[0]
    ends = [[position, velocity, still], [trajectory.positions[0], rate, still]]
    times = np.linspace(0.0, duration, max(int(np.ceil(duration / PERIOD)), 1) + 1)
    early = BPoly.from_derivatives([0.0, duration], np.array(ends))(times[:-1])
    shift = duration - float(trajectory.times[0])
    return replace(
        trajectory,
        times=np.concatenate([times[:-1], trajectory.times + shift]),
        positions=np.concatenate([early, trajectory.positions]),
        release=_later(trajectory, shift),
    )


def _later(trajectory: JointTrajectory, shift: float) -> float | None:
    return None if trajectory.release is None else trajectory.release + shift


def _first(trajectory: JointTrajectory, end: float) -> JointTrajectory:
    """The part until the point at `end` [s]."""
    count = int(np.searchsorted(trajectory.times, end - 1e-9)) + 1
    rows = {
        key: value[:count]
        for key in ("positions", "velocities", "accelerations")
        if (value := getattr(trajectory, key)) is not None
    }
    return JointTrajectory(trajectory.names, trajectory.times[:count], **rows)
