"""Checks of a joint trajectory before it is sent: the real controller's, and those that it lacks.

ros2_controllers checks neither NaN nor limits nor where the robot is (ros.md in docs/); a motion
that passes here is accepted by it, begins where the robot stands and rests, ends at rest, and stays
within the limits of position, velocity and acceleration on the controller's own interpolation, also
between points.

`check_motion` checks the motion alone, however long it is; the robot's state and the path to the
first point: start_check.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffsim_ros.errors import InputError, nearest

from .arm import Arm
from .command import NANO, CommandPoint, JointCommand
from .interpolation import RULES
from .trajectory import FIELDS, JointTrajectory
from .trajectory_limits import Exceeded, beyond_limits, jumps

PLACE = "trajectory"
LARGEST = 1e6
"""Largest number that is accepted: with larger ones the interpolation would overflow."""


@dataclass(frozen=True)
class Rules:
    """What is accepted besides the arm's limits.

    start_tolerance  [rad or m] between the present state and a first point at t = 0
    start_velocity   [rad/s or m/s] of a joint that counts as at rest
    state_age        [s] of the present state
    period           [s] of the controller: a velocity may jump by what the acceleration limit
                     allows within it
    max_points, max_duration [s], max_wait [s] until a stamp;  jerk  True: its limit counts too
    approach         how the controller goes to a first point at t > 0: "cubic" (ros2_controllers
                     before 4.36), "quintic" (since then), or "worst": safe with either
    """

    start_tolerance: float = 1e-3
    state_age: float = 0.25
    period: float = 0.008
    max_points: int = 10_000
    max_duration: float = 60.0
    max_wait: float = 10.0
    jerk: bool = False
    start_velocity: float = 0.05
    approach: str = "worst"

    def __post_init__(self) -> None:
        if self.approach not in RULES:
            raise InputError("rules", "approach", self.approach, f"one of {', '.join(RULES)}")


def check_motion(
    motion: JointCommand | JointTrajectory,
    arm: Arm,
    rules: Rules | None = None,
    *,
    now: int | None = None,
) -> JointTrajectory:
    """The motion with columns in the order of the arm's joints, if it may be sent as it is.

    Names, times, numbers, release, end and limits are checked; start_check checks
    where the robot is.
    now  [ns] to which stamps are compared; None: not compared
    Raises InputError naming joint, time, value and limit of the first thing that is wrong, and what
    else is beyond limits.
    """
    rules = rules or Rules()
    if arm.base is None:
        remedy = "measure it with ~/calibrate and write it into the robot's YAML"
        raise InputError(arm.robot.place, "base", None, "the base's pose in the world", remedy)
    times = _times(motion)
    _check_names(motion.names, arm.robot.joint_names)
    _check_times(times, rules)
    if isinstance(motion, JointCommand):
        _check_stamp(motion, rules, now)
    _check_numbers(motion, times)
    trajectory = _in_order(motion, times, arm.robot.joint_names)
    _check_release(trajectory)
    _check_end(trajectory)
    found = jumps(trajectory, arm.limits, rules.period)
    found += beyond_limits(trajectory, arm.limits, jerk=rules.jerk)
    refuse(found)
    return trajectory


def check_numbers(trajectory: JointTrajectory) -> None:
    """InputError, with point and joint, where a number of it is not finite, or is too large."""
    _check_numbers(trajectory, _times(trajectory))


def _times(motion: JointCommand | JointTrajectory) -> np.ndarray:
    """(n,) [ns], whole; InputError for a time that is no number."""
    if isinstance(motion, JointCommand):
        return np.array([point.time for point in motion.points], float)
    times = np.asarray(motion.times, float)
    sound = np.abs(times) <= LARGEST
    if not sound.all():
        k = int(np.argmin(sound))
        rule = f"a finite number [s], at most {LARGEST:g} in size"
        raise InputError(PLACE, f"point {k}: time", float(times[k]), rule)
    whole = np.floor(times)
    return whole * NANO + np.rint((times - whole) * NANO)


def _check_names(names: Sequence[str], joints: Sequence[str]) -> None:
    rule = f"each of {', '.join(joints)} once, in any order"
    if not names:
        raise InputError(PLACE, "joints", [], rule)
    for name in names:
        if name not in joints:
            raise InputError(PLACE, "joints", name, "a joint of the robot", nearest(name, joints))
    for name in joints:
        if names.count(name) != 1:
            got = f"{name} {names.count(name)} times"
            raise InputError(PLACE, "joints", got, rule, "partial goals are not accepted")


def _check_times(times: np.ndarray, rules: Rules) -> None:
    if not 2 <= len(times) <= rules.max_points:
        rule = f"2 to {rules.max_points} points"
        raise InputError(PLACE, "points", f"{len(times)} points", rule)
    odd = np.flatnonzero(np.diff(times, prepend=-1.0) <= 0.0)
    if len(odd):
        k = int(odd[0])
        rule = ">= 0 s" if k == 0 else f"after {times[k - 1] / NANO:.9g} s"
        remedy = "times must strictly increase"
        raise InputError(PLACE, f"point {k}: time", float(times[k]) / NANO, rule, remedy)
    if times[-1] > rules.max_duration * NANO:
        rule = f"at most {rules.max_duration:g} s"
        raise InputError(PLACE, "duration", float(times[-1]) / NANO, rule, "parameter max_duration")


def _check_stamp(command: JointCommand, rules: Rules, now: int | None) -> None:
    ahead = 0.0 if now is None else command.wait(now)
    if not 0.0 <= ahead <= rules.max_wait:
        rule = f"0 (at once), or from now to {rules.max_wait:g} s ahead"
        raise InputError(PLACE, "header stamp", f"{ahead:+.3f} s from now", rule)


def _check_numbers(motion: JointCommand | JointTrajectory, times: np.ndarray) -> None:
    """Sizes, finiteness and the same fields at every point; effort is never accepted.

    On arrays as far as sizes agree; the first point that is odd is then checked by itself.
    """
    if isinstance(motion, JointCommand):
        count, rows = motion.rows
        points = motion.points
        pushes = (k for k, point in enumerate(points[:count]) if len(point.effort))
        count = next(pushes, count)
        if len(points[0].accelerations) and not len(points[0].velocities):
            count = 0
    else:
        count = len(times)
        rows = motion.rows
    for row in rows.values():
        if row is not None:
            sound = (np.abs(np.asarray(row[:count], float)) <= LARGEST).all(axis=1)
            count = min(count, len(sound) if sound.all() else int(np.argmin(sound)))
    if count < len(times):
        first, odd = (_point(motion, rows, k) for k in (0, count))
        _refuse_point(odd, first, motion.names, f"point {count} at {times[count] / NANO:.6g} s")


def _point(motion: JointCommand | JointTrajectory, rows: dict, k: int) -> CommandPoint:
    if isinstance(motion, JointCommand):
        return motion.points[k]
    lists = [
        () if rows[key] is None else np.asarray(rows[key][k], float).tolist() for key in FIELDS
    ]
    return CommandPoint(0, *lists)


def _refuse_point(point: CommandPoint, first: CommandPoint, names: Sequence[str], at: str) -> None:
    """InputError for what is odd about a point; `at` names it."""
    if len(point.effort):
        raise InputError(PLACE, f"{at}: effort", point.effort, "empty: a position controller")
    for key in FIELDS:
        row = getattr(point, key)
        if len(row) != len(names) and (len(row) or key == "positions"):
            raise InputError(PLACE, f"{at}: {key}", f"{len(row)} numbers", f"{len(names)}")
        if bool(len(row)) != bool(len(getattr(first, key))):
            rule = "given at all points or at none"
            raise InputError(PLACE, f"{at}: {key}", f"{len(row)} numbers", rule)
        for name, value in zip(names, row, strict=False):
            if not abs(value) <= LARGEST:
                rule = f"a finite number, at most {LARGEST:g} in size"
                raise InputError(PLACE, f"{at}: {key} of {name}", value, rule)
    raise InputError(PLACE, f"{at}: velocities", (), "given where accelerations are")


def _in_order(
    motion: JointCommand | JointTrajectory, times: np.ndarray, joints: Sequence[str]
) -> JointTrajectory:
    """As a message carries it: whole nanoseconds, columns in the order of `joints`."""
    if isinstance(motion, JointCommand):
        return motion.trajectory(joints)
    return replace(motion.ordered(joints), times=times / NANO)


def _check_release(trajectory: JointTrajectory) -> None:
    release, end = trajectory.release, trajectory.duration
    if release is not None and not 0.0 <= release <= end + 1.0 / NANO:  # times are whole there
        raise InputError(PLACE, "release", release, f"0 to {end:g} s, within the motion")


def _check_end(trajectory: JointTrajectory) -> None:
    """Rest at the end, exactly: the controller stops commanding there."""
    for key, unit in (("velocities", "/s"), ("accelerations", "/s^2")):
        rows = getattr(trajectory, key)
        for k, name in enumerate(trajectory.names if rows is not None else ()):
            if rows[-1, k] != 0.0:
                where = f"joint {name} at {trajectory.duration:.6g} s (end): {key}"
                raise InputError(PLACE, where, float(rows[-1, k]), f"exactly 0 rad{unit}")


def refuse(found: list[Exceeded]) -> None:
    """InputError for the first of these in time, naming some of the others."""
    if not found:
        return
    one, *others = sorted(found, key=lambda problem: problem.time)
    remedy = "; ".join(f"also {other.short}" for other in others[:5])
    raise InputError(PLACE, one.key, one.value, one.rule, remedy)
