"""Unsafe and malformed plans of legged robots: the driver refuses each and sends nothing."""

import copy

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from diffsim_interfaces.msg import LocomotionPlan  # noqa: E402

from diffsim_ros.nodes import convert_locomotion as legged  # noqa: E402
from diffsim_ros.planning.locomotion import Gait, goal_of_travel, load_legged_robot, plan_walk  # noqa: E402
from tests.nodes.walking import ROBOTS, WHEELED, Walker  # noqa: E402
from tests.planning.locomotion.plans import TROT  # noqa: E402

REFUSED = 7


def point(plan, k):
    return plan.trajectory.points[k]


def joint(plan, k, value, row="positions"):
    """A change of one joint's number at a point."""
    getattr(point(plan, k), row)[2] = value


def drop(plan, k):
    del plan.trajectory.points[k]


def tilted(plan, k):
    turn = plan.base[k].orientation
    turn.x, turn.w = np.sin(0.5), np.cos(0.5)


def late(plan, k, seconds):
    point(plan, k).time_from_start.sec += seconds


def flying(plan):
    plan.contact = [k >= 4 * 20 for k in range(len(plan.contact))]


def beyond_between(plan):
    """Two points within limits, a knee that opens too far between them."""
    for k, rate in ((10, 6.9), (11, -6.9)):
        late(plan, k, 3 * (k - 10))
        joint(plan, k, -0.3)
        joint(plan, k, rate, "velocities")
    for k in range(12, len(plan.trajectory.points)):
        late(plan, k, 3)


CASES = {
    "no name": (lambda p: setattr(p, "name", ""), "plan: name"),
    "another robot": (lambda p: setattr(p, "robot", "solo12"), "plan: robot"),
    "a stamp": (lambda p: setattr(p.trajectory.header.stamp, "sec", 5), "stamp"),
    "no joints": (lambda p: setattr(p.trajectory, "joint_names", []), "trajectory: joints"),
    "an unknown joint": (lambda p: p.trajectory.joint_names.__setitem__(0, "tail"), "tail"),
    "a joint twice": (
        lambda p: p.trajectory.joint_names.__setitem__(1, p.trajectory.joint_names[0]), "2 times"),
    "a joint missing": (lambda p: p.trajectory.joint_names.pop(), "0 times"),
    "no points": (lambda p: setattr(p.trajectory, "points", []), "0 points"),
    "one point": (lambda p: setattr(p.trajectory, "points", p.trajectory.points[:1]), "1 points"),
    "too many points": (
        lambda p: setattr(p.trajectory, "points", p.trajectory.points * 400), "2 to 10000 points"),
    "time before the start": (lambda p: late(p, 0, -2), ">= 0 s"),
    "time that goes back": (lambda p: late(p, 5, -1), "point 5: time"),
    "too long": (lambda p: late(p, -1, 100), "duration"),
    "NaN position": (lambda p: joint(p, 7, np.nan), "finite number"),
    "infinite velocity": (lambda p: joint(p, 7, np.inf, "velocities"), "finite number"),
    "a number missing": (lambda p: point(p, 3).positions.pop(), "11 numbers"),
    "torques": (lambda p: setattr(point(p, 3), "effort", [1.0] * 12), "effort"),
    "velocities missing at a point": (
        lambda p: setattr(point(p, 3), "velocities", []), "all points or at none"),
    "accelerations at one point": (
        lambda p: setattr(point(p, 3), "accelerations", [0.0] * 12), "all points or at none"),
    "moves at its end": (lambda p: joint(p, -1, 0.5, "velocities"), "exactly 0 rad/s"),
    "a knee bent too far": (lambda p: joint(p, 8, -3.0), "position"),
    "a knee too fast": (lambda p: joint(p, 8, 9.0, "velocities"), "velocity"),
    "a jump": (lambda p: joint(p, 8, -0.4), "velocity"),
    "too far between points": (beyond_between, "position"),
    "ends crouched": (
        lambda p: [joint(p, k, point(p, k).positions[2] - 0.2)
                   for k in range(len(p.trajectory.points))], "standing pose"),
    "a wheel that it has not": (
        lambda p: (p.wheels.append("FL_spin"), p.wheel_speeds.extend([0.0] * len(p.phase))),
        "a wheel with a motor"),
    "speeds of no wheel": (lambda p: setattr(p, "wheel_speeds", [1.0]), "wheel_speeds"),
    "an unknown foot": (lambda p: p.end_effectors.__setitem__(0, "TAIL"), "end_effectors"),
    "flags missing": (lambda p: setattr(p, "contact", list(p.contact)[:-1]), "contact"),
    "ends with a foot in the air": (
        lambda p: p.contact.__setitem__(-1, False), "contact of RR at the end"),
    "no foot on the ground": (flying, "without a foot on the ground"),
    "phases missing": (lambda p: setattr(p, "phase", p.phase[:-1]), "phase"),
    "phase beyond the period": (lambda p: p.phase.__setitem__(4, 1.5), "point 4: phase"),
    "NaN phase": (lambda p: p.phase.__setitem__(4, np.nan), "point 4: phase"),
    "poses missing": (lambda p: p.base.pop(), "base"),
    "a pose that is none": (lambda p: setattr(p.base[5].orientation, "w", 0.0), "unit quaternion"),
    "a body that leans over": (lambda p: tilted(p, 6), "tilt"),
    "a body in the ground": (lambda p: setattr(p.base[6].position, "z", -0.1), "height"),
    "a body that leaps": (lambda p: setattr(p.base[6].position, "x", 3.0), "speed"),
    "begins elsewhere": (
        lambda p: [joint(p, k, point(p, k).positions[2] + 0.7)
                   for k in range(len(p.trajectory.points) // 2)], "trajectory: joint"),
    "continues what does not run": (lambda p: setattr(p, "continues", "walk-x-1"), "continues"),
}  # fmt: skip
"""Name -> change of a plan that holds, and what the answer names."""
WHEEL_CASES = {
    "a wheel too fast": (lambda p: p.wheel_speeds.__setitem__(40, 30.0), "speed"),
    "NaN speed of a wheel": (lambda p: p.wheel_speeds.__setitem__(40, np.nan), "speed"),
    "a wheel that turns at the end": (
        lambda p: p.wheel_speeds.__setitem__(-1, 1.0), "exactly 0 rad/s"),
    "a wheel that begins at speed": (
        lambda p: [p.wheel_speeds.__setitem__(4 * k, 5.0 - 2 * k) for k in (0, 1)],
        "at 0 s: change of speed"),
    "a wheel that jerks": (lambda p: p.wheel_speeds.__setitem__(24, -7.0), "change of speed"),
    "a wheel missing": (
        lambda p: (p.wheels.pop(), setattr(p, "wheel_speeds", [0.0] * (3 * len(p.phase)))),
        "wheels"),
}  # fmt: skip


def sound_plan(robot, gait):
    """A plan that holds."""
    walk = plan_walk(robot, gait, goal_of_travel(gait, (0.1, 0.0), 0.0))
    return legged.plan_message(walk, "walk-1")


@pytest.mark.parametrize(
    ("robot", "gait", "cases"),
    [
        ("quadruped", TROT, CASES),
        ("agilebot", Gait(gait=WHEELED["gait"], speed=0.2), WHEEL_CASES),
    ],
)
def test_what_is_unsafe_or_malformed_is_refused_with_its_reason(ros, robot, gait, cases):
    walker = Walker(ros, robot, planner=WHEELED if robot == "agilebot" else None)
    plan = sound_plan(load_legged_robot(ROBOTS / f"{robot}.yaml"), gait)
    assert isinstance(plan, LocomotionPlan) and len(CASES) + len(WHEEL_CASES) > 30
    for name, (change, why) in cases.items():
        wrong = copy.deepcopy(plan)
        change(wrong)
        result = walker.report(walker.walk(wrong))
        assert result.error_code == REFUSED, (name, result.error_msg)
        assert why in result.error_msg, (name, result.error_msg)
    assert walker.twin.server.controller.begun is None  # nothing was sent
    result = walker.report(walker.walk(plan))
    assert result.error_code == 0, result.error_msg  # and nothing else was wrong with it
