"""From where the robot rests to where a trajectory begins, and from its end to rest.

What comes before a trajectory begins with a point at t = 0 where the robot is, so that every
version of the controller commands the same polynomials (interpolation.py).
"""

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
PLACE = "trajectory"
LONGEST = 60.0
"""[s] of a blend that is asked for."""
SHORTEST, LONGEST_FOUND = 0.1, 5.0
"""[s] between which the shortest blend within limits is looked for."""


def from_present(trajectory: JointTrajectory, start: JointSample) -> JointTrajectory:
    """The same motion with its first point at t = 0: where that is later, one is added before it.

    start  the present state, at rest: the new point has its positions, and velocities and
           accelerations of zero where the trajectory gives any.
    Times and release stay.  Nothing is checked: a position that is not known becomes NaN.
    """
    if not trajectory.times[0] > 0.0:
        return trajectory
    position, _ = start.rows(trajectory.names)
    return _preceded(trajectory, np.zeros(1), position[None])


def blended(
    trajectory: JointTrajectory,
    arm: Arm,
    start: JointSample,
    *,
    duration: float = 0.0,
    reach: float = 0.5,
) -> JointTrajectory:
    """The trajectory after a polynomial from the present place to its first point, from t = 0 on.

    It begins at rest and is of fifth degree, or third where the trajectory gives no accelerations.
    duration [s]: of the blend, at most LONGEST, 0: the shortest that keeps the limits, between
    SHORTEST and LONGEST_FOUND; reach [rad or m]: farthest that a joint is moved.  The release moves
    with the trajectory.  Raises InputError naming joint, value and limit.
    """
    if not 0.0 <= duration <= LONGEST:
        rule = f"0 (the shortest that keeps the limits) to {LONGEST:g} s"
        raise InputError(PLACE, "blend", duration, rule)
    position, velocity = start.rows(trajectory.names)
    gap = np.abs(trajectory.positions[0] - position)
    k = int(np.argmax(gap))
    if not gap[k] <= reach:
        key = f"joint {trajectory.names[k]}: first position"
        rule = f"within {reach:g} of the present {position[k]:.6g}"
        remedy = "move the robot near it first, or allow the driver more (blend_reach)"
        raise InputError(PLACE, key, float(trajectory.positions[0, k]), rule, remedy)
    tried, head = duration or SHORTEST, _part(trajectory, 2)
    while True:
        made = _with_blend(head, position, tried)
        corners = jumps(made, arm.limits, PERIOD, velocity)
        found = [corner for corner in corners if corner.time <= tried]
        found += beyond_limits(_part(made, len(made.times) - 1), arm.limits, jerk=False)
        if not found:
            return _with_blend(trajectory, position, tried)
        tried *= GROWTH
        if duration or tried > LONGEST_FOUND:
            last = duration or LONGEST_FOUND
            key = f"blend of {last:g} s: {found[0].key}"
            raise InputError(PLACE, key, found[0].value, found[0].rule, "ask for a longer blend")


def brought_to_rest(
    trajectory: JointTrajectory, acceleration: np.ndarray, *, least: float = SHORTEST
) -> JointTrajectory:
    """The trajectory (positions and velocities) with all joints slowed down to rest after its end.

    Every joint decelerates evenly, all for the same time [s]: the one that the fastest needs at
    `acceleration` (n,) [rad/s^2 or m/s^2], and `least`.  One that ends at rest stays as it is.
    Limits of position are left to the checks.  Raises InputError without velocities.
    """
    if trajectory.velocities is None:
        raise InputError(PLACE, "velocities", None, "velocities at its points: it may end moving")
    rate = trajectory.velocities[-1]
    if not rate.any():
        return trajectory
    duration = max(float(np.max(np.abs(rate) / acceleration)), least)
    rows = {
        "positions": trajectory.positions[-1] + 0.5 * duration * rate,
        "velocities": 0.0 * rate,
    }
    if trajectory.accelerations is not None:
        rows["accelerations"] = 0.0 * rate
    grown = {key: np.vstack([trajectory.rows[key], row]) for key, row in rows.items()}
    return replace(trajectory, times=np.append(trajectory.times, trajectory.times[-1] + duration),
                   **grown)  # fmt: skip


def _with_blend(
    trajectory: JointTrajectory, position: np.ndarray, duration: float
) -> JointTrajectory:
    shift = duration - float(trajectory.times[0])
    release = None if trajectory.release is None else trajectory.release + shift
    later = replace(trajectory, times=trajectory.times + shift, release=release)
    if trajectory.velocities is None:
        return _preceded(later, *_lines(trajectory, position, duration))
    return _preceded(later, np.zeros(1), position[None])


def _lines(
    trajectory: JointTrajectory, position: np.ndarray, duration: float
) -> tuple[np.ndarray, np.ndarray]:
    """Times and positions of the blend, dense, because the controller draws straight lines."""
    from scipy.interpolate import BPoly

    still = 0.0 * position
    rate = np.diff(trajectory.positions[:2], axis=0)[0] / np.diff(trajectory.times[:2])[0]
    ends = [[position, still, still], [trajectory.positions[0], rate, still]]
    times = np.linspace(0.0, duration, max(int(np.ceil(duration / PERIOD)), 1) + 1)[:-1]
    return times, BPoly.from_derivatives([0.0, duration], np.array(ends))(times)


def _preceded(
    trajectory: JointTrajectory, times: np.ndarray, positions: np.ndarray
) -> JointTrajectory:
    """The trajectory with points before its first one, at rest where it gives velocities."""
    rows = {
        key: np.concatenate([positions if key == "positions" else 0.0 * positions, row])
        for key, row in trajectory.rows.items()
        if row is not None
    }
    return replace(trajectory, times=np.concatenate([times, trajectory.times]), **rows)


def _part(trajectory: JointTrajectory, count: int) -> JointTrajectory:
    """The first points."""
    rows = {key: row[:count] for key, row in trajectory.rows.items() if row is not None}
    return JointTrajectory(trajectory.names, trajectory.times[:count], **rows)
