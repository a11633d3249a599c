"""A robot's YAML and a trajectory.yaml with what does not belong there: one line, naming it."""

import math
from pathlib import Path

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError
from diffsim_ros.robots.arm import load_arm
from diffsim_ros.robots.trajectory import JointTrajectory

ROOT = Path(__file__).resolve().parents[2]
ARM = yaml.safe_load((ROOT / "config" / "robots" / "ur5.yaml").read_text())
MOTION = {"joints": ["a", "b"], "times": [0.0, 1.0], "positions": [[0, 0], [1, 2]], "release": 0.5}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"tool": ["tool0"]}, "tool: got"),
        ({"tool": "tool"}, "tool: got 'tool'.*did you mean 'tool0'"),
        ({"base": {"position": [1, 2]}}, "base.position: got .1, 2.; accepted: 3 finite numbers"),
        ({"base": {"position": "abc"}}, "base.position: got 'abc'"),
        ({"base": {"position": [True, 0, 0]}}, "base.position"),
        ({"base": {"position": [0, math.nan, 0]}}, "base.position"),
        ({"base": {"orientation": [0, 0, 1]}}, "base.orientation: .* 4 finite numbers: x, y, z, w"),
        ({"base": {"orientation": [0, 0, 0, 0]}}, "base.orientation.* not all zero"),
        ({"home": [1, 2]}, "home: got"),
        ({"home": [0, 0, "x", 0, 0, 0]}, "home.elbow_joint: got 'x'"),
        ({"home": {"elbow_joint": 5}}, "home.elbow_joint: got 5"),
        ({"limits": {"acceleration": [1]}}, "limits.acceleration: got"),
        ({"limits": {"jerk": math.nan}}, "limits.jerk: got"),
    ],
)
def test_a_robot_names_file_and_key(change, message, tmp_path):
    file = tmp_path / "arm.yaml"
    file.write_text(yaml.safe_dump({**ARM, "urdf": str(ROOT / "urdf" / "ur5.urdf"), **change}))
    with pytest.raises(InputError, match=f"^{file}: {message}"):
        load_arm(file)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"joints": 5}, "joints: got 5; accepted: a list of joint names"),
        ({"joints": [1, 2]}, "joints: got"),
        ({"times": 5}, "times: got 5; accepted: a list of numbers"),
        ({"positions": True}, "positions: got True"),
        ({"positions": [1, 2]}, "positions: got"),
        ({"velocities": "fast"}, "velocities: got 'fast'"),
        ({"accelerations": 5}, "accelerations: got 5"),
        ({"release": "soon"}, "release: got 'soon'; accepted: a finite time"),
        ({"release": math.nan}, "release: got nan"),
        ({"release": True}, "release: got True"),
    ],
)
def test_a_motion_names_file_and_key(change, message, tmp_path):
    file = tmp_path / "trajectory.yaml"
    file.write_text(yaml.safe_dump({**MOTION, **change}))
    with pytest.raises(InputError, match=f"^{file}: {message}"):
        JointTrajectory.load(file)


def test_files_that_are_no_text_are_refused(tmp_path):
    file = tmp_path / "file.yaml"
    file.write_bytes(b"\xff\xfe")
    for load in (load_arm, JointTrajectory.load):
        with pytest.raises(InputError, match=f"^{file}: "):
            load(file)


def test_what_is_saved_is_read_again(tmp_path):
    motion = JointTrajectory.of(MOTION)
    motion.save(tmp_path / "t.yaml")
    again = JointTrajectory.load(tmp_path / "t.yaml")
    np.testing.assert_array_equal(again.positions, motion.positions)
    assert again.release == 0.5
