"""Watching a motion: its own time, the release on it, and what ends it."""

import numpy as np
import pytest

from diffsim_ros.robots.command import NANO
from diffsim_ros.robots.controller import Controller
from diffsim_ros.robots.execution import FIRST, Supervisor, TrajectoryClock, Watch
from tests.robots.motions import ARM, NAMES, NOW, command, swing

MILLI = NANO // 1000


def at(seconds):
    return NOW + round(seconds * NANO)


def test_time_is_the_integral_of_the_speed_scaling():
    clock = TrajectoryClock(swing(), NOW)
    assert clock.at(at(0.2)) == pytest.approx(0.2)
    clock.scale(at(0.2), 0.5)
    assert clock.at(at(0.4)) == pytest.approx(0.3)
    clock.scale(at(0.4), 0.0)
    assert clock.at(at(9.0)) == pytest.approx(0.3)


@pytest.mark.parametrize("off", [-0.12, 0.03, 0.2])
def test_feedback_corrects_it(off):
    clock = TrajectoryClock(swing(), NOW)
    clock.correct(at(0.5), swing().at(0.5 + off)[0])
    assert clock.at(at(0.6)) == pytest.approx(0.6 + off, abs=1e-6)


def test_feedback_that_says_nothing_of_time_is_left_alone():
    clock = TrajectoryClock(swing(), NOW)
    clock.correct(at(0.001), ARM.home)  # nearly at rest: any time near the start fits
    clock.correct(at(0.5), swing().at(0.5)[0] + 0.1)  # elsewhere
    assert clock.at(at(0.5)) == pytest.approx(0.5)


def test_the_first_feedback_corrects_a_start_that_is_known_late():
    """The plan is at rest where the clock believes it is."""
    found = Supervisor(swing(), at(0.195), Watch())
    found.on_feedback(at(0.2), swing().at(0.2)[0], swing().at(0.2)[0])
    assert found.clock.at(at(0.4)) == pytest.approx(0.4, abs=1e-6)


def test_feedback_from_before_a_change_of_speed_says_nothing():
    """It would push the clock of an arm ahead that has just gone on."""
    clock = TrajectoryClock(swing(), NOW)
    clock.scale(at(0.3), 0.0)
    clock.scale(at(0.7), 1.0)
    clock.scale(at(0.75), 1.0)  # as before: no change
    clock.correct(at(0.66), swing().at(0.3)[0])
    clock.follow(at(0.66), swing().at(0.3)[0], 0.0)
    assert clock.at(at(0.8)) == pytest.approx(0.4, abs=1e-9)
    clock.correct(at(0.75), swing().at(0.36)[0])
    assert clock.at(at(0.8)) == pytest.approx(0.41, abs=1e-6)


@pytest.mark.parametrize(("off", "left"), [(-0.06, 0.0), (0.05, 0.0), (-0.12, -0.12)])
def test_the_arms_first_positions_correct_when_it_began(off, left):
    lag, clock = 0.01, TrajectoryClock(swing(), NOW)
    times = 0.3 + 0.008 * np.arange(FIRST)
    for time in times:
        away = 0.01 if time == times[1] else 0.0  # one of them is wrong
        clock.follow(at(time), swing().at(time + off + away - lag)[0], lag)
    assert clock.at(at(0.5)) == pytest.approx(0.5 + off - left, abs=1e-6)
    clock.follow(at(0.4), swing().at(0.33)[0], lag)  # held up
    assert clock.at(at(0.5)) == pytest.approx(0.5 + off - left, abs=1e-6)


def test_a_slow_arm_that_begins_a_little_off_says_nothing():
    clock = TrajectoryClock(swing(), NOW)
    for time in 0.075 + 0.006 * np.arange(FIRST):
        clock.follow(at(time), swing().at(time)[0] - 3e-4, 0.0)
    assert clock.at(at(0.5)) == pytest.approx(0.5, abs=1e-9)


def test_they_do_so_again_after_the_speed_has_changed():
    """Half the speed, which is received 0.06 s late."""
    clock = TrajectoryClock(swing(), NOW)
    for time in 0.3 + 0.008 * np.arange(FIRST):
        clock.follow(at(time), swing().at(time)[0], 0.0)
    clock.scale(at(0.46), 0.5)
    for time in 0.46 + 0.008 * np.arange(FIRST):
        clock.follow(at(time), swing().at(0.4 + 0.5 * (time - 0.4))[0], 0.0)
    assert clock.at(at(0.6)) == pytest.approx(0.5, abs=1e-6)


@pytest.mark.parametrize("scaling", [1.0, 0.6])
def test_the_gripper_is_told_ahead_of_the_release_in_trajectory_time(scaling):
    mock = Controller(NAMES, ARM.home, time=NOW)
    mock.speed_scaling = mock.scaling = scaling
    watch = Supervisor(swing(), NOW, Watch(lead=0.05, lag=0.01))
    watch.on_speed_scaling(NOW, scaling)
    mock.start(command())
    opened = None
    while opened is None:
        mock.step(0.002)
        if mock.time % (48 * MILLI) == 0:
            watch.on_feedback(mock.time, mock.desired.position, mock.position)
        watch.on_joint_state(mock.time, mock.position)
        assert watch.trouble(mock.time) == ""
        opened = mock.elapsed if watch.until_release(mock.time) <= 0.0 else None
    assert opened == pytest.approx(0.6 - scaling * 0.04, abs=0.009)  # a control cycle
    assert watch.lag == pytest.approx(0.008, abs=0.004)  # the mock's delay, within a cycle
    watch.release()
    assert watch.until_release(mock.time) == np.inf
    assert any("scaling of 0.60" in note for note in watch.notes) == (scaling < 1)


def test_nothing_is_released_while_stopped_and_a_long_stop_is_trouble():
    watch = Supervisor(swing(), NOW, Watch(stop_timeout=2.0, state_age=99.0))
    watch.on_speed_scaling(at(0.595), 0.0)
    assert watch.phase(at(0.7)) == "waiting"
    assert watch.until_release(at(1.0)) == np.inf
    assert watch.trouble(at(2.5)) == ""
    assert "stopped for 2.1" in watch.trouble(at(2.7))
    watch.on_speed_scaling(at(2.7), 1.0)
    assert watch.trouble(at(2.7)) == "" and watch.until_release(at(2.7)) == pytest.approx(0.005)
    assert "stopped at 0.595 s" in watch.notes[0] and "went on after 2.1" in watch.notes[1]


@pytest.mark.parametrize("abort", [True, False])
def test_a_late_joint_state_is_told(abort):
    watch = Supervisor(swing(), NOW, Watch(abort_late=abort))
    watch.on_joint_state(at(0.1), ARM.home)
    assert watch.trouble(at(0.3)) == ""
    assert watch.trouble(at(0.39)) == ""
    assert ("no joint state for 0.3 s" in watch.trouble(at(0.4))) == abort
    watch.on_joint_state(at(0.5), ARM.home)
    assert watch.trouble(at(0.5)) == ""
    assert "no joint state" in watch.notes[0] and "again after 0.4 s" in watch.notes[1]


def test_what_waits_to_be_heard_after_a_hiccup_is_no_silence():
    watch = Supervisor(swing(), NOW, Watch())
    for now in (0.4, 0.8, 1.2):
        assert watch.trouble(at(now)) == ""
        watch.on_joint_state(at(now), swing().at(now)[0])
    assert watch.trouble(at(1.3)) == "" and not watch.notes


def watched(seconds, off=0.0, rate=0.0, **bounds):
    """A supervisor that received two states of the plan, the last of them at a time [s]."""
    found = Supervisor(swing(), NOW, Watch(state_age=99.0, **bounds))
    for time in (seconds - 0.008, seconds):
        q, qd, _ = swing().at(time)
        found.on_joint_state(at(time), q + off, qd + rate)
    return found


@pytest.mark.parametrize(
    "off, rate, message",
    [
        (0.0, 0.0, ""),
        (0.05, 0.5, ""),
        (0.3, 0.0, "off its path (at most 0.1)"),
        (0.0, 1.5, "is planned (at most 1 beyond)"),
        (0.0, -2.5, "is planned (at most 1 beyond)"),
    ],
)
def test_the_arm_is_held_against_the_plan(off, rate, message):
    away = off * np.array([1.0, -1.0, 1.0, 1.0, 1.0, 1.0])  # across the path
    trouble = watched(0.5, away, rate * np.eye(6)[0]).trouble(at(0.5))
    assert (message in trouble) if message else trouble == ""


def test_one_odd_state_is_no_trouble_and_a_slowed_arm_is_none():
    found = watched(0.5)
    found.on_joint_state(at(0.508), swing().at(0.5)[0] - 1.0, np.zeros(6))
    assert found.trouble(at(0.508)) == ""
    found.on_joint_state(at(0.516), *swing().at(0.516)[:2])
    assert found.trouble(at(0.516)) == ""
    slowed = Supervisor(swing(), NOW, Watch(state_age=99.0))
    for time in (0.5, 0.508):  # a protective stop that is not known yet
        slowed.on_joint_state(at(time), swing().at(0.4)[0], np.zeros(6))
    assert slowed.trouble(at(0.508)) == ""


def test_a_controller_that_runs_another_trajectory_is_trouble():
    found = watched(0.5)
    for time in (0.5, 0.55):
        assert found.trouble(at(time)) == ""
        found.on_feedback(at(time), swing().at(time)[0] - 0.2 * np.eye(6)[1], ARM.home)
    assert "the controller runs another trajectory" in found.trouble(at(0.55))


@pytest.mark.parametrize(
    "now, off, rate, message",
    [
        (0.6, 0.0, 0.0, ""),
        (0.64, 0.0, 0.0, ""),
        (0.66, 0.0, 0.0, "the release is 0.06 s late (at most 0.05)"),
        (0.6, 0.12, 0.0, "0.12 off its place (at most 0.1)"),
        (0.6, 0.0, -0.6, "0.6 off its velocity (at most 0.5)"),
    ],
)
def test_the_gripper_opens_only_within_bounds(now, off, rate, message):
    found = watched(now - 0.004, off * np.eye(6)[2], rate * np.eye(6)[0])
    fault = found.release_fault(at(now))
    assert (message in fault) if message else fault == ""


@pytest.mark.parametrize(
    ("beside", "message"),
    [
        (0.0, ""),
        (0.04, ""),
        (0.07, "s ahead of the plan (at most 0.05)"),
        (-0.07, "s behind the plan (at most 0.05)"),
    ],
)
def test_the_gripper_opens_only_where_the_arm_is_in_time(beside, message):
    """Wide bounds of place and velocity allow another time of the plan."""
    found = Supervisor(swing(), NOW, Watch(release_path=1.0, release_velocity=9.0))
    found.on_joint_state(at(0.596), *swing().at(0.596 + beside)[:2])
    fault = found.release_fault(at(0.6))
    assert (message in fault) if message else fault == ""


@pytest.mark.parametrize(
    ("began", "message"), [(-0.1, ""), (0.04, ""), (0.1, "0.1 s behind where")]
)
def test_a_controller_cannot_have_begun_after_it_accepted(began, message):
    """By how much before it did the answer leaves open."""
    found = Supervisor(swing(), NOW, Watch())
    for now in (0.35, 0.4):
        found.on_feedback(at(now), swing().at(now - began)[0], swing().at(now - began)[0])
    found.on_joint_state(at(0.6 + began), *swing().at(0.6)[:2])
    fault = found.release_fault(at(0.6 + began))
    assert (message in fault) if message else fault == ""


@pytest.mark.parametrize(("beside", "message"), [(0.07, "ahead of the plan"), (-0.055, "")])
def test_a_slow_arm_shows_its_time_but_for_the_millimetre_where_it_began(beside, message):
    """Half a radian in 10 s: in 0.07 s each joint moves some mrad, within any bound of place."""
    slow = swing(duration=10.0, release=6.0)
    assert 0.1 < np.linalg.norm(slow.at(5.996)[1]) < 0.3
    found = Supervisor(slow, NOW, Watch())
    found.on_joint_state(at(5.996), *slow.at(5.996 + beside)[:2])
    fault = found.release_fault(at(6.0))
    assert (message in fault) if message else fault == ""


def test_the_lag_that_feedback_tells_does_not_count_as_late():
    found, lag = Supervisor(swing(), NOW, Watch(release_path=1.0, release_velocity=9.0)), 0.07
    for time in (0.4, 0.45, 0.5, 0.55):
        found.on_feedback(at(time), swing().at(time)[0], swing().at(time - lag)[0])
    found.on_joint_state(at(0.596), *swing().at(0.596 - lag)[:2])
    assert found.release_fault(at(0.6)) == ""


@pytest.mark.parametrize("scaling", [1.0, 0.5])
def test_a_controller_that_falls_behind_its_own_begin_does_not_release(scaling):
    """Another trajectory that begins where the arm is passes by places of the plan, too."""
    found = Supervisor(swing(), NOW, Watch(release_path=1.0, release_velocity=9.0))
    found.on_feedback(at(0.27), swing().at(0.3)[0], swing().at(0.3)[0])
    found.on_feedback(at(0.37), swing().at(0.4)[0], swing().at(0.4)[0])
    found.on_speed_scaling(at(0.37), scaling)
    slow, behind = (0.5, 0.0) if scaling < 1.0 else (1.0, 0.06)
    for now in (0.5, 0.55, 0.6):  # the first of them counts from the change of speed
        there = swing().at(0.4 + slow * (now - 0.37) - behind * (now - 0.37) / 0.23)[0]
        found.on_feedback(at(now), there, there)
    release = 0.6 + (0.6 - found.clock.at(at(0.6))) / slow
    found.on_joint_state(at(release), *swing().at(found.clock.at(at(release)))[:2])
    fault = found.release_fault(at(release))
    if scaling < 1.0:
        assert fault == ""
    else:
        assert "0.06 s behind where its own begin and speed lead (at most 0.05)" in fault


def test_a_release_waits_for_a_joint_state_and_not_at_low_speed():
    found = watched(0.52)
    assert found.release_fault(at(0.61)) is None
    found.on_joint_state(at(0.612), *swing().at(0.612)[:2])
    assert found.release_fault(at(0.615)) == ""
    slow = Supervisor(swing(), NOW, Watch(state_age=99.0))
    slow.on_speed_scaling(NOW, 0.25)
    q, qd, _ = swing().at(0.6)
    slow.on_joint_state(at(2.4), q, 0.25 * qd)
    assert "off its velocity" in slow.release_fault(at(2.4))


def test_lateness_is_what_a_look_came_later_than_due():
    found = watched(0.5, period=0.01)
    for now in (0.01, 0.02, 0.15, 0.16):
        found.look(at(now))
    assert found.latest == pytest.approx(0.12, abs=1e-9) and found.lateness == pytest.approx(0.0)


def test_a_robot_that_does_not_arrive_is_trouble():
    watch = Supervisor(swing(), NOW, Watch(settle=1.0, state_age=99.0))
    watch.on_joint_state(at(1.5), ARM.home, compare=True)
    assert watch.phase(at(1.5)) == "settling" and watch.trouble(at(1.5)) == ""
    assert "0.5 off" in watch.trouble(at(2.1)) and watch.worst == pytest.approx(0.5)


@pytest.mark.parametrize("first", ["state", "look"])
def test_a_clock_that_is_set_back_is_trouble_also_where_a_state_comes_before_the_check(first):
    found = watched(0.5)
    assert found.look(at(0.505)) == ""
    if first == "state":  # the robot's computer has the same clock
        found.on_joint_state(at(-2.995), *swing().at(0.505)[:2])
    assert "the clock was set back by" in found.look(at(-2.99))
    assert found.reached(at(-2.98)) == pytest.approx(0.505)  # where a stop has to begin


def test_no_release_at_a_velocity_that_is_not_known():
    """As of a robot without velocities after a gap: nothing says how fast the arm is."""
    found, unknown = watched(0.59), np.array([np.nan] + 5 * [0.0])
    q, qd, _ = swing().at(0.596)
    found.on_joint_state(at(0.596), q, qd + unknown)
    assert found.release_fault(at(0.6)) is None
    found.on_joint_state(at(0.604), *swing().at(0.604)[:2])
    assert found.release_fault(at(0.605)) == ""


def test_a_velocity_that_is_not_known_hides_no_other():
    beside = np.array([np.nan, 0.0, 0.0, 0.0, 0.0, 2.5])
    assert "is planned (at most 1 beyond)" in watched(0.5, rate=beside).trouble(at(0.5))
    found = watched(1.2, rate=np.array([np.nan, 0.0, 0.0, 0.0, 0.0, 0.3]))
    assert found.phase(at(1.2)) == "settling" and not found.has_arrived(at(1.2))
