"""The judge of the fault study: each of its rules is broken by a record made for that."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("rclpy")

from diffsim_ros.nodes.convert_motion import Report
from diffsim_ros.robots.command import NANO, JointCommand
from validation.faults_judge import CYCLE, Judge, Trace
from validation.faults_record import DRIVER, OTHER, ROW
from validation.faults_scenes import FAULTS, Fault, Scene, queue, scene, smooth, ur5

ARM = ur5()
LEAD, DUE = 0.05, 0.3
MOTION = replace(smooth(ARM, ARM.home, ARM.home + 0.2, 0.9), release=DUE + LEAD)


def trace(*faults, opened=DUE, code="SUCCESS", message=""):
    """An execution as the driver should do it: commanded to open at `opened` [s], None: not."""
    scene = Scene(MOTION, "at_start", tuple(Fault(name, 0.1) for name in faults), "4.36.0", 1.0,
                  False)  # fmt: skip
    found = Trace(scene, "command", "action", LEAD)
    count = round((MOTION.duration + 0.3) / CYCLE)
    rows = np.zeros(count, ROW)
    times = CYCLE * np.arange(count)
    rows["mono"] = rows["time"] = NANO + np.round(times * NANO).astype(int)
    rows["run"], rows["source"], rows["elapsed"], rows["scaling"] = 1, DRIVER, times, 1.0
    rows["active"] = times < MOTION.duration
    q, qd, qdd = MOTION.at(times)
    rows["desired"] = np.stack([q, qd, qdd], axis=1)
    rows["joints"] = np.stack([q, qd], axis=1)
    points = [[p.time, p.positions, p.velocities, p.accelerations]
              for p in JointCommand.of(MOTION).points]  # fmt: skip
    start = {"event": "start", "mono": NANO - 1, "source": DRIVER, "run": 1, "points": points,
             "names": list(MOTION.names)}  # fmt: skip
    found.rows, found.events = rows, [start]
    if opened is not None:
        mono = NANO + round(opened * NANO)
        found.events.append({"event": "gripper", "open": True, "mono": mono, "stamp": mono})
    stamp = None if opened is None else 1.0 + opened
    found.report = Report(code, message, release_stamp=stamp)
    found.answered = found.rested = int(rows["mono"][-1])
    found.at = {name: NANO + round(0.1 * NANO) for name in faults}
    return found


def wrong(found):
    return "; ".join(Judge(found, ARM).violations)


def stopped(found, at):
    """The same, stopped at once at `at` [s]."""
    k = round(at / CYCLE)
    found.rows["active"][k:], found.rows["braking"][k:] = 0, 1
    for key in ("desired", "joints"):
        found.rows[key][k:] = found.rows[key][k]
        found.rows[key][k:, 1:] = 0.0
    return found


def test_what_is_as_it_should_be_is_not_blamed():
    assert not wrong(trace())
    assert not wrong(stopped(trace("cancel", opened=None, code="CANCELED", message="x"), 0.2))
    assert not wrong(taken_over(trace("replaced_by_goal")))
    assert "told_velocity" not in wrong(caught(trace("replaced_by_topic"), 1.5))
    judged = Judge(trace(opened=DUE + 0.02), ARM)
    assert judged.figures["release_lateness"] == pytest.approx(0.02, abs=0.01)


@pytest.mark.parametrize(("before", "blamed"), [(1.4, False), (0.9, True)])
def test_a_stop_after_a_stop_of_an_arm_that_another_client_threw_is_its_affair_too(before, blamed):
    """By the speed of the joints, which overshoot its commands."""
    found = caught(trace("replaced_by_topic"), 0.9)
    rows = found.rows
    k = np.flatnonzero(np.diff(rows["run"]))[1] + 1
    rows["joints"][k - 1, 1, 0] = before * ARM.limits.velocity[0]
    rows["desired"][k : k + 6, 1, 0] = 1.2 * ARM.limits.velocity[0]
    rows["run"][k + 3 :] = rows["run"].max() + 1  # another stop, of the driver's too
    assert ("told_velocity" in wrong(found)) == blamed


def test_a_robot_that_receives_nothing_is_not_the_drivers_fault():
    """Its driver may have sent a stop that nobody received; a success it must not report."""
    found = trace(opened=None, code="ABORTED", message="off its path: a stop was commanded")
    found.events, found.rows["joints"][:, 1] = [], 0.0
    assert "nothing was sent" in wrong(found)
    found.deaf = True
    assert not wrong(found)
    found.report = replace(found.report, code="SUCCESS")
    assert "SUCCESS, and nothing was sent" in wrong(found)


@pytest.mark.parametrize("logged, blamed", [(DUE, False), (DUE + 0.15, True), (None, True)])
def test_without_an_answer_the_log_says_when_the_release_was_commanded(logged, blamed):
    found = trace("driver_SIGKILL", opened=DUE + 0.15)
    found.report, found.stamp = None, None if logged is None else 1.0 + logged
    judged = Judge(found, ARM)
    assert any("late (at most" in text for text in judged.violations) == blamed
    if not blamed:
        assert judged.figures["release_transport"] == pytest.approx(0.15, abs=0.01)


@pytest.mark.parametrize("count, blamed", [(1, False), (None, True)])
def test_by_topic_a_stop_may_come_without_its_trajectory(count, blamed):
    """A stop is one point, from where the arm is; what has more must end where it was to."""
    found = trace("cancel", opened=None, code="CANCELED", message="x")
    found.output = "topic"
    found.rows["desired"][:, 0] = found.rows["joints"][:, 0] = ARM.home
    found.rows["desired"][:, 1:] = found.rows["joints"][:, 1] = 0.0
    points = found.events[0]["points"] = found.events[0]["points"][:count]
    for point in points:
        point[1:] = (ARM.home + 0.1).tolist(), [0.0] * 6, [0.0] * 6
    assert ("ends elsewhere" in wrong(found)) == blamed


@pytest.mark.parametrize(
    "off, at_end, blamed", [(0.05, 0.05, False), (0.05, 0.12, False), (0.3, 0.3, True)]
)
def test_by_topic_the_arm_must_come_to_the_end_whoever_moves_it(off, at_end, blamed):
    """Another client's trajectory takes over 0.1 s before the end, and comes near it, then or a
    little later (the driver gives the arm its time to come to rest), or not."""
    found = trace("replaced_by_topic", opened=None)
    found.output, found.gripper = "topic", "none"
    k = round((MOTION.duration - 0.1) / CYCLE)
    found.rows["source"][k:], found.rows["run"][k:] = OTHER, 2
    found.rows["joints"][k:, 0] = MOTION.positions[-1] + at_end
    found.answered = found.rows["mono"][-1]
    found.rows["joints"][-5:, 0] = MOTION.positions[-1] + off
    assert ("from the plan's end" in wrong(found)) == blamed
    assert "before the controller's end" not in wrong(found)


def fast(found):
    found.rows["desired"][20, 1] = 1.02 * ARM.limits.velocity
    return found


def sudden(found):
    found.rows["desired"][20:, 0] += 0.05
    return found


def replaced(found):
    """Another client's trajectory, away from the plan, 0.1 s before the release."""
    k = round((DUE - 0.1) / CYCLE)
    found.rows["source"][k:], found.rows["run"][k:] = OTHER, 2
    found.rows["joints"][k:, 0] -= 0.3
    return found


def taken_over(found):
    """By another client's trajectory once the arm has arrived, before the answer is read."""
    k = np.flatnonzero(found.rows["active"])[-1] + 2
    found.rows["source"][k:], found.rows["run"][k:] = OTHER, 2
    found.rows["joints"][k:, 0] -= 0.3
    found.rows["desired"][k:, 0] -= 0.3
    return found


def caught(found, share):
    """Stopped by the driver where another client has the arm at `share` of its velocity."""
    k = round(0.2 / CYCLE)
    found.rows["source"][k : 2 * k], found.rows["run"][k : 2 * k] = OTHER, 2
    found.rows["run"][2 * k :] = 3
    found.rows["desired"][2 * k - 1, 1] = share * ARM.limits.velocity
    found.rows["desired"][2 * k, 1] = 1.5 * ARM.limits.velocity
    return found


def canceled(found, at):
    found.canceled = NANO + round(at * NANO)
    return found


def halted(found):
    found.rows["scaling"][round(0.1 / CYCLE) :] = 0.0
    return found


def unrested(found):
    found.rested = None
    return found


def early(found, at):
    """Answered at `at` [s] already."""
    found.answered = NANO + round(at * NANO)
    return found


def second(found, code):
    found.others.append(("second_goal", code))
    return found


@pytest.mark.parametrize(
    "made, message",
    [
        (lambda: fast(trace()), "told_velocity"),
        (lambda: sudden(trace()), "told_step"),
        (lambda: caught(trace("replaced_by_topic"), 0.9), "told_velocity"),
        (lambda: replaced(trace("replaced_by_topic")), "rad off the plan"),
        (lambda: trace(opened=DUE + 0.15), "s late"),
        (lambda: trace(opened=DUE - 0.15), "s late"),
        (lambda: canceled(trace("cancel"), 0.2), "after a cancellation was accepted"),
        (lambda: halted(trace("scaling_stop")), "in a stop"),
        (lambda: trace(opened=None), "release due, 0 made"),
        (lambda: trace("unsafe_goal"), "SUCCESS of an unsafe goal"),
        (lambda: stopped(trace(), 0.15), "rad from the plan's end"),
        (lambda: trace(code="CANCELED"), "nobody asked for it"),
        (lambda: early(trace("cancel", code="CANCELED"), 0.15), "runs on"),
        (lambda: early(trace("cancel", code="CANCELED"), 0.15), "the arm moved for"),
        (lambda: trace(code="REFUSED", message="nothing was sent"), "nothing was sent"),
        (lambda: trace(code="ABORTED", message="the gripper stays closed"), "stays closed"),
        (lambda: trace(code="INTERNAL", message="AttributeError"), "ended with INTERNAL"),
        (lambda: unrested(trace()), "did not come to rest"),
        (lambda: second(trace("second_goal"), "SUCCESS"), "second client"),
        (lambda: replace(trace(), report=None), "no answer"),
        (lambda: replace(trace(), troubles=["driver: Traceback"]), "Traceback"),
    ],
)
def test_each_rule_is_broken_by_what_it_is_about(made, message):
    assert message in wrong(made())


def test_scenes_are_seeded_and_have_every_fault():
    names = queue(np.random.default_rng(1), 300)
    assert set(names) == set(FAULTS) and names == queue(np.random.default_rng(1), 300)
    for name in FAULTS:
        one, other = (
            scene(np.random.default_rng(5), ARM, ARM.home, name, wall=False) for _ in range(2)
        )
        assert one.names == other.names and name in one.names
        assert np.array_equal(one.motion.positions, other.motion.positions, equal_nan=True)
