"""What the visualizer sends is what the result's motion file holds, latched where rviz needs it."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diffsim_interfaces.msg import MaterialEstimate
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from visualization_msgs.msg import MarkerArray

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import DRIVER, LATCHED, STREAM
from diffsim_ros.nodes.visualizer import Visualizer, read_scenes
from diffsim_ros.sensing.recorder import PoseSample
from diffsim_ros.viz.markers import Action
from diffsim_ros.viz.pages import sections_of
from diffsim_ros.viz.playback import write_playback

FRAMES = 30


def write_motion(folder, kind, predictions):
    """motion.mcap of an estimation that has nothing else."""
    nothing = {"parameters": (), "config": {}, "metrics": {}}
    result = SimpleNamespace(page=kind, predictions=predictions, **nothing)
    write_playback(folder / "motion.mcap", sections_of(result).play)


def prediction(number, errors):
    """A toss whose simulated body lags 1 cm behind the measured one; it touches at one point."""
    t = np.arange(FRAMES) / 148.0
    position = np.stack([number + t, 0 * t, 0.3 - 0.5 * t], axis=1)
    orientation = np.tile([0.0, 0.0, 0.0, 1.0], (FRAMES, 1))
    force = np.zeros((FRAMES, 1, 3))
    force[FRAMES // 2 :, 0, 2] = 10.0
    return SimpleNamespace(
        id=number,
        name=f"toss {number}",
        role="validate",
        source="",
        t=t,
        measured_position=position,
        measured_orientation=orientation,
        simulated_position=position - [0.01, 0.0, 0.0],
        simulated_orientation=orientation,
        size=(0.1, 0.1, 0.1),
        contact_point=position[:, None] - [0.0, 0.0, 0.05],
        contact_force=force,
        errors=errors,
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A result folder with two tosses."""
    path = tmp_path_factory.mktemp("result")
    errors = {"position_error_widths": 0.1, "rotation_error_deg": 1.0, "e_q": 0.1}
    write_motion(path, "tosses", [prediction(k, errors) for k in (1, 2)])
    return path


def test_recordings_of_several_bodies_are_shown(tmp_path):
    one = prediction(1, {})
    measured, simulated = (
        np.concatenate([getattr(one, f"{who}_position"), one.measured_orientation], axis=1)
        for who in ("measured", "simulated")
    )
    recording = SimpleNamespace(
        id=1, name="toss 1", role="validate", errors={}, t=one.t,
        bodies=("bar", "tip"), kinds=("box", "point"),
        sizes=((0.1, 0.02, 0.02), (0.0, 0.0, 0.0)),
        measured=np.stack([measured, measured], axis=1),
        simulated=np.stack([simulated, simulated], axis=1),
    )  # fmt: skip
    write_motion(tmp_path, "poses", [recording, recording])
    first, second = read_scenes(tmp_path / "motion.mcap", "map")
    bodies = {f"{who}/{body}" for who in ("measured", "simulated") for body in ("bar", "tip")}
    assert bodies | {"label"} <= names(second.moving[0])
    assert len(first.paths["measured"].poses) == FRAMES and first.t[-1] < second.t[0]
    shown = convert.markers(first.moving[-1])  # raises if rviz would refuse one
    assert {m.ns: m.position[0] for m in shown}["measured/bar"] == measured[-1, 0]


@pytest.fixture
def start(ros):
    def start(**parameters):
        return ros.start_with(Visualizer, **({"speed": 1.0, "pause": 0.1} | parameters))

    return start


def names(message):
    return {marker.ns for marker in message.markers}


def test_scenes_hold_table_paths_bodies_and_forces(folder):
    first, second = read_scenes(folder / "motion.mcap", "map")
    assert names(first.still) == {"table", "path/measured", "path/simulated"}
    moving = set().union(*(names(message) for message in first.moving))
    assert {"measured/cube", "simulated/cube", "residual", "contact_force", "label"} <= moving
    everything = [m for s in (first, second) for a in (s.still, *s.moving) for m in a.markers]
    assert {m.header.frame_id for m in everything} == {"map"}
    assert first.t == sorted(first.t) and first.t[-1] < second.t[0]
    measured, simulated = first.paths["measured"], first.paths["simulated"]
    assert len(measured.poses) == len(simulated.poses) == FRAMES
    assert measured.poses[0].pose.position.x - simulated.poses[0].pose.position.x == (
        pytest.approx(0.01)
    )


def test_a_result_plays_in_a_loop_and_late_viewers_get_the_scene(ros, start, folder):
    motion = ros.listen(MarkerArray, "/visualizer/motion", STREAM)
    scenes = ros.listen(MarkerArray, "/visualizer/scene", LATCHED)
    start(result=str(folder), world_frame="map")
    ros.until(lambda: len(scenes) >= 3, "the first toss again")
    tables = [next(m for m in s.markers if m.ns == "table").pose.position.x for s in scenes]
    assert tables[0] == tables[2] != tables[1]
    assert motion[0].markers and {m.header.frame_id for m in motion[0].markers} == {"map"}
    late = ros.listen(MarkerArray, "/visualizer/scene", LATCHED)
    path = ros.listen(Path, "/visualizer/measured_path", LATCHED)
    ros.until(lambda: late and path, "the latched scene")
    assert len(path[0].poses) == FRAMES and path[0].header.frame_id == "map"
    for message in (*motion, *scenes):
        shown = convert.markers(message)  # raises if rviz would refuse one
        assert any(m.action is Action.ADD for m in shown)


def test_the_estimators_last_result_is_shown(ros, start, folder):
    scenes = ros.listen(MarkerArray, "/visualizer/scene", LATCHED)
    start()
    publisher = ros.node.create_publisher(MaterialEstimate, "/estimator/result", LATCHED)
    code = convert.CODES["CANCELED"]
    report = str(folder / "report.html")
    publisher.publish(MaterialEstimate(report_path=report, error_code=code))
    publisher.publish(MaterialEstimate(report_path=report))
    ros.until(lambda: scenes, "the scene")


def test_a_broken_result_is_reported_and_survived(ros, start, tmp_path):
    node = start()
    (tmp_path / "motion.mcap").write_bytes(b"nothing")
    node._on_result(MaterialEstimate(report_path=str(tmp_path / "report.html")))
    assert not node._scenes
    with pytest.raises(InputError, match=r"motion\.mcap"):
        start(result=str(tmp_path))


def test_the_tracker_is_shown_live(ros, start):
    live = ros.listen(MarkerArray, "/visualizer/live", STREAM)
    start()
    publisher = ros.node.create_publisher(PoseStamped, "/cube/pose", DRIVER)
    ros.until(lambda: publisher.get_subscription_count(), "the visualizer")
    nan = float("nan")
    for position in ((nan, 0.0, 0.0), (1.0, 2.0, 3.0)):
        sample = PoseSample(5, "map", "cube", position, (0.0, 0.0, 0.0, 1.0))
        publisher.publish(convert.pose_message(sample))
    (marker,) = convert.markers(ros.until(lambda: live, "a marker")[0])
    assert tuple(marker.position) == (1.0, 2.0, 3.0) and marker.frame_id == "map"
    assert marker.lifetime == 1.0
