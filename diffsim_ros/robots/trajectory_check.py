"""Is a joint trajectory safe to send? What the real controller refuses, and what it lets pass.

ros2_controllers checks neither NaN nor limits nor where the robot is (ros.md in docs/); a motion
that passes here is accepted by it, begins where the robot stands and rests, ends at rest, and stays
within the limits of position, velocity and acceleration on the controller's own interpolation, also
between points.

`check_motion` looks at the motion alone, however long it is; `check_start` at where the robot
stands and the path to the first point, in a time that does not grow with the number of points, so
that it can be repeated just before the motion is sent.  `check_trajectory` is both.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError, nearest

from .arm import Arm, Limits
from .command import FIELDS, NANO, CommandPoint, JointCommand, JointSample
from .interpolation import RULES, approaches
from .trajectory import JointTrajectory
from .trajectory_limits import SLACK, Exceeded, beyond_limits, jumps, too_sudden

LARGEST = 1e6
"""Of a number that is looked at at all: with larger ones the interpolation would overflow."""


@dataclass(frozen=True)
class Rules:
    """What is accepted beside the arm's limits.

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


def check_trajectory(
    motion: JointCommand | JointTrajectory,
    arm: Arm,
    start: JointSample | None = None,
    *,
    rules: Rules | None = None,
    now: int | None = None,
    place: str = "trajectory",
) -> JointTrajectory:
    """The motion with columns in the order of the arm's joints, safe to send as it is.

    start  the present state; None: not compared (a plan that is not sent yet)
    now    [ns] to which stamps are compared; None: not compared
    Raises InputError naming joint, time, value and limit of the first thing that is wrong, and what
    else is beyond limits: first of the motion itself, then of its start.
    """
    trajectory = check_motion(motion, arm, rules, now=now, place=place)
    if start is not None:
        stamp = getattr(motion, "stamp", 0)
        wait = (stamp - now) / NANO if stamp and now is not None else 0.0
        check_start(trajectory, arm, start, rules, wait=wait, place=place)
    return trajectory


def check_motion(
    motion: JointCommand | JointTrajectory,
    arm: Arm,
    rules: Rules | None = None,
    *,
    now: int | None = None,
    place: str = "trajectory",
) -> JointTrajectory:
    """Everything but where the robot stands: names, times, numbers, release, end, limits.

    Returns and raises as `check_trajectory`.
    """
    rules = rules or Rules()
    if arm.base is None:
        remedy = "measure it with ~/calibrate and write it into the robot's YAML"
        raise InputError(arm.robot.place, "base", None, "the base's pose in the world", remedy)
    times = _times(motion, place)
    _check_names(motion.names, arm.robot.joint_names, place)
    _check_times(times, rules, place)
    if isinstance(motion, JointCommand):
        _check_stamp(motion, rules, now, place)
    _check_numbers(motion, times, place)
    trajectory = _in_order(motion, times, arm.robot.joint_names)
    _check_release(trajectory, place)
    _check_end(trajectory, place)
    found = jumps(trajectory, arm.limits, rules.period)
    found += beyond_limits(trajectory, arm.limits, jerk=rules.jerk)
    _refuse(found, place)
    return trajectory


def check_start(
    trajectory: JointTrajectory,
    arm: Arm,
    start: JointSample,
    rules: Rules | None = None,
    *,
    wait: float = 0.0,
    place: str = "trajectory",
) -> None:
    """The present state is fresh, whole, at rest and within limits, and the motion begins there.

    trajectory  as `check_motion` returned it: columns in the order of the arm's joints
    wait        [s] from now until its t = 0, where it has a stamp
    A first point at t = 0 must not jump; on the path to a later one, as the controller goes it, the
    limits hold.  Raises as `check_trajectory`.
    """
    rules = rules or Rules()
    check_state(trajectory.names, arm.limits, start, rules)
    check_turns(trajectory, arm, start, place)
    position, velocity = start.rows(trajectory.names)
    begin, first = wait + float(trajectory.times[0]), _first_rate(trajectory)
    if begin > 0.0:
        for path in approaches(position, velocity, trajectory, begin, rules.approach):
            found = jumps(path, arm.limits, rules.period, velocity, first)
            _refuse(found + beyond_limits(path, arm.limits, jerk=False), place)
        return
    for k, name in enumerate(trajectory.names):
        if not abs(trajectory.positions[0, k] - position[k]) <= rules.start_tolerance:
            rule = f"within {rules.start_tolerance:g} of the present {position[k]:.6g}"
            remedy = "a first point at t = 0 jumps: begin later, or ask for a blend"
            key = f"joint {name} at 0 s: position"
            raise InputError(place, key, float(trajectory.positions[0, k]), rule, remedy)
    change = (first - velocity)[None]
    _refuse(too_sudden(trajectory.names, np.zeros(1), change, arm.limits, rules.period), place)


def _times(motion: JointCommand | JointTrajectory, place: str) -> np.ndarray:
    """(n,) [ns], whole; InputError for a time that is no number."""
    if isinstance(motion, JointCommand):
        return np.array([point.time for point in motion.points], float)
    times = np.asarray(motion.times, float)
    sound = np.abs(times) <= LARGEST
    if not sound.all():
        k = int(np.argmin(sound))
        rule = f"a finite number [s], at most {LARGEST:g} in size"
        raise InputError(place, f"point {k}: time", float(times[k]), rule)
    whole = np.floor(times)
    return whole * NANO + np.rint((times - whole) * NANO)


def _check_names(names: Sequence[str], joints: Sequence[str], place: str) -> None:
    rule = f"each of {', '.join(joints)} once, in any order"
    if not names:
        raise InputError(place, "joints", [], rule)
    for name in names:
        if name not in joints:
            raise InputError(place, "joints", name, "a joint of the robot", nearest(name, joints))
    for name in joints:
        if names.count(name) != 1:
            got = f"{name} {names.count(name)} times"
            raise InputError(place, "joints", got, rule, "partial goals are not accepted")


def _check_times(times: np.ndarray, rules: Rules, place: str) -> None:
    if not 2 <= len(times) <= rules.max_points:
        rule = f"2 to {rules.max_points} points"
        raise InputError(place, "points", f"{len(times)} points", rule)
    odd = np.flatnonzero(np.diff(times, prepend=-1.0) <= 0.0)
    if len(odd):
        k = int(odd[0])
        rule = ">= 0 s" if k == 0 else f"after {times[k - 1] / NANO:.9g} s"
        remedy = "times must strictly increase"
        raise InputError(place, f"point {k}: time", float(times[k]) / NANO, rule, remedy)
    if times[-1] > rules.max_duration * NANO:
        rule = f"at most {rules.max_duration:g} s"
        raise InputError(place, "duration", float(times[-1]) / NANO, rule, "parameter max_duration")


def _check_stamp(command: JointCommand, rules: Rules, now: int | None, place: str) -> None:
    if not command.stamp or now is None:
        return
    ahead = (command.stamp - now) / NANO
    if not 0.0 <= ahead <= rules.max_wait:
        rule = f"0 (at once), or from now to {rules.max_wait:g} s ahead"
        raise InputError(place, "header stamp", f"{ahead:+.3f} s from now", rule)


def _check_numbers(motion: JointCommand | JointTrajectory, times: np.ndarray, place: str) -> None:
    """Sizes, finiteness and the same fields at every point; effort is never accepted.

    On arrays as far as sizes agree; the first point that is odd is then looked at by itself.
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
        rows = {key: getattr(motion, key) for key in FIELDS}
    for row in rows.values():
        if row is not None:
            sound = (np.abs(np.asarray(row[:count], float)) <= LARGEST).all(axis=1)
            count = min(count, len(sound) if sound.all() else int(np.argmin(sound)))
    if count < len(times):
        first, odd = (_point(motion, rows, k) for k in (0, count))
        _refuse_point(
            odd, first, motion.names, place, f"point {count} at {times[count] / NANO:.6g} s"
        )


def _point(motion: JointCommand | JointTrajectory, rows: dict, k: int) -> CommandPoint:
    if isinstance(motion, JointCommand):
        return motion.points[k]
    lists = [
        () if rows[key] is None else np.asarray(rows[key][k], float).tolist() for key in FIELDS
    ]
    return CommandPoint(0, *lists)


def _refuse_point(
    point: CommandPoint, first: CommandPoint, names: Sequence[str], place: str, at: str
) -> None:
    """InputError for what is odd about a point; `at` says which it is."""
    if len(point.effort):
        raise InputError(place, f"{at}: effort", point.effort, "empty: a position controller")
    for key in FIELDS:
        row = getattr(point, key)
        if len(row) != len(names) and (len(row) or key == "positions"):
            raise InputError(place, f"{at}: {key}", f"{len(row)} numbers", f"{len(names)}")
        if bool(len(row)) != bool(len(getattr(first, key))):
            rule = "given at all points or at none"
            raise InputError(place, f"{at}: {key}", f"{len(row)} numbers", rule)
        for name, value in zip(names, row, strict=False):
            if not abs(value) <= LARGEST:
                rule = f"a finite number, at most {LARGEST:g} in size"
                raise InputError(place, f"{at}: {key} of {name}", value, rule)
    raise InputError(place, f"{at}: velocities", (), "given where accelerations are")


def _in_order(
    motion: JointCommand | JointTrajectory, times: np.ndarray, joints: Sequence[str]
) -> JointTrajectory:
    """As a message carries it: whole nanoseconds, columns in the order of `joints`."""
    if isinstance(motion, JointCommand):
        return motion.trajectory(joints)
    columns = [motion.names.index(name) for name in joints]
    rows = {
        key: None if row is None else np.asarray(row, float)[:, columns]
        for key in FIELDS
        for row in [getattr(motion, key)]
    }
    return JointTrajectory(tuple(joints), times / NANO, **rows, release=motion.release)


def _check_release(trajectory: JointTrajectory, place: str) -> None:
    release, end = trajectory.release, trajectory.duration
    if release is not None and not 0.0 <= release <= end + 1.0 / NANO:  # times are whole there
        raise InputError(place, "release", release, f"0 to {end:g} s, within the motion")


def _check_end(trajectory: JointTrajectory, place: str) -> None:
    """Rest at the end, exactly: the controller stops commanding there."""
    for key, unit in (("velocities", "/s"), ("accelerations", "/s^2")):
        rows = getattr(trajectory, key)
        for k, name in enumerate(trajectory.names if rows is not None else ()):
            if rows[-1, k] != 0.0:
                where = f"joint {name} at {trajectory.duration:.6g} s (end): {key}"
                raise InputError(place, where, float(rows[-1, k]), f"exactly 0 rad{unit}")


def _first_rate(trajectory: JointTrajectory) -> np.ndarray:
    """(n,) velocity of the first piece where it begins."""
    if trajectory.velocities is not None:
        return trajectory.velocities[0]
    step = float(trajectory.times[1] - trajectory.times[0])
    return (trajectory.positions[1] - trajectory.positions[0]) / step


def check_state(names: Sequence[str], limits: Limits, start: JointSample, rules: Rules) -> None:
    """Fresh, whole, within limits, at rest."""
    place, most = "joint states", rules.start_velocity
    if not 0.0 <= start.age <= rules.state_age:
        rule = f"at most {rules.state_age:g} s old"
        remedy = "is the robot's driver running?"
        if start.age < 0.0:
            rule, remedy = f"0 to {rules.state_age:g} s", "the clock was set back: send it again"
        raise InputError(place, "age", start.age, rule, remedy)
    for name in names:
        for what, rows in (("position", start.positions), ("velocity", start.velocities)):
            value = rows.get(name)
            if value is None or not math.isfinite(value):
                got = value if value is None else float(value)
                raise InputError(place, f"{what} of {name}", got, "a finite number")
    for k, name in enumerate(names):
        value, low, high = start.positions[name], limits.lower[k], limits.upper[k]
        if not low - SLACK * abs(low) <= value <= high + SLACK * abs(high):
            rule = f"from {low:.6g} to {high:.6g}"
            remedy = "move the robot back within its limits by hand"
            raise InputError(place, f"position of {name}", value, rule, remedy)
        rate = start.velocities[name]
        if not abs(rate) <= most:
            rule = f"at most {most:g} in size, at rest"
            raise InputError(place, f"velocity of {name}", rate, rule, "wait until the robot rests")


def check_turns(
    trajectory: JointTrajectory, arm: Arm, start: JointSample, place: str = "trajectory"
) -> None:
    """Every joint's present position is known, and the motion begins less than half a turn away.

    Joints turn further than once: the same pose a turn away is a long way.
    """
    position, _ = start.rows(trajectory.names)
    for k, joint in enumerate(arm.robot.joints):
        if not math.isfinite(position[k]):
            got = float(position[k])
            raise InputError("joint states", f"position of {joint.name}", got, "a finite number")
        first = float(trajectory.positions[0, k])
        turns = round((first - position[k]) / math.tau) if joint.turns else 0
        if turns:
            rule = f"less than half a turn from the present {position[k]:.6g} rad"
            remedy = f"shift the whole joint by {-turns * math.tau:+.6g} rad"
            key = f"joint {joint.name} at {trajectory.times[0]:.6g} s: position"
            raise InputError(place, key, first, rule, remedy)


def _refuse(found: list[Exceeded], place: str) -> None:
    """InputError for the first of these in time, naming some of the others."""
    if not found:
        return
    one, *others = sorted(found, key=lambda problem: problem.time)
    remedy = "; ".join(f"also {other.short}" for other in others[:5])
    raise InputError(place, one.key, one.value, one.rule, remedy)
