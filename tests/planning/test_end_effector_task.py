"""A kinematic body that an arm's tool carries: smooth paths, the arm on them, limits that bind."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.plan import _problem
from diffsim_ros.planning.tasks.end_effector_task import approach, splined, tool_path
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.kinematics import link_pose

ROOT = Path(__file__).parents[2]
UR5 = ROOT / "config" / "robots" / "ur5.yaml"
DRAG = yaml.safe_load((ROOT / "config" / "planning" / "ur5_drag.yaml").read_text())
DRAG["robot"]["arm"] = str(UR5)


PLANS = ROOT / "config" / "planning"


def changed(**hand):
    raw = copy.deepcopy(DRAG)
    raw["robot"]["end_effector"].update(hand)
    return raw


def tugging(**hand):
    """From a hand at rest the search ends in a tug that asks much of the joints."""
    raw = changed(**hand)
    raw["scene"]["bodies"]["hand"]["keys"]["positions"] = [[-0.55, -0.1, 0.06]] * 8
    return raw


def test_a_spline_passes_its_knots_and_rests_at_both_ends():
    matrix, interval = splined(6, 0.2)
    assert interval <= 0.024 and round(0.2 / interval) == pytest.approx(0.2 / interval)
    parts = round(0.2 / interval)
    np.testing.assert_allclose(matrix[::parts], np.eye(6), atol=1e-12)
    np.testing.assert_allclose(matrix.sum(axis=1), 1.0, atol=1e-12)
    path = matrix @ [0.0, 0.0, 0.1, 0.3, 0.2, 0.2]
    speed = np.diff(path) / interval
    # at rest with no acceleration: the first steps grow with the third power of time
    assert np.abs(speed[[0, -1]]).max() < 0.01 * np.abs(speed).max()


def test_the_gradient_by_knots_is_that_of_differences():
    problem = _problem(load_plan(DRAG))
    # away from the start, where the string is just taut: a kink
    z = problem.start + 0.1 * np.random.default_rng(0).normal(size=problem.start.shape)
    report = check_problem(problem, z, directions=3, seed=1)
    assert report.passed, report


@pytest.mark.parametrize("name", ["drag_5cm", "tip", "turn", "flip", "catapult"])
def test_slopes_by_knots_that_turn_and_carry_cloth(name):
    """S along the knots' directions against the adjoint, and (small scenes) differences."""
    problem = _problem(load_plan(PLANS / f"ur5_{name}.yaml"))
    assert len(problem.names) * 4 < len(problem.active)
    z = problem.start + 0.02 * np.random.default_rng(0).normal(size=problem.start.shape)
    by_s = problem.evaluate(z, want="equations").equations.gradient_z
    adjoint, _ = problem.evaluate(z, want="gradient").gradient
    assert np.linalg.norm(by_s - adjoint) < 1e-6 * np.linalg.norm(adjoint)
    if name in ("drag_5cm", "tip", "turn"):
        report = check_problem(problem, z, directions=1, seed=1)
        assert report.passed, report


def test_a_bar_that_turns_drags_by_two_strings():
    result = plan(PLANS / "ur5_drag_5cm.yaml")
    assert result.status == "reached" and not result.rounds
    config = result.config
    for name in ("velocity", "acceleration", "jerk"):
        assert 0 < result.carried.figures[f"{name}_share"] < config.task.margin
    values = config.map.engine(config.map.scaled(result.best.controls), config.scene.engine.values)
    _, poses = tool_path(config.task, config.scene, values)
    down = poses[:, :3, :3] @ [0, 0, 1]
    assert np.all(down[:, 2] < -0.9)  # the tool


def test_a_short_way_from_home_takes_its_time():
    end = np.eye(4)
    end[2, 3] = 0.01
    times, _ = approach(np.eye(4), end)
    assert 1.0 <= times[-1] < 1.05


def test_the_way_from_home_is_straight_and_gentle():
    start, end = np.eye(4), np.eye(4)
    end[:3, :3] = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    end[:3, 3] = [0.3, 0.0, -0.4]
    times, poses = approach(start, end)
    np.testing.assert_allclose(poses[[0, -1]], [start, end], atol=1e-12)
    rates = np.diff(poses[:, :3, 3], axis=0) / np.diff(times)[:, None]
    assert 0.2 < np.linalg.norm(rates, axis=1).max() <= 0.25
    across = np.cross(poses[:, :3, 3], end[:3, 3])
    assert np.abs(across).max() < 1e-12
    again, still = approach(end, end)
    assert len(again) == 1 and again[0] == 0.0
    np.testing.assert_array_equal(still[0], end)


def test_the_arm_carries_the_hand_along_its_way():
    result = plan(DRAG)
    assert result.status == "reached"
    config, arm, carried = result.config, load_arm(UR5), result.carried
    begins, motion = carried.figures["scene_starts"], carried.trajectory
    values = config.map.engine(config.map.scaled(result.best.controls), config.scene.engine.values)
    times, poses = tool_path(config.task, config.scene, values)
    assert times[-1] == pytest.approx(1.4)  # eight knots, 0.2 s apart
    q, _, _ = motion.at(begins + times)
    tool = arm.base @ link_pose(arm.robot, q, arm.tool)
    np.testing.assert_allclose(tool, poses, atol=1e-6)
    np.testing.assert_allclose(motion.positions[0], arm.home)
    assert not motion.velocities[[0, -1]].any() and motion.release is None
    for name in ("velocity", "acceleration", "jerk"):
        assert 0 < carried.figures[f"{name}_share"] <= 1
    # the simulated hand is where the arm's tool has it
    hand = np.asarray(result.best.motion.position)[:, 0]
    held = tool @ config.task.in_tool
    observed = [np.interp(times, np.asarray(result.best.motion.time), hand[:, i]) for i in range(3)]
    np.testing.assert_allclose(np.array(observed).T, held[:, :3, 3], atol=1e-3)
    most = max(carried.figures[f"{name}_share"] for name in ("velocity", "acceleration", "jerk"))
    tight = replace(config, task=replace(config.task, margin=0.9 * most))
    with pytest.raises(InputError, match="times as long would do"):
        tight.task.carried(tight, result.best.controls)


def test_a_joint_that_is_too_slow_makes_the_hand_slower():
    raw, arm = tugging(), yaml.safe_load(UR5.read_text())
    arm["urdf"] = str(ROOT / "urdf" / "ur5.urdf")
    arm["limits"]["jerk"] = [200, 200, 267, 600, 600, 600]
    raw["robot"] |= {"arm": arm, "margin": 1}
    result = plan(raw)
    assert result.status == "reached" and len(result.rounds) <= 3
    assert "shoulder_pan_joint jerk" in result.rounds[0]
    assert "planned again with hand speed <=" in result.rounds[0]
    assert result.carried.figures["jerk_share"] <= 1


def test_a_task_that_may_take_longer_is_planned_anew_over_more_time():
    raw, arm = tugging(stretch=1.4), yaml.safe_load(UR5.read_text())
    arm["urdf"] = str(ROOT / "urdf" / "ur5.urdf")
    arm["limits"]["jerk"] = [200, 200, 267, 600, 600, 600]
    raw["robot"]["arm"] = arm
    result = plan(raw)
    assert result.status == "reached" and result.carried.figures["jerk_share"] <= 1
    assert result.rounds[0].endswith("planned again with 1.15 times the time")
    factor = result.config.scene.description["world"]["duration"] / 1.6
    longer = [text for text in result.rounds if text.endswith("times the time")]
    assert factor == pytest.approx(1.15 ** len(longer), rel=0.01)
    place = np.asarray(result.best.motion.position)[-1, 1, :2]
    assert np.linalg.norm(place - DRAG["goals"][0]["position"][:2]) < 2e-3
    begins = result.carried.figures["scene_starts"]
    assert result.carried.trajectory.duration - begins >= 1.15 * 1.4 - 0.02


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"robot": {"end_effector": {"body": "hnd"}}}, "robot.end_effector.body.*hand"),
        ({"robot": {"grasp": {"body": "cube"}}}, "either `grasp`"),
        ({"robot": {"release": {}}}, "together with `grasp`"),
        ({"controls": {"mu": {"value": 0.3, "bounds": [0.1, 0.5], "sets": {"table.c_f": 1}}}},
         "keys of the end effector's kinematic body"),
    ],
)  # fmt: skip
def test_hands_that_cannot_be_are_refused(change, words):
    raw = copy.deepcopy(DRAG)
    for key, value in change.items():
        raw[key] = {**raw[key], **value} if key == "robot" else value
    with pytest.raises(InputError, match=words):
        load_plan(raw)


def test_a_hand_out_of_reach_is_refused_with_its_place():
    raw = copy.deepcopy(DRAG)
    arm = yaml.safe_load(UR5.read_text())
    arm["urdf"] = str(ROOT / "urdf" / "ur5.urdf")
    arm["base"]["position"] = [1.5, 0, 0]
    raw["robot"]["arm"] = arm
    result = plan(raw)
    assert result.status == "refused" and result.carried is None
    assert "tool0 at" in result.rounds[-1] and "within reach" in result.rounds[-1]
