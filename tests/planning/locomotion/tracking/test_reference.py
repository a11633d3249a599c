"""Motions in sequence: where they are put, their rates, and those that do not fit."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from dataclasses import replace

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion.motion import Violation
from diffsim_ros.planning.locomotion.tracking import MotionLibrary
from diffsim_ros.rotation import quat_exp, quat_multiply
from tests.planning.locomotion.tracking.motions import library, rolling


def test_motions_begin_where_the_one_before_ends():
    motion = library().compose([("stand", 0.2), "steps", "duck", "steps", ("stand", 0.2)])
    assert motion.names == ("stand", "steps", "duck", "steps", "stand")
    times = np.arange(0.0, motion.duration, 0.0025)
    states = motion.at(times)
    assert np.abs(np.diff(states.q[:, :3], axis=0)).max() < 3e-3
    assert np.abs(np.diff(states.q[:, 7:], axis=0)).max() < 0.08
    assert states.q[-1, 0] - states.q[0, 0] == pytest.approx(0.3, abs=0.02)
    weight = library().robot.mass * 9.81
    assert states.forces[..., 2].sum(axis=1).mean() == pytest.approx(weight, rel=0.01)
    still = motion.at(np.array([-1.0, motion.duration + 1.0]))
    assert not still.qd.any()


def test_periods_of_a_turning_trot_follow_each_other():
    motion = library().compose([("trot", 4)])
    times = np.arange(0.05, motion.duration - 0.05, 0.005)
    states = motion.at(times)
    yaw = 2 * np.arctan2(states.q[[0, -1], 5], states.q[[0, -1], 6])
    assert yaw[1] - yaw[0] == pytest.approx(0.3 * (times[-1] - times[0]) / 0.5, abs=0.05)
    step = 1e-3
    ahead, behind = motion.at(times + step), motion.at(times - step)
    rate = (ahead.q[:, :3] - behind.q[:, :3]) / (2 * step)
    assert np.abs(rate - states.qd[:, :3]).max() < 0.1
    turned = quat_multiply(states.q[:, 3:7], quat_exp(step * states.qd[:, 3:6]))
    assert np.abs(turned - ahead.q[:, 3:7]).max() < 2e-3
    # Forces turn with the robot: those of the last period are the first one's, turned.
    first, last = motion.at(np.array([0.2])), motion.at(np.array([1.7]))
    angle = 3 * library().motions["trot"].travel[3]
    c, s = np.cos(angle), np.sin(angle)
    turn = np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]])
    assert last.forces[0] == pytest.approx(first.forces[0] @ turn.T, abs=1e-9)


def test_wheels_of_a_motion_roll_without_slip():
    own, motion = rolling("swizzlebot")
    times = np.arange(0.12, 1.25, 0.01)
    of = motion.at(times)
    radius = own.robot.end_effectors[0].radius
    ahead = np.stack([np.cos(of.yaw), np.sin(of.yaw), 0 * of.yaw], axis=-1)
    rolled = radius * of.spin[..., None] * ahead
    speed = np.linalg.norm(of.point_velocity, axis=-1).max()
    assert speed > 0.1
    assert of.point_velocity == pytest.approx(rolled, abs=0.03 * speed)
    # These wheels hardly lean, so that they turn on their links as beside the steering frame.
    assert of.wheel_rates == pytest.approx(of.spin, abs=0.02 * np.abs(of.spin).max())
    assert not motion.at(np.array([9.0])).spin.any()


def test_a_wheel_that_would_have_to_jump_in_speed_is_refused():
    own, _ = rolling("agilebot")
    drive = own.motions["drive"]
    spins = drive.spins.copy()
    spins[-1, 2] = 8.0
    other = MotionLibrary(own.robot, {"drive": drive})
    other.motions["fast"] = replace(drive, spins=spins)
    with pytest.raises(InputError, match=r"fast to drive: got 'speed of wheel RL jumps by 0\.3"):
        other.compose(["fast", "drive"])


@pytest.mark.parametrize(
    ("parts", "match"),
    [
        ([("stand", 0.2), ("trot", 2)], r"stand to trot: got '.* jumps by"),
        (["duck", "dukc"], "duck"),
        ([("duck", 2)], "count of duck"),
        ([("trot", 1.5)], "a whole number of periods"),
        ([("stand", 0.0)], "seconds"),
        ([], "at least one motion"),
    ],
)
def test_sequences_that_cannot_be_are_refused(parts, match):
    with pytest.raises(InputError, match=match):
        library().compose(parts)


def test_a_motion_that_violates_a_constraint_is_refused():
    own = library()
    duck = own.motions["duck"]
    broken = replace(duck, constraints=(Violation("rolling", 0.1, 5e-4, "m", "sample 3 of FL"),))
    with pytest.raises(InputError, match=r"rolling 0\.1 m"):
        MotionLibrary(own.robot, {"duck": broken})
