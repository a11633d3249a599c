"""Trackers of every kind are received, recorded and fitted: Odometry, NamedPoseArray, /tf alone."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("rclpy")
pytest.importorskip("tf2_msgs")
pytest.importorskip("motion_capture_tracking_interfaces")

from diffsim_interfaces.action import Estimate
from geometry_msgs.msg import PoseStamped
from nav_msgs.msg import Odometry
from rclpy.parameter import Parameter
from rosbags.rosbag2 import Reader
from sensor_msgs.msg import JointState
from std_msgs.msg import String
from std_srvs.srv import Trigger
from tf2_msgs.msg import TFMessage

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert, convert_frames, convert_poses
from diffsim_ros.nodes.bag_recorder import BagRecorder
from diffsim_ros.nodes.common import LATCHED, SENSOR, STATIC_TF, STREAM
from diffsim_ros.nodes.estimator import Estimator
from diffsim_ros.nodes.observer import Observer
from diffsim_ros.nodes.replay import Replay
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.rotation import quat_exp
from diffsim_ros.sensing.bags import read_raw, topics, write_motion
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.frames import Transform
from diffsim_ros.sensing.observation import PoseSample
from diffsim_ros.sensing.playback import read_playlist
from diffsim_ros.sensing.tosses import read_tosses
from tests.nodes.observing import Observing

ROOT = Path(__file__).resolve().parents[2]
CONFIGURATION = str(ROOT / "config" / "estimation" / "cube_toss.yaml")
SHORT = ("data.validate.trials=[6]", "fit.starts=1", "fit.iterations=2",
         "fit.search_evaluations=0",
         "fit.continuation=null")  # fmt: skip
REPORTED = 300.0
"""Seconds that a fit with its report may take on a busy machine."""
FITTED = ("friction", "damping_ratio")
TRIALS = [1, 3]
NO_TRIALS = Parameter("trials", Parameter.Type.INTEGER_ARRAY, [])
ORIGIN = 1_700_000_000 * NANO
UPRIGHT = (0.0, 0.0, 0.0, 1.0)
CAMERA = Transform(
    "world", "camera", np.array([0.3, -1.2, 1.5]), quat_exp(np.array([1.1, -0.4, 0.7]))
)
SOURCES = {
    "pose": {"pose_topics": ["cube/pose"]},
    "odometry": {"odometry_topics": ["cube/odom"]},
    "named_poses": {"named_poses_topics": ["poses"]},
    "tf": {"tf_bodies": ["cube"]},
}
"""What carries poses -> parameters of an observer that receives it."""
SENT = {
    "pose": (PoseStamped, "/cube/pose", convert.pose_message),
    "odometry": (Odometry, "/cube/odom", convert_poses.odometry_message),
    "named_poses": (
        convert_poses.NamedPoseArray, "/poses", lambda one: convert_poses.named_message([one])
    ),
    "tf": (TFMessage, "/tf", lambda one: convert_poses.tf_message([one])),
}  # fmt: skip
"""What carries poses -> type, topic, and the message of a sample."""


def measured(tosses):
    """Samples of two measured tosses of the cube, one after the other."""
    playlist = read_playlist(tosses, trials=TRIALS)
    for t, row in zip(playlist.t, playlist.poses, strict=True):
        yield PoseSample(ORIGIN + int(t), "world", "cube", tuple(row[:3]), tuple(row[3:]))


class Lab(Observing):
    """An observer before trackers."""

    def __init__(self, ros, folder):
        super().__init__(ros, folder)
        self.usual |= {"reliability": "reliable"}

    def stand(self, *transforms):
        """Publish static transforms; the observer knows them when this returns."""
        static = self.publisher(TFMessage, "/tf_static", STATIC_TF)
        static.publish(convert_frames.static_message(transforms, ORIGIN))
        names = {one.child for one in transforms}
        known = self.observer._calibrator.frames.by_child
        self.ros.until(lambda: names <= set(known), "the static transforms")

    def received(self, topic, count, body=""):
        """Wait until so many samples of a topic were checked."""
        return self.status(
            lambda s: (
                s.name.endswith(topic)
                and s.hardware_id in (body or s.hardware_id, "")
                and int(convert.values_of(s).get("received", 0)) >= count
            )
        )

    def saved(self, name, body=""):
        path = self.folder / name
        response = self.save(path=str(path), body=body)
        assert response.success, response.message
        return path, response.message


@pytest.fixture
def lab(ros, tmp_path):
    return Lab(ros, tmp_path)


@pytest.fixture(scope="module")
def fitted(tosses, tmp_path_factory):
    """Values of a short fit to the same tosses as PoseStamped of a bag, without ROS."""
    playlist = read_playlist(tosses, trials=TRIALS)
    track = "/cube/pose", "world", playlist.t * 1e-9, playlist.poses[:, :3], playlist.poses[:, 3:]
    folder = tmp_path_factory.mktemp("reference")
    path = write_motion(folder / "poses.mcap", [track], transforms=False)
    config = load_estimation(CONFIGURATION, set=SHORT, train=[path], parameters=FITTED)
    return {one.name: one.value for one in estimate(config).parameters}


@pytest.mark.parametrize("carrier", SOURCES)
def test_measured_tosses_of_every_tracker_are_recorded_and_fitted(lab, tosses, fitted, carrier):
    """Live over ROS: tracker, observer, both kinds of file, estimator; /tf by a tilted camera."""
    source = read_tosses(tosses, TRIALS)
    samples = list(measured(tosses))
    lab.observe(**SOURCES[carrier], world_frame="world" if carrier == "tf" else "")
    if carrier == "tf":
        lab.stand(CAMERA)
        samples = [replace(CAMERA.inverse().of_sample(one), frame="camera") for one in samples]
    kind, topic, make = SENT[carrier]
    tracker = lab.publisher(kind, topic)
    for sample in samples:
        tracker.publish(make(sample))
    lab.received(topic, len(samples))
    table, report = lab.saved("lab.npz")
    assert f"{topic} (cube): 226 of 226 samples in 2 trials" in report
    bag, report = lab.saved("lab.mcap")
    assert f"{topic} (cube): 226 of 226 samples in 2 trials" in report
    for path in (table, bag):
        for back, trial in zip(read_tosses(path), source, strict=True):
            np.testing.assert_allclose(back.position, trial.position, rtol=0, atol=1e-14)
            same = np.sum(back.orientation * trial.orientation, axis=1)
            np.testing.assert_allclose(np.abs(same), 1.0, rtol=0, atol=1e-14)
            np.testing.assert_array_equal(back.frames, trial.frames)

    lab.ros.start(Estimator())
    out = str(lab.folder / "fit")
    goal = Estimate.Goal(
        configuration=CONFIGURATION, parameters=FITTED, train=(str(bag),), set=SHORT, out=out
    )
    answer = lab.ros.estimate(goal, REPORTED)
    assert answer.code in ("SUCCESS", "NOT_CONVERGED"), answer.message
    values = {one.name: one.value for one in answer.parameters}
    assert set(FITTED) <= set(values)
    # a pose that was turned there and back differs in its last digit (2e-16), and so does the fit
    digits = 1e-7 if carrier == "tf" else 1e-12
    for name, value in values.items():
        assert value == pytest.approx(fitted[name], rel=digits), name


@pytest.mark.parametrize("carrier", ["odometry", "named_poses", "tf"])
def test_replay_sends_what_such_trackers_send_and_plays_their_bags(lab, tosses, carrier):
    topic = SENT[carrier][1]
    lab.observe(**SOURCES[carrier])
    quick = {"rate_factor": 500.0, "settle": 0.0, "autostart": False}
    replay = lab.ros.start_with(Replay, data=str(tosses), trials=TRIALS, messages=carrier, **quick)

    def play():
        lab.ros.until(lambda: not replay._lacking(), "the observer")
        assert lab.ros.call(Trigger, "/replay/play").success
        lab.received(topic, 226)

    play()
    bag, _ = lab.saved("first.mcap")
    assert lab.ros.call(Trigger, "/observer/start").success
    lab.ros.until(lambda: replay._state == "done", "the end of the first play")
    replay.set_parameters([Parameter("data", value=str(bag)), NO_TRIALS])
    play()
    again, _ = lab.saved("again.mcap")
    for one, two in zip(read_tosses(bag), read_tosses(again), strict=True):
        np.testing.assert_array_equal(one.poses.value, two.poses.value)
    stamps = [[m.stamp for m in read_raw(path, topic)] for path in (bag, again)]
    assert stamps[1][0] > stamps[0][-1] and len(stamps[0]) == len(stamps[1]) == 226


def test_bodies_of_one_marker_have_no_orientation_and_are_named(lab, tosses):
    lab.observe(**SOURCES["named_poses"])
    tracker = lab.publisher(convert_poses.NamedPoseArray, "/poses")
    nan = float("nan")
    samples = list(measured(tosses))[:115]
    for sample in samples:
        single = replace(sample, body="ball", orientation=(nan, nan, nan, nan))
        tracker.publish(convert_poses.named_message([single, sample]))
    lab.received("/poses", 115, "cube")
    path, report = lab.saved("lab.npz")
    assert "/poses (cube): 115 of 115 samples" in report
    bag, report = lab.saved("lab.mcap")
    assert (
        "/poses (ball): 0 of 115 samples in 0 trials; 115 dropped: not finite (first: sam" in report
    )
    for file in (path, bag):
        (trial,) = read_tosses(file, body="cube")
        np.testing.assert_allclose(trial.position, [s.position for s in samples], atol=1e-14)


def test_one_frame_of_two_trackers_is_kept_apart(lab, tosses):
    """In one world both would be one body's poses: the second is dropped, or named for itself."""
    left, right = replace(CAMERA, child="left"), replace(CAMERA, child="right")
    lab.observe(tf_bodies=["cube"], world_frame="world")
    lab.stand(left, right)
    tracker = lab.publisher(TFMessage, "/tf")
    samples = list(measured(tosses))[:115]

    def send():
        for sample in samples:
            observed = CAMERA.inverse().of_sample(sample)
            for frame, late in (("left", 0), ("right", 3_000_000)):
                later = replace(observed, frame=frame, stamp=observed.stamp + late)
                tracker.publish(convert_poses.tf_message([later]))

    send()
    status = lab.received("/tf", 230)
    assert "comes in frame 'right', before in 'left': are there two trackers?" in status.message
    _, report = lab.saved("one.npz")
    assert "115 of 230 samples in 1 trials; 115 dropped: another frame (first: sample 1" in report

    both = lab.ros.start_with(
        Observer, pose_topics=[""], tf_bodies=["left -> cube", "right->cube"], world_frame="world",
        path=str(lab.folder / "two.npz"), reliability="reliable", autostart=True,
    )  # fmt: skip
    lab.ros.until(lambda: tracker.get_subscription_count() == 2, "the second observer")
    known = both._calibrator.frames.by_child
    lab.ros.until(lambda: {"left", "right"} <= set(known), "the static transforms")
    send()
    lab.ros.until(lambda: [s.count for s in both._sources] == [115, 115], "both trackers")
    both.flush()  # a sample counts before it is kept
    with pytest.raises(
        InputError, match=r"received: cube on /tf \(left->cube\), cube on /tf \(right"
    ):
        both._chosen("")
    for edge in ("left->cube", "right->cube"):
        (trial,) = both._chosen(edge).trials()
        np.testing.assert_allclose(trial.position, [s.position for s in samples], atol=1e-14)


def test_frames_of_tf_that_cannot_be_used_are_named(lab, tosses):
    lab.observe(tf_bodies=["cube", "wand", "tip"], world_frame="world")
    tip = Transform("wand", "tip", np.zeros(3), np.array(UPRIGHT))
    lab.stand(tip)
    tracker = lab.publisher(TFMessage, "/tf")
    samples = list(measured(tosses))[:10]
    for sample in samples:
        link = replace(sample, body="link_1")
        tracker.publish(convert_poses.tf_message([link, replace(sample, frame="camera")]))
    status = lab.received("/tf", 10, "cube")
    assert "frame: got 'camera'; accepted: a frame with a static transform to 'world'" in (
        status.message
    )
    assert convert.values_of(status)["dropped, unknown frame"] == "10"
    status = lab.status(lambda s: s.hardware_id == "wand" and "no data" in s.message)
    assert "no transform of wand, but of cube, link_1" in status.message
    status = lab.status(lambda s: s.hardware_id == "tip" and "no data" in s.message)
    assert "'tip' hangs on 'wand' by a static transform" in status.message
    path = lab.folder / "none.mcap"
    response = lab.save(path=str(path))
    assert not response.success and "no data" in response.message and not path.exists()


def test_a_bag_holds_of_tf_what_is_wanted_alone(lab, tosses):
    lab.observe(tf_bodies=["cube"])
    tracker = lab.publisher(TFMessage, "/tf")
    for sample in list(measured(tosses))[:10]:
        link = replace(sample, body="link_1")
        tracker.publish(convert_poses.tf_message([link, sample]))
    lab.received("/tf", 10)
    bag, _ = lab.saved("lab.mcap")
    assert topics(bag)["/tf"][1] == 10
    for one in read_raw(bag, "/tf"):
        message = convert.deserialize_message(one.data, TFMessage)
        assert [t.child_frame_id for t in message.transforms] == ["cube"]


def test_two_publishers_of_one_topic_are_told(lab, tosses):
    lab.observe(**SOURCES["pose"])
    trackers = [lab.publisher(PoseStamped, "/cube/pose") for _ in range(2)]
    for tracker, sample in zip(trackers, measured(tosses), strict=False):
        tracker.publish(convert.pose_message(sample))
    status = lab.status(lambda s: "cannot be distinguished" in s.message)
    assert "2 publishers: their poses" in status.message


def durabilities(path):
    """Topic -> durability and reliability of the publishers in a bag."""
    with Reader(path) as reader:
        return {
            c.topic: [(q.durability.name, q.reliability.name) for q in c.ext.offered_qos_profiles]
            for c in reader.connections
        }


def test_bags_say_what_was_offered(lab, tosses):
    """Static transforms and scenes are latched again when the bag is played."""
    lab.observe(tf_bodies=["cube"], pose_topics=["cube/pose"], world_frame="world",
                reliability="best_effort")  # fmt: skip
    lab.stand(CAMERA)
    arrived = [("/scene", String, LATCHED), ("/tf", TFMessage, STREAM)]
    recorder = BagRecorder(lab.ros.node, arrived, lambda: ORIGIN)
    scene = lab.publisher(String, "/scene", LATCHED)
    scene.publish(String(data="x"))
    tracker = lab.publisher(TFMessage, "/tf")
    lab.ros.until(lambda: tracker.get_subscription_count() == 2, "observer and recorder")
    pose = lab.publisher(PoseStamped, "/cube/pose", SENSOR)
    sample = next(measured(tosses))
    observed = replace(CAMERA.inverse().of_sample(sample), frame="camera")
    tracker.publish(convert_poses.tf_message([observed]))
    pose.publish(convert.pose_message(replace(sample, frame="camera")))
    lab.received("/tf", 1)
    lab.received("/cube/pose", 1)
    bag, _ = lab.saved("lab.mcap")
    assert durabilities(bag) == {
        "/tf": [("VOLATILE", "RELIABLE")],
        "/cube/pose": [("VOLATILE", "BEST_EFFORT")],
        "/tf_static": [("TRANSIENT_LOCAL", "RELIABLE")],
        "/observer/world_frame": [("TRANSIENT_LOCAL", "RELIABLE")],
    }
    lab.ros.until(lambda: len(recorder._messages) == 2, "the recorder")
    recorder.write(lab.folder / "own.mcap")
    assert durabilities(lab.folder / "own.mcap") == {
        "/scene": [("TRANSIENT_LOCAL", "RELIABLE")],
        "/tf": [("VOLATILE", "RELIABLE")],
    }


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"tf_bodies": ["a->b->c"]}, "parameter tf_bodies: got 'a->b->c'; accepted: the name of a"),
        ({"tf_bodies": ["cube", "cube"]}, "parameter tf_bodies: got 'cube'; accepted: each once"),
        ({"odometry_topics": ["/cube/pose"]}, "parameter odometry_topics: got '/cube/pose'"),
    ],
)
def test_unusable_sources_are_input_errors(ros, parameters, words):
    with pytest.raises(InputError, match=words):
        Observer(parameter_overrides=[Parameter(k, value=v) for k, v in parameters.items()])


def states(count):
    """Joint states, in no frame and in that of the broadcaster's default."""
    for k in range(count):
        message = JointState(name=["a"], position=[0.1 * k])
        message.header.stamp = convert.time_message(ORIGIN + k * NANO // 100)
        message.header.frame_id = ("", "base_link")[k % 2]
        yield message


def test_joints_need_no_frame_and_save_counts_them_truly(lab, tosses):
    lab.observe(
        pose_topics=["cube/pose", "lost/pose"], joint_topics=["joint_states"], world_frame="world"
    )
    pose, lost = lab.publisher(PoseStamped, "/cube/pose"), lab.publisher(PoseStamped, "/lost/pose")
    joints = lab.publisher(JointState, "/joint_states")
    for message in states(30):
        joints.publish(message)
    odd = JointState(name=["a"], position=[float("nan")])
    odd.header.stamp = convert.time_message(ORIGIN + NANO)
    joints.publish(odd)
    for sample in list(measured(tosses))[:115]:
        pose.publish(convert.pose_message(sample))
        lost.publish(convert.pose_message(replace(sample, frame="nowhere")))
    lab.received("/joint_states", 31)
    lab.received("/cube/pose", 115)
    lab.received("/lost/pose", 115)
    bag, report = lab.saved("all.mcap")
    assert topics(bag)["/joint_states"][1] == 30 and topics(bag)["/cube/pose"][1] == 115
    assert (
        "/joint_states: 30 of 31 samples in 1 trials; 1 dropped: unreadable (first: sam" in report
    )
    assert "/cube/pose (cube): 115 of 115 samples in 1 trials" in report
    assert "/lost/pose (lost): 0 of 115 samples in 0 trials; 115 dropped: unknown frame" in report
    _, report = lab.saved("poses.npz", "cube")
    assert "not in this file: /joint_states (31 messages)" in report
    assert "not in this file: /lost/pose (115 messages)" in report
    assert "not in this file: /cube/pose" not in report


def test_what_does_not_fit_into_the_memory_is_not_counted_as_saved(lab, tosses):
    lab.observe(pose_topics=["cube/pose"], max_megabytes=1)
    pose = lab.publisher(PoseStamped, "/cube/pose")
    frame = "w" * 5000  # large messages, so that few fill a megabyte
    samples = [replace(one, frame=frame) for one in measured(tosses)]
    for one in samples:
        pose.publish(convert.pose_message(one))
    lab.received("/cube/pose", len(samples))
    bag, report = lab.saved("full.mcap")
    count = topics(bag)["/cube/pose"][1]
    assert 0 < count < 226
    assert f"{226 - count} of 226 messages did not fit into the memory" in report
