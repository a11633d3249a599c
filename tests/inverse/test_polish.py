"""BFGS along kinks: it goes on where Levenberg-Marquardt stops and leaves smooth minima alone."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.inverse import (
    LeastSquaresProblem,
    Parameter,
    ParameterMap,
    SimulationProblem,
    levenberg_marquardt,
    polish,
)
from diffsim_ros.inverse.polish import _Metric


def groove(**settings):
    """A sharp groove b = a^2 with a weak slope along it; minimum (1, 1), cost 1/2."""

    def residuals(z):
        return [np.array([[1 + 3 * abs(z[1] - z[0] ** 2)], [0.3 * (z[0] - 1)]])]

    def jacobians(z):
        side = 3 * np.sign(z[1] - z[0] ** 2)
        return [np.array([[[-2 * z[0] * side, side]], [[0.3, 0]]])]

    return LeastSquaresProblem(("a", "b"), [-0.5, 1.0], residuals, jacobians, **settings)


def test_it_follows_a_kink_down():
    problem = groove()
    stuck = levenberg_marquardt(problem)
    assert stuck.status == "kink" and stuck.value > 0.505, "the case was not reached"
    observed = []
    found = polish(problem, stuck, tolerance=1e-8, max_iterations=200, callback=observed.append)
    assert found.value < 0.503, found.message
    assert found.value - 0.5 < 0.2 * (stuck.value - 0.5)
    assert found.history == tuple(observed)
    assert all(a.value >= b.value for a, b in itertools.pairwise(observed))


def test_bounds_hold():
    problem = groove(lower=[-2, -2], upper=[0.6, 2])
    found = polish(problem, levenberg_marquardt(problem), tolerance=1e-8, max_iterations=200)
    assert np.all(found.z <= problem.upper) and np.all(found.z >= problem.lower)
    low = groove(lower=[-2, 0.5], upper=[2, 2])
    at = SimpleNamespace(z=np.array([0.2, 0.5]), y=np.zeros((1, 0)), at_bound={"b": "lower"})
    held = polish(low, at, tolerance=1e-8, max_iterations=100)
    assert held.z[1] == 0.5 and held.z[0] == pytest.approx(np.sqrt(0.5), abs=1e-3)


@pytest.fixture
def tosses(scene, options, engine, trials):
    parameters = [
        Parameter("cube.drag", "kg/s", 0.2, 0.01, 5.0, "log"),
        Parameter("g", "m/s^2", 9.0, 5.0, 12.0, sets={"gravity.z": (-1, 1)}),
    ]
    return SimulationProblem(
        scene, options, ParameterMap(parameters, scene), trials, nuisance=True, simulator=engine
    )


def test_a_smooth_minimum_is_left_alone(tosses, engine):
    solution = levenberg_marquardt(tosses)
    before = engine.calls
    found = polish(tosses, solution)
    assert engine.calls == before and found.status == "gradient"  # the fit's last evaluation serves
    np.testing.assert_array_equal(found.z, solution.z)


@pytest.mark.parametrize("want", ["equations", "gradient"])
def test_it_reaches_the_minimum_with_nuisance_starts(tosses, want):
    solution = levenberg_marquardt(tosses)
    off = SimpleNamespace(z=solution.z + 0.02, y=solution.y + 0.1, at_bound={})
    found = polish(tosses, off, tolerance=1e-6, want=want)
    assert found.value == pytest.approx(solution.value, abs=1e-4) and found.iterations < 30


def test_the_first_metric_is_gauss_newton(tosses):
    y = np.random.default_rng(0).normal(size=tosses.nuisance_shape)
    e = tosses.evaluate(tosses.start, y, want="equations").equations
    g, H, X = e.reduced()
    dz = np.linalg.solve(H, -g)
    dy = -(X[:, :, 0] + X[:, :, 1:] @ dz)
    gradient = np.concatenate([e.gradient_z, e.gy.ravel()])
    step = -_Metric(e, np.arange(2)).times(gradient)
    np.testing.assert_allclose(step, np.concatenate([dz, dy.ravel()]), rtol=1e-7, atol=1e-10)


def test_failures_and_cancelling(tosses):
    bad = SimpleNamespace(z=np.array([5.0, 1.0]), y=np.zeros(tosses.nuisance_shape), at_bound={})
    assert polish(tosses, bad) is bad
    solution = levenberg_marquardt(tosses)
    off = SimpleNamespace(z=solution.z + 0.05, y=solution.y, at_bound={})
    token = SimpleNamespace(cancelled=False)

    def stop(progress):
        token.cancelled = progress.iteration == 2

    found = polish(tosses, off, callback=stop, cancel=token)
    assert found.status == "cancelled" and found.iterations == 2
    assert found.value == tosses.evaluate(found.z, found.y).value
