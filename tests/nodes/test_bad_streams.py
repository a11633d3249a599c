"""What a lab gets wrong over ROS: each is named, with topic, sample and value; nothing hangs."""

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("mocap4r2_msgs")
pytest.importorskip("tf2_msgs")

from diagnostic_msgs.msg import DiagnosticStatus
from diffsim_interfaces.srv import Calibrate
from geometry_msgs.msg import PoseStamped
from mocap4r2_msgs.msg import Markers
from rclpy.parameter import Parameter
from sensor_msgs.msg import JointState, PointCloud2, PointField
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from diffsim_ros.nodes import convert, convert_frames
from diffsim_ros.nodes.common import SENSOR, STATIC_TF
from diffsim_ros.nodes.observer import Observer
from diffsim_ros.nodes.replay import Replay
from diffsim_ros.rotation import quat_conjugate, quat_exp, quat_multiply, quat_rotate
from diffsim_ros.sensing.bags import read_raw, topics
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.clouds.cloud import Cloud
from diffsim_ros.sensing.frames import Transform, bag_frames, read_transform
from diffsim_ros.sensing.observation import MarkerFrame, PoseSample
from diffsim_ros.sensing.read import read_kind
from tests.nodes.observing import Observing

ORIGIN = 1_700_000_000 * NANO
WARN, ERROR = DiagnosticStatus.WARN, DiagnosticStatus.ERROR
UPRIGHT = (0.0, 0.0, 0.0, 1.0)


class Bench(Observing):
    """What is asked of one topic's diagnostics."""

    def status_of(self, topic, words, level=None):
        """The first status of a topic from now on with these words in its message."""

        def mine(status):
            return convert.values_of(status)["topic"] == topic and words in status.message

        status = self.status(mine, f"{words!r} of {topic}")
        assert level is None or status.level == level
        return status

    def values(self, topic):
        """Figures of the last status of a topic."""
        last = [
            convert.values_of(s) for s in (self.diagnostics[-1].status if self.diagnostics else ())
        ]
        return next((values for values in last if values["topic"] == topic), {})


@pytest.fixture
def bench(ros, tmp_path):
    return Bench(ros, tmp_path)


def thrown(scale=1.0, up=2, count=60, start=ORIGIN):
    """Frames of four markers on a body in free flight, z (or another axis) up, some unit long."""
    offsets = 0.1 * np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    for k in range(count):
        t = k / 100.0
        place = np.array([0.5 * t, 0.1, 0.0])
        place[up] += 3.0 * t - 4.905 * t * t
        points = scale * (offsets + place)
        yield MarkerFrame(start + k * NANO // 100, "map", k, ("a", "b", "c", "d"), points)


def test_silence_and_quality_of_service_are_diagnosed_in_time(bench):
    """With the defaults silence is reported within 3 s, the publisher that does not fit by name."""
    bench.observe(pose_topics=["cube/pose"], markers_topics=["markers"], reliability="reliable")
    defaults = {p.name: p.default for p in Observer.PARAMETERS}
    assert defaults["no_data_after"] + defaults["period"] <= 3.0
    bench.status_of("/markers", "no publisher", level=WARN)
    bench.ros.node.create_publisher(Markers, "/markers", SENSOR)
    status = bench.status_of("/markers", "publisher /tester", level=ERROR)
    assert "it offers best effort, volatile; requested is reliable, volatile" in status.message
    bench.publisher(PoseStamped, "/cube/pose")
    status = bench.status_of("/cube/pose", "no data for")
    assert float(convert.values_of(status)["seconds_quiet"]) >= bench.observer["no_data_after"]
    response = bench.save(path="never.mcap")
    assert not response.success and "/cube/pose: no data for" in response.message
    assert "/markers: publisher /tester has a quality of service" in response.message


def test_units_axes_and_frames_of_markers_are_told(bench, tmp_path):
    bench.observe(
        markers_topics=["mm", "lying", "framed"], world_frame="map", path=str(tmp_path / "a.mcap")
    )
    gap = 2 * NANO
    wrong = {"/mm": {"scale": 1000.0}, "/lying": {"up": 1}}
    for topic, change in wrong.items():
        publisher = bench.publisher(Markers, topic)
        for start in (ORIGIN, ORIGIN + gap):
            for frame in thrown(**change, start=start):
                publisher.publish(convert.markers_message(frame))
    bench.status_of("/mm", "/mm: places are in mm", level=WARN)
    bench.status_of("/lying", "+y is up, not z", level=WARN)

    publisher, static = bench.publisher(Markers, "/framed"), bench.publisher(
        TFMessage, "/tf_static", STATIC_TF
    )  # fmt: skip
    frames = [convert.markers_message(frame) for frame in thrown()]
    for message in frames:
        message.header.frame_id = "camera"
    publisher.publish(frames[0])
    status = bench.status_of("/framed", "frame: got 'camera'", level=WARN)
    assert "static transform to 'map'" in status.message and "~/calibrate" in status.message
    camera = Transform("map", "camera", np.array([0.0, 0.0, 1.0]), np.array(UPRIGHT))
    static.publish(convert_frames.static_message([camera], ORIGIN))
    bench.ros.until(
        lambda: "camera" in bench.observer._calibrator.frames.names, "the static transform"
    )
    for message in frames[1:]:
        publisher.publish(message)
    bench.status_of(
        "/framed", "59 of 60 samples in 1 trials; 1 dropped: unknown frame (first: sample 0"
    )
    response = bench.save(path=str(tmp_path / "all.mcap"))
    assert response.success and "+y is up, not z" in response.message, response.message
    found = topics(tmp_path / "all.mcap")
    assert found["/mm"][1] == 120 and found["/framed"][1] == 59
    np.testing.assert_array_equal(
        bag_frames(tmp_path / "all.mcap").lookup("map", "camera", "").position, [0.0, 0.0, 1.0]
    )


def test_clouds_and_joints_are_checked_bounded_and_saved(bench, tmp_path):
    rng = np.random.default_rng(0)
    bench.observe(cloud_topics=["points"], joint_topics=["joint_states"], max_megabytes=1)
    clouds = bench.publisher(PointCloud2, "/points")
    joints = bench.publisher(JointState, "/joint_states")
    points = rng.normal(size=(2000, 3)) + 2.0

    def cloud(k, scale=1.0):
        return convert.cloud_message(Cloud(scale * points, None, 1.7e9 + k / 30.0, "camera"))

    flat = cloud(0)
    flat.fields = [PointField(name="x", offset=0, datatype=7, count=1), *flat.fields[1:2]]
    clouds.publish(flat)
    status = bench.status_of("/points", "a field 'z' of type", level=WARN)
    assert "/points: stamp 1700000000.0" in status.message
    clouds.publish(cloud(1, 1000.0))
    bench.status_of("/points", "millimetres, give scale", level=WARN)
    for k in range(2, 60):
        clouds.publish(cloud(k))
    status = bench.status_of("/points", "did not fit into the buffer of 1 MB", level=ERROR)
    assert "2 dropped: unreadable (first: sample 0" in status.message
    odd = JointState(name=["a", "b"], position=[1.0])
    odd.header.stamp = convert.time_message(ORIGIN)
    joints.publish(odd)
    bench.status_of("/joint_states", "position: got '1 numbers'", level=WARN)
    response = bench.save(path=str(tmp_path / "cloud.mcap"))
    assert response.success, response.message
    kept = read_kind(tmp_path / "cloud.mcap", "clouds").clouds
    assert 30 < len(kept) < 45 and kept[0].frame == "camera"
    np.testing.assert_allclose(kept[0].points, points, atol=1e-6)
    assert bench.save(path=str(tmp_path / "cloud.mcap")).success is False

    # played back, it is the same recording with later stamps
    bench.ros.call(Trigger, "/observer/start")
    cloud = str(tmp_path / "cloud.mcap")
    bench.ros.start_with(Replay, data=cloud, rate_factor=5.0, settle=0.2)
    bench.status_of("/points", f"{len(kept)} of {len(kept)} samples in 1 trials")
    assert bench.save(path=str(tmp_path / "again.mcap")).success
    for before, after in zip(
        read_raw(tmp_path / "cloud.mcap", "/points"),
        read_raw(tmp_path / "again.mcap", "/points"),
        strict=True,
    ):
        assert before.data[12:] == after.data[12:] and before.data[4:12] != after.data[4:12]


TURN = quat_exp(np.array([0.4, -1.1, 2.0]))
TRUTH = Transform("base_link", "world", np.array([0.7, -0.4, 0.9]), TURN)


def asked(parent, child=(), **fields):
    request = Calibrate.Request(parent_frame="base_link", child_frame="world", **fields)
    request.parent_points = [convert.point(p) for p in parent]
    request.child_points = [convert.point(p) for p in child]
    return request


def test_calibrate_finds_publishes_saves_and_refuses(bench, tmp_path):
    rng = np.random.default_rng(3)
    bench.observe(pose_topics=["wand/pose"], trial_gap=0.2)
    static = bench.ros.listen(TFMessage, "/tf_static", STATIC_TF)
    places = rng.uniform(-0.4, 0.4, (5, 3))
    observed = TRUTH.inverse().moved(places) + 1e-4 * rng.normal(size=(5, 3))
    line = np.outer(np.arange(5.0), [0.1, 0.0, 0.0])

    def call(request):
        return bench.ros.call(Calibrate, "/observer/calibrate", request)

    for request, words in (
        (asked(line, line), "across a line"),
        (asked(places[:2], observed[:2]), "parent_points: got 2; accepted: at least 3"),
        (asked(places, 1000 * observed), "millimetres"),
        (asked(places), "child_points: got 0"),
        (asked([]), "parent_points and flange_poses: got '0 and 0'"),
        (asked(places, body="wand"), "received: none; /wand/pose: no publisher"),
    ):
        answer = call(request)
        assert answer.error_code == convert.CODES["INVALID_DATA"], words
        assert words in answer.error_msg, answer.error_msg
    path = tmp_path / "new" / "base.yaml"
    answer = call(asked(places, observed, path=str(path)))
    assert answer.error_code == 0 and answer.path == str(path), answer.error_msg
    assert answer.residual < 3e-4 and len(answer.covariance) == 36 and len(answer.residuals) == 5
    found = read_transform(path)
    np.testing.assert_allclose(found.position, TRUTH.position, atol=1e-3)
    sent = bench.ros.until(lambda: static, "/tf_static")[-1].transforms[0]
    assert (sent.header.frame_id, sent.child_frame_id) == ("base_link", "world")
    assert sent.transform.translation.x == found.position[0]

    # a wand held at each place calibrates by its trials; later its poses are in base_link
    publisher = bench.publisher(PoseStamped, "/wand/pose")
    exact = TRUTH.inverse().moved(places)

    def hold(frame):
        for k, place in enumerate(exact):
            for i in range(10):
                stamp = ORIGIN + k * NANO + i * NANO // 100
                sample = PoseSample(stamp, "world", "wand", tuple(place), UPRIGHT)
                publisher.publish(convert.pose_message(sample))

        def kept():
            values = bench.values("/wand/pose")
            return values.get("kept") == "50" and values["frame"] == frame

        bench.ros.until(kept, "the poses of the wand")

    hold("world")
    answer = call(asked(places, body="wand", path=str(tmp_path / "wand.yaml")))
    assert answer.error_code == 0 and answer.residual < 1e-12, answer.error_msg
    bench.observer.set_parameters([Parameter("world_frame", value="base_link")])
    bench.ros.call(Trigger, "/observer/start")
    hold("base_link")
    held = np.array([t.position.mean(axis=0) for t in bench.observer._trials_of("wand")])
    np.testing.assert_allclose(held, places, atol=1e-9)
    refused = call(asked(places, body="wand"))
    assert "frame: got 'base_link'; accepted: poses in child_frame" in refused.error_msg
    again = call(asked(places, observed, path=str(path)))
    assert again.error_code == convert.CODES["INVALID_DATA"] and "overwritten" in again.error_msg


def test_hand_eye_over_ros_and_a_calibration_that_is_read_at_the_start(ros, tmp_path):
    rng = np.random.default_rng(4)
    bench = Bench(ros, tmp_path)
    bench.observe()
    turns = quat_exp(rng.normal(size=(8, 3)))
    flange, offset = rng.uniform(-0.4, 0.4, (8, 3)), np.array([0.03, -0.05, 0.12])
    observed = TRUTH.inverse().moved(quat_rotate(turns, offset) + flange)
    q = quat_multiply(quat_conjugate(TURN), turns)
    request = Calibrate.Request(parent_frame="base_link", child_frame="world",
                                path=str(tmp_path / "eye.yaml"))  # fmt: skip
    request.flange_poses = [convert.pose(p, r) for p, r in zip(flange, turns, strict=True)]
    request.child_poses = [convert.pose(p, r) for p, r in zip(observed, q, strict=True)]
    answer = ros.call(Calibrate, "/observer/calibrate", request)
    assert answer.error_code == 0, answer.error_msg
    place = answer.on_flange.position
    np.testing.assert_allclose([place.x, place.y, place.z], offset, atol=1e-9)
    static = ros.listen(TFMessage, "/tf_static", STATIC_TF)
    ros.start(Observer(parameter_overrides=[
        Parameter("calibrations", value=[str(tmp_path / "eye.yaml")]),
        Parameter("pose_topics", value=[""]),
    ], namespace="other"))  # fmt: skip
    count = len(ros.until(lambda: len(static) > 1 and static, "two senders"))
    assert count == 2
    np.testing.assert_allclose(read_transform(tmp_path / "eye.yaml").position, TRUTH.position)
