"""What the study of faults found in the driver, each with a test of its own."""

import time
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from control_msgs.action import FollowJointTrajectory  # noqa: E402
from rclpy.action import GoalResponse  # noqa: E402
from rclpy.task import Future  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402

from diffsim_ros.nodes import convert, convert_motion, supervision  # noqa: E402
from diffsim_ros.nodes.motion_outputs import STEADY, within  # noqa: E402
from diffsim_ros.nodes.motion_run import MotionRun  # noqa: E402
from diffsim_ros.robots.command import NANO, JointCommand  # noqa: E402
from diffsim_ros.robots.execution import Supervisor, Watch  # noqa: E402
from diffsim_ros.robots.joint_states import ReceivedState  # noqa: E402
from tests.robots.motions import ARM, NAMES, swing  # noqa: E402

CONTROLLER = "/scaled_joint_trajectory_controller"
FAST = swing(size=0.5, duration=1.2, release=None)


def commanded(bench):
    """Largest commanded velocity and acceleration, shares of their limits."""
    desired = bench.lab.desired
    velocity = max(np.abs(one.velocity / ARM.limits.velocity).max() for one in desired)
    acceleration = max(np.abs(one.acceleration / ARM.limits.acceleration).max() for one in desired)
    return velocity, acceleration


@pytest.mark.parametrize("output", ["action", "topic"])
def test_a_clock_that_is_set_back_in_a_motion_stops_the_arm(bench, output):
    bench.drive(output=output, gripper="none").known().send(FAST)
    bench.until(0.4)
    bench.lab.executor.create_task(bench.lab.set_clock, 10_000_000)
    report = bench.report()
    assert report.code == "ABORTED" and "the clock was set back" in report.message, report
    bench.ros.until(bench.rests, "rest")
    assert np.abs(bench.lab.mock.position - FAST.positions[-1]).max() > 0.1
    assert "at 0." in report.message and commanded(bench)[0] < 1.01
    if output == "topic":  # else the mock's own brake is the harder one
        assert commanded(bench)[1] < 1.01


def test_a_stop_by_topic_of_an_arm_whose_states_are_silent_keeps_the_limits(bench):
    """The controller goes from where the arm is; the last joint state is from its beginning."""
    bench.drive(output="topic", gripper="none", state_age=0.4).known().send(FAST)
    bench.until(0.02)
    bench.lab.server.offer = replace(bench.lab.server.offer, state_rate=0.0)
    report = bench.report()
    assert report.code == "ABORTED" and "no joint state" in report.message, report
    bench.ros.until(bench.rests, "rest")
    assert max(commanded(bench)) < 1.01


def test_a_controller_that_aborts_without_a_code_has_not_ended_well(bench):
    """One that is shut down just before the end: the arm is near the goal, the code is 0."""
    bench.drive(gripper="none").known().send(FAST)
    bench.until(1.1)
    assert np.abs(bench.lab.mock.position - FAST.positions[-1]).max() < 0.1
    bench.lab.executor.create_task(bench.lab.server.close)
    report = bench.report()
    assert report.code == "ABORTED" and "shut down" in report.message, report


def test_the_gripper_stays_closed_from_the_moment_a_cancellation_is_accepted(bench):
    """Also where the supervision, late itself, comes to the release before it receives it."""
    bench.drive().known().send(replace(FAST, release=0.6))
    bench.until(0.2)
    bench.watching.from_thread = lambda *_: None  # messages to it wait
    cancel = bench.ros.asked(bench.handle.cancel_goal_async)
    bench.ros.until(cancel.done, "an answer")
    assert cancel.result().goals_canceling
    bench.until(0.8)
    del bench.watching.from_thread
    bench.watching.from_thread(bench.watching.run._halt, "on request")
    report = bench.report()
    assert report.code == "CANCELED" and "stays closed" in report.message, report
    assert bench.lab.events == ["started"]


def test_no_release_while_messages_from_before_a_stop_are_received(bench, monkeypatch):
    """After SIGSTOP and SIGCONT simulated time and joint states are old, and agree."""
    bench.drive(gripper="command").known()
    watching, clock = bench.watching, [time.monotonic()]
    assert not watching.catches_up()
    monkeypatch.setattr(supervision, "monotonic", lambda: clock[0])
    watching._beat()
    clock[0] += 0.5
    assert watching.catches_up()  # not even a beat has come
    watching._beat()
    assert watching.catches_up()
    clock[0] += 0.06
    watching._beat()
    assert not watching.catches_up()
    monkeypatch.undo()
    watching.catches_up = lambda: True
    bench.send(replace(FAST, release=0.6))
    bench.until(0.8)
    del watching.catches_up
    report = bench.report()
    assert report.code == "ABORTED" and "the release is" in report.message, report
    assert bench.lab.events == ["started"]


def test_a_release_at_the_very_end_may_be_rounded_past_it(bench):
    """A message has whole nanoseconds for the points, and a float for the release."""
    motion = swing(size=0.1, duration=0.6, release=0.6)
    times = motion.times * (0.5677583791821534 / 0.6)
    bench.drive(dry_run=True).known()
    given = replace(motion, times=times, release=0.5677583791821534, accelerations=None)
    report = bench.send(given).report()
    assert report.code == "SUCCESS", report


def test_an_arm_whose_states_contradict_each_other_is_not_said_to_rest(bench):
    """A second publisher reports it at rest; the first reports it braking."""
    second = bench.lab.create_publisher(JointState, "joint_states", 10)
    still = convert_motion.joint_state_message(NAMES, ARM.home - 0.5, np.zeros(6), 0)
    bench.drive(gripper="none").known().send(FAST)
    bench.until(0.4)

    def doubled():
        still.header.stamp = convert.time_message(bench.lab.time + 1_000_000)
        second.publish(still)

    bench.lab.create_timer(0.004, doubled, clock=STEADY)
    bench.ros.until(lambda: bench.watching.states.doubted(bench.watching.now), "doubt")
    bench.ros.asked(bench.handle.cancel_goal_async)
    report = bench.report()
    assert report.code == "CANCELED" and "contradict each other" in report.message, report


def test_a_stop_by_topic_does_not_begin_where_a_second_publisher_says(bench):
    second = bench.lab.create_publisher(JointState, "joint_states", 10)
    still = convert_motion.joint_state_message(NAMES, ARM.home - 0.5, np.zeros(6), 0)
    bench.drive(output="topic", gripper="none").known().send(FAST)
    bench.until(0.4)
    bench.lab.server.offer = replace(bench.lab.server.offer, state_rate=0.0)

    def lie():
        still.header.stamp = convert.time_message(bench.lab.time)
        second.publish(still)

    bench.lab.create_timer(0.004, lie, clock=STEADY)
    report = bench.report()
    assert report.code == "ABORTED" and "off its path" in report.message, report
    bench.ros.until(bench.rests, "rest")
    assert max(commanded(bench)) < 1.01


def test_a_stop_by_topic_begins_where_the_arm_is_by_now():
    """A moving arm is further than its last joint state shows."""
    last = ReceivedState(NANO - 20_000_000, NANO - 15_000_000, ARM.home, np.full(6, 2.0))
    states = SimpleNamespace(
        last=last, names=NAMES, age=lambda now: 0.02, doubted=lambda now: False
    )
    run = MotionRun.__new__(MotionRun)
    run._node = SimpleNamespace(states=states, now=lambda: NANO)
    run._output, run._supervisor = SimpleNamespace(follows=False), None
    _, position, velocity, measured, _ = run._rows()
    assert measured and np.allclose(position, ARM.home + 0.04) and np.allclose(velocity, 2.0)


def test_an_arm_that_passes_the_goal_has_not_arrived():
    supervisor = Supervisor(FAST, 0, Watch())
    late = NANO + NANO // 2
    for velocity, arrived in ((0.2, False), (0.01, True)):
        supervisor.on_joint_state(late, FAST.positions[-1] - 0.05, np.full(6, velocity))
        assert supervisor.has_arrived(late) is arrived

    creeps = round((FAST.duration + 0.05) * NANO)  # and is silent from then on
    supervisor.on_joint_state(creeps, FAST.positions[-1] - 0.05, np.full(6, 0.01))
    assert not supervisor.has_arrived(late)


def test_a_motion_does_not_begin_from_where_the_arm_was(bench):
    """Joint states that are fresh, but all 0.15 s old."""
    bench.drive(gripper="none").known()
    bench.ros.until(lambda: bench.lab.time > NANO // 2, "a while")  # stamps must be positive
    states, add = bench.watching.states, bench.watching.states.add
    states.add = lambda stamp, received, sample: add(stamp - 3 * NANO // 20, received, sample)
    bench.ros.until(lambda: states.last.received - states.last.stamp > NANO // 10, "an old one")
    report = bench.send(FAST).report()
    assert report.code == "REFUSED" and "old (at most 0.08 at the start)" in report.message, report
    assert not bench.lab.events


def test_a_cancellation_counts_also_where_the_controller_has_just_given_up(bench, monkeypatch):
    bench.drive(gripper="none").known().send(FAST)
    rests = MotionRun._rest

    async def cancelled_meanwhile(run):
        monkeypatch.setattr(MotionRun, "_rest", rests)
        bench.ros.asked(bench.handle.cancel_goal_async)
        while not run._canceled:
            await within(run._node, Future(), 0.01)
        return await rests(run)

    monkeypatch.setattr(MotionRun, "_rest", cancelled_meanwhile)
    bench.until(0.3)
    other = bench.ros.action(FollowJointTrajectory, f"{CONTROLLER}/follow_joint_trajectory")
    start = replace(
        swing(size=0.1), positions=swing(size=0.1).positions + bench.lab.mock.position - ARM.home
    )
    bench.ros.asked(other.send_goal_async, convert_motion.follow_goal(start))
    report = bench.report()
    assert report.code == "CANCELED" and "new incoming action" in report.message, report


def test_a_moment_of_rest_is_no_rest(bench):
    """Joints that go back to where a trajectory to rest begins stand for an instant."""
    bench.drive(output="topic", gripper="none").known().send(FAST)
    bench.until(0.4)
    dips = []
    rests = bench.watching.states.rests

    def dipping(speed):
        dips.append(rests(speed))
        return dips[-1] or len(dips) % 3 == 0

    bench.watching.states.rests = dipping
    bench.ros.asked(bench.handle.cancel_goal_async)
    assert bench.report().code == "CANCELED"
    assert np.abs(bench.lab.mock.velocity).max() < 0.06


def test_what_was_slow_before_a_stop_is_no_rest(bench):
    """The last joint state is from the motion's first moment."""
    bench.drive(gripper="none").known().send(FAST)
    bench.ros.until(lambda: bench.lab.events, "the start")
    bench.lab.server.offer = replace(bench.lab.server.offer, state_rate=0.0)
    bench.until(0.1)
    bench.ros.asked(bench.handle.cancel_goal_async)
    assert "whether the arm rests is not known" in bench.report().message


def test_a_stop_by_topic_keeps_the_limits_also_where_the_states_are_another_robots(bench):
    """Which rests where the arm just passes."""
    bench.drive(output="topic", gripper="none").known().send(FAST)
    bench.until(0.4)
    states, add = bench.watching.states, bench.watching.states.add
    rest = dict.fromkeys(NAMES, 0.0)

    def another(stamp, received, sample):
        add(stamp, received, replace(sample, velocities=rest))  # and nobody is notified

    states.add = another
    bench.ros.until(lambda: not states.last.velocity.any(), "a state of the other")
    bench.ros.asked(bench.handle.cancel_goal_async)
    assert bench.report().code == "CANCELED"
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == ["started"] * 3 and max(commanded(bench)) < 1.01


def test_a_stop_by_topic_of_an_arm_that_is_elsewhere_and_silent_keeps_the_limits(bench):
    """Another client has replaced the trajectory, and nothing shows where the arm is."""
    bench.drive(output="topic", gripper="none", path_tolerance=10.0).known().send(FAST)
    bench.until(0.1)
    bench.lab.server.offer = replace(bench.lab.server.offer, state_rate=0.0)
    still = JointCommand.of(replace(swing(size=1e-3, duration=0.5), release=None))
    bench.lab.executor.create_task(bench.lab.mock.replace, still)
    assert bench.report().code == "ABORTED"
    bench.ros.until(bench.rests, "rest")
    assert bench.lab.events == ["started"] * 4 and max(commanded(bench)) < 1.01


def reject_the_goal(lab):
    """The gripper's action rejects every goal."""
    lab.server._actions[1].register_goal_callback(lambda goal: GoalResponse.REJECT)


def switch_nothing(lab):
    """The digital output cannot be switched."""
    answer_set_io(lab, lambda request, response: response)


def never_answer(lab):
    """The robot's driver receives the request and never answers."""

    async def wait(request, response):
        await Future()

    answer_set_io(lab, wait)


def answer_set_io(lab, callback):
    (service,) = (s for s in lab.services if s.srv_name.endswith("set_io"))
    service.callback = callback
    service.callback_group = lab.together  # or time would stand while it waits


@pytest.mark.parametrize(
    "kind, broken, expected",
    [
        ("command", reject_the_goal, "gripper_cmd refused to open the gripper"),
        ("digital_output", switch_nothing, "set_io refused to open the gripper"),
        ("digital_output", never_answer, "set_io has not answered: whether the gripper opens"),
    ],
)
def test_a_gripper_that_does_not_take_its_command_is_no_success(bench, kind, broken, expected):
    broken(bench.lab)
    report = bench.drive(gripper=kind).known().send(swing(size=0.1, release=0.35)).report()
    assert report.code == "ABORTED" and expected in report.message, report
    assert "the gripper was commanded to open" in report.message and report.release_stamp
    assert bench.lab.events == ["started"]
