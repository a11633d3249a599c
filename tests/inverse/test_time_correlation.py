"""Noise that is correlated over time: its effective count, and intervals that cover."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    LeastSquaresProblem,
    LinearFunctional,
    LMOptions,
    Parameter,
    ParameterMap,
    SimulationProblem,
    Trial,
    correlated_covariance,
    gauss_newton_covariance,
    levenberg_marquardt,
    residual_noise,
)
from diffsim_ros.inverse.time_correlation import (
    Series,
    autocorrelation,
    autoregression,
    noise_of,
)


def correlated(generator, n, q, rho, shared=0.0):
    """AR(1) noise of variance 1 (n, q); `shared` of it is the same in all channels."""
    white = np.sqrt(1 - shared) * generator.normal(size=(n + 100, q))
    white += np.sqrt(shared) * generator.normal(size=(n + 100, 1))
    e = np.zeros_like(white)
    for i in range(1, len(e)):
        e[i] = rho * e[i - 1] + np.sqrt(1 - rho**2) * white[i]
    return e[100:]


def swing(n, q):
    """Jacobian (n, q, 3) of a damped swing: amplitude, phase, offset, in q channels."""
    t = np.arange(n) / 100.0
    gain = np.random.default_rng(3).normal(size=(q, 3))
    wave = np.exp(-1.5 * t)
    columns = np.stack([wave * np.cos(12 * t), wave * np.sin(12 * t), np.ones(n)], axis=1)
    return columns[:, None, :] * gain


def problem_of(J, noise):
    """Linear problem J z = noise, whose truth is z = 0."""
    return LeastSquaresProblem(tuple("abc"), np.zeros(3), lambda z: [J @ z - noise], lambda z: [J])


def test_autoregressions_are_found():
    generator = np.random.default_rng(0)
    assert len(autoregression(generator.normal(size=(500, 4)))) <= 1
    phi = autoregression(correlated(generator, 2000, 3, 0.8))
    assert phi[0] == pytest.approx(0.8, abs=0.05)
    np.testing.assert_allclose(autocorrelation(np.array([0.8]), 5), 0.8 ** np.arange(5))
    swinging = np.array([1.6, -0.9])  # of a resonance: correlation changes its sign
    rho = autocorrelation(swinging, 40)
    assert rho.min() < -0.5 and rho[1] == pytest.approx(1.6 / 1.9)
    np.testing.assert_allclose(rho[2:], 1.6 * rho[1:-1] - 0.9 * rho[:-2])


def test_missing_samples_do_not_hide_the_correlation():
    e = correlated(np.random.default_rng(1), 1500, 2, 0.9)
    e[np.random.default_rng(2).random(1500) < 0.3] = np.nan
    assert autocorrelation(autoregression(e), 2)[1] == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize(("rho", "shared", "low", "high"), [
    (0.0, 0.0, 3200, 4001), (0.9, 0.0, 140, 290), (0.0, 1.0, 800, 1100), (0.9, 1.0, 30, 75),
])  # fmt: skip
def test_effective_residuals(rho, shared, low, high):
    """AR(1): 19 samples of 0.9 are worth one; channels that are the same count once."""
    e = correlated(np.random.default_rng(4), 1000, 4, rho, shared)
    ones = np.ones((1000, 4, 1))
    series = Series("x", 0, np.arange(1000), e, ones, np.zeros((1000, 4, 0)))
    assert low < noise_of(series).effective < high


def test_many_points_of_one_instant_count_once():
    """A cloud: 50 points a frame that are all off together."""
    generator = np.random.default_rng(5)
    frame = np.repeat(np.arange(60), 50)
    e = generator.normal(size=60)[frame, None] + 0.1 * generator.normal(size=(3000, 1))
    ones = np.ones((3000, 1, 1))
    found = noise_of(Series("cloud", 0, frame, e, ones, np.zeros((3000, 1, 0))))
    assert 40 < found.effective < 75


def test_intervals_cover_under_correlated_noise():
    """60 recordings each: the usual covariance is too sure, this one is not."""
    J, generator, inside, naive = swing(200, 4), np.random.default_rng(6), [], []
    for _ in range(60):
        problem = problem_of(J, correlated(generator, 200, 4, 0.9, 0.5))
        solution = levenberg_marquardt(problem)
        for kept, found in (
            (inside, correlated_covariance(problem, solution)),
            (naive, gauss_newton_covariance(problem, solution, noise="estimated")),
        ):
            low, high = found.interval(0.95).T
            kept.append((low < 0) & (0 < high))
    assert np.mean(naive) < 0.7
    assert 0.88 <= np.mean(inside) <= 1.0


def test_white_noise_gives_the_usual_covariance():
    J = swing(300, 4)
    problem = problem_of(J, 2.0 * np.random.default_rng(7).normal(size=(300, 4)))
    solution = levenberg_marquardt(problem)
    usual = gauss_newton_covariance(problem, solution, noise="estimated")
    found = correlated_covariance(problem, solution)
    np.testing.assert_allclose(found.std_dev, usual.std_dev, rtol=0.2)
    noise = residual_noise(problem, solution)
    assert noise.count == 1200 and 1000 < noise.effective <= 1200


def test_a_short_series_is_believed():
    """Too few samples to estimate their noise: the sigmas count."""
    J = swing(8, 2)
    problem = problem_of(J, np.random.default_rng(8).normal(size=(8, 2)))
    solution = levenberg_marquardt(problem)
    known = gauss_newton_covariance(problem, solution)
    found = correlated_covariance(problem, solution)
    np.testing.assert_allclose(found.std_dev / known.std_dev, np.sqrt(16 / 13), rtol=1e-6)


def test_without_residuals_it_is_refused(scene, options, engine):
    problem = SimulationProblem(
        scene, options, ParameterMap([Parameter("cube.drag", "kg/s", 0.6)], scene),
        [Trial("far", 20, (LinearFunctional("cube", position=(-1.0, 0, 0)),))], simulator=engine,
    )  # fmt: skip
    solution = levenberg_marquardt(problem, options=LMOptions(max_iterations=0))
    with pytest.raises(InputError, match="residuals"):
        correlated_covariance(problem, solution)
