"""Watching a motion: its own time, the release on it, and what ends it."""

import numpy as np
import pytest

from diffsim_ros.robots.command import NANO
from diffsim_ros.robots.controller import Controller
from diffsim_ros.robots.execution import Supervisor, TrajectoryClock, Watch
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


@pytest.mark.parametrize("scaling", [1.0, 0.6])
def test_the_gripper_is_told_ahead_of_the_release_in_trajectory_time(scaling):
    mock = Controller(NAMES, ARM.home, time=NOW)
    mock.speed_scaling = mock.scaling = scaling
    watch = Supervisor(swing(), NOW, Watch(lead=0.05, lag=0.01))
    watch.hear_scaling(NOW, scaling)
    mock.start(command())
    told = None
    while told is None:
        mock.step(0.002)
        if mock.time % (48 * MILLI) == 0:
            watch.hear_feedback(mock.time, mock.desired.position, mock.position)
        watch.hear_state(mock.time, mock.position)
        assert watch.trouble(mock.time) == ""
        told = mock.elapsed if watch.until_release(mock.time) <= 0.0 else None
    assert told == pytest.approx(0.6 - scaling * 0.04, abs=0.009)  # a control cycle
    assert watch.lag == pytest.approx(0.008, abs=0.004)  # the mock's delay, within a cycle
    watch.release()
    assert watch.until_release(mock.time) == np.inf
    assert any("scaling of 0.60" in note for note in watch.notes) == (scaling < 1)


def test_nothing_is_released_while_stopped_and_a_long_stop_is_trouble():
    watch = Supervisor(swing(), NOW, Watch(stop_timeout=2.0, state_age=99.0))
    watch.hear_scaling(at(0.595), 0.0)
    assert watch.phase(at(0.7)) == "waiting"
    assert watch.until_release(at(1.0)) == np.inf
    assert watch.trouble(at(2.5)) == ""
    assert "stopped for 2.1" in watch.trouble(at(2.7))
    watch.hear_scaling(at(2.7), 1.0)
    assert watch.trouble(at(2.7)) == "" and watch.until_release(at(2.7)) == pytest.approx(0.005)
    assert "stopped at 0.595 s" in watch.notes[0] and "went on after 2.1" in watch.notes[1]


@pytest.mark.parametrize("abort", [True, False])
def test_a_late_joint_state_is_told(abort):
    watch = Supervisor(swing(), NOW, Watch(abort_late=abort))
    watch.hear_state(at(0.1), ARM.home)
    assert watch.trouble(at(0.3)) == ""
    assert watch.trouble(at(0.39)) == ""
    assert ("no joint state for 0.3 s" in watch.trouble(at(0.4))) == abort
    watch.hear_state(at(0.5), ARM.home)
    assert watch.trouble(at(0.5)) == ""
    assert "no joint state" in watch.notes[0] and "again after 0.4 s" in watch.notes[1]


def test_what_waits_to_be_heard_after_a_hiccup_is_no_silence():
    watch = Supervisor(swing(), NOW, Watch())
    for now in (0.4, 0.8, 1.2):
        assert watch.trouble(at(now)) == ""
        watch.hear_state(at(now), swing().at(now)[0])
    assert watch.trouble(at(1.3)) == "" and not watch.notes


def test_a_robot_that_does_not_arrive_is_trouble():
    watch = Supervisor(swing(), NOW, Watch(settle=1.0, state_age=99.0))
    watch.hear_state(at(1.5), ARM.home, compare=True)
    assert watch.phase(at(1.5)) == "settling" and watch.trouble(at(1.5)) == ""
    assert "0.5 off" in watch.trouble(at(2.1)) and watch.worst == pytest.approx(0.5)
