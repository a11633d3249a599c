"""Motions against the arm itself, what stands around it and what it holds."""

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("urchin")

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.collision import OWN, Around, Cancelled, CollisionCheck
from diffsim_ros.robots.collision_solids import Convex, ball
from diffsim_ros.robots.kinematics import link_pose
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.robots.trajectory_check import check_motion

ARM = load_arm(Path(__file__).resolve().parents[2] / "config" / "robots" / "ur5.yaml")
NAMES = ARM.robot.joint_names
MARGIN = 0.01
CHECK = CollisionCheck(ARM, MARGIN)
TABLE = Around({"table": _engine.Plane((0, 0, 1), 0.0)})
LOW = np.array([0.0, -0.3, 1.9, -3.17, -1.57, 0.0])  # the tool points down, near the table


def between(first, last, duration=1.5, count=190):
    """From rest to rest along a straight line of joint values: a polynomial of fifth degree."""
    first, along = np.asarray(first, float), np.subtract(last, first)
    s = np.linspace(0.0, 1.0, count)
    q = 10 * s**3 - 15 * s**4 + 6 * s**5
    qd = (30 * s**2 - 60 * s**3 + 30 * s**4) / duration
    qdd = (60 * s - 180 * s**2 + 120 * s**3) / duration**2
    qd[-1] = qdd[-1] = 0.0
    rows = [first + np.outer(q, along), np.outer(qd, along), np.outer(qdd, along)]
    return JointTrajectory(NAMES, s * duration, *rows)


def turned(**angles):
    """Home with joints turned on [rad], by the beginning of their names."""
    q = ARM.home.copy()
    for k, name in enumerate(NAMES):
        q[k] += angles.get(name.removesuffix("_joint"), 0.0)
    return q


@cache
def at_height(height):
    """Joint values with the tool's lowest point at this height [m] above the table."""
    low, high = LOW.copy(), LOW.copy()
    low[1], high[1] = LOW[1] + 0.6, LOW[1] - 0.6
    for _ in range(25):
        middle = (low + high) / 2
        near = least(middle, TABLE)
        low, high = (middle, high) if near < height else (low, middle)
    return (low + high) / 2


def least(q, around):
    return float(CHECK.distances(np.atleast_2d(q), around)[0].min())


def test_a_motion_through_the_table_is_refused_by_link_time_distance_and_margin():
    motion = between(ARM.home, turned(shoulder_lift=0.8))
    check_motion(motion, ARM)  # nothing else is wrong with it
    tool = link_pose(ARM.robot, motion.positions[-1], "tool0")[2, 3]
    with pytest.raises(InputError) as caught:
        CHECK.check(motion, TABLE)
    assert tool < 0
    assert caught.value.key.startswith("wrist_3_link and table at ")
    assert caught.value.value < MARGIN and caught.value.accepted == "at least 0.01 m"
    time = float(caught.value.key.split()[-2])
    before = motion.at(time - 0.02)[0]
    assert 0 < least(before, TABLE) < 0.05, "when it comes near is reported, not when it is deepest"


def test_a_clear_motion_passes_and_what_has_no_shape_is_said():
    assert CHECK.check(between(ARM.home, turned(shoulder_pan=1.5, wrist_3=2)), TABLE) == [
        "base_link has no <collision>: it is not checked"
    ]


def test_between_two_points_too():
    """Both ends are clear, the path between is not; and a thin wall that stands between."""
    dip = between(ARM.home, turned(shoulder_lift=0.8))
    ends = [dip.positions[0], dip.positions[0]]
    speed = np.zeros(6)
    speed[1] = 3.0
    there_and_back = JointTrajectory(
        NAMES, np.array([0.0, 1.5]), np.array(ends), np.array([speed, -speed]), np.zeros((2, 6))
    )
    assert least(there_and_back.positions, TABLE) > 0.015
    with pytest.raises(InputError, match="and table"):
        CHECK.check(there_and_back, TABLE)
    turn = np.radians(222.0)  # a plate on a radius that the arm crosses between its points
    plate = _engine.Box((0.2, 0.0005, 0.3))
    wall = Around({"wall": _engine.Transformed(
        plate, (0.6 * np.cos(turn), 0.6 * np.sin(turn), 0.5), (0, 0, np.sin(turn / 2), np.cos(turn /
        2))
    )})  # fmt: skip
    sweep = between(ARM.home, turned(shoulder_pan=2.0), count=3)
    assert least(sweep.positions, wall) > 0.015
    with pytest.raises(InputError, match="and wall"):
        CHECK.check(sweep, wall)


@pytest.mark.parametrize("room", [0.0015, -0.0015])
def test_what_keeps_the_margin_by_a_hair_passes_and_what_does_not_is_refused(room):
    high, low = at_height(0.2), at_height(MARGIN + room)
    there = between(high, low)
    if room > 0:
        CHECK.check(there, TABLE)
    else:
        with pytest.raises(InputError, match=r"wrist_\d_link and table at 1\.\d+ s: got 0\.00"):
            CHECK.check(there, TABLE)


def test_the_arm_against_itself():
    folded = ARM.home.copy()
    folded[2:5] = 2.9, 0.0, 0.0
    with pytest.raises(InputError, match=r"wrist_\d_link and (upper_arm|shoulder)_link") as caught:
        CHECK.check(between(ARM.home, folded, 3.0), Around())
    assert caught.value.accepted == f"at least {OWN * MARGIN:g} m"


def test_what_the_arm_holds():
    down = at_height(0.08)
    motion = between(at_height(0.3), down)
    CHECK.check(motion, TABLE)
    held = replace(TABLE, held=[ball(ARM, "ball", 0.05, (0, 0, 0.06))])
    with pytest.raises(InputError, match="ball and table"):
        CHECK.check(motion, held)
    with pytest.raises(InputError, match=r"ball and (forearm|upper_arm|shoulder|wrist_1)_link"):
        big = replace(TABLE, held=[ball(ARM, "ball", 0.1, (0, 0, 0.1))])
        CHECK.check(between(ARM.home, turned(wrist_2=-1.4)), big)


def test_an_arm_that_begins_too_near_may_only_leave():
    near, high = at_height(0.004), at_height(0.1)
    sentences = CHECK.check(between(near, high), TABLE)
    assert "table are 0.00" in sentences[-1] and "less than 0.01 m" in sentences[-1]
    for low in (-0.02, 0.004):  # also out of a table that stands higher than it should
        CHECK.check(between(at_height(low), high), TABLE)
    with pytest.raises(InputError, match="move away from it first"):
        CHECK.check(between(near, at_height(-0.01)), TABLE)
    aside = near.copy()
    aside[0] += 0.5
    with pytest.raises(InputError, match="move away from it first"):
        CHECK.check(between(near, aside), TABLE)
    up, down = between(near, high), between(high, near)
    back = replace(
        up,
        times=np.concatenate([up.times, up.times[-1] + down.times[1:]]),
        **{key: np.concatenate([getattr(up, key), getattr(down, key)[1:]])
           for key in ("positions", "velocities", "accelerations")},
    )  # fmt: skip
    with pytest.raises(InputError, match=r"accepted: at least 0\.01 m"):
        CHECK.check(back, TABLE)


def test_what_the_first_joint_moves_may_touch_what_it_stands_on_and_other_links_may_not():
    block = _engine.Transformed(_engine.Box((0.1, 0.1, 0.05)), (0, 0, 0.02), (0, 0, 0, 1))
    around = Around({"block": Convex(block)})
    CHECK.check(between(ARM.home, turned(shoulder_pan=0.5)), around)
    with pytest.raises(InputError, match=r"wrist_\d_link and block"):
        CHECK.check(between(ARM.home, turned(elbow=1.3)), around)


def test_links_that_are_near_at_home_are_not_checked_and_that_is_said():
    check = CollisionCheck(ARM, 0.09)
    sentences = check.check(between(ARM.home, turned(wrist_3=0.5)), Around())
    assert (
        "wrist_3_link and wrist_1_link are not held against each other: they are nearer than "
        in (" ".join(sentences))
    )
    held = Around(held=[ball(ARM, "ball", 0.2, (0, 0, 0.1))])  # but what it holds always is
    with pytest.raises(InputError, match=r"ball and \w+_link"):
        CHECK.check(between(ARM.home, turned(wrist_3=0.5)), held)


def test_names_may_be_allowed_to_touch():
    motion = between(ARM.home, turned(shoulder_lift=0.8))
    with pytest.raises(InputError, match="and table"):
        CHECK.check(motion, TABLE)
    CHECK.check(motion, replace(TABLE, allowed=lambda one, other: other == "table"))


def test_a_cancelled_check_ends_and_does_not_pass():
    asked = []

    def cancelled():
        asked.append(1)
        return len(asked) > 3

    motion = between(ARM.home, turned(shoulder_pan=1.0), duration=60.0, count=8000)
    with pytest.raises(Cancelled, match="cancelled"):
        CHECK.check(motion, TABLE, cancelled)
    assert len(asked) == 4


def test_numbers_and_names_that_cannot_be_checked_are_refused():
    motion = between(ARM.home, turned(shoulder_pan=0.5))
    odd = motion.positions.copy()
    odd[3, 2] = np.nan
    for bad in (replace(motion, positions=odd), replace(motion, names=NAMES[::-1])):
        with pytest.raises(InputError):
            CHECK.check(bad, TABLE)
    with pytest.raises(InputError, match="margin"):
        CollisionCheck(ARM, -0.1)
    with pytest.raises(InputError, match="place in the world"):
        CollisionCheck(replace(ARM, base=None))


def test_a_single_point_and_straight_lines():
    for q, clear in ((ARM.home, True), (turned(shoulder_lift=0.8), False)):
        point = JointTrajectory(NAMES, np.array([0.0]), q[None])
        lines = JointTrajectory(NAMES, np.array([0.0, 2.0]), np.array([ARM.home, q]))
        for motion in (point, lines):
            if clear:
                CHECK.check(motion, TABLE)
            else:
                with pytest.raises(InputError, match="and table"):
                    CHECK.check(motion, TABLE)


def test_the_gripper_of_the_yaml_is_seen():
    gripper = np.array([[0, 0, 0.0], [0, 0, 0.14]]), 0.04
    check = CollisionCheck(replace(ARM, gripper=gripper), MARGIN)
    motion = between(at_height(0.3), at_height(0.1))
    CHECK.check(motion, TABLE)
    with pytest.raises(InputError, match="gripper and table"):
        check.check(motion, TABLE)
