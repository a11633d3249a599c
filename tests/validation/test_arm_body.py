"""The arm that validation/arm_motion.py moves; the study where the TIAGo's URDF is installed."""

import importlib.metadata

import numpy as np
import pytest

from diffsim_ros.robots.dynamics import inverse_dynamics
from diffsim_ros.robots.urdf import load_robot
from validation import arm_body, arm_motion
from validation.arm_efforts import PACKAGE
from validation.common import ROOT

pytest.importorskip("urchin")
UR5 = ROOT / "urdf" / "ur5.urdf"


@pytest.fixture(scope="module")
def made_up():
    """A UR5, drives on three of its joints and a motion with the currents that make it."""
    robot, own = load_robot(UR5), (1, 2, 4)
    drives = arm_motion.Drives(
        own, np.array([0.1, -0.2, 0.5]), np.array([0.3, 0.0, -0.1]), np.array([4.0, 3.0, 1.0]),
        np.array([5.0, 3.0, 0.5]), np.array([0.5, 0.2, 0.1]), np.array([0.05, 0.05, 0.05]),
    )  # fmt: skip
    t = np.arange(round(arm_motion.LENGTH / arm_motion.INTERVAL) + 1) * arm_motion.INTERVAL
    w, a = np.array([0.5, 0.8, 1.1, 0.9, 1.3, 0.7]), np.array([0.4, 0.3, 0.4, 0.5, 0.4, 0.6])
    q = a * np.sin(w * t[:, None]) + np.array([0.3, -1.2, 1.4, -1.7, -1.5, 0.2])
    qd, qdd = a * w * np.cos(w * t[:, None]), -a * w * w * np.sin(w * t[:, None])
    torque, effort = inverse_dynamics(robot, q, qd, qdd), np.zeros(q.shape)
    for i, j in enumerate(own):
        rubs = drives.damping[i] * qd[:, j] + drives.friction[i] * np.tanh(qd[:, j] / 0.05)
        torque[:, j] += rubs + drives.armature[i] * qdd[:, j]
        effort[:, j] = drives.gain[i] * torque[:, j] + drives.offset[i]
    windows = arm_motion.Windows(*(np.array([one, one]) for one in (q, qd, effort)))
    return robot, drives, windows


def test_currents_move_the_arm_as_they_were_made(made_up):
    robot, drives, windows = made_up
    scene = arm_motion.arm_scene(str(UR5), robot, drives.joints)
    q = arm_motion.moved(scene, robot, drives, windows)
    assert np.abs(q - windows.q).max() < 2e-3
    # more current, more motion
    more = arm_motion.Windows(windows.q, windows.qd, windows.effort * 1.05)
    assert np.abs(arm_motion.moved(scene, robot, drives, more) - q).max() > 0.02


def test_joints_by_themselves_move_by_their_own_law(made_up):
    """Weight, friction and the armature's acceleration, and no force of other joints."""
    robot, drives, windows = made_up
    own, others = list(drives.joints), [0, 3, 5]
    still = np.zeros(windows.q.shape)
    torque = inverse_dynamics(robot, windows.q, still, still)[:, :, own]
    qd = windows.qd[:, :, own]
    torque += drives.damping * qd + drives.friction * np.tanh(qd / drives.slip)
    torque += drives.armature * np.gradient(qd, arm_motion.INTERVAL, axis=1)
    effort = windows.effort.copy()
    effort[:, :, own] = drives.gain * torque + drives.offset
    q = arm_motion.moved_alone(robot, drives, arm_motion.Windows(windows.q, windows.qd, effort))
    assert np.array_equal(q[:, :, others], windows.q[:, :, others])
    end = windows.q.shape[1] // 4  # an arm that stands upright falls from where it is by e^(15 t)
    assert np.abs(q - windows.q)[:, :end, own].max() < 3e-3
    assert np.abs(q[:, end, own] - q[:, 0, own]).min() > 0.05


def test_a_tenth_of_the_study():
    try:
        importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("the TIAGo's URDF is not installed")
    found = arm_body.study(0.1)  # raises where a bar is missed
    (one,) = found["draws"]
    assert len(one["predicted"]) == arm_body.MOTIONS - arm_body.TRAINED
    assert set(one["efforts"]) >= set(arm_body.TOLD)
    after = found["rms_of_positions_rad"]
    assert after["whole"]["0.2 s"] < after["whole"]["2 s"] < after["urdf"]["2 s"]
    for own in found["motor_constants"]["urdf"]["joints"].values():
        assert abs(own["over_controller"] - arm_body.SCALE) < 3 * own["sigma"] < 0.3
    assert found["payload"]["gains_estimated"]["mass"]["sigma"] > 0.3  # is not told
    assert found["payload"]["scaled"]["mass"]["sigma"] < 0.2
