"""Lag of joints behind their controller: anticipated, and found from what joints did."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.command import JointCommand
from diffsim_ros.robots.controlled import anticipated, executed, identified
from diffsim_ros.robots.controller import Settings, rejection
from diffsim_ros.robots.time_scaling import through_state
from diffsim_ros.robots.tracking import Dynamics
from diffsim_ros.robots.trajectory import JointTrajectory

ARM = load_arm(Path(__file__).parents[2] / "config" / "robots" / "ur5.yaml")
RATES = np.array([0.3, 1.8, -1.5, 0.5, 0.0, 1.0])
DYNAMICS = {
    "the mock's": Dynamics(),
    "slow": Dynamics(bandwidth=25.0, damping=0.7),
    "no feedforward": Dynamics(bandwidth=40.0, feedforward=0.0, delay=0.02),
    "each joint another": Dynamics(np.linspace(40, 90, 6), np.linspace(0.7, 1.2, 6), 0.004, 0.9),
}


@pytest.fixture(scope="module")
def throw():
    """A throw's motion with a release."""
    away = ARM.home + np.array([0.1, 0.4, -0.5, 0.1, 0.0, 0.3])
    names = ARM.robot.joint_names
    limits = replace(ARM.limits, acceleration=0.8 * ARM.limits.acceleration)
    return through_state(limits, ARM.home, away, RATES, names=names, hold=0.03)


@pytest.mark.parametrize("dynamics", DYNAMICS.values(), ids=DYNAMICS)
def test_joints_do_what_was_planned_when_their_lag_is_anticipated(throw, dynamics):
    settings = Settings(dynamics=dynamics)
    sent = anticipated(throw, settings)
    assert rejection(JointCommand.of(sent), throw.names, 0) == ""
    assert sent.release == throw.release
    ends = [part[[0, -1]] for part in (sent.positions, sent.velocities, sent.accelerations)]
    wanted = throw.positions[[0, -1]], np.zeros((2, 6)), np.zeros((2, 6))
    np.testing.assert_allclose(ends, wanted, atol=1e-12)
    times = np.arange(0.0, throw.duration, 0.001)

    def off(command):
        run = executed(command, throw.names, replace(settings, path=np.inf, goal=np.inf))
        return np.abs(run.motion.at(times + dynamics.delay)[0] - throw.at(times)[0]).max()

    before, after = off(throw), off(sent)
    assert before > 0.004 and after < 0.25 * before, (before, after)


def test_dynamics_come_back_from_what_joints_did(throw):
    """Bandwidth, damping and feedforward stand in for each other a little: the motion counts."""
    truth = Settings(dynamics=Dynamics(45.0, 0.8, 0.012, 0.9))
    times = np.arange(0.003, 1.3, 0.008)
    did = executed(throw, throw.names, truth).motion
    noise = 1e-4 * np.random.default_rng(0).normal(size=(len(times), 6))
    found, rms = identified(throw, times, did.at(times)[0] + noise)
    assert rms == pytest.approx(1e-4, rel=0.1)
    assert found.bandwidth == pytest.approx(45.0, rel=0.05)
    assert found.delay == pytest.approx(0.012, abs=1e-3)
    again = executed(throw, throw.names, Settings(dynamics=found)).motion
    assert np.abs(again.at(times)[0] - did.at(times)[0]).max() < 1e-4


def test_what_tells_nothing_of_dynamics_is_refused(throw):
    times = np.arange(0.0, 1.0, 0.01)
    with pytest.raises(InputError, match=r"positions: got \(100, 5\); accepted: 100 times by 6"):
        identified(throw, times, np.zeros((100, 5)))
    there = np.broadcast_to(throw.positions[0], throw.positions.shape)
    still = JointTrajectory(throw.names, throw.times, there)
    with pytest.raises(InputError, match="let the arm swing faster"):
        identified(still, times, np.zeros((100, 6)))
