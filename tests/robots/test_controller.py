"""The mock controller does what ros2_controllers' does, from acceptance to giving up."""

from dataclasses import replace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.robots.command import NANO, CommandPoint, JointCommand
from diffsim_ros.robots.controller import (
    GOAL_TOLERANCE_VIOLATED,
    INVALID_GOAL,
    PATH_TOLERANCE_VIOLATED,
    SUCCESSFUL,
    Controller,
    Settings,
    rejection,
)
from diffsim_ros.robots.gripper import Gripper
from diffsim_ros.robots.interpolation import approach_rule
from diffsim_ros.robots.tracking import Dynamics, Tracking
from tests.robots.motions import (
    ARM,
    GOOD_ODD,
    NAMES,
    NOW,
    command,
    later,
    shifted,
    swing,
    with_point,
    with_value,
    without,
)

GOOD = command()
QUICK = Settings(dynamics=Dynamics(bandwidth=2000.0, delay=0.0))
"""Joints at their commanded positions."""


def controller(settings=None):
    return Controller(NAMES, ARM.home, settings, time=NOW)


def run(mock, limit=20.0, step=0.004):
    """Until it ends: the outcome, and how long it took [s]."""
    begin = mock.time
    while (mock.time - begin) / NANO < limit:
        outcome = mock.step(step)
        if outcome:
            return outcome, (mock.time - begin) / NANO
    return None, limit


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (replace(GOOD, names=NAMES[:5]), "5 joints"),
        (replace(GOOD, names=()), "0 joints"),
        (replace(GOOD, points=()), "empty"),
        (replace(GOOD, names=(*NAMES[:5], "gripper")), "'gripper'"),
        (with_value(GOOD, -1, "velocities", 0, 2e-7), "last point"),
        (replace(GOOD, stamp=NOW - 2 * NANO), "past"),
        (with_point(GOOD, 2, time=GOOD.points[1].time), "point 2"),
        (without(GOOD, "positions"), "0 positions"),
        (with_point(GOOD, 1, velocities=(0.0,)), "1 velocities"),
        (with_point(GOOD, 1, accelerations=(0.0,) * 7), "7 accelerations"),
        (with_point(GOOD, 1, effort=(0.0,) * 6), "effort"),
    ],
)
def test_it_rejects_what_the_real_one_rejects(wrong, message):
    assert message in rejection(wrong, NAMES, NOW)


@pytest.mark.parametrize(
    "accepted",
    [
        GOOD,
        replace(GOOD, points=GOOD.points[-1:]),
        replace(GOOD, stamp=NOW - NANO // 2),
        with_value(GOOD, -1, "velocities", 0, 1e-7),
        with_value(GOOD, 3, "positions", 0, np.nan),
        shifted(GOOD, 20.0),
        without(GOOD, "velocities", "accelerations"),
        with_point(GOOD, 3, velocities=(), accelerations=()),
    ],
)
def test_it_accepts_what_the_real_one_accepts(accepted):
    assert rejection(accepted, NAMES, NOW) == ""


def test_it_interpolates_as_ros2_controllers_does():
    """Trajectory::interpolate_between_points, at the middle of one segment of each kind."""
    h = 0.4
    a, b = np.full(6, 0.1), np.linspace(0.2, 0.7, 6)
    va, vb, aa, ab = 0.3 * b, -0.2 * b, 0.5 * b, 0.4 * b
    linear = (a + b) / 2
    cubic = linear + h / 8 * (va - vb)
    quintic = linear + 5 * h / 32 * (va - vb) + h**2 / 64 * (aa + ab)
    for count, expected in ((1, linear), (2, cubic), (3, quintic)):
        points = [
            CommandPoint(int(t * NANO), *map(tuple, rows[:count]))
            for t, rows in ((0.0, (a, va, aa)), (h, (b, vb, ab)))
        ]
        mock = controller()
        mock.start(JointCommand(NAMES, tuple(points)), path=np.inf)
        mock.step(h / 2)
        np.testing.assert_allclose(mock.desired.position, expected, atol=1e-12)


def test_a_late_first_point_is_blended_and_one_at_zero_jumps():
    mock, away = controller(QUICK), shifted(GOOD, 0.3)
    mock.start(later(away, 0.4))
    mock.step(0.2 + 0.004)
    np.testing.assert_allclose(mock.desired.position, ARM.home + 0.15, atol=1e-9)
    mock = controller(QUICK)
    mock.start(shifted(GOOD, 0.15))
    mock.step(0.008)
    np.testing.assert_allclose(mock.position, ARM.home + 0.15, atol=1e-3)
    mock = controller(QUICK)
    mock.start(away)  # farther than the path's tolerance: given up before it is commanded
    assert mock.step(0.1).code == PATH_TOLERANCE_VIOLATED
    np.testing.assert_allclose(mock.position, ARM.home)


@pytest.mark.parametrize("version", ["4.35.0", "4.36.0"])
def test_a_later_first_point_is_approached_as_this_version_does(version):
    """From rest to rest 3 s^2 - 2 s^3 before 4.36, 10 s^3 - 15 s^4 + 6 s^5 since."""
    mock = controller(replace(QUICK, version=version))
    mock.start(later(shifted(GOOD, 0.3), 0.4))
    mock.step(0.1)
    s = mock.elapsed / 0.4
    exact = 3 * s**2 - 2 * s**3 if version == "4.35.0" else 10 * s**3 - 15 * s**4 + 6 * s**5
    np.testing.assert_allclose(mock.desired.position, ARM.home + 0.3 * exact, atol=1e-12)


def test_versions_are_read_and_what_is_none_is_refused():
    rules = {"2.50.2": "cubic", "4.35": "cubic", "4.36": "quintic", "4.40.1": "quintic"}
    assert {version: approach_rule(version) for version in rules} == rules
    for wrong in ("", "jazzy", "4", "4.x", "four.36"):
        with pytest.raises(InputError, match="version: got"):
            Settings(version=wrong)


def test_it_ends_at_the_goal_and_follows_with_a_lag():
    mock = controller()
    assert mock.start(GOOD) is None
    outcome, time = run(mock)
    assert outcome.code == SUCCESSFUL and time == pytest.approx(1.0, abs=0.02)
    mock.step(0.3)
    np.testing.assert_allclose(mock.position, swing().positions[-1], atol=1e-6)
    mock = controller()
    mock.start(GOOD)
    mock.step(0.5)
    behind = swing().at(0.5)[0] - mock.position
    lag = behind[0] / swing().at(0.5)[1][0]
    assert 0.004 < lag < 0.03


def test_time_is_stretched_by_the_speed_scaling_and_the_path_is_kept():
    mock = controller()
    mock.speed_scaling = 0.5
    mock.step(0.2)
    mock.start(GOOD)
    assert run(mock)[1] == pytest.approx(2.0, abs=0.03)
    mock = controller()
    mock.start(GOOD)
    mock.step(0.5)
    mock.speed_scaling = 0.0
    mock.step(0.5)
    held = mock.position
    mock.step(1.0)
    assert np.abs(mock.velocity).max() < 1e-6 and mock.active
    np.testing.assert_allclose(mock.position, held, atol=1e-6)
    np.testing.assert_allclose(swing().at(mock.elapsed)[0], mock.position, atol=1e-4)
    mock.speed_scaling = 1.0
    assert run(mock)[0].code == SUCCESSFUL


def test_joints_that_cannot_follow_violate_the_tolerances():
    slow = Settings(dynamics=Dynamics(bandwidth=4.0, feedforward=0.0))
    mock = controller(slow)
    mock.start(GOOD)
    outcome, _ = run(mock)
    assert outcome.code == PATH_TOLERANCE_VIOLATED and "off" in outcome.text
    assert not mock.active
    mock.start(GOOD, path=9.0)
    mock.step(1.2)
    assert mock.active  # UR's goal_time is 0: it waits
    assert run(mock)[0].code == SUCCESSFUL
    mock = controller(slow)
    mock.start(GOOD, path=9.0, goal=1e-3, goal_time=0.05)
    assert run(mock)[0].code == GOAL_TOLERANCE_VIOLATED


@pytest.mark.parametrize("deceleration", [np.inf, 20.0])
def test_a_cancelled_motion_stops_at_once_and_holds(deceleration):
    mock = controller(Settings(deceleration=deceleration))
    assert mock.cancel() is None
    mock.start(GOOD)
    mock.step(0.5)
    speed, place = np.abs(mock.velocity).max(), mock.position
    assert mock.cancel().canceled and not mock.active
    mock.step(1.0)
    assert np.abs(mock.velocity).max() < 1e-6
    assert np.abs(mock.position - place).max() < speed**2 / 40 + 0.02


def test_a_new_trajectory_takes_the_place_of_the_old():
    mock = controller()
    mock.start(GOOD)
    mock.step(0.5)
    before = mock.start(later(GOOD, 0.5))
    assert before.code == INVALID_GOAL and before.canceled
    assert run(mock)[0].code == SUCCESSFUL


def test_a_replaced_trajectory_does_not_end_what_runs():
    mock, other = controller(), shifted(later(GOOD, 0.6), 0.1)
    mock.start(GOOD, goal=0.02)
    mock.step(0.5)
    before = mock.desired.position
    assert mock.replace(other) is None and mock.active
    mock.step(0.008)
    assert np.abs(mock.desired.position - before).max() < 0.02  # from where the joints are
    outcome, time = run(mock)
    assert outcome.code == SUCCESSFUL and not outcome.canceled
    assert time == pytest.approx(1.6, abs=0.03)  # when the new one ends
    mock.step(0.3)
    np.testing.assert_allclose(mock.position, other.points[-1].positions, atol=1e-6)
    mock.start(GOOD, path=0.05)
    mock.step(0.2)
    mock.replace(shifted(GOOD, 0.3))  # the tolerances in force are the goal's
    assert run(mock)[0].code == PATH_TOLERANCE_VIOLATED


def test_a_last_point_too_far_away_is_given_up_before_it_is_commanded():
    mock = controller(QUICK)
    mock.start(replace(shifted(GOOD, 0.5), points=shifted(GOOD, 0.5).points[:1]))
    assert mock.step(0.1).code == PATH_TOLERANCE_VIOLATED
    np.testing.assert_allclose(mock.position, ARM.home)


def test_duplicate_names_do_what_the_real_one_does():
    """The last column counts; the joint left out gets the number that was sorted there before."""
    twice = replace(GOOD, names=(NAMES[1], *NAMES[1:]))
    assert rejection(twice, NAMES, NOW) == ""
    mock = controller(replace(QUICK, path=9.0, goal=9.0))
    mock.start(twice)
    mock.step(0.5)
    found = mock.desired
    assert found.position[0] == found.velocity[0] == 0.0
    np.testing.assert_allclose(found.position[1:], swing().at(mock.elapsed)[0][1:])
    run(mock)
    mock.start(with_value(GOOD, -1, "accelerations", 0, 0.7))
    run(mock)
    mock.start(without(twice, "velocities", "accelerations"))
    mock.step(0.5)
    assert mock.desired.position[0] == pytest.approx(0.7)


@pytest.mark.parametrize("odd", GOOD_ODD.values(), ids=GOOD_ODD)
def test_nothing_odd_that_is_accepted_raises_or_makes_joints_no_number(odd):
    assert rejection(odd, NAMES, NOW) == ""
    for begin, tolerance in ((Controller.start, 0.2), (Controller.replace, np.inf)):
        mock = controller(Settings(path=tolerance, goal=tolerance))
        begin(mock, odd)
        mock.step(1.5)
        mock.cancel()
        mock.step(0.1)
        assert np.isfinite([mock.position, mock.velocity]).all()


def test_each_trajectory_has_its_own_beginning():
    mock = controller()
    mock.start(GOOD)
    assert mock.begun is None
    run(mock)
    first = mock.begun
    assert NOW <= first <= NOW + 0.008 * NANO
    mock.start(replace(GOOD, stamp=0))
    assert mock.begun is None
    message = mock.time
    run(mock)
    assert message <= mock.begun <= message + 0.008 * NANO


def test_a_stamp_ahead_is_waited_for():
    mock = controller()
    mock.start(replace(GOOD, stamp=NOW + NANO // 2))
    assert run(mock)[1] == pytest.approx(1.5, abs=0.02)


def test_the_steps_in_which_it_advances_do_not_matter():
    fine, coarse = controller(), controller()
    for mock, step, count in ((fine, 0.002, 400), (coarse, 0.4, 2)):
        mock.start(GOOD)
        for _ in range(count):
            mock.step(step)
    np.testing.assert_allclose(fine.position, coarse.position, atol=1e-12)
    np.testing.assert_allclose(fine.velocity, coarse.velocity, atol=1e-11)


def test_a_clock_that_is_set_moves_nothing():
    mock, other = controller(), controller()
    for one in (mock, other):
        one.start(GOOD)
        one.step(0.5)
    mock.set_clock(5 * NANO)
    for one in (mock, other):
        one.step(0.1)
    assert mock.time == 5 * NANO + NANO // 10
    np.testing.assert_allclose(mock.position, other.position, atol=1e-12)
    for one in (mock, other):
        one.cancel()
        one.step(0.004)
    mock.set_clock(NOW)
    for one in (mock, other):
        one.step(0.1)
    np.testing.assert_allclose(mock.position, other.position, atol=1e-12)


@pytest.mark.parametrize("damping", [0.3, 1.0, 2.5])
def test_joints_obey_their_equation(damping):
    from scipy.integrate import solve_ivp

    w, f, delay = 30.0, 0.7, 0.01
    joints = Tracking(np.zeros(1), Dynamics(w, damping, delay, f))
    joints.command(np.array([0.2]), np.array([0.5]))
    joints.advance(NANO // 10)

    def rate(t, y):
        return [y[1], w**2 * (0.2 + 0.5 * t - y[0]) + 2 * damping * w * (f * 0.5 - y[1])]

    exact = solve_ivp(rate, (0.0, 0.1 - delay), [0.0, 0.0], rtol=1e-10, atol=1e-12).y[:, -1]
    found = [joints.position[0], joints.velocity[0]]
    np.testing.assert_allclose(found, exact, rtol=1e-7)


def test_a_gripper_opens_late_and_once():
    gripper = Gripper(latency=0.05)
    assert gripper.command(True, NOW) == NOW + 50_000_000
    gripper.command(True, NOW + 1)
    assert gripper.advance(NOW + 49_999_999) == [] and not gripper.is_open
    assert gripper.advance(NOW + NANO) == [(NOW + 50_000_000, True)] and gripper.is_open
