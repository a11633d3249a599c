"""Requests that are huge or come while a motion runs: none delays a release or a cancellation."""

import threading
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from action_msgs.srv import CancelGoal  # noqa: E402
from diffsim_interfaces.action import Execute  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage  # noqa: E402

from diffsim_ros.nodes import convert_motion  # noqa: E402
from diffsim_ros.nodes.common import STREAM  # noqa: E402
from tests.nodes.driving import LONG, MOTION, Bench, wait_moves  # noqa: E402
from tests.nodes.test_surroundings import primitive, scene, thing  # noqa: E402
from tests.robots.motions import NAMES, swing  # noqa: E402


def huge(count):
    """The message of a goal with `count` points."""
    point = convert_motion.trajectory_message(MOTION).points[0]
    goal = Execute.Goal()
    goal.trajectory.joint_names = list(NAMES)
    goal.trajectory.points = [point] * count
    return goal


def test_a_huge_goal_of_a_second_client_does_not_delay_the_release(ros, processes):
    """Robot, driver and clients are processes of their own, in the wall's time."""
    processes.start("mock_controller")
    # a busy machine may keep joint states waiting, which is another test's affair
    driver = processes.start("driver", dry_run=False, gripper="command", late_state="warn")
    client = ros.action(Execute, "/driver/execute")
    goal = huge(40_000)
    motion = swing(size=0.2, duration=4.0, release=2.5)
    received = []
    handle = ros.accepted(client, convert_motion.execute_goal(motion), received)
    result = ros.asked(handle.get_result_async)
    so_far = lambda: f"the motion; {driver.log.read_text()} {received[-1:]}"  # noqa: E731
    ros.until(lambda: any(m.time > 1.0 for m in received), so_far)
    others = [ros.asked(client.send_goal_async, goal) for _ in range(2)]
    report = convert_motion.report(ros.until(lambda: result.done() and result.result(), "").result)
    assert report.code == "SUCCESS", (report, driver.log.read_text())
    assert 0.0 <= report.release_lateness <= 0.05
    for other in others:
        refused = ros.outcome(ros.until(lambda o=other: o.done() and o.result(), "an answer"))[1]
        # a slow machine has taken so many points only after the motion, and then refuses them
        assert convert_motion.report(refused).code in ("BUSY", "REFUSED")


def test_a_cancellation_is_heard_while_a_goal_is_received(bench, monkeypatch):
    """Of a second client, which may be huge: here it takes until the first has its answer."""
    bench.drive().known().send(LONG)
    bench.until(0.5)
    arrives, taken = threading.Event(), bench.driver._action._taken_goal
    monkeypatch.setattr(
        bench.driver._action, "_taken_goal", lambda: (arrives.wait(40.0), taken())[1]
    )
    goal = convert_motion.execute_goal(MOTION)
    others = [bench.ros.asked(bench.client.send_goal_async, goal) for _ in range(2)]
    bench.ros.asked(bench.handle.cancel_goal_async)
    assert bench.report().code == "CANCELED"
    bench.ros.until(bench.rests, "rest")
    assert not any(other.done() for other in others)
    arrives.set()
    for other in others:
        assert bench.ros.until(lambda o=other: o.done() and o.result(), "an answer").accepted


@pytest.mark.parametrize("of_all", [True, False])
def test_a_cancellation_of_all_goals_counts_for_the_one_being_received(bench, monkeypatch, of_all):
    bench.drive(dry_run=True).known()
    arrives, taken = threading.Event(), bench.driver._action._taken_goal
    monkeypatch.setattr(
        bench.driver._action, "_taken_goal", lambda: (arrives.wait(40.0), taken())[1]
    )
    sent = bench.ros.asked(bench.client.send_goal_async, convert_motion.execute_goal(MOTION))
    bench.ros.until(lambda: bench.driver._action._receiving, "the goal")
    request = CancelGoal.Request()
    request.goal_info.goal_id.uuid = [0 if of_all else 1] * 16
    bench.ros.call(CancelGoal, "/driver/execute/_action/cancel_goal", request)
    arrives.set()
    assert bench.ros.until(lambda: sent.done() and sent.result(), "").accepted is not of_all


def test_a_driver_that_hears_no_cancellation_stops_the_robot(ros):
    bench = Bench(ros, wall=True).drive(watchdog=0.3).known().send(LONG)
    bench.until(0.5)
    bench.driver.executor.create_task(time.sleep, 2.0)
    report = bench.report()
    assert (
        report.code == "ABORTED" and "a cancellation would not be received for 0." in report.message
    )
    assert "gripper stays closed" in report.message
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.mock.elapsed < 2.0


def test_what_is_too_large_is_refused_unparsed(bench, monkeypatch):
    bench.drive(dry_run=True, max_points=100).known()
    monkeypatch.setattr(convert_motion, "command", lambda *_: 1 / 0)
    _, result = bench.ros.act(bench.client, huge(101))
    report = convert_motion.report(result)
    assert report.code == "REFUSED" and "points: got '101 points or more'" in report.message
    wanted = bench.ros.node.create_publisher(TrajectoryMessage, "/driver/joint_trajectory", STREAM)
    bench.ros.until(lambda: wanted.get_subscription_count() > 0, "the driver to listen")
    bench.driver._last = ""
    message = huge(200).trajectory
    for point in message.points:
        point.accelerations = [0.0] * 6
    wanted.publish(huge(1000).trajectory)
    wait_moves(bench)
    assert bench.driver._last == ""


def test_a_goal_that_is_cancelled_before_it_begins_is_not_sent(bench, monkeypatch):
    """It has been accepted, and the driver's thread has not come to it yet."""
    bench.drive().known()
    server, held = bench.driver._action, []
    notify = server.notify_execute
    monkeypatch.setattr(server, "notify_execute", lambda *given: held.append(given))
    bench.send()
    answer = bench.ros.asked(bench.handle.cancel_goal_async)
    bench.ros.until(answer.done, "the cancellation")
    assert answer.result().goals_canceling
    bench.driver.from_thread(notify, *held[0])
    report = bench.report()
    assert report.code == "CANCELED" and report.message == "on request; nothing was sent"
    wait_moves(bench)
    assert bench.lab.events == []


@pytest.mark.parametrize("first", [True, False])
def test_what_is_a_dry_run_when_it_comes_or_when_it_is_sent_is_one(bench, monkeypatch, first):
    bench.drive(dry_run=first).known()
    prepared = bench.driver._prepared

    def checked(*given):
        found = prepared(*given)
        bench.driver.set_parameters([Parameter("dry_run", value=not first)])
        return found

    monkeypatch.setattr(bench.driver, "_prepared", checked)
    report = bench.send().report()
    assert report.code == "SUCCESS" and report.dry_run
    wait_moves(bench)
    assert bench.lab.events == []


@pytest.mark.parametrize("times", [1, 5])
def test_obstacles_of_the_moment_of_sending_count(bench, monkeypatch, times):
    """They come while a motion is checked, or waits for its controller: it is checked again."""
    bench.drive().known()
    around, waits = bench.driver._surroundings, bench.watching.output.is_there
    check, checks, waited = around.check, [], []
    monkeypatch.setattr(around, "check", lambda *given: (checks.append(1), check(*given))[1])

    async def is_there(*given):
        if len(waited) < times:
            far = thing(f"box {len(waited)}", primitive(1, 0.1, 0.1, 0.1), at=(9, 0, 0))
            around._on_scene(scene(far))
        waited.append(1)
        return await waits(*given)

    monkeypatch.setattr(bench.watching.output, "is_there", is_there)
    report = bench.send().report()
    if times == 1:
        assert report.code == "SUCCESS" and len(checks) == 2, report
        return
    assert report.code == "REFUSED" and len(checks) == 5, report
    assert "obstacles: got 'changed'" in report.message
    wait_moves(bench)
    assert bench.lab.events == []


def test_an_obstacle_that_comes_after_the_check_is_not_driven_into(bench, monkeypatch):
    bench.drive().known()
    around, waits = bench.driver._surroundings, bench.watching.output.is_there

    async def is_there(*given):
        wall = thing("wall", primitive(1, 2.0, 2.0, 2.0))  # all about the arm
        around._on_scene(scene(wall))
        return await waits(*given)

    monkeypatch.setattr(bench.watching.output, "is_there", is_there)
    report = bench.send().report()
    assert report.code == "REFUSED" and "and wall at" in report.message, report
    wait_moves(bench)
    assert bench.lab.events == []
