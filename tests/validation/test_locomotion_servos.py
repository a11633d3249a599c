"""Servos of a data sheet under MuJoCo's robots; the study: ./run validate locomotion_servos."""

import math
from dataclasses import replace

import numpy as np
import pytest

from validation import locomotion_servos as study
from validation.locomotion_mujoco import FASTEST, MEASURED, planned
from validation.locomotion_simulator import model_of

mujoco = pytest.importorskip("mujoco")


def lifted(robot, motors):
    """MuJoCo's model of a robot that hangs without weight, and its data."""
    model = model_of(robot, motors=motors)
    model.opt.gravity[:] = 0
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    return model, mujoco.MjData(model)


def test_a_servo_gives_its_stall_torque_at_rest_and_none_at_its_greatest_speed():
    config, _ = planned(replace(FASTEST["agilebot rolling"], travel=0.08))
    servo = study.servos(2.0)
    assert servo.gain * servo.stall == pytest.approx(2 * 13.82, rel=1e-3)
    model, data = lifted(config.robot, servo)
    name = config.robot.robot.joints[0].name
    motor, speed = model.actuator(name).id, model.joint(name).dofadr[0]
    for share, torque in ((0.0, 3.0), (0.5, 1.5), (1.0, 0.0)):
        data.ctrl[motor], data.qvel[speed] = 1.0, share * 77 * 2 * math.pi / 60
        mujoco.mj_forward(model, data)
        assert data.actuator_force[motor] == pytest.approx(torque, abs=1e-12)


def test_a_rolling_robot_begins_at_rest_and_is_as_fast_as_planned():
    """Wheels of 40 mm turn at 8.06 rad/s without a load: 0.32 m/s."""
    row = FASTEST["agilebot rolling"]
    for speed in (0.1, 0.3):
        found = study.steady(replace(row, travel=speed * row.duration), study.servos(), 3.0, 1.0)
        assert found["up"] and found["ahead"] == pytest.approx(speed, rel=0.05)
        assert found["planned"] == pytest.approx(speed)
    assert study.steady(replace(row, travel=2.0 * row.duration), study.servos()) == {}


def test_the_greatest_speed_is_of_robots_that_stay_up():
    runs = [
        {"planned": 0.1, "ahead": 0.09, "up": True}, {"planned": 0.2, "ahead": 0.15, "up": True},
        {"planned": 0.3, "ahead": 0.29, "up": False}, {"planned": 0.4, "ahead": 0.18, "up": True},
    ]  # fmt: skip
    assert study.greatest(runs) == {"goes": 0.18, "at": 0.4, "up_to": 0.2}
    back = study.greatest([{"planned": 0.1, "ahead": -0.02, "up": True}])
    assert back == {"goes": 0.0, "at": 0.1, "up_to": 0.0}


def test_pairs_out_of_the_thesis_order():
    found = {name: {"goes": speed} for name, speed in MEASURED.items()}
    assert study.out_of_order(found) == []
    found["agilebot rolling"]["goes"] = 0.1
    assert study.out_of_order(found) == ["agilebot walking, wheels held, agilebot rolling"]
    assert np.all(np.diff(list(MEASURED.values())) > 0)
