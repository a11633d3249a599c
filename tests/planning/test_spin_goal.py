"""A goal for the angular velocity: a ball thrown so that it leaves the floor without spin."""

import copy

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.plan import _problem

PLAN = yaml.safe_load(
    """
scene:
  world: {step: 1/2000, duration: 0.4, record_every: 8}
  bodies:
    ball:
      shape: {sphere: {radius: 0.04}}
      mass: 0.06
      pose: {position: [0, 0, 0.3]}
      velocity: [1.5, 0, -1]
    dot: {type: particle, mass: 0.1, pose: {position: [1, 0, 1]}}
  contact:
    - {name: floor, points: ball, against: {plane: {}}, k_n: 1.0e+3, k_t: 20, c_n: 0.1, c_f: 0.5}
controls:
  spin: {value: 0, unit: rad/s, bounds: [-120, 120], sets: {ball.angular_velocity.y: 1}}
goals:
  - {name: still, body: ball, during: [0.35, 0.4], angular_velocity: [0, 0, 0], tolerance: 0.1}
"""
)


def changed(**goal):
    raw = copy.deepcopy(PLAN)
    raw["goals"][0].update(goal)
    return raw


def test_the_gradient_is_that_of_differences():
    problem = _problem(load_plan(changed(angular_velocity=[3, -2, 10], tolerance=5)))
    z = problem.start + 0.1
    report = check_problem(problem, z, directions=1, seed=2)
    assert report.passed, report


def test_a_ball_with_backspin_leaves_the_floor_without_spin():
    result = plan(PLAN)
    assert result.status == "reached", result.best.distances
    motion = result.best.motion
    before, after = motion.angular_velocity[0, 0], motion.angular_velocity[-1, 0]
    assert before[1] < -10 and np.linalg.norm(after) < 0.1
    away = np.linalg.norm(motion.angular_velocity[-13:, 0], axis=1)
    assert result.best.distances["still"] == pytest.approx(np.sqrt(np.mean(away**2)))


def test_only_rigid_bodies_have_a_spin():
    with pytest.raises(InputError, match="of a rigid body only"):
        load_plan(changed(body="dot"))
