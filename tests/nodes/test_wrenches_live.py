"""Forces and torques from a sensor's driver to an estimate; what is wrong with them is named."""

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticStatus
from diffsim_interfaces.action import Estimate
from geometry_msgs.msg import WrenchStamped
from std_msgs.msg import Bool

from diffsim_ros.errors import InputError
from diffsim_ros.nodes import convert
from diffsim_ros.nodes.common import DRIVER, LATCHED, SENSOR
from diffsim_ros.nodes.estimator import Estimator
from diffsim_ros.nodes.replay import Replay
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.sensing.bags import topics
from diffsim_ros.sensing.cdr import NANO
from diffsim_ros.sensing.read import read_kind, read_trials
from tests.nodes.observing import Observing
from tests.real2sim.wrench_synthetic import ROOT, SCENE, bag_of, record

ORIGIN = 1_700_000_000 * NANO
STEP = NANO // 100
TOPIC = "/ft/wrench"
WARN, ERROR = DiagnosticStatus.WARN, DiagnosticStatus.ERROR


@pytest.fixture
def bench(ros, tmp_path):
    bench = Observing(ros, tmp_path)
    bench.usual = {"period": 0.05, "pose_topics": [""], "wrench_topics": ["ft/wrench"]}
    return bench


def wrench(stamp, force=(0.0, 0.0, -5.0), torque=(0.0, 0.1, 0.0), frame="ft_sensor"):
    message = WrenchStamped(header=convert.build.header(stamp, frame))
    for name, row in (("force", force), ("torque", torque)):
        vector = getattr(message.wrench, name)
        vector.x, vector.y, vector.z = map(float, row)
    return message


def received(bench, count, words=""):
    """The status of the topic once so many messages have come, and its message has the words."""

    def whole(status):
        values = convert.values_of(status)
        return values.get("received") == str(count) and words in status.message

    return bench.status(whole, f"{count} wrenches, {words!r}")


@pytest.mark.parametrize("profile", [DRIVER, SENSOR])
def test_what_a_driver_sends_is_saved_to_the_last_bit(bench, profile):
    bench.observe(path=str(bench.folder / "live.mcap"))
    publisher = bench.publisher(WrenchStamped, TOPIC, profile)
    rows = np.random.default_rng(1).normal(size=(40, 6))
    gap = np.where(np.arange(40) < 25, 0, 3 * NANO)
    for k, row in enumerate(rows):
        publisher.publish(wrench(ORIGIN + k * STEP + int(gap[k]), row[:3], row[3:]))
    status = received(bench, 40)
    assert status.level == DiagnosticStatus.OK and status.message.endswith("in 2 trials")
    assert convert.values_of(status)["frame"] == "ft_sensor"
    answer = bench.save()
    assert answer.success and "2 trials" in answer.message, answer.message
    first, second = read_trials(bench.folder / "live.mcap", "wrench")
    assert (len(first), len(second), first.frame) == (25, 15, "ft_sensor")
    np.testing.assert_array_equal(first.values["force"][:, 0], rows[:25, :3])
    np.testing.assert_array_equal(second.values["torque"][:, 0], rows[25:, 3:])
    np.testing.assert_allclose(second.t, np.arange(15) / 100, atol=1e-9)


def test_a_pressed_block_is_recorded_and_estimated(ros, bench, tmp_path):
    """From a replayed bag by the observer to the estimator: the digits of the command."""
    bag = bag_of(tmp_path / "press.mcap", record(tmp_path / "press.csv", 1.8e4, 11))
    example = (ROOT / "config" / "estimation" / "pressed_block.yaml").read_text()
    example = example.replace("../scenes/pressed_block.yaml", str(SCENE))
    (tmp_path / "block.yaml").write_text(example)
    bench.observe(path=str(tmp_path / "live.mcap"), reliability="reliable")
    ros.start_with(Estimator, configuration=str(tmp_path / "block.yaml"))
    done = ros.listen(Bool, "/replay/done", LATCHED)
    ros.start_with(Replay, data=str(bag), rate_factor=5.0, settle=0.2)
    ros.until(lambda: done and done[-1].data, "the end of the replay")
    received(bench, 120)
    assert bench.save().success
    changes = ("measurement.sigma_force=0.02",)
    goal = Estimate.Goal(source="buffer", set=changes, out=str(tmp_path / "out"))
    answer = ros.estimate(goal)
    assert answer.code == "SUCCESS", answer.message
    config = load_estimation(
        tmp_path / "block.yaml", train=[tmp_path / "live.mcap"], set=list(changes)
    )
    direct = estimate(config, report=False).values()
    found = {p.name: p for p in answer.parameters}
    assert {name: p.value for name, p in found.items()} == direct
    assert abs(found["young"].value - 1.8e4) < 3 * found["young"].std_dev


def test_numbers_that_are_not_finite_are_dropped_and_named(bench):
    bench.observe(path=str(bench.folder / "live.mcap"))
    publisher = bench.publisher(WrenchStamped, TOPIC)
    for k in range(20):
        bad = {7: {"force": (0.0, np.nan, 0.0)}, 9: {"torque": (np.inf, 0.0, 0.0)}}.get(k, {})
        publisher.publish(wrench(ORIGIN + k * STEP, **bad))
    status = received(bench, 20)
    assert status.level == WARN
    assert "2 dropped: unreadable (first: sample 7 at 1700000000.070000 s)" in status.message
    words = "stamp 1700000000.090000000: torque: got [inf, 0.0, 0.0]; accepted: three finite"
    assert words in status.message
    assert bench.save().success
    (kept,) = read_trials(bench.folder / "live.mcap", "wrench")
    assert len(kept) == 18


def test_another_frame_is_dropped_and_named(bench):
    bench.observe(path=str(bench.folder / "live.mcap"))
    publisher = bench.publisher(WrenchStamped, TOPIC)
    for k in range(20):
        publisher.publish(wrench(ORIGIN + k * STEP, frame="tool0" if k == 5 else "ft_sensor"))
    status = received(bench, 20)
    assert status.level == WARN and "1 dropped: unknown frame (first: sample 5" in status.message
    assert f"{TOPIC}: frame: got 'tool0'; accepted: 'ft_sensor'" in status.message
    assert bench.save().success
    (kept,) = read_trials(bench.folder / "live.mcap", "wrench")
    assert kept.frame == "ft_sensor" and len(kept) == 19


def test_a_frame_that_is_not_in_the_world_is_refused(bench):
    bench.observe(world_frame="map", path=str(bench.folder / "live.mcap"))
    bench.publisher(WrenchStamped, TOPIC).publish(wrench(ORIGIN))
    status = received(bench, 1, "frame: got 'ft_sensor'")
    assert status.level == WARN and "static transform to 'map'" in status.message
    answer = bench.save()
    assert not answer.success and "ft_sensor" in answer.message


@pytest.mark.parametrize("back", [5.0, 0.25])
def test_a_clock_that_is_set_back_begins_a_trial(bench, back):
    """To before the first trial, or into it, where the estimator names the sample."""
    path = bench.folder / "live.mcap"
    bench.observe(path=str(path))
    publisher = bench.publisher(WrenchStamped, TOPIC)
    for k in range(50):
        set_back = round(back * NANO) if k >= 20 else 0
        stamp = ORIGIN + k * STEP - set_back - (3 * STEP if k == 10 else 0)
        publisher.publish(wrench(stamp, force=(float(k), 0.0, 0.0)))
    status = received(bench, 50, "in 2 trials; 11 dropped")
    assert status.level == WARN and "clock was set back 1 times" in status.message
    assert "backward stamp (first: sample 10 at 1700000000.070000 s)" in status.message
    assert bench.save().success
    before, after = [k for k in range(20) if k != 10], list(range(30, 50))
    if back > 1:
        found = [one.values["force"][:, 0, 0] for one in read_trials(path, "wrench")]
        assert [one.tolist() for one in found] == [after, before]
    else:
        kept = read_kind(path, "wrench").values["force"][:, 0, 0]
        assert kept.tolist() == before + after  # in order of arrival, not mixed
        with pytest.raises(InputError, match=r"sample 19, t: got '0.19 s, then 0.05 s'; accepted"):
            read_trials(path, "wrench")


def test_other_publishers_and_formats_are_named(bench):
    bench.observe(path=str(bench.folder / "live.csv"), reliability="reliable")
    bench.ros.node.create_publisher(WrenchStamped, TOPIC, SENSOR)
    status = bench.status(lambda s: "publisher /tester" in s.message)
    assert status.level == ERROR and "quality of service that does not fit" in status.message
    publisher = bench.publisher(WrenchStamped, TOPIC)
    for k in range(5):
        publisher.publish(wrench(ORIGIN + k * STEP))
    received(bench, 5)
    answer = bench.save()
    assert not answer.success and "a file that ends in .mcap" in answer.message
    assert not (bench.folder / "live.csv").exists()
    assert bench.save(path=str(bench.folder / "live.mcap")).success
    assert topics(bench.folder / "live.mcap")[TOPIC] == ("geometry_msgs/msg/WrenchStamped", 5)
