"""Markers at times between rows, and swings: partials by every state that they read."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.marker_track import MarkerTrack, RigidPoints, SoftPoints, interpolated
from diffsim_ros.inverse.objectives import BodySlot
from diffsim_ros.inverse.swing import SwingTrack
from tests.inverse.partials import check_partials
from tests.inverse.test_objectives import rollout

RIGID, SOFT, T = BodySlot(1, 3, 6), BodySlot(0, 0, 9, 3), 0.1
TIMES = np.array([0.0, 0.13, 0.2, 0.37])


@pytest.fixture
def generator():
    return np.random.default_rng(5)


def soft(generator, markers=2):
    weights = generator.normal(size=(markers, 2))
    return SoftPoints(np.array([0, 2]), weights, generator.normal(size=(markers, 3)))


def soft_run(generator, frames=5):
    return SimpleNamespace(
        position=generator.normal(size=(frames, 3, 3)),
        velocity=generator.normal(size=(frames, 3, 3)),
    )


def test_partials_of_markers_on_a_rigid_body(generator):
    carrier = RigidPoints(generator.normal(size=(2, 3)))
    observed = generator.normal(size=(4, 2, 3))
    observed[2, 1] = np.nan
    track = MarkerTrack("cube", TIMES, T, carrier, observed, 0.2)
    run = rollout(generator)
    check_partials(track, run, RIGID)
    residual = track.term(run, RIGID, {}).residual.reshape(observed.shape)
    hidden = np.isnan(observed)
    assert np.all(residual[hidden] == 0) and np.all(residual[~hidden] != 0)


def test_partials_of_markers_on_a_soft_body(generator):
    track = MarkerTrack("jelly", TIMES, T, soft(generator), generator.normal(size=(4, 2, 3)), 0.2)
    check_partials(track, soft_run(generator), SOFT)


def test_partials_of_a_swing(generator):
    """On a curve that is no damped sinusoid, so that the second derivatives count."""
    run, t = soft_run(generator, 32), np.arange(0, 3.0, 0.05)
    wave = np.exp(-0.8 * np.arange(32) * T) * np.cos(5 * np.arange(32) * T)
    run.position = 0.05 * run.position + wave[:, None, None]
    run.velocity *= 0.05
    swing = SwingTrack(
        "jelly", t, T, soft(generator, 1), np.array([0.6, 0.0, 0.8]), 0.3,
        np.array([0.1, 0.8, 0.7, 0.01]), np.array([0.1, 0.05, 0.2, 0.01]),
    )  # fmt: skip
    check_partials(swing, run, SOFT)


def test_a_cubic_motion_is_met_exactly():
    t = np.arange(4) * T
    cubic = np.polynomial.Polynomial([1.0, 2.0, -3.0, 4.0])
    slope = cubic.deriv()
    run = SimpleNamespace(
        position=np.tile(cubic(t)[:, None, None], (1, 1, 3)),
        velocity=np.tile(slope(t)[:, None, None], (1, 1, 3)),
    )
    carrier = SoftPoints(np.array([0]), np.array([[1.0]]), np.zeros((1, 3)))
    times = np.linspace(0, 0.299, 11)
    x, _ = interpolated(carrier, run, BodySlot(0, 0, 3, 1), times, T)
    np.testing.assert_allclose(x[:, 0, 0], cubic(times), atol=1e-14)


def test_until_keeps_what_the_shorter_rollout_has(generator):
    track = MarkerTrack("jelly", TIMES, T, soft(generator), generator.normal(size=(4, 2, 3)), 0.2)
    assert track.until(4) is not None and len(track.until(2).t) == 2
    assert track.until(0) is None
    run = soft_run(generator)
    whole, part = (o.term(run, SOFT, {}).residual for o in (track, track.until(2)))
    np.testing.assert_allclose(part, whole[:2])


def test_shapes_and_times_are_checked(generator):
    observed = generator.normal(size=(4, 2, 3))
    with pytest.raises(InputError, match="from the start"):
        MarkerTrack("jelly", TIMES - 0.1, T, soft(generator), observed)
    with pytest.raises(InputError, match="position"):
        MarkerTrack("jelly", TIMES, T, soft(generator), observed[:2])
