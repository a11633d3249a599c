"""Efforts of a twin's joints: those of the robot with its payload, rotors, friction, and noise."""

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.robots.dynamics import inertial_parameters, inverse_dynamics
from diffsim_ros.robots.trajectory import JointTrajectory
from diffsim_ros.twin.config import load_twin
from diffsim_ros.twin.execution import joint_log
from diffsim_ros.twin.twin import Twin
from diffsim_ros.twin.world import World
from tests.twin.conftest import ROOT, ball_twin, swing_of

FILE = ROOT / "config" / "twin" / "ur5_efforts.yaml"
PAYLOAD = {"link": "tool0", "mass": 2.0, "centre": [0.0, 0.1, 0.05], "inertia": 0.01}


def quiet(**efforts):
    """The twin of ball_twin with efforts, a controller of 500 Hz, and no noise."""
    return Twin(ball_twin(controller={"rate": 500}, efforts=efforts), base=ROOT)


def test_at_rest_efforts_carry_the_arm_and_the_payload():
    twin = quiet(payload=PAYLOAD, offset=0.5)
    robot, home = twin.config.arm.robot, twin.config.arm.home
    rest = np.zeros(6)
    bare = inverse_dynamics(robot, home, rest, rest)
    efforts = World(twin).efforts()
    mass = inertial_parameters(twin.config.efforts.robot)[:, 0].sum()
    assert mass == pytest.approx(inertial_parameters(robot)[:, 0].sum() + 2.0)
    # the payload's weight about the shoulder, by where its centre is
    frame = robot.frame("tool0")
    assert frame.carrier == 5 and abs(efforts[1] - 0.5 - bare[1]) > 2.0
    assert efforts[0] == pytest.approx(0.5)  # about the vertical nothing is carried


def test_a_motion_shows_rotors_friction_gain_and_a_moving_payload():
    damping, friction, armature = np.arange(1, 7.0), np.arange(6, 0, -1.0), np.full(6, 0.3)
    twin = quiet(
        damping=damping.tolist(), friction=friction.tolist(), armature=0.3, payload=PAYLOAD, gain=-2
    )
    motion = swing_of(twin.config.arm.robot.joint_names, JointTrajectory)
    log = joint_log(twin, motion)
    q = log.values["position"]
    qd = np.gradient(q, log.t, axis=0)
    qdd = np.gradient(log.values["velocity"], log.t, axis=0)
    tau = inverse_dynamics(twin.config.efforts.robot, q, qd, qdd)
    tau += armature * qdd + damping * qd + friction * qd / np.hypot(qd, 0.002)
    inner = slice(2, -2)
    assert np.abs(log.values["effort"][inner] + 2 * tau[inner]).max() < 1e-6 * np.abs(tau).max()
    assert log.t[1] == pytest.approx(0.002) and log.kind == "joints"


def test_readings_are_noisy_as_stated_and_those_of_an_episode_are_repeated():
    twin = Twin(FILE)
    still = JointTrajectory(
        twin.config.arm.robot.joint_names, np.array([0.0, 1.0]),
        np.tile(twin.config.arm.home, (2, 1)),
    )  # fmt: skip
    log, same, other = (joint_log(twin, still, number=k) for k in (0, 0, 1))
    effort = log.values["effort"]
    assert effort.std(axis=0) == pytest.approx(twin.config.efforts.sigma, rel=0.15)
    assert np.array_equal(effort, same.values["effort"])
    assert np.abs(effort - other.values["effort"]).max() > 0.1


def test_a_twin_without_efforts_has_none():
    twin = Twin(ball_twin(), base=ROOT)
    assert World(twin).efforts() is None
    motion = swing_of(twin.config.arm.robot.joint_names, JointTrajectory)
    with pytest.raises(InputError, match="efforts"):
        joint_log(twin, motion)
    with pytest.raises(InputError, match="whole share of 500 Hz"):
        joint_log(Twin(FILE), motion, rate=300.0)


def test_an_arm_in_the_engine_reads_what_its_drives_exert():
    damping, friction, armature = np.arange(1, 7.0), np.arange(6, 0, -1.0), np.full(6, 0.3)
    arm = {
        "drive": {"stiffness": [9e3, 9e3, 5e3, 1e3, 1e3, 700],
                  "damping": [300, 300, 150, 30, 30, 20]},
        "damping": damping.tolist(), "friction": friction.tolist(), "armature": 0.3,
        "slip_rate": 0.002, "payload": PAYLOAD,
    }  # fmt: skip
    source = ball_twin(controller={"rate": 500, "arm": arm}, efforts={"gain": -2})
    twin = Twin(source, base=ROOT)
    assert np.array_equal(twin.config.efforts.damping, damping)
    motion = swing_of(twin.config.arm.robot.joint_names, JointTrajectory)
    log = joint_log(twin, motion)
    q, qd = log.values["position"], log.values["velocity"]
    qdd = np.gradient(qd, log.t, axis=0)
    tau = inverse_dynamics(twin.config.efforts.robot, q, qd, qdd)
    tau += armature * qdd + damping * qd + friction * qd / np.hypot(qd, 0.002)
    inner = slice(100, 300)  # nothing turns round here
    away = np.abs(log.values["effort"][inner] + 2 * tau[inner])
    assert (away.max(axis=0) < 0.01 * np.abs(tau).max()).all()
    assert np.abs(q - motion.at(log.t)[0]).max() > 1e-3  # it lags by itself
    with pytest.raises(InputError, match=r"efforts\.friction: got 3; accepted: none"):
        load_twin({**source, "efforts": {"friction": 3}}, base=ROOT)


@pytest.mark.parametrize(
    ("efforts", "words"),
    [
        ({"damping": -1}, "efforts.damping"),
        ({"sigma": [1, 2]}, "efforts.sigma"),
        ({"frictions": 1}, "did you mean 'friction'"),
        ({"payload": {**PAYLOAD, "link": "base_link"}}, "efforts.payload.link"),
        ({"payload": {**PAYLOAD, "link": "tol0"}}, "did you mean 'tool0'"),
        ({"payload": {**PAYLOAD, "inertia": "uniform"}}, "a payload has no shape"),
    ],
)
def test_what_is_impossible_is_refused(efforts, words):
    given = yaml.safe_load(FILE.read_text()) | {"efforts": efforts}
    with pytest.raises(InputError) as refused:
        load_twin(given, base=FILE)
    assert words in str(refused.value)
