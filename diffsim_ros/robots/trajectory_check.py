"""Is a joint trajectory safe to send? What the real controller refuses, and what it lets pass.

ros2_controllers checks neither NaN nor limits nor where the robot is (docs/ros.md); a trajectory
that passes here is accepted by it, begins where the robot stands, ends at rest, and stays within
the limits of position, velocity and acceleration on the controller's own interpolation, also
between points.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError, nearest

from .arm import Arm
from .command import NANO, JointCommand, JointSample, approach
from .trajectory import JointTrajectory
from .trajectory_limits import Problem, beyond_limits, jumps

LARGEST = 1e6
"""Of a number that is looked at at all: with larger ones the interpolation would overflow."""


@dataclass(frozen=True)
class Rules:
    """What is accepted beside the arm's limits.

    start_tolerance  [rad or m] between the present state and a first point at t = 0
    state_age        [s] of the present state
    period           [s] of the controller: a velocity may jump by what the acceleration limit
                     allows within it
    max_points, max_duration [s], max_wait [s] until a stamp;  jerk  True: its limit counts too
    """

    start_tolerance: float = 1e-3
    state_age: float = 0.25
    period: float = 0.008
    max_points: int = 10_000
    max_duration: float = 60.0
    max_wait: float = 10.0
    jerk: bool = False


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
    else is beyond limits.
    """
    rules = rules or Rules()
    if arm.base is None:
        remedy = "measure it with ~/calibrate and write it into the robot's YAML"
        raise InputError(arm.robot.place, "base", None, "the base's pose in the world", remedy)
    command = _command(motion, place)
    _check_names(command.names, arm.robot.joint_names, place)
    _check_times(command, rules, now, place)
    _check_numbers(command, place)
    trajectory = command.trajectory(arm.robot.joint_names)
    _check_release(trajectory, place)
    _check_end(trajectory, place)
    if start is not None:
        _check_start(trajectory, arm, start, rules, place)
    _check_limits(trajectory, arm, start, rules, place)
    return trajectory


def _command(motion: JointCommand | JointTrajectory, place: str) -> JointCommand:
    if isinstance(motion, JointCommand):
        return motion
    times = np.asarray(motion.times, float)
    if not np.isfinite(times).all():
        k = int(np.argmin(np.isfinite(times)))
        raise InputError(place, f"point {k}: time", float(times[k]), "a finite number [s]")
    return JointCommand.of(motion)


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


def _check_times(command: JointCommand, rules: Rules, now: int | None, place: str) -> None:
    points, most = command.points, rules.max_points
    if not 2 <= len(points) <= most:
        raise InputError(place, "points", f"{len(points)} points", f"2 to {most} points")
    before = -1
    for k, point in enumerate(points):
        if point.time <= before:
            key, rule = f"point {k}: time", ">= 0 s" if k == 0 else f"after {before / NANO:.9g} s"
            raise InputError(place, key, point.time / NANO, rule, "times must strictly increase")
        before = point.time
    if before > rules.max_duration * NANO:
        rule = f"at most {rules.max_duration:g} s"
        raise InputError(place, "duration", before / NANO, rule, "parameter max_duration")
    if not command.stamp or now is None:
        return
    ahead = (command.stamp - now) / NANO
    if not 0.0 <= ahead <= rules.max_wait:
        rule = f"0 (at once), or from now to {rules.max_wait:g} s ahead"
        raise InputError(place, "header stamp", f"{ahead:+.3f} s from now", rule)


def _check_numbers(command: JointCommand, place: str) -> None:
    """Sizes, finiteness and the same fields at every point; effort is never accepted."""
    names, first = command.names, command.points[0]
    for k, point in enumerate(command.points):
        at = f"point {k} at {point.time / NANO:.6g} s"
        if len(point.effort):
            raise InputError(place, f"{at}: effort", point.effort, "empty: a position controller")
        for key in ("positions", "velocities", "accelerations"):
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
        if len(point.accelerations) and not len(point.velocities):
            raise InputError(place, f"{at}: velocities", (), "given where accelerations are")


def _check_release(trajectory: JointTrajectory, place: str) -> None:
    release, end = trajectory.release, trajectory.duration
    if release is not None and not 0.0 <= release <= end:
        raise InputError(place, "release", release, f"0 to {end:g} s, within the motion")


def _check_end(trajectory: JointTrajectory, place: str) -> None:
    """Rest at the end, exactly: the controller stops commanding there."""
    for key, unit in (("velocities", "/s"), ("accelerations", "/s^2")):
        rows = getattr(trajectory, key)
        for k, name in enumerate(trajectory.names if rows is not None else ()):
            if rows[-1, k] != 0.0:
                where = f"joint {name} at {trajectory.duration:.6g} s (end): {key}"
                raise InputError(place, where, float(rows[-1, k]), f"exactly 0 rad{unit}")


def _check_start(
    trajectory: JointTrajectory, arm: Arm, start: JointSample, rules: Rules, place: str
) -> None:
    """The present state is fresh and whole, and the first point does not jump from it."""
    if not start.age <= rules.state_age:
        rule = f"at most {rules.state_age:g} s old"
        raise InputError("joint states", "age", start.age, rule, "is the robot's driver running?")
    check_turns(trajectory, arm, start, place)
    position, velocity = start.rows(trajectory.names)
    for k, name in enumerate(trajectory.names):
        if not math.isfinite(velocity[k]):
            raise InputError("joint states", f"velocity of {name}", velocity[k], "a finite number")
        gap = float(trajectory.positions[0, k] - position[k])
        if trajectory.times[0] == 0.0 and abs(gap) > rules.start_tolerance:
            rule = f"within {rules.start_tolerance:g} of the present {position[k]:.6g}"
            remedy = "a first point at t = 0 jumps: begin later, or ask for a blend"
            key = f"joint {name} at 0 s: position"
            raise InputError(place, key, float(trajectory.positions[0, k]), rule, remedy)


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


def _check_limits(
    trajectory: JointTrajectory, arm: Arm, start: JointSample | None, rules: Rules, place: str
) -> None:
    """On the controller's way to the first point, where that is later, and on the trajectory."""
    found: list[Problem] = []
    parts = [trajectory]
    if start is None:
        velocity = trajectory.splines[1].c[0, 0]  # its own
    else:
        position, velocity = start.rows(trajectory.names)
        if trajectory.times[0] > 0.0:
            way = approach(position, velocity, trajectory, float(trajectory.times[0]))
            found += beyond_limits(way, arm.limits, jerk=False)
            parts = [way, trajectory]
    found += jumps(parts, velocity, arm.limits, rules.period)
    found += beyond_limits(trajectory, arm.limits, jerk=rules.jerk)
    if not found:
        return
    found.sort(key=lambda problem: problem.time)
    one, *others = found
    remedy = "; ".join(f"also {other.short}" for other in others[:5])
    raise InputError(place, one.key, one.value, one.rule, remedy)
