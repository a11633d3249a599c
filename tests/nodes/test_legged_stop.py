"""How a legged robot is brought to stand, and what becomes of a walk that cannot be continued."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

rclpy = pytest.importorskip("rclpy")

from rclpy.task import Future  # noqa: E402
from sensor_msgs.msg import Imu, JointState  # noqa: E402

from diffsim_ros.nodes import watched_run  # noqa: E402
from diffsim_ros.nodes.convert import time_message  # noqa: E402
from diffsim_ros.nodes.convert_motion import Report, follow_feedback  # noqa: E402
from diffsim_ros.nodes.driver import Driver  # noqa: E402
from diffsim_ros.nodes.legged_driver import LeggedDriver  # noqa: E402
from diffsim_ros.nodes.legged_supervision import LeggedSupervision  # noqa: E402
from diffsim_ros.robots.command import NANO  # noqa: E402
from tests.nodes.test_legged_safety import course, run, sent  # noqa: E402


class Passing:
    """Time passes where the run waits for it, and joints are where they are commanded."""

    def __init__(self, found, node, follows=True):
        self.found, self.node, self.follows, self.sent = found, node, follows, []
        self.after = lambda: None
        self.path, self.begun, node.simulated = course().trajectory, found._begin, True
        node.create_timer = self.waited
        node.output.start = self.start

    async def start(self, trajectory, *_):
        self.sent.append(trajectory)
        self.path, self.begun = trajectory, self.node.time

    def waited(self, seconds, call, **_):
        if call.__name__ == "wake":
            self.node.time += int(seconds * NANO)
            time = (self.node.time - self.begun) / NANO
            place = self.path.at(time)[0] if self.follows else (0.5, 0.0)
            state = self.node.says(tuple(place))
            self.found.on_joint_state(state)
            self.after()
            call()


def walking():
    """(run, Passing, node, reports) of a walk that is at 1 s, with a hip at 0.5 rad."""
    found, node, reports = sent()
    passing = Passing(found, node)
    node.time += NANO
    node.says((0.5, 0.0))
    found._tick()
    return found, passing, node, reports


def ended(found, why="on request"):
    found._canceled = why
    found._halt(why)
    return run(found.coroutine)


def test_a_walk_is_brought_to_stand_without_a_jump_and_within_the_limits():
    found, passing, node, _ = walking()
    report = ended(found)
    assert report.message.startswith("on request: it stands"), report
    (stand,) = passing.sent
    assert np.allclose(stand.positions[0], [0.5, 0.0]) and np.allclose(
        stand.velocities[0], [0.5, 0]
    )
    assert np.allclose(stand.positions[-1], node.robot.stance) and not stand.velocities[-1].any()
    rate = np.abs(stand.at(np.linspace(0.11, stand.duration, 500))[1]).max()
    assert rate <= 0.5 * node.robot.speed.max()


def test_where_legs_would_brake_beyond_a_limit_they_brake_sooner():
    found, passing, node, _ = walking()
    node.robot.upper = np.array([0.51, 1.0])  # 0.1 s of braking would take the hip to 0.525
    ended(found)
    (stand,) = passing.sent
    assert stand.at(np.linspace(0, stand.duration, 2000))[0][:, 0].max() <= 0.51 * (1 + 1e-4)
    assert np.isclose(stand.times[1], 0.05)


def test_what_is_beyond_a_limit_is_brought_within_it():
    found, passing, node, _ = walking()
    node.robot.upper = np.array([0.4, 1.0])
    ended(found)
    (stand,) = passing.sent
    assert stand.positions.max() <= 0.4 and not stand.velocities.any()


def test_what_cannot_be_checked_is_not_sent():
    """The standing pose itself is beyond a limit."""
    found, passing, node, reports = walking()
    node.robot.upper = np.array([0.6, -0.1])
    with pytest.raises(ValueError, match="knee"):
        ended(found)
    assert reports[-1].code == "ABORTED" and not passing.sent and node.output.log[-1][0] == "stop"


@pytest.mark.parametrize("what", ["place", "speed", "torque"])
def test_a_robot_that_does_not_follow_to_its_stand_is_held(what, monkeypatch):
    monkeypatch.setattr(watched_run, "BRAKING", 0.05)
    found, passing, node, _ = walking()
    if what == "place":
        found._watch = replace(found._watch, path=0.1)
        passing.follows = False
    elif what == "speed":
        node.robot.speed = np.full(2, 1e-3)
        found._watch = replace(found._watch, stand=1.0)
        states = node.says

        def fast(position):
            state = states(position)
            state.velocity[:] = 0.5
            return state

        node.says = fast
    else:
        node.robot.robot.limits["effort"] = np.ones(2)
        node.efforts = {"hip": 5.0, "knee": 0.0}
    report = ended(found)
    named = {"place": "rad from the plan", "speed": "speed of joint hip", "torque": "torque of"}
    assert report.code == "CANCELED" and "as it was brought to stand" in report.message
    assert named[what] in report.message and node.output.log[-1][0] == "stop", report


def test_another_cancellation_does_not_end_the_stand():
    found, passing, node, _ = walking()
    passing.after = lambda: found.cancel("the driver is ended")
    found.cancel("on request")
    ((call, given),) = node.later
    call(*given)
    assert run(found.coroutine).message.startswith("on request: it stands")
    assert len(node.later) == 1


def test_a_fault_just_before_a_cancellation_holds_the_legs():
    found, passing, *_ = walking()
    found._canceled = "on request"
    found._halt("joint hip is 0.7 rad from the plan")
    report = run(found.coroutine)
    assert report.code == "CANCELED" and "0.7 rad" in report.message and not passing.sent


def test_what_still_moves_after_a_stop_is_reported(monkeypatch):
    found, _, node, _ = walking()
    states = node.says

    def moving(position):
        state = states(position)
        state.velocity[:] = 1.0
        return state

    node.says = moving
    monkeypatch.setattr(watched_run, "BRAKING", 0.05)
    found._halt("the robot falls")
    assert "the robot still moves" in run(found.coroutine).message


def test_wheels_are_slowed_down_and_never_driven_faster_as_it_is_brought_to_stand():
    """Also where the clock is set back meanwhile: the share of their speed was above 1."""
    found, passing, node, _ = walking()
    node.rolled.clear()
    found._clock_set = lambda: ""  # else the fault would end it at once

    def back():
        if len(node.rolled) == 3:
            node.time -= NANO

    passing.after = back
    ended(found)
    assert max(node.rolled) <= 2.0 and node.rolled[0] == 2.0 and node.rolled[-1] == 0.0


def feedback(time, hip):
    """Of the controller at a ROS time [ns], with the place where it commands the hip."""
    desired = SimpleNamespace(position=np.array([hip, 0.0]), velocity=np.zeros(2),
                              acceleration=np.zeros(2))  # fmt: skip
    return follow_feedback(("hip", "knee"), time, desired, np.zeros(2), np.zeros(2))


def test_another_clients_trajectory_in_the_controller_stops_a_walk():
    found, _, node, _ = walking()
    for hip in (0.5, 0.45, 0.55, 0.7, 0.4, 0.9, 0.5, 0.9):  # late, early, one that is another's
        found._on_feedback(feedback(node.time, hip))
        assert not found._halted.done(), hip
    found._on_feedback(feedback(node.time, 0.8))
    assert "controller runs another trajectory: it commands 0.1" in found._halted.result()


# --- a walk that is continued ---------------------------------------------------------------------


def continuation():
    """From 1.5 s of the walk on, at the same speed."""
    walk = course()
    rows = replace(walk.trajectory, positions=walk.trajectory.positions + np.array([0.75, 0.0]))
    return replace(walk, name="walk-2", continues="walk-1", since=1.5, trajectory=rows)


def continuing():
    """As `walking`, with the reports of what continues it, its coroutine, and a future of the
    controller's answer, which it waits for."""
    found, passing, node, reports = walking()
    more, answer, sends = [], Future(), passing.start

    async def start(*_):
        node.output.log.append("start")
        node.output.start = sends
        return await answer

    node.output.start, found.joining = start, "goal 2"
    joined = found.go_on(continuation(), lambda _: None, more.append)
    joined.send(None)
    assert not reports and not more and found.joining == "goal 2"
    return found, passing, node, reports, more, joined, answer


def ends(found, node):
    """The report where the controller ends it and the joints are where it should end."""
    node.time += 2 * NANO
    node.says(tuple(found._own.trajectory.positions[-1]))
    node.output.ended.set_result(SimpleNamespace(code=0, canceled=False, text=""))
    found._tick()
    return run(found.coroutine)


def test_a_walk_whose_continuation_the_controller_takes_is_the_other_goals():
    found, _, node, reports, more, joined, answer = continuing()
    answer.set_result(None)
    run(joined)
    assert [r.message for r in reports] == ["continued by walk-2"] and not more
    assert (found.goal, found.joining) == ("goal 2", "") and found.running()[0].name == "walk-2"
    assert ends(found, node).code == more[-1].code == "SUCCESS" and len(reports) == 1


def test_a_walk_whose_continuation_is_rejected_goes_on_to_its_own_end():
    """It ends with a robot that stands; to stop it would be in mid-stride."""
    found, _, node, reports, more, joined, answer = continuing()
    answer.set_result(Report("REFUSED", "controller rejected the goal"))
    run(joined)
    assert more[0].code == "REFUSED" and "goes on to its end" in more[0].message and not reports
    assert not found._halted.done() and node.output.log == ["start", "start"]
    walk, time = found.running()
    assert walk.name == "walk-1" and np.isclose(time, 1.0) and found.present()[0] == "walk-1"
    assert (found.goal, found.joining) == ("goal 1", "")
    assert ends(found, node).code == reports[-1].code == "SUCCESS" and len(more) == 1


def test_a_walk_is_stopped_where_the_controller_does_not_answer_to_its_continuation():
    found, _, node, reports, more, joined, answer = continuing()
    answer.set_result(Report("ABORTED", "controller does not answer"))
    run(joined)
    assert "did not take walk-2" in found._halted.result()
    assert run(found.coroutine).code == reports[-1].code == more[-1].code == "ABORTED"
    assert node.output.log[-1][0] == "stop"


@pytest.mark.parametrize("taken", [True, False])
def test_a_cancellation_waits_for_the_answer_to_a_continuation_and_then_stands(taken):
    """A stop of what has not been answered would cancel the path to the stand, too."""
    found, passing, node, reports, more, joined, answer = continuing()
    looks = []

    def answered():
        looks.append(1)
        if len(looks) == 3:
            assert not passing.sent and found.joining
            answer.set_result(None if taken else Report("REFUSED", "rejected"))
            run(joined)

    passing.after = answered
    assert ended(found).message.startswith("on request: it stands")
    assert len(passing.sent) == 1 and [m[0] for m in node.output.log if m != "start"] == []
    assert (more if taken else reports)[-1].code == "CANCELED"


def test_a_continuation_of_a_walk_that_is_being_cancelled_is_not_sent():
    found, _, node, _ = walking()
    found.cancel("on request")
    found.joining, more = "goal 2", []

    def check(_):
        raise ValueError("no plan runs")

    run(found.go_on(continuation(), check, more.append))
    assert more[0].code == "CANCELED" and node.output.log == ["start"] and not found.joining


@pytest.mark.parametrize("what", ["tilt", "place"])
def test_a_fault_does_not_wait_for_the_answer_to_a_continuation(what):
    found, passing, node, reports, more, *_ = continuing()
    if what == "tilt":
        node.tilt = 1.0
        found._tick()
    else:
        found._halt("joint hip is 0.7 rad from the plan")
    assert run(found.coroutine).code == reports[-1].code == more[-1].code == "ABORTED"
    assert node.output.log[-1][0] == "stop" and not passing.sent


def test_what_raises_as_a_walk_is_continued_stops_it(capsys):
    found, _, node, _ = walking()

    async def start(*_):
        raise RuntimeError("no such thing")

    node.output.start, found.joining = start, "goal 2"
    run(found.go_on(continuation(), lambda _: None, lambda _: None))
    assert "a defect of the driver: RuntimeError: no such thing" in found._halted.result()
    assert not found.joining and "no such thing" in capsys.readouterr().err


# --- what was mended before, each by its part -----------------------------------------------------


def test_what_raises_in_a_callback_stops_a_walk(capsys):
    """A robot that nobody watches must not go on."""
    found, node, _ = sent()
    node.say_stance = lambda *_: 1 / 0
    found._tick()
    assert found._halted.result() == "a defect of the driver: ZeroDivisionError: division by zero"
    assert "ZeroDivisionError" in capsys.readouterr().err


@pytest.mark.parametrize("kind", [LeggedDriver, Driver])
def test_a_driver_is_busy_while_its_last_motion_is_being_stopped(kind):
    """The watchdog has reported its end; its thread may yet go on."""

    class Stub(kind, dict):
        _job = _walk = None
        _leaving = False

        def __init__(self):
            dict.__init__(self, max_points=100)
            self.supervision = SimpleNamespace(run=object())

        def get_logger(self):
            return SimpleNamespace(warning=lambda _: None)

        def check_active(self):
            pass

        __getitem__ = dict.__getitem__

    arguments = (None, None) if kind is LeggedDriver else (None, 0.0, None)
    report = run(Stub()._execute("goal", 2, *arguments))
    assert report.code == "BUSY" and "being stopped" in report.message


def imu(stamp, tilt):
    message = Imu()
    message.header.stamp = time_message(stamp)
    message.orientation.x, message.orientation.w = np.sin(tilt / 2), np.cos(tilt / 2)
    return message


def test_a_tilt_counts_by_its_stamp():
    class Watching(dict):
        tilt, _tilted, clock = np.nan, 0, 100 * NANO
        _on_imu = LeggedSupervision._on_imu
        tilt_age = LeggedSupervision.tilt_age

        def now(self):
            return self.clock

    node = Watching(tilt_age=0.25)
    assert node.tilt_age == np.inf
    node._on_imu(imu(node.clock - NANO, 0.1))  # late, or of a recording
    node._on_imu(imu(node.clock + NANO, 0.1))
    assert np.isnan(node.tilt)
    node._on_imu(imu(node.clock - NANO // 5, 0.1))
    assert np.isclose(node.tilt, 0.1) and np.isclose(node.tilt_age, 0.2)
    node.clock += NANO // 10
    assert np.isclose(node.tilt_age, 0.3)  # by its stamp, not by its receipt
    node._on_imu(imu(node.clock + NANO // 10, 0.2))  # a clock that is a little ahead
    assert np.isclose(node.tilt, 0.2) and node.tilt_age == 0.0
    node._on_imu(imu(0, 0.3))  # of a driver that gives none
    assert np.isclose(node.tilt, 0.3) and node.tilt_age == 0.0


def test_torques_are_of_the_last_state_of_all_legs():
    class Watching(LeggedSupervision):
        _wheels = SimpleNamespace(on_joint_state=lambda *_: None)
        _driver, run, efforts = SimpleNamespace(active=True), None, {}
        states = SimpleNamespace(names=("hip", "knee"))

        def __init__(self):
            """No node."""

        def now(self):
            return 0

        def __getitem__(self, _):
            return False

    node = Watching()
    node._on_state(JointState(name=["knee", "hip", "wheel"], effort=[1.0, 2.0, 0.0]))
    node._on_state(JointState(name=["wheel"], effort=[0.5]))  # a publisher of its own
    assert node.efforts["hip"] == 2.0 and node.efforts["knee"] == 1.0
    node._on_state(JointState(name=["hip", "knee"]))
    assert node.efforts == {}
