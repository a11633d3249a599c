"""The observer receives from every driver, reports what is wrong, and saves what is sound."""

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticStatus  # noqa: E402
from geometry_msgs.msg import PoseStamped, TwistStamped  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.signals import SignalHandlerOptions  # noqa: E402
from std_msgs.msg import String  # noqa: E402
from std_srvs.srv import Trigger  # noqa: E402

from diffsim_ros.nodes import convert  # noqa: E402
from diffsim_ros.nodes.common import DRIVER, LATCHED, SENSOR, quality  # noqa: E402
from diffsim_ros.nodes.observer import Observer  # noqa: E402
from diffsim_ros.sensing.cdr import NANO  # noqa: E402
from diffsim_ros.sensing.observation import PoseSample  # noqa: E402
from diffsim_ros.sensing.playback import read_playlist  # noqa: E402
from diffsim_ros.sensing.tosses import read_tosses  # noqa: E402
from tests.nodes.observing import Observing  # noqa: E402

ORIGIN = 1_700_000_000 * NANO
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


@pytest.fixture
def bench(ros, tosses, tmp_path):
    return Bench(ros, tosses, tmp_path)


class Bench(Observing):
    """An observer of poses, and a publisher in the role of their driver."""

    values = staticmethod(convert.values_of)

    def __init__(self, ros, tosses, folder):
        super().__init__(ros, folder)
        self.usual = {"period": 0.05, "path": str(folder / "saved.npz")}
        self.playlist = read_playlist(tosses, trials=[1, 3])

    def publisher(self, kind=PoseStamped, topic="/cube/pose", profile=DRIVER):
        return super().publisher(kind, topic, profile)

    def samples(self, **changes):
        for t, row in zip(self.playlist.t, self.playlist.poses, strict=True):
            fields = {"stamp": ORIGIN + int(t), "frame": "world", "body": "cube"} | changes
            yield PoseSample(**fields, position=tuple(row[:3]), orientation=tuple(row[3:]))

    def send(self, publisher, samples):
        """Publish and wait until all was received."""
        messages = [convert.pose_message(sample) for sample in samples]
        for message in messages:
            publisher.publish(message)
        self.status(lambda s: int(self.values(s).get("received", 0)) >= len(messages))


@pytest.mark.parametrize("profile", [DRIVER, SENSOR, quality(1, reliable=True, latched=True)])
def test_every_drivers_quality_of_service_is_heard(bench, profile):
    bench.observe()
    publisher = bench.publisher(profile=profile)
    bench.send(publisher, list(bench.samples())[:20])
    assert bench.status(lambda s: s.level == OK).message == "20 of 20 samples in 1 trials"


def test_saved_poses_are_those_that_were_sent(bench, tosses):
    bench.observe(trial_ids=[1, 3])
    saved = bench.ros.listen(String, "/observer/saved", LATCHED)
    bench.send(bench.publisher(), bench.samples())
    response = bench.save()
    assert response.success, response.message
    assert "2 trials; /cube/pose (cube): 226 of 226 samples in 2 trials" in response.message
    source = read_tosses(tosses, [1, 3])
    back = read_tosses(bench.folder / "saved.npz")
    assert [t.id for t in back] == [1, 3]
    for ours, theirs in zip(back, source, strict=True):
        np.testing.assert_allclose(ours.poses.value, theirs.poses.value, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(ours.frames, theirs.frames)
        assert ours.dt == pytest.approx(theirs.dt, abs=1e-10)
    path = bench.ros.until(lambda: saved, "the saved topic")[0].data
    assert path == str(bench.folder / "saved.npz")
    again = bench.save()
    assert not again.success and "exists already" in again.message


def test_unusable_samples_are_counted_and_named(bench):
    bench.observe()
    samples = list(bench.samples())
    nan = float("nan")
    samples[10] = PoseSample(samples[10].stamp, "world", "cube", (nan,) * 3, (nan,) * 4)
    samples[20] = PoseSample(samples[5].stamp, "world", "cube", (0.0,) * 3, (0.0, 0.0, 0.0, 1.0))
    samples[30] = PoseSample(samples[30].stamp, "camera", "cube", (0.0,) * 3, (0.0, 0.0, 0.0, 1.0))
    samples[40] = samples[39]
    bench.send(bench.publisher(), samples)
    status = bench.status(lambda s: bench.values(s).get("received") == "226")
    values = bench.values(status)
    assert status.level == WARN and "sample 10 at 1700000000.067568 s" in status.message
    for reason in ("not finite", "backward stamp", "unknown frame", "duplicate stamp"):
        assert values[f"dropped, {reason}"] == "1"
    assert "sample 30" in values["dropped, unknown frame, last"]
    assert (values["kept"], values["missing"], values["frame"]) == ("222", "4", "world")
    assert bench.save().success
    assert sum(map(len, read_tosses(bench.folder / "saved.npz"))) == 222


def test_y_up_is_noticed_and_can_be_converted(bench):
    def lying():
        for s in bench.samples():
            x, y, z = s.position
            yield PoseSample(s.stamp, s.frame, s.body, (x, z, -y), (0.0, 0.0, 0.0, 1.0))

    bench.observe()
    publisher = bench.publisher()
    bench.send(publisher, lying())
    status = bench.status(lambda s: "Y-up" in s.message)
    assert status.level == WARN
    response = bench.save()
    assert response.success and "warning" in response.message and "Y-up" in response.message


def test_y_up_is_converted(bench):
    bench.observe(up_axis="y")
    publisher = bench.publisher()
    lying = (
        PoseSample(s.stamp, s.frame, s.body, (s.position[0], s.position[2], -s.position[1]),
                   (0.0, 0.0, 0.0, 1.0))
        for s in bench.samples()
    )  # fmt: skip
    bench.send(publisher, lying)
    response = bench.save()
    assert response.success and "warning" not in response.message
    (first, _) = read_tosses(bench.folder / "saved.npz")
    np.testing.assert_allclose(first.position, bench.playlist.poses[:115, :3], atol=1e-12)


def test_silence_is_reported(bench):
    bench.observe(no_data_after=0.2)
    status = bench.status(lambda s: s.level == WARN)
    assert status.message == "no publisher" and status.name == "observer: /cube/pose"
    bench.send(bench.publisher(), list(bench.samples())[:20])
    status = bench.status(lambda s: "no data for" in s.message)
    assert status.level == WARN


def test_a_publisher_that_does_not_fit_is_named(bench):
    bench.observe(reliability="reliable")
    bench.ros.node.create_publisher(PoseStamped, "/cube/pose", SENSOR)
    status = bench.status(lambda s: "publisher /tester" in s.message)
    assert status.level == ERROR and "quality of service that does not fit" in status.message


def test_another_type_on_the_topic_is_named(bench):
    bench.observe()
    context = rclpy.Context()  # one participant cannot hold two types of one topic
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    try:
        other = rclpy.create_node("wheels", context=context)
        other.create_publisher(TwistStamped, "/cube/pose", DRIVER)
        status = bench.status(lambda s: "wheels" in s.message)
        other.destroy_node()
    finally:
        rclpy.shutdown(context=context)
    assert status.level == ERROR
    assert "wheels sends geometry_msgs/msg/TwistStamped" in status.message
    assert "expected geometry_msgs/msg/PoseStamped" in status.message


def test_start_empties_and_stop_holds(bench):
    bench.observe(autostart=False)
    publisher = bench.publisher()
    first, second = list(bench.samples())[:115], list(bench.samples())[115:]
    for sample in first:
        publisher.publish(convert.pose_message(sample))
    bench.status(lambda s: bench.values(s)["messages"] == "115")
    nothing = bench.save()
    assert not nothing.success and "received: none" in nothing.message
    assert bench.ros.call(Trigger, "/observer/start").success
    bench.send(publisher, second)
    assert "111 of 111 samples" in bench.ros.call(Trigger, "/observer/stop").message
    bench.send(publisher, [])
    assert bench.save().success
    (only,) = read_tosses(bench.folder / "saved.npz")
    assert only.id == 1 and len(only) == 111


def test_rigid_bodies_are_told_apart_by_name(bench):
    pytest.importorskip("mocap4r2_msgs")
    bench.observe(rigid_bodies_topics=["rigid_bodies"], pose_topics=[""])
    publisher = bench.publisher(convert.RigidBodies, "/rigid_bodies")
    for k, sample in enumerate(list(bench.samples())[:115]):
        other = PoseSample(sample.stamp, "world", "wand", (0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0))
        publisher.publish(convert.bodies_message([sample, other], k))
    bench.status(lambda s: bench.values(s)["messages"] == "115")
    response = bench.save()
    assert not response.success and "cube on /rigid_bodies, wand on" in response.message
    bench.observer.set_parameters([Parameter("body", value="cube")])
    response = bench.save()
    assert response.success, response.message
    (trial,) = read_tosses(bench.folder / "saved.npz")
    np.testing.assert_allclose(trial.position, bench.playlist.poses[:115, :3], atol=1e-15)


def test_markers_are_saved_beside_the_poses(bench):
    mocap = pytest.importorskip("mocap4r2_msgs.msg")
    bench.observe(markers_topics=["markers"])
    markers = bench.publisher(mocap.Markers, "/markers")
    message = mocap.Markers(markers=[mocap.Marker(marker_name="m1")])
    markers.publish(message)
    bench.status(lambda s: s.name.endswith("/markers") and bench.values(s)["messages"] == "1")
    bench.send(bench.publisher(), list(bench.samples())[:115])
    assert bench.save().success
    assert "m1" in (bench.folder / "saved_markers.csv").read_text()


def test_unknown_choices_are_refused(ros):
    from diffsim_ros.errors import InputError

    with pytest.raises(InputError, match="up_axis: got 'x'; accepted: one of z, y"):
        Observer(parameter_overrides=[Parameter("up_axis", value="x")])
