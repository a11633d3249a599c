"""Nodes as processes: what replay sends is what observer saves; every node ends with code 0."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from std_msgs.msg import Bool  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from diffsim_ros.nodes import convert  # noqa: E402
from diffsim_ros.nodes.common import LATCHED  # noqa: E402
from diffsim_ros.sensing.tosses import read_tosses  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
NODES = ("replay", "observer", "estimator", "visualizer")
DRIVING = ("planner", "driver", "mock_controller", "simulator")
LEGGED = ("legged_planner", "legged_driver", "legged_twin")
TRIALS = [8, 1, 10, 3, 6]


def node_class(name):
    from importlib import import_module

    kind = "".join(word.capitalize() for word in name.split("_"))
    return getattr(import_module(f"diffsim_ros.nodes.{name}"), kind)


def test_replay_to_observer_to_file_equals_the_source(ros, processes, tosses, tmp_path):
    path = tmp_path / "saved.npz"
    received = ros.listen(DiagnosticArray, "/diagnostics", 10)
    done = ros.listen(Bool, "/replay/done", LATCHED)
    processes.start(
        "observer", path=str(path), trial_ids=TRIALS, period=0.1, reliability="reliable"
    )
    processes.start(
        "replay", data=str(tosses), trials=TRIALS, rate_factor=20.0, settle=0.5, autostart=False
    )

    def figures():
        return convert.values_of(received[-1].status[0]) if received else {}

    ros.until(lambda: figures().get("publishers") == "1", "the observer to find the replay")
    assert ros.call(Trigger, "/replay/play").success
    source = read_tosses(tosses, TRIALS)
    total = str(sum(map(len, source)))
    ros.until(lambda: done and done[-1].data, "the end of the replay")
    ros.until(
        lambda: figures().get("received") == total,
        lambda: f"{total} samples, last figures: {figures()}",
    )
    response = ros.call(Trigger, "/observer/save")
    assert response.success, response.message
    saved = {trial.id: trial for trial in read_tosses(path)}
    assert list(saved) == TRIALS
    for trial in source:
        back = saved[trial.id]
        np.testing.assert_allclose(back.poses.value, trial.poses.value, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(back.frames, trial.frames)
        assert back.dt == pytest.approx(trial.dt, abs=1e-10)
    assert [processes.end(p) for p in processes.running] == [0, 0]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_every_node_ends_with_code_0_on_a_signal(ros, processes, tosses, number):
    for name in NODES:
        processes.start(name, **({"data": str(tosses)} if name == "replay" else {}))
    ros.until(lambda: set(NODES) <= set(ros.node.get_node_names()), "all nodes")
    for process in processes.running:
        process.send_signal(number)
    assert [processes.awaited(p, number) for p in processes.running] == [0] * len(NODES)
    for process in processes.running:
        assert "Traceback" not in process.log.read_text()


SIGNAL_IN_A_LOCKED_EVENT = """
import faulthandler, signal, threading
from types import SimpleNamespace
from diffsim_ros.nodes import common

class Event(threading.Event):
    def wait(self, timeout=None):
        if threading.current_thread() is threading.main_thread():
            with self._cond:
                signal.raise_signal(signal.SIGTERM)
        return super().wait(timeout)

faulthandler.dump_traceback_later(40, exit=True)
common.threading = SimpleNamespace(Event=Event, Thread=threading.Thread)
raise SystemExit(common.run_node(lambda: common.BaseNode("interrupted")))
"""


def test_a_signal_at_the_worst_moment_does_not_hang_a_node(ros_domain):
    script = [sys.executable, "-c", SIGNAL_IN_A_LOCKED_EVENT]
    run = subprocess.run(script, cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


def test_unusable_parameters_end_a_node_with_code_2_and_one_line(processes):
    wrong = processes.start("replay", data="/no/such.npz")
    assert wrong.wait(40.0) == 2
    assert "/no/such.npz" in wrong.log.read_text() and "Traceback" not in wrong.log.read_text()
    wrong = processes.start("observer", period="fast")
    assert wrong.wait(40.0) == 2
    assert "period" in wrong.log.read_text() and "Traceback" not in wrong.log.read_text()


@pytest.mark.parametrize("name", NODES + DRIVING + LEGGED)
def test_the_yaml_lists_every_parameter_with_its_default(name):
    content = yaml.safe_load((ROOT / "config" / "nodes" / f"{name}.yaml").read_text())
    listed = content[f"/**/{name}"]["ros__parameters"]
    declared = {p.name: p.default for p in node_class(name).PARAMETERS}
    assert listed == {k: list(v) if v == () else v for k, v in declared.items()}


@pytest.mark.parametrize("name", NODES + DRIVING + LEGGED)
def test_the_yaml_can_be_loaded(name, processes, ros):
    overrides = ["--ros-args", "--params-file", str(ROOT / "config" / "nodes" / f"{name}.yaml")]
    if name == "replay":
        overrides += ["-p", "autostart:=false"]
    node = node_class(name)(cli_args=overrides)
    try:
        for parameter in node.PARAMETERS:
            if parameter.name == "autostart":
                continue
            value = node[parameter.name]
            value = value if isinstance(value, (str, bool, int, float)) else list(value)
            default = parameter.default if parameter.default != () else []
            assert value == default, parameter.name
    finally:
        node.destroy_node()


@pytest.mark.parametrize("name", NODES + DRIVING + LEGGED)
def test_parameters_are_described_and_bounded(name):
    for parameter in node_class(name).PARAMETERS:
        descriptor = parameter.descriptor()
        assert descriptor.description and descriptor.type
        number = isinstance(parameter.default, (int, float))
        if number and not isinstance(parameter.default, bool):
            assert descriptor.integer_range or descriptor.floating_point_range, parameter.name


def test_ranges_and_choices_are_enforced(ros):
    node = ros.start(node_class("observer")())
    results = node.set_parameters(
        [
            Parameter("trial_gap", value=-1.0),
            Parameter("up_axis", value="x"),
            Parameter("trial_gap", value=0.2),
        ]
    )
    assert [r.successful for r in results] == [False, False, True]
    assert "'z', 'y'" in results[1].reason


def test_topics_of_the_rviz_file_are_those_of_the_visualizer():
    text = (ROOT / "config" / "rviz" / "real2sim.rviz").read_text()
    source = (ROOT / "diffsim_ros" / "nodes" / "visualizer.py").read_text()
    displays = yaml.safe_load(text)["Visualization Manager"]["Displays"]
    topics = {
        d["Topic"]["Value"]: d["Topic"]["Durability Policy"] for d in displays if "Topic" in d
    }
    assert set(topics) == {
        f"visualizer/{name}"
        for name in ("scene", "motion", "points", "live", "measured_path", "simulated_path")
    }
    for name in re.findall(r'"~/(\w+)", LATCHED', source):
        assert topics[f"visualizer/{name}"] == "Transient Local"
