"""A part of the study of plans tracked in MuJoCo; full: ./run validate locomotion_mujoco."""

import numpy as np
import pytest

from diffsim_ros.planning.locomotion import generate
from validation import locomotion_mujoco as study
from validation.locomotion_simulator import STEP, model_of, plan_efforts, wheel_speeds

pytest.importorskip("mujoco")
ROWS = {row.name: row for row in study.ROWS}
EFFORTS = study.Motors(feed_forward=True)


def test_a_walk_holds_its_speed_and_stays_up():
    config, motion = study.planned(ROWS["solo12 trot"])
    seen, found = study.tracked(config.robot, motion, EFFORTS, periods=3)
    assert found["upright"]
    assert abs(found["speed_error"]) <= study.BAR
    assert seen.com[-1, 0] - seen.com[0, 0] > 2.5 * 0.15


def test_a_plan_needs_no_help_at_the_body():
    """By MuJoCo's inverse dynamics: what the plan's forces leave over at the free body, as a mean
    over each sample's time, is some thousandths of the weight."""
    row = ROWS["creature3 walk"]
    config = row.config()
    motion = generate(config)
    model = model_of(config.robot, motors=EFFORTS)
    _, lacking = plan_efforts(config.robot, motion, model)
    near = np.floor(np.arange(len(lacking)) * STEP / motion.step + 0.5).astype(int) % row.samples
    mean = np.array([lacking[near == i].mean(axis=0) for i in range(row.samples)])
    weight = config.robot.mass * 9.81
    assert np.sqrt((mean[:, :3] ** 2).mean()) < 5e-3 * weight
    assert np.sqrt((mean[:, 3:] ** 2).mean()) < 5e-3 * weight * motion.com[:, 2].mean()


def test_a_swizzle_rolls_at_its_speed_on_wheels_that_turn_freely():
    config, motion = study.planned(ROWS["swizzlebot swizzle"])
    _, found = study.tracked(config.robot, motion, EFFORTS, periods=2)
    assert found["upright"]
    assert abs(found["speed_error"]) <= study.BAR


def test_a_swizzle_does_not_steer_to_and_fro_between_samples():
    """A plan did, where rolling alone was looked at, and MuJoCo's robot stood still."""
    config, motion = study.planned(study.slower(ROWS["brainbot swizzle"]))
    _, found = study.tracked(config.robot, motion, EFFORTS, periods=2)
    assert found["upright"]
    assert abs(found["speed_error"]) <= study.BAR


def test_wheels_of_a_robot_that_drives_turn_as_fast_as_it_does():
    config = ROWS["agilebot drive"].config()
    motion = generate(config)
    speeds = wheel_speeds(config.robot, motion.at(np.linspace(0, 0.8, 50)))
    radius = config.robot.end_effectors[0].radius
    assert np.abs(speeds * radius).mean() == pytest.approx(0.15 / 0.8, rel=0.02)


def test_bisection_finds_the_greatest_speed():
    assert study.greatest_speed(lambda v: v < 0.7, 0.1, 3.0, 12) == pytest.approx(0.7, abs=1e-3)
    assert study.greatest_speed(lambda v: False, 0.1, 3.0, 12) == 0.0


def test_orders_of_the_thesis_tables():
    """More motors need less, within two per cent; each robot is faster than the one before."""
    joints = {f"{n} motors": {"0.01": dict.fromkeys(study.MEASURES, 1 / n)} for n in range(2, 6)}
    speeds = {name: {"goes": v, "followed": v} for name, v in study.MEASURED.items()}
    assert study._disordered(joints, speeds) == []
    joints["5 motors"]["0.01"]["joint_speed"] = 1.03 / 4
    speeds["swizzlebot"]["goes"] = 1.0
    missed = study._disordered(joints, speeds)
    assert [one.split(":")[0] for one in missed] == ["swizzles", "fastest"]
    assert "joint_speed of 5 motors" in missed[0]
    assert "swizzlebot 1.00 m/s, skatebot 0.97" in missed[1]
