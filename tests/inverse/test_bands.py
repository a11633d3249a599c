"""Prediction bands: they hold what a motion that was not fitted does."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    LeastSquaresProblem,
    Parameter,
    ParameterMap,
    SimulationProblem,
    gauss_newton_covariance,
    levenberg_marquardt,
    prediction_bands,
)
from tests.inverse.test_optimizers import decay


def lines(J, data):
    return LeastSquaresProblem(("a", "b"), np.zeros(2), lambda z: [J @ z - data], lambda z: [J])


def test_bands_hold_new_motion_and_new_measurements():
    """200 repetitions: 95 % of true predictions, and of measurements, are inside."""
    generator, truth = np.random.default_rng(0), np.array([1.0, -2.0])
    J, new = generator.normal(size=(2, 15, 2, 2))
    predicted, measured = [], []
    for _ in range(200):
        problem = lines(J, J @ truth + generator.normal(size=(15, 2)))
        solution = levenberg_marquardt(problem)
        covariance = gauss_newton_covariance(problem, solution).covariance_z
        clean = lines(new, new @ truth)
        (band,) = prediction_bands(clean, solution.z, covariance)
        predicted.append(np.mean(np.abs(band.residual) < 1.96 * band.sigma))
        noisy = lines(new, new @ truth + generator.normal(size=(15, 2)))
        measured.append(prediction_bands(noisy, solution.z, covariance)[0].inside)
    assert np.mean(predicted) == pytest.approx(0.95, abs=0.03)
    assert np.mean(measured) == pytest.approx(0.95, abs=0.02)
    exact = np.sqrt(np.einsum("mqi,ij,mqj->mq", new, covariance, new))
    np.testing.assert_allclose(band.sigma, exact)
    assert band.widest == int(np.argmax((exact**2).sum(axis=0)))


def test_free_starts_widen_the_band(scene, options, engine, trials):
    """A start known by its prior only leaves the motion uncertain, more and more with time."""
    parameters = [Parameter("cube.drag", "kg/s", 0.6, 0.01, 5.0, "log")]
    held, free = (
        SimulationProblem(
            scene, options, ParameterMap(parameters, scene), trials[:2], nuisance=nuisance,
            simulator=engine,
        )
        for nuisance in (False, True)
    )  # fmt: skip
    z, covariance = held.start, np.array([[1e-4]])
    narrow, wide = (prediction_bands(p, z, covariance)[0] for p in (held, free))
    assert np.all(wide.sigma >= narrow.sigma) and wide.sigma.mean() > 2 * narrow.sigma.mean()
    unknown = prediction_bands(held, z, np.array([[np.nan]]))[0]
    assert np.all(unknown.sigma == 0.0), "a parameter at its bound counts as known"


def test_trials_that_fail_are_refused():
    with pytest.raises(InputError, match="simulated"):
        prediction_bands(decay(), np.array([1.0, 0.0]), np.eye(2))
