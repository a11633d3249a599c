"""Markers from a driver to a result in rviz: the same digits as the command, and live feedback."""

import json

import numpy as np
import pytest
import yaml

pytest.importorskip("rclpy")
pytest.importorskip("mocap4r2_msgs")

from diagnostic_msgs.msg import DiagnosticArray
from diffsim_interfaces.action import Estimate
from nav_msgs.msg import Path
from std_msgs.msg import Bool
from std_srvs.srv import Trigger
from visualization_msgs.msg import MarkerArray

from diffsim_ros.cli import main
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import LATCHED, STREAM
from diffsim_ros.nodes.estimator import Estimator
from diffsim_ros.nodes.observer import Observer
from diffsim_ros.nodes.replay import Replay
from diffsim_ros.nodes.visualizer import Visualizer
from diffsim_ros.sensing.bags import MocapTrack, topics, write_motion
from diffsim_ros.sensing.read import read_trials
from diffsim_ros.sensing.saving import save_trials
from diffsim_ros.viz.markers import MarkerKind
from tests.real2sim.markers_synthetic import estimation, record

CHANGES = ("fit.iterations=1",)


@pytest.fixture
def lab(tmp_path, monkeypatch):
    """Two recordings as one table of two trials, and the estimation that fits them."""
    monkeypatch.chdir(tmp_path)
    files = [record(tmp_path / f"load_{k}.csv", noise=5e-5, seed=k) for k in (1, 2)]
    save_trials(
        tmp_path / "both.csv", [], [read_trials(file, "markers", sigma=5e-5)[0] for file in files]
    )
    (tmp_path / "beam.yaml").write_text(yaml.safe_dump(estimation(files)))
    return tmp_path


def test_markers_are_recorded_estimated_and_shown(ros, lab):
    recording = lab / "load_live.mcap"
    received = ros.listen(DiagnosticArray, "/diagnostics", 10)
    done = ros.listen(Bool, "/replay/done", LATCHED)
    motion = ros.listen(MarkerArray, "/visualizer/motion", STREAM)
    path = ros.listen(Path, "/visualizer/measured_path", LATCHED)
    live = ros.listen(MarkerArray, "/visualizer/live", STREAM)
    ros.start_with(Observer, markers_topics=["markers"], pose_topics=[""], period=0.05,
        path=str(recording), reliability="reliable",
    )  # fmt: skip
    ros.start_with(Visualizer, markers_topics=["markers"], pose_topics=[""], speed=20.0)
    ros.start_with(Estimator, configuration=str(lab / "beam.yaml"))
    table = str(lab / "both.csv")
    ros.start_with(Replay, data=table, rate_factor=20.0, wait_for=2, settle=0.2)
    frames = sum(len(one.t) for one in read_trials(lab / "both.csv", "markers"))
    ros.until(lambda: done and done[-1].data, "the end of the replay")
    ros.until(
        lambda: convert.values_of(received[-1].status[0]).get("received") == str(frames),
        f"{frames} frames",
    )
    response = ros.call(Trigger, "/observer/save")
    assert response.success and "2 trials" in response.message, response.message
    saved = read_trials(recording, "markers")
    for ours, theirs in zip(saved, read_trials(lab / "both.csv", "markers"), strict=True):
        np.testing.assert_array_equal(ours.value, theirs.value)
        np.testing.assert_allclose(ours.t, theirs.t, atol=1e-8)

    action, feedback = ros.action(Estimate, "/estimator/estimate"), []
    goal = Estimate.Goal(source="buffer", set=CHANGES, out=str(lab / "action"))
    answer = convert.answer(ros.act(action, goal, feedback)[1])
    assert answer.code == "NOT_CONVERGED" and len(answer.parameters) == 2, answer.message
    assert {"read", "fit", "validate"} <= {f.phase for f in feedback}
    assert any({p.name for p in f.parameters} == {"young", "viscosity"} for f in feedback)
    command = ["estimate", str(lab / "beam.yaml"), "--train", str(recording)]
    changes = [word for change in CHANGES for word in ("--set", change)]
    assert main([*command, *changes, "--out", str(lab / "command")]) == 3
    assert_same(lab / "action", lab / "command", answer)

    def meshes():
        return [m for a in motion for m in a.markers if m.type == MarkerKind.TRIANGLE_LIST]

    def lowest():
        return {min(point.z for point in mesh.points) for mesh in meshes()}

    ros.until(lambda: len(lowest()) > 5 and path and live, "a mesh that deforms")
    assert {len(mesh.points) % 3 for mesh in meshes()} == {0} and len(path[0].poses) > 50
    kinds = {m.type for message in motion for m in message.markers}
    assert {MarkerKind.SPHERE_LIST, MarkerKind.LINE_LIST, MarkerKind.TEXT} <= kinds
    assert live[0].markers[0].type == MarkerKind.SPHERE_LIST
    assert topics(lab / "action" / "motion.mcap")["/markers/measured"][1] > 180


def assert_same(action, command, answer):
    """Results of both to the last digit; times that it took do not count."""
    want, got = (json.loads((f / "metrics.json").read_text()) for f in (command, action))
    want["timing"] = got["timing"] = None
    assert got == want
    assert (action / "result.yaml").read_text() == (command / "result.yaml").read_text()
    parameters = yaml.safe_load((command / "result.yaml").read_text())["parameters"]
    for p in answer.parameters:
        one = parameters[p.name]
        assert p.value == one["value"]
        assert np.isnan(p.std_dev) if one["std_dev"] is None else p.std_dev == one["std_dev"]


def bad_recordings(lab):
    """Name of a bad recording -> words that its answer must have."""
    t, names = np.arange(60) / 100.0, ("tip", "side", "middle", "root")
    observed = read_trials(lab / "load_1.csv", "markers")[0]
    position = observed.value.reshape(len(observed.t), -1, 3)
    near = [MocapTrack("/markers", "map", observed.t[:60], names, position[:60])]
    away = [MocapTrack("/markers", "odom", observed.t[60:], names, position[60:])]
    write_motion(lab / "load_frame.mcap", [], mocap=near + away)
    large = [MocapTrack("/markers", "map", observed.t, names, 1000.0 * position)]
    write_motion(lab / "load_mm.mcap", [], mocap=large)
    q = np.tile([0.0, 0.0, 0.0, 1.0], (60, 1))
    write_motion(lab / "load_none.mcap", [("/cube/pose", "map", t, position[:60, 0], q)])
    whole = (lab / "load_mm.mcap").read_bytes()
    (lab / "load_cut.mcap").write_bytes(whole[:-100])
    few = [MocapTrack("/markers", "map", observed.t, names[:3], position[:, :3])]
    write_motion(lab / "load_few.mcap", [], mocap=few)
    return {
        "load_frame.mcap": ["/markers: sample 60: frame_id: got 'odom'", "'map'"],
        "load_mm.mcap": ["millimetres?"],
        "load_none.mcap": ["topic: got 'none'", "mocap4r2_msgs/msg/Markers"],
        "load_cut.mcap": ["mcap recover"],
        "load_few.mcap": ["root"],
        "load_missing.mcap": ["got 'nothing'"],
    }


def test_the_estimator_names_what_is_wrong_with_a_recording(ros, lab):
    ros.start_with(Estimator, configuration=str(lab / "beam.yaml"))
    for name, words in bad_recordings(lab).items():
        goal = Estimate.Goal(train=(str(lab / name),), out=str(lab / "out"))
        answer = ros.estimate(goal)
        assert answer.code == "INVALID_DATA" and name in answer.message, answer.message
        for word in words:
            assert word in answer.message, answer.message
        assert not (lab / "out").exists()
