"""An arm strikes a cube, which slides on and comes to rest where it is to be."""

import copy
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.as_twin import twin_of
from diffsim_ros.planning.plan import _problem
from diffsim_ros.planning.tasks.end_effector_task import tool_path
from diffsim_ros.planning.tasks.strike_task import path
from diffsim_ros.robots.kinematics import link_pose

ROOT = Path(__file__).parents[2]
PLAN = yaml.safe_load(
    """
scene:
  world: {step: 1/960, duration: 0.9, record_every: 8}
  bodies:
    paddle:
      type: kinematic
      shape: {box: {size: [0.02, 0.1, 0.03]}}
      keys: {interval: 0.9, count: 2, positions: [[-0.5, -0.1, 0.03]]}
    cube:
      shape: {box: {size: [0.06, 0.06, 0.06]}}
      mass: 0.2
      contact_spheres: {face_grid: {per_edge: 3}}
      pose: {position: [-0.6, -0.1, 0.0297]}
  contact:
    - {name: table, points: cube, against: {plane: {}}, k_n: 2.0e+4, k_t: 40, c_n: 0.5, c_f: 0.3}
    - {name: hit, points: cube, against: {box: {size: [0.02, 0.1, 0.03]}}, carrier: paddle,
       k_n: 2.0e+4, k_t: 10, c_n: 0.3, c_f: 0.2}
robot:
  strike:
    body: paddle
    in_tool: {position: [0, 0, 0.13]}
    orientation: [0.70710678, 0.70710678, 0, 0]
    at: 0.3
    place: [-0.555, -0.1, 0.03]
    velocity: [-0.4, 0, 0]
    chosen: [velocity.x]
    ease: 0.15
goals:
  - {name: place, body: cube, during: [0.85, 0.9], position: [-0.68, -0.1, 0.0297], line: [0, 1, 0],
     tolerance: 0.002}
  - {name: rest, body: cube, during: [0.85, 0.9], velocity: [0, 0, 0], tolerance: 0.01}
"""
)
PLAN["robot"]["arm"] = str(ROOT / "config" / "robots" / "ur5.yaml")


def changed(**strike):
    raw = copy.deepcopy(PLAN)
    raw["robot"]["strike"].update(strike)
    return raw


def test_the_path_holds_its_velocity_and_begins_and_ends_at_rest():
    s = np.linspace(-0.4, 0.4, 8001)
    phi = path(s, 0.05, 0.2)
    rate = np.gradient(phi, s)
    held = np.abs(s) < 0.049
    np.testing.assert_allclose(phi[held], s[held], atol=1e-15)
    np.testing.assert_allclose(phi, -phi[::-1], atol=1e-15)
    assert np.abs(rate[np.abs(s) > 0.251]).max() < 1e-12
    jerk = np.gradient(np.gradient(rate, s), s)
    assert np.abs(np.diff(jerk)).max() < 1e-2 * np.abs(jerk).max()


def test_the_gradient_by_place_and_velocity_is_that_of_differences():
    problem = _problem(load_plan(changed(chosen=None)))
    assert problem.names == tuple(
        f"{what}.{axis}" for what in ("place", "velocity") for axis in "xyz"
    )
    # away from the start, where the paddle meets the cube just at the end of a step
    z = problem.start + 0.03 * np.random.default_rng(0).normal(size=6)
    report = check_problem(problem, z, directions=3, seed=4)
    assert report.passed, report


def test_an_arm_strikes_a_cube_to_its_place():
    result = plan(PLAN)
    assert result.status == "reached", result.best.distances
    task, config, motion = result.config.task, result.config, result.carried.trajectory
    values = config.map.engine(config.map.scaled(result.best.controls), config.scene.engine.values)
    times, poses = tool_path(task, config.scene, values)
    q, _, _ = motion.at(result.carried.figures["scene_starts"] + times)
    tool = link_pose(task.arm.robot, q, task.arm.tool, task.arm.base)
    np.testing.assert_allclose(tool[:, :3, 3], poses[:, :3, 3], atol=1e-3)
    speed = np.gradient(poses[:, 0, 3], times)
    struck = np.abs(times - task.at) < task.run - 0.011
    np.testing.assert_allclose(speed[struck], result.best.controls["velocity.x"], rtol=1e-6)
    twin = twin_of(config)
    assert "paddle" in twin["kinematic_bodies"]


def test_a_strike_that_cannot_be_is_refused():
    with pytest.raises(InputError, match=r"robot.strike.at: .*run \+ ease after 0 s"):
        load_plan(changed(at=0.1))
    with pytest.raises(InputError, match=r"did you mean 'place\.x'"):
        load_plan(changed(chosen=["plac.x"]))
    with pytest.raises(InputError, match="a kinematic body of the scene"):
        load_plan(changed(body="cube"))
    raw = changed()
    raw["robot"]["release"] = {}
    with pytest.raises(InputError, match="given together with `grasp`"):
        load_plan(raw)
