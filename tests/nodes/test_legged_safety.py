"""What protects a legged robot from its driver's rare paths: without a robot, by their parts."""

from types import SimpleNamespace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from action_msgs.msg import GoalStatus  # noqa: E402
from control_msgs.action import FollowJointTrajectory  # noqa: E402
from rclpy.task import Future  # noqa: E402

from diffsim_ros.nodes.motion_outputs import ActionOutput  # noqa: E402
from tests.robots.motions import swing  # noqa: E402


def run(coroutine):
    """The result of a coroutine that waits for nothing that is yet to come."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        return end.value
    raise AssertionError("it waits")


def done(value):
    future = Future()
    future.set_result(value)
    return future


class Controller:
    """An action server that takes goals while `takes`, and ends one that is cancelled."""

    def __init__(self):
        self.takes, self.running, self.result = True, None, None

    def send_goal_async(self, goal, feedback, name):
        handle = SimpleNamespace(accepted=self.takes)
        if self.takes:
            if self.result is not None:  # one goal ends the one before
                self._end(GoalStatus.STATUS_ABORTED)
            self.running, self.result = bytes(name.uuid), Future()
            result = self.result
            handle.get_result_async = lambda: result
        return done(handle)

    def call_async(self, request):
        if bytes(request.goal_info.goal_id.uuid) == self.running:
            self._end(GoalStatus.STATUS_CANCELED)
        return done(None)

    def _end(self, status):
        answer = SimpleNamespace(status=status, result=FollowJointTrajectory.Result())
        self.result.set_result(answer)
        self.running = self.result = None


def action_output():
    """An ActionOutput, and the controller that it commands."""
    controller = Controller()
    output = ActionOutput.__new__(ActionOutput)
    output._node = type("Node", (dict,), {
        "together": None, "create_timer": lambda *_, **__: None, "destroy_timer": lambda *_: None,
    })(watchdog=1.0)  # fmt: skip
    output.name, output._open, output.ended = "controller", [], Future()
    output._client = output._cancels = controller
    return output, controller


def test_a_goal_that_is_not_taken_leaves_the_one_before_to_be_stopped():
    """A continued walk, or one that is brought to stand: the controller still runs the old goal."""
    output, controller = action_output()
    start = lambda: run(output.start(swing(), lambda _: None, Future()))  # noqa: E731
    assert start() is None and controller.running
    controller.takes = False
    assert start().code == "REFUSED" and controller.running and not output.ended.done()
    assert "is cancelled" in run(output.stop(None))
    assert controller.running is None and output.ended.result().canceled and not output._open


def test_a_goal_takes_the_place_of_the_one_before():
    output, controller = action_output()
    for _ in range(2):
        assert run(output.start(swing(), lambda _: None, Future())) is None
    assert len(output._open) == 1 and not output.ended.done()
    output.stop_at_once()
    assert output.ended.result().canceled and not output._open and controller.running is None
