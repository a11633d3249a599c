"""Motions between their samples: feet that stand, wheels that roll, periods in a row."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.planning.locomotion import (
    LocomotionConfig,
    LocomotionGoals,
    densified,
    generate,
    load_legged_robot,
    named_gait,
)
from diffsim_ros.rotation import quat_matrix

ROBOTS = Path(__file__).parents[3] / "config" / "locomotion" / "robots"


def planned(name, gait, samples=12, duration=0.5, travel=(0.15, 0.0), turn=0.0):
    robot = load_legged_robot(ROBOTS / f"{name}.yaml")
    goals = LocomotionGoals(travel=travel, turn=turn)
    footfall = named_gait(robot, gait, samples)
    return robot, generate(LocomotionConfig("m", "m", robot, footfall, duration, 0.03, goals=goals))


def points_of(robot, motion):
    bases = np.tile(np.eye(4), (motion.samples, 1, 1))
    bases[:, :3, :3], bases[:, :3, 3] = quat_matrix(motion.base[:, 3:]), motion.base[:, :3]
    return robot.contact_points(motion.positions, bases), robot.centre_of_mass(
        motion.positions, bases
    )


def test_feet_stand_until_others_take_over():
    robot, motion = planned("quadruped", "trot")
    fine = densified(robot, motion, 8)
    points, com = points_of(robot, fine)
    assert points == pytest.approx(fine.contacts, abs=1e-5)
    assert com == pytest.approx(fine.com, abs=1e-9)
    moved = np.linalg.norm(np.diff(points, axis=0), axis=-1)
    both = fine.contact[1:] & fine.contact[:-1]
    assert moved[both].max() < 1e-4
    assert fine.contact.any(axis=1).all()  # a trot of half duty is never in the air
    slides = motion.at(fine.step * np.arange(fine.samples)).positions
    coarse, _ = points_of(robot, replace(fine, positions=slides))
    assert np.linalg.norm(np.diff(coarse, axis=0), axis=-1)[both].max() > 5 * moved[both].max()


def test_forces_carry_the_weight_at_all_times():
    robot, motion = planned("quadruped", "trot")
    fine = densified(robot, motion, 8)
    carried = fine.forces.sum(axis=1)[:, 2] / (robot.mass * 9.81)
    assert carried.mean() == pytest.approx(1.0, abs=0.05)
    assert carried.min() > 0.5
    assert not fine.forces[~fine.contact].any()
    assert fine.forces[::8] == pytest.approx(motion.forces, abs=1e-9)


def test_wheels_roll_along_themselves():
    robot, motion = planned("swizzlebot", "roll", 24, 1.2, (0.5, 0.0))
    fine = densified(robot, motion, 4)
    velocity = np.gradient(fine.contacts, fine.step, axis=0)[1:-1]
    yaw = fine.yaw[1:-1]
    across = velocity[..., 1] * np.cos(yaw) - velocity[..., 0] * np.sin(yaw)
    assert np.abs(across).max() < 1e-3
    assert fine.yaw[::4] == pytest.approx(motion.yaw, abs=1e-4)
    assert fine.tilt[::4] == pytest.approx(motion.tilt, abs=1e-4)


def test_periods_follow_each_other_and_turn():
    _, motion = planned("solo12", "trot", travel=(0.0, 0.0), turn=0.3)
    step = 1e-4
    times = motion.duration * np.array([0.4, 1.4, 2.4])
    states, later = motion.at(times), motion.at(times + step)
    yaw = 2 * np.arctan2(states.base[:, 5], states.base[:, 6])
    assert np.diff(yaw) == pytest.approx(motion.travel[3], abs=1e-6)
    assert (later.base[:, :3] - states.base[:, :3]) / step == pytest.approx(
        states.twist[:, :3], abs=1e-3
    )
    turn = np.array([quat_matrix(q) for q in states.base[:, 3:]])
    after = np.array([quat_matrix(q) for q in later.base[:, 3:]])
    skew = (np.einsum("nji,njk->nik", turn, after) - np.eye(3)) / step
    measured = np.stack([skew[:, 2, 1], skew[:, 0, 2], skew[:, 1, 0]], axis=1)
    assert measured == pytest.approx(states.twist[:, 3:], abs=1e-3)


def test_a_motion_of_another_robot_is_refused():
    _, motion = planned("quadruped", "trot")
    with pytest.raises(InputError, match="joints"):
        densified(load_legged_robot(ROBOTS / "solo12.yaml"), motion)
