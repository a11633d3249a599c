"""A policy moves a robot through the driver: from where it is, checked, cancelled, refused."""

import signal
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.learning import load_environment
from diffsim_ros.nodes import run_policy
from diffsim_ros.nodes.convert_motion import Report
from tests.learning.environments import PENDULUM, REACH, homing_policy
from tests.nodes.driving import Bench
from tests.robots.motions import ARM, swing

ROOT = Path(__file__).resolve().parents[2]
OFFSET = np.array([0.3, -0.2, 0.2, 0.1, -0.1, 0.2])


@pytest.fixture(scope="module")
def reach():
    return load_environment(REACH)


@pytest.fixture
def policy(reach, tmp_path):
    homing_policy(reach, (4.0, 1.0), OFFSET).save(tmp_path / "policy.npz")
    return tmp_path / "policy.npz"


def begun(policy, *more, environment=REACH):
    command = [sys.executable, "-m", "diffsim_ros.nodes.run_policy", environment, policy, *more]
    return subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ended(process):
    output, errors = process.communicate(timeout=60)
    assert "Traceback" not in errors, errors
    return process.returncode, output, errors


def test_it_moves_the_robot_from_where_it_is_as_often_as_asked(ros, policy):
    bench = Bench(ros, wall=True)
    bench.drive(gripper="none").known()
    process = begun(policy, "--motions", "2", "--duration", "1.2")
    moved = []
    bench.ros.until(
        lambda: moved.append(bench.lab.mock.position.copy()) or process.poll() is not None, "an end"
    )
    code, output, errors = ended(process)
    assert code == 0 and output.startswith("SUCCESS; 2 motions; largest tracking error"), errors
    assert bench.lab.events.count("started") == 2
    assert errors.count("s, return") == 2
    away = np.abs(np.array(moved) - ARM.home - OFFSET).max(axis=1)
    assert away[0] == pytest.approx(0.3) and away[-1] < 0.05 and away.max() < 0.31


def test_it_waits_until_the_robot_rests(ros, policy):
    bench = Bench(ros, wall=True)
    bench.drive(gripper="none").known()
    bench.send(swing(size=0.8, duration=8.0))  # rad/s: 0.19 at most, below 0.05 at its ends
    code, output, errors = ended(begun(policy, "--duration", "0.4"))
    assert code == 0 and output.startswith("SUCCESS; 1 motion; "), (output, errors)
    assert bench.lab.events.count("started") == 2 and bench.report().code == "SUCCESS"


def test_it_tries_again_while_the_driver_is_at_work(monkeypatch):
    """The robot seems to rest at the slow end of another's motion."""
    answers = [Report("BUSY", "a motion is running"), Report("BUSY", ""), Report("SUCCESS", "done")]
    asked, pauses = [], []
    found = SimpleNamespace(times=np.array([0.0, 1.0]), rewards=np.ones(2))
    run = SimpleNamespace(
        motion=lambda position: (found, position), options=SimpleNamespace(driver="driver")
    )
    states = SimpleNamespace(resting=lambda: np.full(6, float(len(asked))))

    def execute(trajectory, name):
        asked.append(trajectory[0])
        return answers[len(asked) - 1]

    ros = SimpleNamespace(execute=execute, pause=pauses.append)
    assert run_policy._motion(run, ros, states) == (found, answers[2])
    assert asked == [0.0, 1.0, 2.0]  # from where it rests by then
    assert len(pauses) == 2 and min(pauses) > 0
    asked.clear()
    monkeypatch.setattr(run_policy, "WAIT", -1.0)
    assert run_policy._motion(run, ros, states)[1].code == "BUSY"


def test_a_driver_in_dry_run_checks_one_motion_and_sends_nothing(ros, policy):
    bench = Bench(ros, wall=True)
    bench.drive(dry_run=True, gripper="none").known()
    code, output, _ = ended(begun(policy, "--motions", "0", "--duration", "0.4"))
    assert code == 0 and "dry run" in output and "nothing was sent" in output
    assert not bench.lab.events


def test_a_motion_beyond_the_robots_limits_is_refused_by_the_driver(ros, reach, tmp_path):
    bench = Bench(ros, wall=True)
    bench.drive(gripper="none").known()
    down = homing_policy(reach, (4.0, 1.0), [0, 2.0, 0, 0, 0, 0])  # the upper arm, to the table
    down.save(tmp_path / "down.npz")
    code, output, _ = ended(begun(tmp_path / "down.npz"))
    assert code == 3 and output.startswith("REFUSED; "), output
    assert not bench.lab.events


def test_ctrl_c_cancels_the_motion(ros, policy):
    bench = Bench(ros, wall=True)
    bench.drive(gripper="none").known()
    process = begun(policy, "--motions", "0")
    bench.ros.until(lambda: np.abs(bench.lab.mock.velocity).max() > 0.05, "a motion")
    process.send_signal(signal.SIGINT)
    code, output, errors = ended(process)
    assert code == 3 and output.startswith("CANCELED; on request"), (output, errors)
    bench.ros.until(bench.rests, "rest")


@pytest.mark.parametrize(
    ("more", "environment", "words"),
    [
        (["--duration", "9"], REACH, "--duration: got 9.0; accepted: 0.04 (one action) to 3 s"),
        (["--motions", "-1"], REACH, "--motions: got -1; accepted: 0 or more"),
        (["--set", "gravity.x"], REACH, "--set: got 'gravity.x'; accepted: PARAMETER=NUMBER"),
        (["--set", "gravity.q=1"], REACH, "parameter: got 'gravity.q'"),
        (["--prefix", "left_"], REACH, "joint: got 'left_shoulder_pan_joint'"),
        ([], PENDULUM, "observation[0]: got ['shoulder_pan_joint.coordinate'"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_is_asked(
    policy, capsys, more, environment, words
):
    assert run_policy.main([str(environment), str(policy), *more]) == 2
    assert words in capsys.readouterr().err
