"""Where a walk has come to: measured poses that are refused, the plan's frame, what corrects it."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import goal_of_pose, load_legged_robot, plan_walk
from diffsim_ros.planning.locomotion.odometry import (
    DRIFTING,
    FrameTrack,
    Nearness,
    OdometryRules,
    OdometryTrack,
    PlacedWalk,
)
from diffsim_ros.planning.locomotion.planar import composed, inverse, planar, relative
from diffsim_ros.robots.command import NANO
from diffsim_ros.rotation import quat_exp, quat_multiply
from tests.planning.locomotion.plans import ROBOTS, TROT

HERE = np.array([1.0, -2.0, 0.3, 0.0, 0.0, np.sin(0.4), np.cos(0.4)])
NEAR = Nearness(0.02, 0.03)


def matrix(pose):
    c, s = np.cos(pose[2]), np.sin(pose[2])
    return np.array([[c, -s, pose[0]], [s, c, pose[1]], [0.0, 0.0, 1.0]])


def test_poses_on_the_ground_are_rigid_motions():
    rng = np.random.default_rng(3)
    a, b = rng.uniform(-3, 3, (2, 20, 3))
    for one, other, both, back in zip(a, b, composed(a, b), relative(a, b), strict=True):
        np.testing.assert_allclose(matrix(both), matrix(one) @ matrix(other), atol=1e-12)
        np.testing.assert_allclose(
            matrix(back), np.linalg.inv(matrix(one)) @ matrix(other), atol=1e-12
        )
    np.testing.assert_allclose(composed(a, inverse(a)), 0.0, atol=1e-12)
    assert np.abs(relative(a, b)[:, 2]).max() <= np.pi
    leaning = quat_multiply(quat_exp([0.0, 0.0, 0.8]), quat_exp([0.1, 0.0, 0.0]))
    np.testing.assert_allclose(planar(np.append([1, 2, 3], leaning)), (1.0, 2.0, 0.8), atol=1e-12)


def test_a_track_has_the_last_sound_pose():
    track = OdometryTrack(OdometryRules(age=0.3))
    assert not track.ever
    with pytest.raises(InputError, match="messages: got 'none'"):
        track.latest(0)
    np.testing.assert_allclose(track.add(10 * NANO, "odom", HERE), (1.0, -2.0, 0.8), atol=1e-12)
    assert track.ever and track.latest(10 * NANO + 1000)[0] == 10 * NANO
    with pytest.raises(InputError, match=r"age of the last message: got '0\.40 s'"):
        track.latest(10 * NANO + 400_000_000)


@pytest.mark.parametrize(
    ("frame", "change", "named"),
    [
        ("map", (0, 0.0), "frame_id"), ("odom", (0, np.nan), "finite"),
        ("odom", (6, np.inf), "finite"), ("odom", (6, 0.0), "length"),
        ("odom", (0, 0.5), "a jump: got '0.5 m in 0.01 s'"),
        ("odom", (5, 0.6), "length"),
    ],
)  # fmt: skip
def test_a_pose_that_is_not_sound_is_not_used_until_a_sound_one_comes(frame, change, named):
    track = OdometryTrack(OdometryRules())
    track.add(10 * NANO, "odom", HERE)
    wrong = HERE.copy()
    wrong[change[0]] = wrong[change[0]] + change[1] if change[0] == 0 else change[1]
    stamp = 10 * NANO + 10_000_000
    track.add(stamp, frame, wrong)
    with pytest.raises(InputError, match=named):
        track.latest(stamp)
    assert track.jumps == ("jump" in named)
    track.add(stamp + 10_000_000, "odom", wrong if track.jumps else HERE)
    assert track.latest(stamp + 10_000_000)[0] == stamp + 10_000_000
    assert track.jumps == ("jump" in named)


def test_a_turn_and_another_clock_are_jumps():
    track = OdometryTrack(OdometryRules())
    track.add(10 * NANO, "odom", HERE)
    turned = np.append(HERE[:3], quat_multiply(quat_exp([0.0, 0.0, 1.0]), HERE[3:]))
    track.add(10 * NANO + 10_000_000, "odom", turned)
    assert track.jumps == 1 and "1 rad in 0.01 s" in str(track.problem)
    track.add(NANO, "odom", HERE)
    assert track.jumps == 2 and track.latest(NANO)[0] == NANO


@pytest.fixture(scope="module")
def robot():
    return load_legged_robot(ROBOTS / "quadruped.yaml")


@pytest.fixture(scope="module")
def placed(robot):
    goal = np.array([0.6, 0.1, 0.3])
    walk = plan_walk(robot, TROT, goal_of_pose(robot, TROT, goal))
    assert walk.holds
    return PlacedWalk("first", walk, np.zeros(3), "first")


def test_the_body_of_a_walk_comes_to_the_pose_that_it_is_planned_to(placed):
    moved = relative(placed.at(0.0), placed.at(placed.duration))
    np.testing.assert_allclose(moved, (0.6, 0.1, 0.3), atol=0.01)


def test_a_correction_brings_a_walk_that_drifts_to_its_goal(robot, placed):
    place, drift = np.array([2.0, -1.0, 2.5]), np.array([0.01, -0.05, 0.08])  # (3,), a second
    track = FrameTrack("first", TROT.period)
    goal = composed(composed(place, placed.at(0.0)), np.array([0.6, 0.1, 0.3]))

    def frame(time):
        return place + time * drift

    now = placed.walk.boundaries()[1] * placed.walk.motion.step + 0.05
    assert track.at(now) is None
    for time in np.arange(0.0, now, 0.008):
        sway = 0.004 * np.sin(2 * np.pi * time / TROT.period + np.arange(3))
        track.add(time, composed(frame(time) + sway, placed.at(time)), placed.at(time))
    np.testing.assert_allclose(track.at(now + 0.5), frame(now + 0.5), atol=2e-3)
    assert track.correction(placed, now, now, 0.45, goal, Nearness(4.0, 9.0)) is None
    assert track.correction(placed, now, placed.duration - 0.5, 0.45, goal, NEAR) is None
    assert track.correction(placed, now, now, 0.3, goal, NEAR) is None  # later will do
    found = track.correction(placed, now, now, 0.45, goal, NEAR)
    assert found.sample in placed.walk.boundaries() and found.least >= 1
    begin = placed.walk.begin(found.sample)
    walk_goal = goal_of_pose(robot, TROT, found.pose, begin=begin, least=found.least)
    walk = plan_walk(robot, TROT, walk_goal, begin=begin)
    assert walk.holds
    other = PlacedWalk("other", walk, composed(placed.origin, begin.frame), "first")
    begun = found.sample * placed.walk.motion.step
    np.testing.assert_allclose(other.at(0.0), placed.at(begun), atol=2e-3)
    on = min(placed.duration - begun, DRIFTING * TROT.period)
    end = composed(frame(begun + on), other.at(other.duration))  # it drifts on so long
    off = relative(end, goal)
    assert np.hypot(*off[:2]) < 0.015 and abs(off[2]) < 0.03
    before = relative(composed(frame(begun), placed.at(placed.duration)), goal)
    assert np.hypot(*before[:2]) > 0.03


def test_a_part_of_a_way_is_planned_of_what_is_far(robot):
    walk_goal = goal_of_pose(robot, TROT, (6.0, 0.0, 0.0), longest=3.0)
    assert walk_goal.periods == 5 and walk_goal.travel[0] == pytest.approx(0.9)
    walk_goal = goal_of_pose(robot, TROT, (0.0, 0.0, 3.1))
    assert walk_goal.turn == pytest.approx(2.8)
    with pytest.raises(InputError, match="finite"):
        goal_of_pose(robot, TROT, (np.nan, 0.0, 0.0))
