"""Walks to standing: their ends, where one continues another, twists, a robot that walks."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import quad

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import (
    goal_of_travel,
    goal_of_twist,
    load_legged_robot,
    plan_walk,
)
from diffsim_ros.planning.locomotion.planar import planar, relative
from diffsim_ros.planning.locomotion.simulation import LeggedSimulation
from tests.planning.locomotion.plans import ROBOTS, TROT


@pytest.fixture(scope="module")
def robot():
    return load_legged_robot(ROBOTS / "quadruped.yaml")


@pytest.fixture(scope="module")
def walk(robot):
    return plan_walk(robot, TROT, goal_of_travel(TROT, (0.36, 0.0), 0.0))


def test_the_goal_of_a_twist_is_the_integral_of_its_velocity():
    vx, vy, rate, span = 0.2, -0.1, 0.7, 1.8
    goal = goal_of_twist(TROT, (vx, vy, rate), span)
    x = quad(lambda t: vx * np.cos(rate * t) - vy * np.sin(rate * t), 0, span)[0]
    y = quad(lambda t: vx * np.sin(rate * t) + vy * np.cos(rate * t), 0, span)[0]
    np.testing.assert_allclose(goal.travel, (x, y), atol=1e-12)
    assert goal.turn == pytest.approx(rate * span) and goal.periods == 3


@pytest.mark.parametrize(
    ("twist", "span", "named"),
    [((0.5, 0, 0), 1, "max_speed"), ((0, 0, 2), 1, "max_turn_rate"), ((0, 0, 1), 6, "several"),
     ((np.nan, 0, 0), 1, "finite"), ((0.1, 0, 0), 0, "above 0")],
)  # fmt: skip
def test_a_twist_that_is_too_much_is_refused(twist, span, named):
    with pytest.raises(InputError, match=named):
        goal_of_twist(TROT, twist, span)


def test_sideways_a_walk_takes_longer():
    slow = replace(TROT, side=0.5)
    assert goal_of_travel(slow, (0.36, 0.0), 0.0).periods == 2
    assert goal_of_travel(TROT, (0.0, 0.36), 0.0).periods == 2
    assert goal_of_travel(slow, (0.0, 0.36), 0.0).periods == 4
    with pytest.raises(InputError, match="sideways"):
        goal_of_twist(slow, (0.0, 0.2, 0.0), 1.0)


def test_a_walk_begins_and_ends_standing(robot, walk):
    assert walk.holds and walk.motion.status == "reached"
    trajectory = walk.trajectory()
    np.testing.assert_allclose(trajectory.positions[0], robot.stance, atol=1e-9)
    np.testing.assert_allclose(trajectory.positions[-1], robot.stance, atol=0.05)
    assert not trajectory.velocities[-1].any()
    assert walk.contact()[[0, -1]].all() and not walk.contact().all()
    moved = walk.states().base[-1, :2] - walk.states().base[0, :2]
    np.testing.assert_allclose(moved, (0.36, 0.0), atol=0.01)
    assert (np.abs(trajectory.velocities) <= robot.speed * (1 + 1e-6)).all()
    phases = walk.phases()
    assert phases[0] == phases[-1] == 0.0 and 0.8 < phases.max() < 1.0


def test_a_walk_goes_on_from_the_one_before_without_a_jump(robot, walk):
    at = walk.boundaries()[0]
    other = plan_walk(robot, TROT, goal_of_travel(TROT, (0.2, 0.05), 0.2), begin=walk.begin(at))
    assert other.holds and other.motion.status == "reached"
    q, v, _ = walk.trajectory().at(at * walk.motion.step)
    np.testing.assert_allclose(other.trajectory().positions[0], q, atol=2e-3)
    np.testing.assert_allclose(other.trajectory().velocities[0], v, atol=0.2)
    assert np.abs(v).max() > 0.5  # it did not stand there
    with pytest.raises(InputError, match="the end of a period"):
        walk.begin(at + 3)


@pytest.mark.parametrize("stiffness", [20.0, 60.0])
def test_the_robot_in_the_engine_follows_a_walk_in_open_loop(robot, stiffness):
    walk = plan_walk(robot, TROT, goal_of_travel(TROT, (1.2, 0.0), 0.0))
    twin = LeggedSimulation(robot, stiffness)
    joints, trajectory = twin.begin(robot.stance), walk.trajectory()
    start, times = planar(joints.base), np.arange(0.0, trajectory.duration + 0.3, twin.step)
    for time, q, v in zip(times, *trajectory.at(times)[:2], strict=True):
        joints.command(q, v)
        joints.advance(round((time + twin.step) * 1e9))
        assert joints.tilt < 0.2
    # On two feet throughout (duty 0.5) it ends 0.8 m and 1.7 rad from there.
    np.testing.assert_allclose(relative(start, planar(joints.base)), [1.2, 0, 0], atol=0.06)
    assert joints.load.sum() == pytest.approx(9.81 * robot.mass, rel=0.01)
    assert (np.abs(joints.efforts) < 4.0).all()
