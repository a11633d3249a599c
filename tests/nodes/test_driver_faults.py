"""What the study of faults found in the driver, each with a test of its own."""

from dataclasses import replace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from tests.nodes.driving import Bench  # noqa: E402
from tests.robots.motions import ARM, swing  # noqa: E402

FAST = swing(size=0.5, duration=1.2, release=None)


@pytest.fixture
def bench(ros):
    return Bench(ros)


def told(bench):
    """Largest commanded velocity and acceleration, shares of their limits."""
    desired = bench.lab.desired
    velocity = max(np.abs(one.velocity / ARM.limits.velocity).max() for one in desired)
    acceleration = max(np.abs(one.acceleration / ARM.limits.acceleration).max() for one in desired)
    return velocity, acceleration


@pytest.mark.parametrize("output", ["action", "topic"])
def test_a_clock_that_is_set_back_in_a_motion_stops_the_arm(bench, output):
    bench.drive(output=output, gripper="none").known().send(FAST)
    bench.until(0.4)
    bench.lab.set_clock(10_000_000)
    report = bench.report()
    assert report.code == "ABORTED" and "the clock was set back" in report.message, report
    bench.ros.until(bench.rests, "rest")
    assert np.abs(bench.lab.mock.position - FAST.positions[-1]).max() > 0.1
    assert "at 0." in report.message and told(bench)[0] < 1.01
    if output == "topic":  # else the mock's own brake is the harder one
        assert told(bench)[1] < 1.01


def test_a_stop_by_topic_of_an_arm_whose_states_are_silent_keeps_the_limits(bench):
    """The controller goes from where the arm is; the last joint state is from its beginning."""
    bench.drive(output="topic", gripper="none", state_age=0.4).known().send(FAST)
    bench.until(0.02)
    bench.lab.server.offer = replace(bench.lab.server.offer, state_rate=0.0)
    report = bench.report()
    assert report.code == "ABORTED" and "no joint state" in report.message, report
    bench.ros.until(bench.rests, "rest")
    assert max(told(bench)) < 1.01
