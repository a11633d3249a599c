"""`diffsim init --urdf`: first estimations of robots from their joint logs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from diffsim_ros.cli import main
from diffsim_ros.errors import InputError
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.experiment import kind_of
from diffsim_ros.real2sim.first_guess import Given
from diffsim_ros.real2sim.sensors.joint import first_guess as first_joints
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.sensing.check import examine
from diffsim_ros.sensing.read import read

ROOT = Path(__file__).resolve().parents[2]


def test_a_joint_log_gives_a_first_estimation_of_its_robot(tmp_path):
    log, urdf = ROOT / "data" / "ur5_log" / "ur5_log.npz", ROOT / "urdf" / "ur5.urdf"
    out = tmp_path / "out"
    assert main(["init", "--from", str(log), "--urdf", str(urdf), "--out", str(out)]) == 0
    config = load_estimation(out / "estimation.yaml")
    assert len(config.free) == 6 * 5 + 3 + 10
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
    np.savez(path, t=t, joints=["a"], q=still[:, :1], effort_command=still[:, :1])
    with pytest.raises(InputError, match="columns of all joints of the URDF"):
        first_joints.make([examine(s) for s in read(path)], out, Given(urdf=urdf[1]))
    np.savez(path, t=t, joints=robot.joint_names, q=still)
    with pytest.raises(InputError, match="commands: got 'none'"):
        first_joints.make([examine(s) for s in read(path)], out, Given(urdf=urdf[1]))
