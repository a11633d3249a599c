"""The replay is a driver: its topics, quality of service, rate and stamps."""

import signal

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, ReliabilityPolicy
from std_msgs.msg import Bool
from std_srvs.srv import Trigger

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert, convert_poses
from diffsim_ros.nodes.common import LATCHED, SENSOR
from diffsim_ros.nodes.replay import Replay
from diffsim_ros.sensing.bags import write_motion
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.tosses import read_tosses


@pytest.fixture
def replay(ros, tosses):
    """Start a Replay of two tosses, fast, with other parameters."""

    def start(**parameters):
        values = {
            "data": str(tosses),
            "trials": [3, 1],
            "rate_factor": 50.0,
            "gap": 0.5,
            "settle": 0.3,
        }
        values = {name: v for name, v in (values | parameters).items() if v is not None}
        return ros.start_with(Replay, **values)

    return start


def test_poses_come_as_recorded_with_gaps_between_tosses(ros, replay, tosses):
    received = ros.listen(PoseStamped, "/cube/pose", SENSOR)
    done = ros.listen(Bool, "/replay/done", LATCHED)
    status = ros.listen(DiagnosticStatus, "/replay/status", LATCHED)
    replay()
    ros.until(lambda: len(received) == 226, "226 poses")
    ros.until(lambda: done and done[-1].data, "the end")
    samples = [convert.pose_sample(message, "cube") for message in received]
    by_id = {t.id: t for t in read_tosses(tosses, [1, 3])}
    poses = np.array([[*s.position, *s.orientation] for s in samples])
    np.testing.assert_array_equal(poses[:111], by_id[3].poses.value)
    np.testing.assert_array_equal(poses[111:], by_id[1].poses.value)
    assert {s.frame for s in samples} == {"world"}
    steps = np.diff([s.stamp for s in samples])
    assert steps[110] == pytest.approx(0.5 * NANO, abs=2)
    np.testing.assert_allclose(np.delete(steps, 110), NANO / 148, atol=2)
    last = ros.until(lambda: "done" in status[-1].message and status[-1], "the last status")
    assert convert.values_of(last)["fraction"] == "1"


def test_quality_of_service_is_a_drivers(ros, replay):
    replay(autostart=False)

    def publishers():
        return ros.node.get_publishers_info_by_topic("/cube/pose")

    (info,) = ros.until(publishers, "the publisher")
    assert info.qos_profile.reliability == ReliabilityPolicy.RELIABLE
    assert info.qos_profile.durability == DurabilityPolicy.VOLATILE


def test_speed_is_that_of_the_recording_times_the_factor(ros, replay):
    received = []
    now = ros.node.get_clock().now
    ros.node.create_subscription(
        PoseStamped, "/cube/pose", lambda m: received.append(now().nanoseconds), SENSOR
    )
    replay(trials=[1], rate_factor=0.5)  # slow: a hiccup of the machine is short beside it
    ros.until(lambda: len(received) == 115, "115 poses")
    assert (received[-1] - received[0]) / NANO == pytest.approx(114 / 148 / 0.5, rel=0.3)


def test_a_second_play_comes_later_in_stamps_too(ros, replay):
    received = ros.listen(PoseStamped, "/cube/pose", SENSOR)
    done = ros.listen(Bool, "/replay/done", LATCHED)
    node = replay(autostart=False, rate_factor=1000.0)
    node.set_parameters([Parameter("trials", value=[4])])
    assert ros.call(Trigger, "/replay/play").message == "102 samples of 1 trials"
    ros.until(lambda: done and done[-1].data, "the first end")
    assert ros.call(Trigger, "/replay/play").success
    ros.until(lambda: len(received) == 204, "204 poses")
    stamps = np.array([convert.nanoseconds(m.header.stamp) for m in received])
    assert np.diff(stamps).min() > 0 and stamps[102] - stamps[101] >= 0.5 * NANO


def test_it_waits_for_subscribers_and_can_be_stopped(ros, replay):
    status = ros.listen(DiagnosticStatus, "/replay/status", LATCHED)
    replay()
    ros.until(lambda: status and "waiting" in status[-1].message, "waiting")
    busy = ros.call(Trigger, "/replay/play")
    assert not busy.success and "waiting" in busy.message
    assert ros.call(Trigger, "/replay/stop").message == "0 samples sent"
    ros.until(lambda: "stopped" in status[-1].message, "stopped")


def test_rigid_bodies(ros, replay):
    pytest.importorskip("mocap4r2_msgs")
    received = ros.listen(convert.RigidBodies, "/rigid_bodies", SENSOR)
    replay(messages="rigid_bodies", trials=[1], body="box", frame_id="map")
    ros.until(lambda: len(received) == 115, "115 frames")
    (sample,) = convert_poses.samples_of(received[7], "")
    assert (received[7].frame_number, sample.body, sample.frame) == (7, "box", "map")


def test_a_bag_plays(ros, replay, tmp_path):
    position = np.arange(30.0).reshape(10, 3)
    orientation = np.tile([0.0, 0.0, 0.0, 1.0], (10, 1))
    bag = tmp_path / "cube.mcap"
    write_motion(bag, [("/tracker/pose", "map", np.arange(10) * 0.01, position, orientation)])
    received = ros.listen(PoseStamped, "/cube/pose", SENSOR)
    replay(data=str(bag), trials=None)
    ros.until(lambda: len(received) == 10, "10 poses")
    back = [convert.pose_sample(m, "cube").position for m in received]
    np.testing.assert_array_equal(back, position)
    assert received[0].header.frame_id == "map"


def two_topics(path):
    """A bag with poses on /a/pose and /b/pose."""
    position = np.arange(30.0).reshape(10, 3)
    orientation = np.tile([0.0, 0.0, 0.0, 1.0], (10, 1))
    t = np.arange(10) * 0.01
    write_motion(
        path,
        [(topic, "map", t, position, orientation) for topic in ("/a/pose", "/b/pose")],
        transforms=False,
    )
    return str(path)


def test_every_topic_is_waited_for(ros, replay, tmp_path):
    """Two subscribers of one topic do not stand for those of another."""
    received = [ros.listen(PoseStamped, "/a/pose", SENSOR) for _ in range(2)]
    status = ros.listen(DiagnosticStatus, "/replay/status", LATCHED)
    done = ros.listen(Bool, "/replay/done", LATCHED)
    node = replay(data=two_topics(tmp_path / "two.mcap"), trials=None, wait_at_most=3600.0)
    a = node._out["/a/pose"]
    ros.until(lambda: a.get_subscription_count() == 2, "two subscribers of /a/pose")
    ending = "no subscriber of /b/pose", "playing"
    reported = ros.until(
        lambda: [
            s.message for s in status if s.message.endswith(ending[0]) or ending[1] in s.message
        ],
        "a status with two subscribers",
    )
    assert reported[0].endswith(ending[0])
    other = ros.listen(PoseStamped, "/b/pose", SENSOR)
    ros.until(lambda: done and done[-1].data, "the end")
    ros.until(lambda: len(received[0]) == len(received[1]) == len(other) == 10, "every pose")


def test_a_topic_that_nobody_wants_is_not_waited_for_for_ever(ros, replay, tmp_path):
    received = ros.listen(PoseStamped, "/a/pose", SENSOR)
    done = ros.listen(Bool, "/replay/done", LATCHED)
    replay(data=two_topics(tmp_path / "two.mcap"), trials=None, wait_at_most=0.2)
    ros.until(lambda: done and done[-1].data, "the end")
    ros.until(lambda: len(received) == 10, "every pose")


def test_it_is_done_only_when_the_last_sample_was_acknowledged(ros, replay, processes):
    """A subscriber that is held up keeps replay from leaving before all has arrived."""
    figures = ros.listen(DiagnosticArray, "/diagnostics", 10)
    status = ros.listen(DiagnosticStatus, "/replay/status", LATCHED)
    done = ros.listen(Bool, "/replay/done", LATCHED)
    observer = processes.start("observer", period=0.1, reliability="reliable")
    node = replay(autostart=False, rate_factor=1000.0, settle=0.0, deliver_within=3600.0)
    pose = node._out["cube/pose"]
    ros.until(lambda: pose.get_subscription_count() == 1, "the observer")
    ros.until(lambda: figures and convert.values_of(figures[-1].status[0])["publishers"] == "1",
              "the observer to find the replay")  # fmt: skip
    observer.send_signal(signal.SIGSTOP)
    try:
        assert ros.call(Trigger, "/replay/play").success
        ros.until(
            lambda: (done and done[-1].data) or any("delivering" in s.message for s in status),
            "all sent",
        )
        assert not (done and done[-1].data)
        busy = ros.call(Trigger, "/replay/play")
        assert not busy.success and "delivering" in busy.message
    finally:
        observer.send_signal(signal.SIGCONT)
    ros.until(lambda: done and done[-1].data, "the end")
    ros.until(
        lambda: convert.values_of(figures[-1].status[0]).get("received") == "226", "all 226 samples"
    )


def test_best_effort_subscribers_get_time_for_the_last_sample(ros, replay):
    """Nobody acknowledges to a best effort publisher's end: it stays `linger` seconds."""
    status = ros.listen(DiagnosticStatus, "/replay/status", LATCHED)
    done = ros.listen(Bool, "/replay/done", LATCHED)
    received = ros.listen(PoseStamped, "/cube/pose", SENSOR)
    node = replay(trials=[1], rate_factor=1000.0, linger=60.0)
    ros.until(
        lambda: (done and done[-1].data) or any("delivering" in s.message for s in status),
        "all sent",
    )
    ros.until(lambda: len(received) == 115, "115 poses")
    assert not (done and done[-1].data)
    node.set_parameters([Parameter("linger", value=0.0)])
    ros.until(lambda: done and done[-1].data, "the end")


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"data": ""}, "parameter data"),
        ({"data": "/no/such.npz"}, r"/no/such\.npz"),
        ({"trials": [2_000_000]}, "toss_id: got 2000000"),
    ],
)
def test_unusable_parameters_are_input_errors(ros, replay, parameters, words):
    with pytest.raises(InputError, match=words):
        replay(**parameters)
