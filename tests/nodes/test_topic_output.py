"""Motions sent to the controller's topic, where the middleware loses or delays messages."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from std_msgs.msg import String  # noqa: E402

from diffsim_ros.nodes.driver import Driver  # noqa: E402
from diffsim_ros.nodes.motion_outputs import LIFESPAN, TopicOutput  # noqa: E402
from diffsim_ros.nodes.supervision import LATEST  # noqa: E402
from tests.nodes.conftest import ROOT  # noqa: E402
from tests.robots.motions import ARM, NAMES, swing  # noqa: E402

REPEATED = 3.5
"""[s] of the wall in which a lost message would have been repeated."""
LISTENER = """
import rclpy
from rclpy.qos import QoSProfile, ReliabilityPolicy
from std_msgs.msg import String
from trajectory_msgs.msg import JointTrajectory

def hear(message):
    print(message.points[-1].time_from_start.sec, flush=True)

rclpy.init()
node = rclpy.create_node("controller")
topic = "scaled_joint_trajectory_controller/joint_trajectory"
node.create_subscription(JointTrajectory, topic, hear, QoSProfile(depth=1))
best_effort = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
node.create_subscription(String, "flood", lambda _: None, best_effort)
rclpy.spin(node)
"""


@pytest.fixture
def controller():
    """A process that prints the duration of each trajectory that it receives, in whole seconds."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(
        [sys.executable, "-c", LISTENER], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        process.received = []
        hear = lambda: process.received.extend(int(line) for line in process.stdout)  # noqa: E731
        threading.Thread(target=hear, daemon=True).start()
        yield process
        process.kill()


def publish(output, seconds):
    """Send a motion of a duration, as it is."""
    motion = swing(size=0.1, duration=float(seconds), release=None)
    with pytest.raises(StopIteration):
        output.start(motion, None).send(None)


def test_a_trajectory_that_was_lost_is_not_repeated(ros, controller):
    """Fast DDS would repeat it after up to 3 s."""
    output = ros.start_with(Driver, output="topic").supervision.output
    flood = ros.node.create_publisher(String, "flood", LATEST)

    def connected():
        publish(output, 1)
        return controller.received and flood.get_subscription_count()

    ros.until(connected, "the controller")
    controller.send_signal(signal.SIGSTOP)
    for _ in range(3000):  # until nothing more fits into what it has not received
        flood.publish(String(data="." * 1000))
    publish(output, 2)
    threading.Event().wait(2 * LIFESPAN)
    controller.send_signal(signal.SIGCONT)
    threading.Event().wait(REPEATED)
    assert 2 not in controller.received
    output.stop_at_once(NAMES, ARM.home, 3.0 * ARM.limits.acceleration, True, None)
    ros.until(lambda: controller.received[-1] == 4, "the stop")  # s: soon, for the joints' limits


def test_a_stop_that_is_lost_is_followed_by_another(bench):
    motion = swing(size=0.5, duration=1.2, release=None)
    bench.drive(output="topic", gripper="none").known().send(motion)
    bench.until(0.3)
    publisher, sent = bench.watching.output._publisher, []

    class Lossy:
        @staticmethod
        def publish(message):
            sent.append(message)
            if len(sent) > 1:
                publisher.publish(message)

    bench.watching.output._publisher = Lossy
    bench.ros.asked(bench.handle.cancel_goal_async)
    report = bench.report()
    bench.watching.output._publisher = publisher
    assert report.code == "CANCELED" and "moves" not in report.message, report
    bench.ros.until(bench.rests, "rest")
    assert len(sent) == 2 and bench.lab.events == ["started"] * 2
    assert np.abs(bench.lab.mock.position - motion.positions[-1]).max() > 0.1
    bounds = ARM.limits.acceleration
    assert max(np.abs(one.acceleration / bounds).max() for one in bench.lab.desired) < 1.01


def test_a_stop_ends_within_the_limits_where_no_braking_keeps_them():
    """A joint 10 mrad before its limit at half its speed: the limit of acceleration wants more."""
    sent = []

    class Node:
        def create_publisher(self, *_):
            return self

        def publish(self, message):
            sent.append(np.array(message.points[-1].positions))

    limits, rate = ARM.limits, np.zeros(6)
    position = ARM.home.copy()
    position[0], rate[0] = limits.upper[0] - 0.01, 0.5 * limits.velocity[0]
    output = TopicOutput(Node(), "controller", limits)
    output.stop_at_once(NAMES, position, rate, True, None)
    assert position[0] + 0.5 * output.braking * rate[0] > limits.upper[0]
    assert sent[0][0] == limits.upper[0]
    assert np.array_equal(sent[0][1:], position[1:])
