"""What the visualizer sends is what the result's motion file holds, latched where rviz needs it."""

from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diffsim_interfaces.msg import MaterialEstimate
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Path
from visualization_msgs.msg import MarkerArray

from diffsim_ros import _engine
from diffsim_ros.commands.simulate import recording
from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import DRIVER, LATCHED, STREAM, share_folder
from diffsim_ros.nodes.visualizer import Visualizer, read_scenes
from diffsim_ros.real2sim.sensors.pose.experiment import PosePrediction
from diffsim_ros.scene.model import load_scene
from diffsim_ros.sensing.bags import write_motion as record_motion
from diffsim_ros.sensing.observation import PoseSample
from diffsim_ros.viz.markers import Action
from diffsim_ros.viz.pages import sections_of
from diffsim_ros.viz.playback import write_playback

FRAMES = 30


def write_motion(folder, predictions):
    """motion.mcap of an estimation that has nothing else."""
    nothing = {"parameters": (), "config": {}, "metrics": {}}
    result = SimpleNamespace(kind="poses", predictions=predictions, **nothing)
    write_playback(folder / "motion.mcap", sections_of(result).play)


def prediction(number, kinds):
    """Bodies whose simulated ones lag 1 cm behind the measured ones; they touch at one point."""
    t = np.arange(FRAMES) / 148.0
    position = np.stack([number + t, 0 * t, 0.3 - 0.5 * t], axis=1)
    upright = np.tile([0.0, 0.0, 0.0, 1.0], (FRAMES, 1))
    measured = np.stack([np.concatenate([position, upright], axis=1)] * len(kinds), axis=1)
    force = np.zeros((FRAMES, 1, 3))
    force[FRAMES // 2 :, 0, 2] = 10.0
    simulated, contact = measured.copy(), position[:, None] - [0.0, 0.0, 0.05]
    simulated[..., 0] -= 0.01
    sizes = tuple((0.1, 0.1, 0.1) if kind == "box" else (0.0, 0.0, 0.0) for kind in kinds.values())
    return PosePrediction(
        number, "validate", "", t, 0, tuple(kinds), tuple(kinds.values()), sizes, measured,
        simulated, contact, force,
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A result folder with two tosses."""
    path = tmp_path_factory.mktemp("result")
    write_motion(path, [prediction(k, {"cube": "box"}) for k in (1, 2)])
    return path


def test_recordings_of_several_bodies_are_shown(tmp_path):
    recording = prediction(1, {"bar": "box", "tip": "point"})
    write_motion(tmp_path, [recording, recording])
    first, second = read_scenes(tmp_path / "motion.mcap", "map")
    bodies = {f"{who}/{body}" for who in ("measured", "simulated") for body in ("bar", "tip")}
    assert bodies | {"label"} <= names(second.moving[0])
    assert len(first.paths["measured"].poses) == FRAMES and first.t[-1] < second.t[0]
    shown = convert.markers(first.moving[-1])  # raises if rviz would refuse one
    place = {m.ns: m.position[0] for m in shown}["measured/bar"]
    assert place == recording.measured[-1, 0, 0]


def test_a_robot_walks_on_feet_that_deform(tmp_path):
    model = load_scene(share_folder() / "config" / "scenes" / "soft_foot_quadruped.yaml")
    rollout = _engine.rollout(model.engine, model.engine.values, 24, model.options)
    assert rollout.ok
    poses, markers = recording(model, rollout)
    record_motion(tmp_path / "motion.mcap", poses, markers=markers)
    (scene,) = read_scenes(tmp_path / "motion.mcap", "world")
    assert "table" in names(scene.still)  # the ground
    feet = [f"body/{leg}_foot" for leg in ("FL", "FR", "RL", "RR")]
    for moment in scene.moving:
        assert {*feet, "body/trunk", "body/FL_shank"} <= names(moment)
    meshes = [
        np.array([[p.x, p.y, p.z] for m in moment.markers if m.ns == feet[0] for p in m.points])
        for moment in (scene.moving[0], scene.moving[-1])
    ]
    edges = [np.linalg.norm(np.diff(mesh, axis=0), axis=1) for mesh in meshes]
    assert len(meshes[0]) > 100 and np.abs(edges[1] - edges[0]).max() > 1e-4  # no rigid motion
    assert scene.t == sorted(scene.t) and len(scene.t) > 3


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
    assert {"measured/cube", "simulated/cube", "contact_force", "label"} <= moving
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
