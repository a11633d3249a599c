"""The driver over ROS, with a mock controller in simulated time: executed, refused, stopped."""

import contextlib
import signal
import time
from dataclasses import replace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from rclpy.parameter import Parameter  # noqa: E402
from rclpy.task import Future  # noqa: E402
from rosgraph_msgs.msg import Clock as ClockMessage  # noqa: E402
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage  # noqa: E402

from diffsim_ros.nodes import convert, convert_motion, execute, motion_outputs, motion_run  # noqa: E402
from diffsim_ros.nodes.common import STREAM  # noqa: E402
from diffsim_ros.nodes.driver import Driver  # noqa: E402
from tests.nodes.driving import LATENCY, LONG, MOTION, Bench, back  # noqa: E402
from tests.robots.motions import ARM, NAMES, swing  # noqa: E402


@pytest.mark.parametrize("gripper", ["command", "digital_output"])
def test_a_motion_is_carried_out_and_lets_go_at_its_time(bench, gripper):
    bench.drive(gripper=gripper).known().send()
    report = bench.report()
    assert report.code == "SUCCESS", report
    assert not report.dry_run and 0.0 < report.tracking_error < 0.02
    assert bench.lab.events[0] == "started" and len(bench.lab.events) == 2
    kind, is_open, elapsed = bench.lab.events[1]
    assert (kind, is_open) == ("gripper", True) and elapsed == pytest.approx(0.35, abs=0.04)
    np.testing.assert_allclose(bench.lab.mock.desired.position, MOTION.positions[-1], atol=1e-9)
    assert bench.phases()[:2] == ["checking", "waiting"] and "moving" in bench.phases()


def test_a_dry_run_sends_nothing_and_what_is_unsafe_is_refused(bench):
    received = bench.ros.listen(
        TrajectoryMessage, "/scaled_joint_trajectory_controller/joint_trajectory", STREAM
    )
    bench.drive(dry_run=True).known()
    report = bench.send().report()
    assert report.code == "SUCCESS" and report.dry_run and "26 points, 0.600 s" in report.message
    for motion, expected in (
        (swing(size=9.0), "velocity"),
        (swing(size=0.1, release=1.2), "release"),
    ):
        report = bench.send(motion).report()
        assert report.code == "REFUSED" and expected in report.message
    assert bench.lab.events == [] and received == [] and report.release_stamp is None


def test_trajectories_by_topic_and_what_the_diagnostics_say(bench):
    reported = bench.ros.listen(DiagnosticArray, "/diagnostics", 10)
    bench.drive(dry_run=True, period=0.05).known()
    wanted = bench.ros.node.create_publisher(TrajectoryMessage, "/driver/joint_trajectory", STREAM)
    bench.ros.until(lambda: wanted.get_subscription_count() > 0, "the driver to listen")
    wanted.publish(convert_motion.trajectory_message(MOTION))

    def last():
        return convert.values_of(reported[-1].status[0])["last"] if reported else ""

    bench.ros.until(lambda: "topic: SUCCESS dry run" in last(), last)
    assert reported[-1].status[0].message == "dry run: nothing is sent"
    changed = bench.driver.set_parameters(
        [Parameter("gripper", value="none"), Parameter("dry_run", value=False)]
    )
    assert [result.successful for result in changed] == [False, True]


def test_a_cancelled_motion_rests_and_never_lets_go(bench):
    bench.drive().known().send()
    bench.until(0.15)
    other = bench.ros.asked(bench.goal().get_result_async)
    cancel = bench.ros.asked(bench.handle.cancel_goal_async)
    report = bench.report()
    assert report.code == "CANCELED" and "on request" in report.message
    assert bench.ros.until(cancel.done, "an answer") and bench.result.result().status == 5
    bench.ros.until(bench.rests, "rest")
    bench.ros.until(other.done, "the second's end")
    assert convert_motion.report(other.result().result).code == "BUSY"
    assert bench.lab.events == ["started"]


def test_an_emergency_stop_is_told_and_nothing_is_let_go_meanwhile(bench):
    bench.drive(stop_timeout=0.5).known().send()
    bench.until(0.2)
    bench.lab.mock.speed_scaling = 0.0
    bench.ros.until(lambda: "waiting" in bench.phases()[3:], "it to be reported")
    later = bench.lab.time + 300_000_000  # the release would be over
    bench.ros.until(lambda: bench.lab.time > later, "simulated time")
    assert bench.lab.events == ["started"] and bench.lab.mock.elapsed < 0.3
    bench.lab.mock.speed_scaling = 1.0
    report = bench.report()
    assert report.code == "SUCCESS" and "went on after" in report.message
    assert bench.lab.events[1][2] == pytest.approx(0.35, abs=0.04)
    bench.send(back(bench.lab.mock.position))
    bench.ros.until(lambda: len(bench.lab.events) == 3, "the start")
    bench.until(0.1)
    bench.lab.mock.speed_scaling = 0.0  # for good
    report = bench.report()
    assert report.code == "ABORTED" and "has been stopped for 0.5" in report.message
    bench.ros.until(bench.rests, "rest")
    assert len(bench.lab.events) == 3
    assert "speed scaling: got 0.0" in bench.send().report().message


@pytest.mark.parametrize("what", ["none", "nan"])
def test_a_late_joint_state_ends_the_motion(bench, what):
    bench.drive(state_age=0.1).known().send()
    bench.until(0.15)
    if what == "none":
        bench.lab.server.offer = replace(bench.lab.server.offer, state_rate=0.0)
    else:
        states = bench.lab.server._states
        publish = states.publish
        states.publish = lambda m: (m.position.__setitem__(2, np.nan), publish(m))
    report = bench.report()
    assert report.code == "ABORTED" and "no joint state for 0.1" in report.message
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == ["started"]
    expected = {"none": "age: got", "nan": "elbow_joint: got nan"}[what]
    assert expected in bench.send().report().message


def test_a_hiccup_of_the_driver_is_not_the_robots_silence(ros):
    bench = Bench(ros, wall=True)
    bench.drive(state_age=0.2, gripper="none").known().send().until(0.15)
    bench.watching.executor.create_task(lambda: time.sleep(0.4))  # what comes meanwhile waits
    report = bench.report()
    assert report.code == "SUCCESS" and "joint state" not in report.message


def test_a_goal_waits_for_a_joint_state_that_is_on_its_way(bench):
    bench.drive(state_age=0.5).known()
    offer = bench.lab.server.offer
    bench.lab.server.offer = replace(offer, state_rate=0.0)
    watching = bench.watching
    bench.ros.until(lambda: watching.states.age(watching.now) > 0.5, "the state to be old")
    bench.send()
    bench.ros.until(lambda: bench.feedback, "the check")
    bench.lab.server.offer = offer
    assert bench.report().code == "SUCCESS"


def test_a_defect_while_watching_stops_the_robot(bench, monkeypatch):
    bench.drive().known().send()
    bench.until(0.1)
    monkeypatch.setattr("diffsim_ros.robots.execution.Supervisor.trouble", lambda *_: 1 / 0)
    report = bench.report()
    assert report.code == "ABORTED" and "a defect of the driver: ZeroDivision" in report.message
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == ["started"]


@pytest.mark.parametrize("where", ["before", "after"])
def test_a_defect_is_told_and_nothing_moves_on(bench, monkeypatch, where):
    bench.drive(lead=0.0).known()
    run = "whole" if where == "before" else "_ended"
    monkeypatch.setattr(motion_run.MotionRun, run, failing)
    monkeypatch.setattr(motion_run.MotionRun, "_look", lambda self: self._halt(""))
    report = bench.send().report()
    assert (report.code, report.message) == ("INTERNAL", "ZeroDivisionError: a defect")
    bench.ros.until(bench.rests, "the robot at rest")
    assert bool(bench.lab.events) == (where == "after")
    monkeypatch.undo()
    assert bench.send(back(bench.lab.mock.position)).report().code == "SUCCESS"


def test_a_file_is_sent_by_the_command(bench, tmp_path, capsys, monkeypatch):
    class Commander(contextlib.nullcontext):  # the real one starts a rclpy of its own
        def __init__(self, *_):
            super().__init__()

        def execute(self, trajectory, on_feedback, *, blend, name):
            assert (blend, name) == (0.0, "driver/execute")
            report = bench.send(trajectory).report()
            any(on_feedback(message) for message in bench.feedback)
            return report

    Commander.__enter__ = lambda self: self
    monkeypatch.setattr(execute, "Commander", Commander)
    bench.drive(dry_run=True, gripper="none").known()
    MOTION.save(tmp_path / "trajectory.yaml")
    assert execute.main([str(tmp_path / "trajectory.yaml")]) == 0
    reported = capsys.readouterr()
    kept = "; the gripper would not be opened: parameter gripper is none; "
    assert reported.out.startswith(f"SUCCESS; dry run: 26 points, 0.600 s, nothing was sent{kept}")
    assert reported.err == "checking (0.00 s)\n"
    late = replace(MOTION, release=0.7)
    late.save(tmp_path / "late.yaml")
    assert execute.main([str(tmp_path / "late.yaml")]) == 3
    assert "REFUSED; trajectory: release: got 0.7" in capsys.readouterr().out
    (tmp_path / "bad.yaml").write_text("joints: 5")
    assert execute.main([str(tmp_path / "bad.yaml")]) == 2
    assert "joints: got 5; accepted: a list of joint names" in capsys.readouterr().err
    assert not bench.lab.events


async def failing(*_):
    raise ZeroDivisionError("a defect")


def test_a_controller_that_is_missing_is_told(bench):
    bench.drive(controller="/other", server_timeout=0.2).known()
    report = bench.send().report()
    assert report.code == "REFUSED" and "/other/follow_joint_trajectory was not" in report.message


def test_a_controller_that_says_no_or_gives_up_is_told(bench):
    bench.drive().known()
    bench.lab.server._refused = lambda message: "not today"
    report = bench.send().report()
    assert report.code == "REFUSED" and "rejected the goal" in report.message
    del bench.lab.server._refused
    bench.send()
    bench.until(0.1)
    bench.lab.mock._path = 1e-6
    report = bench.report()
    assert report.code == "ABORTED" and "-4 PATH_TOLERANCE_VIOLATED" in report.message


def test_a_controller_that_cannot_be_heard_is_not_sent_anything(bench, monkeypatch):
    bench.drive(server_timeout=0.5).known()
    asked = []
    lost = lambda request: (asked.append(request), Future())[1]  # noqa: E731
    monkeypatch.setattr(bench.watching.output._cancels, "call_async", lost)
    report = bench.send().report()
    assert report.code == "REFUSED" and "does not answer; nothing was sent" in report.message
    assert asked and all(any(request.goal_info.goal_id.uuid) for request in asked)  # none: all
    assert not bench.lab.events


def test_a_goal_whose_answer_is_lost_is_cancelled(bench, monkeypatch):
    bench.drive(watchdog=0.2).known()
    client = bench.watching.output._client
    send = client.send_goal_async
    monkeypatch.setattr(client, "send_goal_async", lambda *given: (send(*given), Future())[1])
    monkeypatch.setattr(motion_outputs, "ANSWER", 0.6)
    report = bench.send().report()
    assert report.code == "ABORTED" and "does not answer: what it may do" in report.message
    bench.ros.until(lambda: not bench.lab.mock.active, "the cancellation")
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == ["started"] and bench.lab.mock.elapsed < MOTION.duration


@pytest.mark.parametrize("canceled", [True, False])
def test_a_motion_whose_answer_is_late_is_stopped_before_it_comes(bench, monkeypatch, canceled):
    """By a cancellation at once, else after `watchdog` s: nobody watches the arm meanwhile."""
    bench.drive(gripper="none", watchdog=20.0 if canceled else 0.3).known()
    client, late, answer = bench.watching.output._client, Future(), []
    send = client.send_goal_async
    monkeypatch.setattr(
        client, "send_goal_async", lambda *given: (answer.append(send(*given)), late)[1]
    )
    bench.send(LONG)
    bench.until(0.05)
    if canceled:
        bench.ros.asked(bench.handle.cancel_goal_async)
    bench.ros.until(lambda: not bench.lab.mock.active, "the cancellation")
    assert not bench.result.done() and bench.lab.mock.elapsed < 1.0
    bench.watching.from_thread(late.set_result, answer[0].result())
    report = bench.report()
    assert report.code == ("CANCELED" if canceled else "ABORTED"), report
    assert ("on request" if canceled else "did not answer within 0.3 s") in report.message
    assert "moves" not in report.message and bench.lab.events == ["started"]


def test_the_topic_serves_as_well_and_stops(bench):
    bench.drive(output="topic", gripper="none").known()
    report = bench.send(swing(size=0.1, duration=0.4, release=None), blend=0.2).report()
    assert report.code == "SUCCESS" and report.tracking_error < 0.03
    bench.send(back(bench.lab.mock.position, duration=3.0))  # a busy machine cancels late
    bench.ros.until(lambda: bench.lab.events.count("started") == 2, "the start")
    bench.until(0.2)
    bench.ros.asked(bench.handle.cancel_goal_async)
    assert bench.report().code == "CANCELED"
    bench.ros.until(bench.rests, "rest")
    assert np.abs(bench.lab.mock.position - ARM.home).max() > 0.02


def test_a_former_word_of_a_parameter_is_taken(ros, capfd):
    driver = ros.start_with(Driver, late_state="tell")
    assert not driver._watch().abort_late
    assert "late_state: tell: is called 'warn' now" in capfd.readouterr().err


def test_a_killed_driver_stops_the_robot_first(bench, processes):
    process = processes.start(
        "driver", dry_run=False, use_sim_time=True, gripper="command", lead=LATENCY
    )
    bench.ready()
    bench.send(swing(size=0.2, duration=3.0, release=2.5))
    bench.until(0.1)
    assert processes.end(process, signal.SIGTERM) == 0
    assert not bench.lab.mock.active
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == ["started"]
    assert "Traceback" not in process.log.read_text()


def test_a_joint_state_from_before_the_clock_does_not_count(ros):
    """Simulated time begins with the first /clock: until then a state would be dated 0."""
    driver = ros.start_with(Driver, use_sim_time=True)
    state = convert_motion.joint_state_message(NAMES, ARM.home, 0 * ARM.home, 10**10)
    watching = driver.supervision
    watching._on_state(state)
    assert watching.states.last is None
    clock = ros.node.create_publisher(ClockMessage, "/clock", STREAM)
    message = ClockMessage(clock=convert.time_message(10**10))
    ros.until(lambda: (clock.publish(message), driver.supervision.now())[1], "the clock")
    watching._on_state(state)
    assert watching.states.last is not None
