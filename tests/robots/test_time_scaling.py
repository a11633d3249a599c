"""Motions under limits: seen at ten times as many points as they have."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy.interpolate import BPoly

from diffsim_ros.errors import InputError
from diffsim_ros.robots import quintic
from diffsim_ros.robots.arm import Limits, load_arm
from diffsim_ros.robots.time_scaling import (
    PERIOD,
    fastest,
    peaks,
    point_to_point,
    stretch_needed,
    stretched,
    through_state,
)
from diffsim_ros.robots.trajectory import JointTrajectory

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("a", "b")
LIMITS = Limits(*(np.array(v, float) for v in ([-2, -1], [2, 3], [3, 2], [10, 8], [200, 100])))


@pytest.fixture(scope="module")
def arm():
    pytest.importorskip("urchin")
    return load_arm(ROOT / "config" / "robots" / "ur5.yaml")


def observed(trajectory, points=20_001):
    """Largest |q'|, |q''|, |q'''| (3, j) and range of q (2, j) of SciPy's curve, at many points."""
    rows = [trajectory.positions, trajectory.velocities, trajectory.accelerations]
    curve = BPoly.from_derivatives(trajectory.times, np.stack(rows, axis=1))
    knots = trajectory.times[1:-1]  # where the jerk jumps: both sides
    times = np.linspace(0, trajectory.duration, points)
    times = np.concatenate([times, knots - 1e-9, knots + 1e-9])
    q = curve(times)
    rates = np.stack([np.abs(curve.derivative(k)(times)).max(axis=0) for k in (1, 2, 3)])
    return rates, np.stack([q.min(axis=0), q.max(axis=0)])


def assert_keeps(trajectory, limits):
    rates, (low, high) = observed(trajectory)
    assert np.all(low >= limits.lower - 1e-12) and np.all(high <= limits.upper + 1e-12)
    most = np.stack([limits.velocity, limits.acceleration, limits.jerk])
    assert np.all(rates <= most * (1 + 1e-9))
    assert np.all(np.diff(trajectory.times) > 0) and trajectory.times[0] == 0
    for row in (trajectory.velocities, trajectory.accelerations):
        assert not row[[0, -1]].any()


def test_peaks_are_those_of_the_curve_between_points():
    rng = np.random.default_rng(0)
    times = np.cumsum(rng.uniform(0.05, 0.4, 12))
    wild = JointTrajectory(NAMES, times - times[0], *rng.normal(size=(3, 12, 2)) * 3)
    found, (rates, (low, high)) = peaks(wild), observed(wild)
    for name, value in zip(("velocity", "acceleration", "jerk"), rates, strict=True):
        assert np.all(found[name] >= value * (1 - 1e-12)), name
        assert found[name] == pytest.approx(value, rel=2e-4), name
    assert found["lower"] == pytest.approx(low, abs=1e-5) and np.all(found["lower"] <= low)
    assert found["upper"] == pytest.approx(high, abs=1e-5) and np.all(found["upper"] >= high)


def test_samples_of_quintics_are_the_same_curve():
    rng = np.random.default_rng(1)
    knots, states = np.array([0, 0.31, 0.5]), rng.normal(size=(3, 3, 2))
    few = JointTrajectory(NAMES, knots, *states)
    times, rows = quintic.sampled(knots, states, PERIOD)
    many = JointTrajectory(NAMES, times, *rows)
    at = np.linspace(0, 0.5, 777)
    for one, other in zip(few.at(at), many.at(at), strict=True):
        assert one == pytest.approx(other, abs=1e-7)
    assert set(knots) <= set(times) and np.diff(times).max() <= PERIOD + 1e-12


def test_the_fastest_of_a_way_touches_a_limit_and_keeps_the_others():
    slow = stretched(point_to_point(LIMITS, [-1, 0], [1.5, 2.5], names=NAMES), 3.0)
    quick = fastest(slow, LIMITS)
    assert_keeps(quick, LIMITS)
    factor, joint, quantity = stretch_needed(peaks(quick), LIMITS)
    assert factor == pytest.approx(1, abs=1e-5) and (joint, quantity) == (1, "velocity")
    assert quick.duration == pytest.approx(slow.duration / 3, rel=1e-5)
    assert stretch_needed(peaks(stretched(quick, 0.5)), LIMITS)[0] == pytest.approx(2, rel=1e-5)
    beyond = replace(slow, positions=slow.positions + np.array([1, 0]))
    with pytest.raises(InputError, match=r"a position: got 2\.5\d*; accepted: from -2 to 2"):
        fastest(beyond, LIMITS)


def test_throws_of_the_ur5_keep_limits_and_pass_through_the_release(arm):
    rng, names = np.random.default_rng(2), arm.robot.joint_names
    for k in range(12):
        release = rng.uniform(-2.5, 2.5, 6)
        speed = rng.uniform(-1, 1, 6) * arm.limits.velocity
        hold = (0.0, 0.03)[k % 2]
        end = arm.home if k % 3 else None
        motion = through_state(arm.limits, arm.home, release, speed, end, names=names, hold=hold)
        assert_keeps(motion, arm.limits)
        q, qd, _ = motion.at(motion.release)
        assert q == pytest.approx(release, abs=1e-9) and qd == pytest.approx(speed, abs=1e-9)
        assert motion.positions[0].tolist() == arm.home.tolist()
        for shift in (-hold / 2, hold / 2):
            assert motion.at(motion.release + shift)[1] == pytest.approx(speed, abs=1e-7)
        if end is not None:
            assert motion.positions[-1] == pytest.approx(end, abs=1e-12)


def test_the_quicker_way_is_taken():
    """From near the release a swing back is shorter than one quintic, from far away it is not."""
    near = through_state(LIMITS, [0, 0], [0.1, 0.1], [2, 1], names=NAMES)
    assert near.positions[:, 0].min() < -0.1
    far = through_state(LIMITS, [-1.5, -0.8], [1, 1], [1.5, 1], names=NAMES)
    before = far.times <= far.release
    assert np.all(np.diff(far.positions[before], axis=0) > -1e-9)


REFUSED = [
    (([0, 0], [1, 1], [3.5, 0]), r"release: a velocity: got 3\.5; accepted: at most 3"),
    (([0, 0], [1, 4], [1, 0]), r"release: b position: got 4\.0; accepted: from -1 to 3"),
    (([0, 0], [1, 1], [np.nan, 0]), "release velocity.*2 finite numbers"),
    (([0, 0], [1.9, 1], [3, 0]), r"a follow-through: got 2\.\d+; accepted: from -2 to 2"),
    (([-1.9, 0], [-1.9, 1], [3, 0]), r"a wind-up: got -2\.\d+; accepted: from -2 to 2"),
    (([5, 0], [1, 1], [1, 0]), r"start: a position: got 5\.0"),
]


@pytest.mark.parametrize(("given", "message"), REFUSED)
def test_what_cannot_be_is_refused_with_joint_and_limit(given, message):
    with pytest.raises(InputError, match=message):
        through_state(LIMITS, *given, names=NAMES)


def test_no_motion_at_all_is_a_motion():
    still = point_to_point(LIMITS, [1, 1], [1, 1], names=NAMES)
    assert still.times.tolist() == [0, PERIOD] and not still.velocities.any()
    assert fastest(still, LIMITS).duration == PERIOD
