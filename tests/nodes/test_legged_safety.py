"""What protects a legged robot from its driver's rare paths: without a robot, by their parts."""

from types import SimpleNamespace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from action_msgs.msg import GoalStatus  # noqa: E402
from control_msgs.action import FollowJointTrajectory  # noqa: E402
from diffsim_interfaces.action import ExecuteLocomotion  # noqa: E402
from diffsim_interfaces.msg import ErrorCode, LocomotionPlan  # noqa: E402
from rclpy.task import Future  # noqa: E402

from diffsim_ros.errors import InputError  # noqa: E402
from diffsim_ros.nodes import legged_goal  # noqa: E402
from diffsim_ros.nodes.convert_motion import joint_sample  # noqa: E402
from diffsim_ros.nodes.legged_driver import LeggedDriver  # noqa: E402
from diffsim_ros.nodes.legged_goal import GoalKeeper, HeldGoal  # noqa: E402
from diffsim_ros.nodes.managed import ManagedNode  # noqa: E402
from diffsim_ros.nodes.motion_outputs import STEADY, ActionOutput, TopicOutput  # noqa: E402
from diffsim_ros.nodes.supervision import Supervision  # noqa: E402
from diffsim_ros.nodes.walk_run import WalkRun, WalkWatch  # noqa: E402
from diffsim_ros.planning.locomotion.plan_check import WalkCourse  # noqa: E402
from diffsim_ros.robots.arm import Limits  # noqa: E402
from diffsim_ros.robots.command import NANO  # noqa: E402
from diffsim_ros.robots.joint_states import JointStates  # noqa: E402
from diffsim_ros.robots.trajectory import JointTrajectory  # noqa: E402
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


# --- a walk: its run, with an output that only notes what it is commanded -----------------------


class Output:
    """follows: False, as of a topic; `log` has what was commanded."""

    follows, name, braking = False, "controller", 0.0

    def __init__(self):
        self.log, self.ended = [], Future()

    async def is_there(self, seconds, halted):
        return True

    async def start(self, trajectory, *_):
        self.log.append("start")

    async def stop(self, arm):
        self.stop_at_once(*await arm())
        return "stopped"

    def stop_at_once(self, names, position, velocity, measured, planned):
        self.log.append(("stop", position, measured))


class Node(dict):
    """Of the supervision, at a ROS time that the test sets."""

    simulated, pace, together, run, tilt, tilt_age = False, None, None, None, 0.0, 0.0
    wheel_names, efforts = ("wheel",), {}

    def __init__(self):
        super().__init__(server_timeout=1.0, watchdog=1.0, feedback_rate=10.0, start_velocity=0.2)
        self.time, self.output, self.rolled, self.later = 10 * NANO, Output(), [], []
        self.states = JointStates(("hip", "knee"), np.full(2, 10.0), 0.25)
        speed, most = np.full(2, 10.0), {"effort": np.zeros(2)}
        self.robot = SimpleNamespace(
            stance=np.zeros(2), speed=speed, lower=-speed, upper=speed,
            joint_names=("hip", "knee"), robot=SimpleNamespace(limits=most),
        )  # fmt: skip

    def now(self):
        return self.time

    def says(self, position=(0.0, 0.0)):
        sample = SimpleNamespace(
            positions=dict(zip(("hip", "knee"), position, strict=True)),
            velocities={"hip": 0.0, "knee": 0.0},
            rows=lambda names: (np.array(position), np.zeros(2)),
        )
        return self.states.add(self.time, self.time, sample)

    def from_thread(self, call, *given):
        self.later.append((call, given))

    def roll(self, speeds):
        self.rolled.append(float(np.max(speeds)))

    def say_standing(self):
        pass

    def say_stance(self, *_):
        pass

    def create_timer(self, seconds, *_, **__):
        pass

    destroy_timer = create_timer


def course():
    """2 s of a hip that moves at 0.5 rad/s, on a wheel."""
    times = np.linspace(0.0, 2.0, 21)
    hip = np.stack([0.5 * times, 0 * times], axis=1)
    rates = np.tile([0.5, 0.0], (21, 1))
    joints = JointTrajectory(("hip", "knee"), times, hip, rates)
    wheels, flat, base = np.full((21, 1), 2.0), np.ones((21, 1), bool), np.zeros((21, 7))
    return WalkCourse("walk-1", "", 0.0, joints, wheels, flat, np.zeros(21), base)


def walk():
    """A run that was not sent, its node, and the reports that it makes."""
    node, reports = Node(), []
    watch = WalkWatch(0.25, 0.25, 0.5, 0.5, 0.2, 1.0, 2.0, 1.0, 0.06, 0.5, 0.01, 0.02)
    found = WalkRun(node, watch, lambda _: None, "goal 1")
    node.says()
    return found, node, reports


def sent(check=lambda: None):
    """As `walk`, of a walk that was sent at the node's time and waits for its end."""
    found, node, reports = walk()
    found.coroutine = found.whole(course(), check, reports.append)
    found.coroutine.send(None)
    assert node.output.log == ["start"]
    return found, node, reports


def test_a_walk_that_was_given_up_before_it_was_sent_is_not_sent():
    """The watchdog has reported its end: nobody could cancel it any more."""
    found, node, reports = walk()
    ended = run(found.whole(course(), lambda: found.abandon("it stood still"), reports.append))
    assert ended.code == "CANCELED" and not node.output.log
    assert reports[0].code == "ABORTED" and "nothing was sent" in reports[0].message


def test_a_walk_that_is_cancelled_while_it_is_checked_is_not_sent():
    found, node, reports = walk()
    ended = run(found.whole(course(), lambda: found.cancel("on request"), reports.append))
    assert ended.code == "CANCELED" and not node.output.log and node.later


def test_a_walk_that_the_watchdog_stopped_does_not_go_on():
    found, node, reports = sent()
    found.abandon("it stood still")
    assert reports[0].code == "ABORTED" and node.output.log[1][0] == "stop"
    node.rolled.clear()
    node.time += 2 * NANO // 10
    node.says((0.1, 0.0))
    found._tick()  # the thread goes on
    assert found._halted.result() == "it stood still" and not any(node.rolled)


@pytest.mark.parametrize(("by", "why"), [(-1.0, "back by 1"), (0.6, "ahead by 0.6")])
def test_a_clock_that_is_set_stops_a_walk(by, why):
    """Also where the next joint state has the new time: the plan's time is another now."""
    found, node, _ = sent()
    node.says()
    found._tick()
    assert not found._halted.done()
    node.rolled.clear()
    node.time += int(by * NANO)
    node.says()
    found._tick()
    assert f"the clock was set {why}" in found._halted.result() and not node.rolled


def test_a_stop_by_topic_begins_where_the_walk_is_planned_without_a_joint_state():
    """The clock was set, or states are silent: a stop from an old place would be a jump."""
    found, node, _ = sent()
    node.time += NANO
    node.says((0.5, 0.0))
    found._tick()
    node.states.forget()
    names, position, velocity, measured, _ = found._rows()
    assert names == ("hip", "knee") and not measured
    assert np.allclose(position, [0.5, 0.0]) and np.allclose(velocity, [0.5, 0.0])


def test_no_walk_begins_from_a_joint_state_that_is_not_new(monkeypatch):
    found, node, reports = walk()
    node.time += NANO // 10
    monkeypatch.setattr("diffsim_ros.nodes.watched_run.WAIT", -1.0)
    ended = run(found.whole(course(), lambda: None, reports.append))
    assert ended.code == "REFUSED" and "0.100 s old" in ended.message and not node.output.log


def test_timers_that_watch_go_by_a_clock_that_is_never_set():
    """One of real time that is set back by an hour rests for an hour."""
    own = SimpleNamespace(simulated=False, get_clock=lambda: "ROS time")
    assert Supervision.pace.fget(own) is STEADY
    own.simulated = True
    assert Supervision.pace.fget(own) == "ROS time"


# --- the rest ------------------------------------------------------------------------------------


def stop(position, velocity, limits, measured=True):
    """Time [s] and place (n,) of the rest that a stop by topic sends."""
    output, made = TopicOutput.__new__(TopicOutput), []
    output._limits, output._deceleration = limits, limits.acceleration
    output._publisher = SimpleNamespace(publish=made.append)
    output.stop_at_once(("hip",), np.array([position]), np.array([velocity]), measured, None)
    return output.braking, made[0].points[0].positions[0]


def test_a_stop_by_topic_stays_within_the_limits_of_position():
    def limits(most):
        one = np.ones(1)
        return Limits(-one, one, 10 * one, most * one, most * one)

    assert stop(0.0, 1.0, limits(8.0)) == (pytest.approx(0.4), pytest.approx(0.2))
    assert stop(0.9, 1.0, limits(8.0)) == (pytest.approx(0.2), pytest.approx(1.0))
    brake, rest = stop(0.9, 5.0, limits(np.inf))  # a leg, whose acceleration has no limit
    assert brake == pytest.approx(0.1) and rest == 1.0
    brake, rest = stop(-0.9, -2.0, limits(8.0))  # as hard as it may
    assert brake == pytest.approx(2.0 / 5.6) and rest == -1.0


def test_a_joint_that_is_named_twice_has_no_state():
    from sensor_msgs.msg import JointState

    message = JointState(name=["a", "b", "a"], position=[0.0, 1.0, 2.0])
    assert not joint_sample(message).positions
    message.name[2] = "c"
    assert joint_sample(message).positions == {"a": 0.0, "b": 1.0, "c": 2.0}


@pytest.mark.parametrize("check", ["_check_begin", "_check_continuation"])
def test_an_inactive_legged_driver_sends_nothing_that_was_checked_before(check):
    class Driver(LeggedDriver):
        active, _state_machine = False, SimpleNamespace(current_state=(2, "inactive"))

        def __init__(self):
            """No node."""

        def get_name(self):
            return "legged_driver"

        get_fully_qualified_name = get_name

    given = (course(),) if check == "_check_begin" else (course(), None, None)
    with pytest.raises(InputError, match="state: got 'inactive'; accepted: active"):
        getattr(Driver(), check)(*given)


def test_what_was_to_be_sent_is_not_once_it_is_a_dry_run():
    node = type("Node", (dict,), {"get_name": lambda _: "driver"})(dry_run=True)
    with pytest.raises(InputError, match="dry_run"):
        ManagedNode.check_not_dry(node)
    node["dry_run"] = False
    ManagedNode.check_not_dry(node)


def test_a_goal_that_is_cancelled_between_two_walks_sends_no_other(monkeypatch):
    """The robot stands, and nothing of the driver's is left to be cancelled."""
    client = SimpleNamespace(server_is_ready=lambda: True, send_goal_async=None)
    monkeypatch.setattr(legged_goal, "ActionClient", lambda *_, **__: client)
    planner = type("Planner", (dict,), {"together": None})(driver="legged_driver")
    keeper, held = GoalKeeper(planner), HeldGoal("goal 1", np.zeros(3), "", "", 0, lambda *_: None)
    keeper.hold(held)
    assert keeper.cancel("goal 1") and keeper.held is None
    assert held.done.result()[0] == "CANCELED"
    assert "cancelled" in run(keeper.send(held, None))


def keeper_of(monkeypatch, answers):
    """A GoalKeeper of a driver whose answers to goals are these futures, and what is commanded."""
    log, waiting = [], list(answers)

    def send(goal):
        log.append(("send", goal.plan.name))
        return waiting.pop(0)

    client = SimpleNamespace(server_is_ready=lambda: True, send_goal_async=send)
    monkeypatch.setattr(legged_goal, "ActionClient", lambda *_, **__: client)
    where = SimpleNamespace(sent=lambda _: None, not_taken=lambda name: log.append(("not", name)))
    planner = type("Planner", (dict,), {
        "together": None, "create_timer": lambda *_, **__: None, "destroy_timer": lambda *_: None,
        "where": where,
    })(driver="legged_driver")  # fmt: skip
    return GoalKeeper(planner), log


def handle_of(name, log):
    """A goal's handle, whose result is `result`."""
    result = Future()
    return SimpleNamespace(
        result=result, get_result_async=lambda: result,
        cancel_goal_async=lambda: log.append(("cancel", name)),
    )  # fmt: skip


def test_a_goal_that_is_cancelled_while_the_driver_takes_its_plan_is_cancelled_there(monkeypatch):
    """The answer to the goal is under way: the plan before it, and then it too, are cancelled."""
    first, second = Future(), Future()
    keeper, log = keeper_of(monkeypatch, [first, second])
    held = HeldGoal("goal 1", np.zeros(3), "", "", 0, lambda *_: None)
    one, two = handle_of("one", log), handle_of("two", log)
    first.set_result(one)
    assert run(keeper.send(held, LocomotionPlan(name="walk-1"))) == ""
    keeper.hold(held)
    sending = keeper.send(held, LocomotionPlan(name="walk-2"))
    sending.send(None)
    assert keeper.cancel("goal 1") and log[-1] == ("cancel", "one")
    second.set_result(two)
    assert run(sending) == "" and log[-1] == ("cancel", "two")
    run(keeper.look())
    assert keeper.held is held  # until both are over
    for handle in (two, one):
        result = ExecuteLocomotion.Result(error_code=ErrorCode.CANCELED, error_msg="it stands")
        handle.result.set_result(SimpleNamespace(result=result))
    run(keeper.look())
    assert keeper.held is None and held.done.result() == ("CANCELED", "it stands; it stands")


def test_the_last_plan_is_cancelled_first(monkeypatch):
    """Of two that the driver has: the one before would else go on where the last was refused."""
    keeper, log = keeper_of(monkeypatch, [Future(), Future()])
    held = HeldGoal("goal 1", np.zeros(3), "", "", 0, lambda *_: None)
    for name in ("one", "two"):
        sending = keeper.send(held, LocomotionPlan(name=name))
        keeper._client.send_goal_async = lambda _, name=name: done(handle_of(name, log))
        assert run(sending) == ""
    keeper.hold(held)
    keeper.cancel("goal 1")
    assert log == [("cancel", "two"), ("cancel", "one")]
