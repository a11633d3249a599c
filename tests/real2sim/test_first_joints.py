"""`diffsim init --urdf`: first estimations of robots from their joint logs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.first_guess import Given
from diffsim_ros.real2sim.sensors.joint import first_guess as first_joints
from diffsim_ros.real2sim.sensors.joint.effort_gains import effort_gains
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.sensing.check import examine
from diffsim_ros.sensing.read import read, read_trials

ROOT = Path(__file__).resolve().parents[2]


def test_a_joint_log_gives_a_first_estimation_of_its_robot(tmp_path):
    log, urdf = ROOT / "data" / "ur5_log" / "ur5_log.npz", ROOT / "urdf" / "ur5.urdf"
    out = tmp_path / "out"
    assert main(["init", "--from", str(log), "--urdf", str(urdf), "--out", str(out)]) == 0
    config = load_estimation(out / "estimation.yaml")
    # gains of efforts joint by joint, but for the last, whose efforts do not tell it
    assert len(config.free) == 6 * 5 + 2 + 10 + 5
    gains = config.measurement.effort["gain"]
    assert gains["elbow_joint"] == "effort_gain_elbow_joint"
    assert gains["wrist_3_joint"] == "effort_gain_wrist_2_joint"
    assert [config.parameters[name].value for name in set(gains.values())] == [1.0] * 5  # torques
    sigma = config.measurement.effort["sigma"]
    assert sigma["elbow_joint"] == pytest.approx(0.4, rel=0.5)  # as in its README
    experiment = kind_of("joints")(config)
    data = experiment.read({})
    assert [t.trial for t in data.train] == [0, 1, 2] and [t.trial for t in data.validate] == [3]
    model = experiment.model
    short = model.problem(data.train[:1], model.map.start, horizon=25)
    found = short.evaluate(model.map.start)
    assert found.ok, found.failures
    # its gains follow the logged efforts: near the truth (data/ur5_log) already
    named = model.map.named(model.map.start)
    assert named["stiffness_elbow_joint"] == pytest.approx(1300.0, rel=0.5)


def test_drives_that_are_given_torques(tmp_path):
    robot, t = load_robot(ROOT / "urdf" / "ur5.urdf", meshes="ignore"), np.arange(60) / 100
    still = np.zeros((60, 6))
    path = tmp_path / "torques.npz"
    np.savez(path, t=t, joints=robot.joint_names, q=still, effort_command=still)
    out = tmp_path / "out"
    urdf = ["--urdf", str(ROOT / "urdf" / "ur5.urdf")]
    assert main(["init", "--from", str(path), *urdf, "--out", str(out)]) == 0
    config = load_estimation(out / "estimation.yaml")
    assert len(config.free) == 6 * 3 + 1 + 10 and config.validate is None
    for joint in ("a", robot.joint_names[0]):
        np.savez(path, t=t, joints=[joint], q=still[:, :1], effort_command=still[:, :1])
        with pytest.raises(InputError, match="columns of all joints of the URDF"):
            first_joints.make([examine(s) for s in read(path)], out, Given(urdf=urdf[1]))
    np.savez(path, t=t, joints=robot.joint_names, q=still)
    with pytest.raises(InputError, match="efforts: got 'none'; accepted: efforts, or commands"):
        first_joints.make([examine(s) for s in read(path)], out, Given(urdf=urdf[1]))


def test_gains_of_currents_have_size_and_sign_of_the_data():
    """Efforts of MuJoCo's UR5 as currents of motors on either side of their gears."""
    urdf, scale = ROOT / "urdf" / "ur5.urdf", np.array([0.1, -0.08, 0.12, -0.5, -0.4, -0.3])
    logs = [
        replace(log, values={**log.values, "effort": log.values["effort"] * scale})
        for log in read_trials(ROOT / "data" / "ur5_log" / "ur5_log.npz", "joints")
    ]
    names = load_robot(urdf, meshes="ignore").joint_names
    found = effort_gains(urdf, names, logs)
    values = np.array([found[name].value for name in names])
    # the tool, which the URDF lacks, makes them larger alike
    assert values[:5] == pytest.approx(1.06 * scale[:5], rel=0.4)
    assert np.sign(values).tolist() == np.sign(scale).tolist()
    assert all(one.bounds[0] < one.value < one.bounds[1] for one in found.values())
    assert found["wrist_3_joint"].held and not found["elbow_joint"].held
