"""Whether a checked motion begins where the robot is, which may change until it is sent.

It takes a time that does not grow with the number of points, so that it can be repeated just
before the motion is sent; the motion by itself: trajectory_check.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffsim_ros.errors import InputError

from .arm import Arm, Limits
from .command import JointSample
from .interpolation import approaches
from .trajectory import JointTrajectory
from .trajectory_check import PLACE, Rules, refuse
from .trajectory_limits import SLACK, beyond_limits, jumps, too_sudden

STATE = "joint states"


def check_start(
    trajectory: JointTrajectory,
    arm: Arm,
    start: JointSample,
    rules: Rules | None = None,
    *,
    wait: float = 0.0,
) -> None:
    """The present state is fresh, complete, at rest, within limits, and the motion begins there.

    trajectory  as `check_motion` returned it: columns in the order of the arm's joints
    wait        [s] from now until its t = 0, where it has a stamp
    A first point at t = 0 must not jump; on the path to a later one, as the controller goes it, the
    limits hold.  Raises as `check_motion`.
    """
    rules = rules or Rules()
    check_state(trajectory.names, arm.limits, start, rules)
    check_turns(trajectory, arm, start)
    position, velocity = start.rows(trajectory.names)
    begin, first = wait + float(trajectory.times[0]), _first_rate(trajectory)
    if begin > 0.0:
        for path in approaches(position, velocity, trajectory, begin, rules.approach):
            found = jumps(path, arm.limits, rules.period, velocity, first)
            refuse(found + beyond_limits(path, arm.limits, jerk=False))
        return
    for k, name in enumerate(trajectory.names):
        if not abs(trajectory.positions[0, k] - position[k]) <= rules.start_tolerance:
            rule = f"within {rules.start_tolerance:g} of the present {position[k]:.6g}"
            remedy = "a first point at t = 0 jumps: begin later, or ask for a blend"
            key = f"joint {name} at 0 s: position"
            raise InputError(PLACE, key, float(trajectory.positions[0, k]), rule, remedy)
    change = (first - velocity)[None]
    refuse(too_sudden(trajectory.names, np.zeros(1), change, arm.limits, rules.period))


def _first_rate(trajectory: JointTrajectory) -> np.ndarray:
    """(n,) velocity of the first piece where it begins."""
    if trajectory.velocities is not None:
        return trajectory.velocities[0]
    step = float(trajectory.times[1] - trajectory.times[0])
    return (trajectory.positions[1] - trajectory.positions[0]) / step


def check_state(names: Sequence[str], limits: Limits, start: JointSample, rules: Rules) -> None:
    """Fresh, complete, within limits, at rest."""
    most = rules.start_velocity
    if not 0.0 <= start.age <= rules.state_age:
        rule = f"at most {rules.state_age:g} s old"
        remedy = "is the robot's driver running?"
        if start.age < 0.0:
            rule, remedy = f"0 to {rules.state_age:g} s", "the clock was set back: send it again"
        raise InputError(STATE, "age", start.age, rule, remedy)
    for name in names:
        for what, rows in (("position", start.positions), ("velocity", start.velocities)):
            value = rows.get(name)
            if value is None or not math.isfinite(value):
                got = value if value is None else float(value)
                raise InputError(STATE, f"{what} of {name}", got, "a finite number")
    for k, name in enumerate(names):
        value, low, high = start.positions[name], limits.lower[k], limits.upper[k]
        if not low - SLACK * abs(low) <= value <= high + SLACK * abs(high):
            rule = f"from {low:.6g} to {high:.6g}"
            remedy = "move the robot back within its limits by hand"
            raise InputError(STATE, f"position of {name}", value, rule, remedy)
        rate = start.velocities[name]
        if not abs(rate) <= most:
            rule = f"at most {most:g} in size, at rest"
            raise InputError(STATE, f"velocity of {name}", rate, rule, "wait until the robot rests")


def check_turns(trajectory: JointTrajectory, arm: Arm, start: JointSample) -> None:
    """Every joint's present position is known, and the motion begins less than half a turn away.

    Joints turn further than once: the same pose a turn away is far.
    """
    position, _ = start.rows(trajectory.names)
    for k, joint in enumerate(arm.robot.joints):
        if not math.isfinite(position[k]):
            got = float(position[k])
            raise InputError(STATE, f"position of {joint.name}", got, "a finite number")
        first = float(trajectory.positions[0, k])
        turns = round((first - position[k]) / math.tau) if joint.turns else 0
        if turns:
            rule = f"less than half a turn from the present {position[k]:.6g} rad"
            remedy = f"shift the whole joint by {-turns * math.tau:+.6g} rad"
            key = f"joint {joint.name} at {trajectory.times[0]:.6g} s: position"
            raise InputError(PLACE, key, first, rule, remedy)
