"""Sensors with clocks and frames of their own: residuals, and partials by state and parameters."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.clock import Clock, NamedNumbers
from diffsim_ros.inverse.marker_track import MarkerTrack, RigidPoints
from diffsim_ros.inverse.pose_stream import PoseStream
from tests.inverse.partials import check_own, check_partials
from tests.inverse.test_marker_track import RIGID

T = 0.1
STAMPS = np.array([0.08, 0.15, 0.21, 0.36])
PIVOT = NamedNumbers((0.02, 0.0, 0.1, 0.4, -0.2, 0.1), ("px", "", "pz", "ax", "ay", "az"))
ORIGIN = NamedNumbers((0.1, 0.2, 0.3), ("sx", "", "sz"))
CLOCK = Clock(0.03, 0.02, "delay", "drift")
VALUES = {
    "px": 0.03, "pz": 0.12, "ax": 0.3, "ay": -0.1, "az": 0.2, "sx": 0.15, "sz": 0.25,
    "delay": 0.025, "drift": 0.015,
}  # fmt: skip
SPIN, SPEED = np.array([0.5, -1.0, 2.0]), np.array([1.0, 0.3, -0.5])


def states(t):
    """Places (n, 3) and turns of a body that flies and spins steadily."""
    t = np.asarray(t)
    places = t[:, None] * SPEED - [0, 0, 4.9] * t[:, None] ** 2
    return places, Rotation.from_rotvec(t[:, None] * SPIN)


def flight(rows=6):
    """A rollout of it; the body stands second."""
    t = T * np.arange(rows)
    places, turns = states(t)
    velocity = SPEED - [0, 0, 9.8] * t[:, None]
    two = {
        "position": places, "orientation": turns.as_quat(), "velocity": velocity,
        "angular_velocity": np.tile(SPIN, (rows, 1)),
    }  # fmt: skip
    return SimpleNamespace(**{k: np.stack([v, v], axis=1) for k, v in two.items()})


def readings(values):
    """Poses that such a sensor shows at STAMPS, exactly."""
    places, turns = states((1 + values["drift"]) * STAMPS - values["delay"])
    pivot, origin = PIVOT.at(values), ORIGIN.at(values)
    observed = places + turns.apply(pivot[:3]) - origin
    return observed, (turns * Rotation.from_rotvec(pivot[3:])).as_quat()


def stream(**more):
    observed, turned = readings(VALUES)
    options = {"clock": CLOCK, "pivot": PIVOT, "origin": ORIGIN} | more
    return PoseStream("cube", STAMPS, T, observed, turned, 0.01, 0.05, **options)


def test_a_sensor_that_is_understood_leaves_nothing():
    # a steady turn is no cubic: (0.2 rad)^4 / 384 of it is left between rows
    assert np.abs(stream().term(flight(), RIGID, VALUES).residual).max() < 2e-3


def test_the_turn_is_that_from_measured_to_simulated():
    small = Rotation.from_rotvec([0.02, -0.03, 0.01])
    observed, turned = readings(VALUES)
    turned = (small.inv() * Rotation.from_quat(turned)).as_quat()
    options = {"clock": CLOCK, "pivot": PIVOT, "origin": ORIGIN}
    track = PoseStream("cube", STAMPS, T, observed, turned, 0.01, 0.05, **options)
    residual = track.term(flight(), RIGID, VALUES).residual[:, 3:]
    np.testing.assert_allclose(0.05 * residual, np.tile(small.as_rotvec(), (4, 1)), atol=5e-5)


@pytest.mark.parametrize("turning", [True, False])
def test_partials_by_the_state(turning):
    observed, turned = readings(VALUES)
    noise = np.random.default_rng(0).normal(size=(4, 3))
    turned = (Rotation.from_rotvec(noise) * Rotation.from_quat(turned)).as_quat()
    rest = {"pivot": NamedNumbers(PIVOT.numbers, ("",) * 6), "clock": Clock(0.03, 0.02)}
    track = PoseStream("cube", STAMPS, T, observed, turned if turning else None, 0.1, 0.2, **rest)
    check_partials(track, flight(), RIGID)


def markers():
    carrier = RigidPoints(np.random.default_rng(1).normal(size=(2, 3)))
    observed = np.random.default_rng(2).normal(size=(4, 2, 3))
    observed[1, 0] = np.nan
    return MarkerTrack("cube", STAMPS, T, carrier, observed, 0.1, clock=CLOCK, origin=ORIGIN)


@pytest.mark.parametrize("make", [stream, markers])
def test_partials_by_clock_pivot_and_origin(make):
    own = check_own(make(), flight(), RIGID, VALUES, atol=2e-6)
    assert set(own) >= {"delay", "drift", "sx", "sz"}
    assert all(np.abs(exact).max() > 0.1 for exact in own.values())


def test_stamps_beyond_the_rollout_are_held_at_its_ends():
    late = {**VALUES, "delay": 0.2}
    own = stream().term(flight(), RIGID, late).own["delay"]
    assert not own[:2].any() and own[3].any()  # the first stamps lie before the start
    short = stream().term(flight(4), RIGID, {**VALUES, "delay": 0.0}).own["delay"]
    assert short[0].any() and not short[3].any()


def test_what_a_shorter_rollout_leaves():
    assert len(stream().until(2).t) == 3 and stream().until(0) is None


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda: Clock(delay=np.nan), "delay: got nan"),
        (lambda: Clock(drift=-1.0), "greater than -1"),
        (lambda: replace(stream(), sigma_position=0.0), "sigma_position: got 0.0"),
        (lambda: replace(stream(), t=-STAMPS), "times from the start of the rollout on"),
    ],
)
def test_bad_input_is_named(change, says):
    with pytest.raises(InputError, match=says):
        change()
