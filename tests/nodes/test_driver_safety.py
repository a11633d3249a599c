"""What could end in a moving arm or an open gripper, and must not: the driver over ROS."""

import math
import os
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from diffsim_interfaces.action import Execute  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64  # noqa: E402
from trajectory_msgs.msg import JointTrajectory as TrajectoryMessage  # noqa: E402

from diffsim_ros.nodes import convert_motion  # noqa: E402
from diffsim_ros.nodes.common import STREAM  # noqa: E402
from diffsim_ros.robots.command import JointCommand  # noqa: E402
from diffsim_ros.robots.execution import Supervisor  # noqa: E402
from diffsim_ros.robots.trajectory import JointTrajectory  # noqa: E402
from tests.nodes.conftest import ROOT  # noqa: E402
from tests.nodes.driving import LONG, MOTION, Bench, back, wait_moves  # noqa: E402
from tests.robots.motions import ARM, NAMES, swing  # noqa: E402

CONTROLLER = "/scaled_joint_trajectory_controller"


# --- a cancellation wins ------------------------------------------------------------------------


def silent(bench):
    bench.lab.server.offer = replace(bench.lab.server.offer, state_rate=0.0)
    bench.drive(server_timeout=30.0)


def without_controller(bench):
    bench.drive(server_timeout=30.0, controller="/other").known()


def without_gripper(bench):
    bench.drive(server_timeout=30.0, gripper_action="/other").known()


@pytest.mark.parametrize("setting", [silent, without_controller, without_gripper])
def test_a_cancellation_wins_while_the_driver_waits(bench, setting):
    setting(bench)
    offer = replace(bench.lab.server.offer, state_rate=125.0)
    bench.send()
    bench.ros.until(lambda: bench.feedback, "the goal to be checked")
    cancel = bench.ros.asked(bench.handle.cancel_goal_async)
    bench.ros.until(cancel.done, "an answer")
    assert cancel.result().goals_canceling
    report = bench.report()
    assert report.code == "CANCELED" and "nothing was sent" in report.message, report
    assert bench.result.result().status == 5
    bench.lab.server.offer = offer  # the robot's driver comes up
    bench.known()
    wait_moves(bench)
    assert bench.lab.events == [] and bench.rests()


def test_a_cancellation_wins_while_a_motion_is_checked(bench, monkeypatch):
    bench.drive().known()
    looking = []

    def endless(trajectory, cancelled):
        looking.append(1)
        while not cancelled():
            time.sleep(0.01)
        return []

    monkeypatch.setattr(bench.driver._surroundings, "check", endless)
    bench.send()
    bench.ros.until(lambda: looking, "the check")
    bench.ros.asked(bench.handle.cancel_goal_async)
    assert bench.report().code == "CANCELED"
    wait_moves(bench)
    assert bench.lab.events == []


class Command:
    """`execute` as a process."""

    def __init__(self, bench, tmp_path, motion):
        motion.save(tmp_path / "trajectory.yaml")
        command = [sys.executable, "-m", "diffsim_ros.nodes.execute", tmp_path / "trajectory.yaml"]
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        bench.ros.until(lambda: bench.driver._job, "the goal")

    def end(self, number):
        self.process.send_signal(number)
        output, errors = self.process.communicate(timeout=40)
        return self.process.returncode, output, errors


@pytest.mark.parametrize("when", ["waiting", "moving"])
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_command_cancels_and_the_answer_is_awaited(bench, tmp_path, number, when):
    if when == "waiting":
        silent(bench)
    else:
        bench.drive().known()
    command = Command(bench, tmp_path, LONG)
    if when == "moving":
        bench.until(0.1)
    code, output, errors = command.end(number)
    assert code == 3 and output.startswith("CANCELED; on request"), (output, errors)
    assert "Traceback" not in errors
    assert not bench.lab.mock.active
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == (["started"] if when == "moving" else [])


# --- what the controller makes of it ------------------------------------------------------------


@pytest.mark.parametrize("version", ["4.35", "4.36"])
def test_a_first_point_later_on_is_reached_within_limits_by_every_version(ros, version):
    bench = Bench(ros, version=version)
    bench.drive(gripper="none").known()
    still = np.zeros((1, 6))
    goal = ARM.home[None] + np.array([[0.0, 0.0, 0.0, 0.0, 0.0, 1.16]])
    for duration, code in ((0.6, "REFUSED"), (0.9, "SUCCESS")):
        times = np.array([duration, duration + 0.1])
        rows = [np.repeat(row, 2, axis=0) for row in (goal, still, still)]
        report = bench.send(JointTrajectory(NAMES, times, *rows)).report()
        assert report.code == code, report
        assert ("wrist_3_joint" in report.message) == (code == "REFUSED")
    fastest = max(np.abs(desired.velocity).max() for desired in bench.lab.desired)
    assert 1.0 < fastest <= ARM.limits.velocity[5]


# --- the arm against the plan -------------------------------------------------------------------


@pytest.mark.parametrize("sent", ["elsewhere", "stop"])
def test_a_trajectory_of_another_client_stops_the_motion_and_the_gripper_stays_closed(bench, sent):
    """The controller follows its topic without ending the goal."""
    bench.drive().known()
    other = bench.ros.node.create_publisher(
        TrajectoryMessage, f"{CONTROLLER}/joint_trajectory", STREAM
    )
    bench.ros.until(lambda: other.get_subscription_count(), "the controller")
    bench.send(LONG)
    bench.until(1.2 if sent == "stop" else 0.2)
    away = bench.lab.mock.position + (0.0 if sent == "stop" else -0.4)
    times, still = np.array([0.8]), np.zeros((1, 6))
    replaced = JointTrajectory(NAMES, times, away[None], still)
    other.publish(convert_motion.trajectory_message(replaced))
    report = bench.report()
    assert report.code == "ABORTED", report
    assert re.search("runs another trajectory|off its path|from the goal", report.message)
    assert "the gripper stays closed" in report.message
    assert bench.lab.events == ["started", "started"] and report.release_stamp is None
    bench.ros.until(bench.rests, "rest")


@pytest.mark.parametrize(
    "bound, expected",
    [
        ({"release_tolerance": 0.001}, "at the release .* off its place .at most 0.001"),
        ({"release_velocity": 0.01}, "at the release .* off its velocity .at most 0.01"),
    ],
)
def test_a_release_outside_its_bounds_is_not_made(bench, bound, expected):
    bench.drive(**bound).known()
    report = bench.send(swing(size=0.4, duration=0.9, release=0.35)).report()
    assert report.code == "ABORTED" and re.search(expected, report.message), report
    assert "the gripper stays closed" in report.message
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == ["started"] and report.release_stamp is None


def test_a_release_that_is_late_is_not_made(ros):
    bench = Bench(ros, wall=True)
    bench.drive(state_age=5.0).known().send(swing(size=0.2, duration=2.0, release=1.0))
    bench.until(0.85)
    bench.watching.executor.create_task(lambda: time.sleep(0.4))
    report = bench.report()
    assert report.code == "ABORTED" and "the release is " in report.message, report
    assert "s late (at most 0.05); " not in report.message  # the stop's answer follows
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == ["started"] and report.lateness > 0.1


def test_a_stop_of_the_process_within_a_look_does_not_make_a_release_late(ros, monkeypatch):
    look = Supervisor.look

    def stands_still(self, now):
        found = look(self, now)
        if self.until_release(now) <= 0.0:
            time.sleep(0.2)
        return found

    monkeypatch.setattr(Supervisor, "look", stands_still)
    bench = Bench(ros, wall=True)
    report = bench.drive().known().send(LONG).report()
    assert report.code == "ABORTED" and "s late (at most 0.05)" in report.message, report
    assert bench.lab.events == ["started"]


def test_a_stop_of_the_process_while_a_release_is_checked_does_not_make_it_late(ros, monkeypatch):
    bench = Bench(ros, wall=True).drive().known()
    check, calls = Supervisor.release_fault, []

    def slow(self, now):
        found = check(self, now)
        calls.append(found)
        if found == "" and calls.count("") == 1:
            time.sleep(0.15)
        return found

    monkeypatch.setattr(Supervisor, "release_fault", slow)
    report = bench.send().report()
    assert report.code == "ABORTED" and re.search(r"the release is 0\.\d+ s late", report.message)
    assert "stays closed" in report.message and ("gripper", True) not in bench.lab.events


def test_a_stop_of_the_process_while_the_gripper_is_commanded_is_in_the_result(ros, monkeypatch):
    bench = Bench(ros, wall=True).drive().known()
    gripper = bench.watching.gripper
    command = gripper.open
    monkeypatch.setattr(gripper, "open", lambda: (time.sleep(0.15), command()))
    report = bench.send().report()
    assert report.code == "ABORTED" and "ms late (at most 50)" in report.message, report
    assert report.release_lateness > 0.1 and "was commanded to open" in report.message


def test_the_supervision_is_a_real_time_thread_where_the_system_permits_it(bench):
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    except OSError:
        pytest.skip("no real-time scheduling here")
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    bench.drive().known()
    policies = []
    bench.watching.from_thread(lambda: policies.append(os.sched_getscheduler(0)))
    bench.ros.until(lambda: policies, "the supervision")
    policies.append(os.sched_getscheduler(bench.watching._watchdog.native_id))
    assert all(policy & os.SCHED_FIFO for policy in policies)
    assert os.sched_getscheduler(0) == os.SCHED_OTHER


def test_the_arm_must_be_where_the_plan_ends(bench):
    """A controller that calls a motion done which is not."""
    bench.drive(gripper="none", path_tolerance=10.0).known().send(LONG)
    bench.until(0.5)
    bench.lab.mock._course.duration = 0.5
    bench.lab.mock._goal = np.inf
    report = bench.report()
    assert report.code == "ABORTED" and "from the goal (at most 0.1)" in report.message, report


def test_a_goal_without_a_release_never_opens_the_gripper(bench):
    bench.drive().known()
    goal = Execute.Goal(trajectory=convert_motion.trajectory_message(MOTION))
    handle = bench.ros.accepted(bench.client, goal)
    _, result = bench.ros.outcome(handle)
    assert convert_motion.report(result).code == "SUCCESS" and math.isnan(result.release_stamp)
    assert bench.lab.events == ["started"]


def test_a_release_at_zero_is_not_taken_for_none():
    with pytest.raises(ValueError, match=r"release: got 0\.0; accepted: later than 0 s"):
        convert_motion.execute_goal(replace(MOTION, release=0.0))


# --- lateness -----------------------------------------------------------------------------------


def test_a_supervision_that_stands_still_stops_the_robot(ros):
    bench = Bench(ros, wall=True)
    bench.drive(watchdog=0.3, gripper="none").known().send(LONG)
    bench.until(0.3)
    blocked = []
    bench.watching.executor.create_task(lambda: (time.sleep(3.0), blocked.append(1)))
    report = bench.report()
    assert report.code == "ABORTED" and "the supervision stood still" in report.message
    assert not blocked
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.mock.elapsed < 1.5 or not bench.lab.mock.active
    assert bench.send(MOTION).report().code == "BUSY"
    bench.ros.until(lambda: blocked and not bench.watching.run, "the supervision")
    assert bench.send(back(bench.lab.mock.position)).report().code == "SUCCESS"


def test_a_supervision_that_dies_stops_the_robot_and_ends_the_node(ros):
    bench = Bench(ros, wall=True)
    bench.drive(gripper="none").known().send(LONG)
    bench.until(0.3)
    bench.watching.from_thread(lambda: 1 / 0)
    report = bench.report()
    assert report.code == "ABORTED" and "look at the robot" in report.message
    bench.ros.until(bench.rests, "rest")
    node, spinner = bench.ros._running.pop()
    assert node is bench.driver
    bench.ros.until(spinner.ended.is_set, "the node's end")
    spinner.end()
    node.destroy_node()
    assert "the supervision has ended" in str(spinner.failure)


@pytest.mark.parametrize("where", ["Supervisor", "Plan"])
def test_a_defect_once_it_is_sent_stops_the_robot(bench, monkeypatch, where):
    bench.drive().known()
    module = "nodes.motion_run" if where == "Supervisor" else "robots.execution"
    monkeypatch.setattr(f"diffsim_ros.{module}.{where}", lambda *_: 1 / 0)
    report = bench.send(LONG).report()
    assert report.code == "INTERNAL" and "ZeroDivisionError" in report.message
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.mock.elapsed < 2.0 or not bench.lab.mock.active


def test_a_speed_scaling_that_is_no_number_counts_as_a_stop(bench):
    bench.drive(stop_timeout=0.3).known().send(LONG)
    bench.until(0.2)
    bench.lab.server._scaling.publish(Float64(data=math.nan))
    bench.lab.server._scaling.publish = lambda _: None
    report = bench.report()
    assert report.code == "ABORTED" and "has been stopped" in report.message
    assert "speed scaling: got nan" in bench.send().report().message


# --- joint states -------------------------------------------------------------------------------


class Robot:
    """Joint states as a test wants them, in the wall's time."""

    def __init__(self, ros, driver_given, name="tester"):
        from diffsim_ros.nodes.driver import Driver

        self.ros = ros
        self.driver = ros.start_with(Driver, **driver_given)
        self.node = ros.node if name == "tester" else ros.start(rclpy.create_node(name))
        self.states = self.node.create_publisher(JointState, "joint_states", 10)
        self.client = ros.action(Execute, "/driver/execute")

    def report(self, say, period=0.02):
        """What the driver answers to a motion while `say(k)` is published again and again."""
        k, timer = [0], None

        def publish():
            k[0] += 1
            message = say(k[0])
            if message is not None:
                self.states.publish(message)

        timer = self.node.create_timer(period, publish)
        try:
            _, result = self.ros.act(self.client, convert_motion.execute_goal(MOTION))
        finally:
            self.node.destroy_timer(timer)
        return convert_motion.report(result)


def state(position=ARM.home, velocity=None, ago=0.0, stamp=None):
    stamp = time.time_ns() - round(ago * 1e9) if stamp is None else stamp
    velocity = 0.0 * position if velocity is None else velocity
    return convert_motion.joint_state_message(NAMES, position, velocity, stamp)


def moving(k):
    """At 1 rad/s, without velocities."""
    begin = getattr(moving, "begin", None) or time.time()
    moving.begin = begin
    now = time.time()
    found = state(ARM.home + (now - begin) * np.eye(6)[5] * 0.3, stamp=round(now * 1e9))
    found.velocity = []
    return found


@pytest.mark.parametrize(
    "say, expected",
    [
        (lambda k: state(ago=60.0), "stamp: got .60.0.. s before this clock's time"),
        (lambda k: state(ago=-60.0), "stamp: got .[56][90].... s after this clock's time"),
        (lambda k: state(stamp=0), "stamp: got 0; accepted: the time of the measurement"),
        (moving, "joint states: velocity of wrist_3_joint: got 0.[23]"),
        (
            lambda k: state(ARM.home + 0.3 * (k % 2)),
            "does more than one robot publish them",
        ),
    ],
)
def test_joint_states_that_are_not_fresh_whole_and_credible_are_refused(ros, say, expected):
    robot = Robot(ros, {"dry_run": True, "server_timeout": 0.5, "settle": 0.2})
    report = robot.report(say)
    assert report.code == "REFUSED" and re.search(expected, report.message), report


@pytest.mark.parametrize("name, code", [("rosbag2_player", "REFUSED"), ("driver_of_ur", "SUCCESS")])
def test_a_recording_that_is_played_is_no_robot(ros, name, code):
    robot = Robot(ros, {"dry_run": True, "collision": "off"}, name)
    report = robot.report(lambda k: state())
    assert report.code == code, report
    assert ("/rosbag2_player" in report.message) == (code == "REFUSED")


def test_a_clock_that_is_set_back_makes_old_states_worthless(bench):
    bench.drive(dry_run=True, server_timeout=0.3).known()
    bench.lab.server.offer = replace(bench.lab.server.offer, state_rate=0.0)
    wait_moves(bench)
    bench.lab.time = 10_000_000  # the simulator begins again
    bench.ros.until(lambda: bench.watching.now() < 200_000_000, "the clock")
    for _ in range(2):  # before the old states' time has come again, and after it
        report = bench.send().report()
        assert report.code == "REFUSED" and "joint states: got None" in report.message
        bench.ros.until(lambda: bench.lab.time > 2_000_000_000, "the old states' time")


# --- time, numbers ------------------------------------------------------------------------------


def test_a_paused_clock_is_a_pause_and_a_lost_one_an_end(bench):
    bench.drive(stall_timeout=0.5).known().send(LONG)
    bench.until(0.2)
    bench.lab.paused = True
    time.sleep(1.5)  # what must not happen takes 0.5 to 1 s
    assert not bench.result.done()
    bench.lab.paused = False
    assert bench.report().code == "SUCCESS"
    bench.send(replace(back(bench.lab.mock.position), release=None))
    bench.until(0.1)
    bench.lab.paused = True
    bench.lab.destroy_publisher(bench.lab.clock)
    report = bench.report()
    assert report.code == "ABORTED" and "ROS time stands still" in report.message


@pytest.mark.parametrize("blend", [math.inf, math.nan, -1.0, 61.0])
def test_a_blend_that_is_no_duration_is_refused(bench, blend):
    bench.drive(dry_run=True).known()
    report = bench.send(blend=blend).report()
    assert report.code == "REFUSED" and "blend" in report.message and "accepted" in report.message


def test_a_long_motion_is_not_refused_for_the_time_its_check_takes(bench):
    bench.drive(dry_run=True, state_age=0.15).known()
    times = np.linspace(0.0, 40.0, 9999)
    rows = [row.copy() for row in swing(size=0.1, duration=40.0, release=None).at(times)]
    rows[1][-1] = rows[2][-1] = 0.0
    report = bench.send(JointTrajectory(NAMES, times, *rows)).report()
    assert report.code == "SUCCESS" and "9999 points" in report.message


def test_a_motion_into_the_table_is_refused(bench):
    bench.drive().known()
    motion = swing(size=0.0, duration=3.0, release=None)
    s = motion.times / 3.0
    away = np.outer(10 * s**3 - 15 * s**4 + 6 * s**5, [0.0, 0.8, 0.0, 0.0, 0.0, 0.0])
    down = JointTrajectory(NAMES, motion.times, motion.positions + away)
    down = JointCommand.of(down).trajectory(NAMES)
    report = bench.send(down).report()
    assert report.code == "REFUSED" and "table" in report.message, report
    assert bench.lab.events == []
