"""Profile likelihoods against brute force, and where they are open."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    LeastSquaresProblem,
    Parameter,
    ParameterMap,
    Pinned,
    SimulationProblem,
    gauss_newton_covariance,
    levenberg_marquardt,
    profile,
)
from diffsim_ros.inverse.profile import Walk

T = np.linspace(0, 3, 25)


def decay(lower=(-9.0, -9.0), upper=(9.0, 9.0), sigma=0.15):
    """a exp(-b t) with noise; b is asymmetric."""
    data = 2 * np.exp(-0.5 * T) + sigma * np.random.default_rng(3).normal(size=T.size)

    def residuals(z):
        with np.errstate(over="ignore", invalid="ignore"):
            return [((z[0] * np.exp(-z[1] * T) - data) / sigma)[:, None]]

    def jacobians(z):
        e = np.exp(-z[1] * T) / sigma
        return [np.stack([e, -z[0] * T * e], axis=1)[:, None, :]]

    return LeastSquaresProblem(
        ("a", "b"), [1.5, 0.7], residuals, jacobians, lower=lower, upper=upper
    )


def brute(problem, least, threshold):
    """Ends of the interval of b by the closed form: the best a is linear regression."""
    grid = np.linspace(0.2, 1.2, 20001)
    data = -problem.residuals(np.array([0.0, 1.0]))[0][:, 0]
    sigma = 0.15
    rise = []
    for b in grid:
        e = np.exp(-b * T) / sigma
        a = e @ data / (e @ e)
        rise.append(float(np.sum((a * e - data) ** 2)) - 2 * least)
    inside = grid[np.array(rise) <= threshold]
    return inside[0], inside[-1]


def test_an_asymmetric_interval_is_that_of_brute_force():
    problem = decay()
    solution = levenberg_marquardt(problem)
    sigma = gauss_newton_covariance(problem, solution).std_dev[1]
    for factor in (1.0, 2.5):
        reported = []
        found = profile(
            problem, solution, "b", sigma, unit="1/s", factor=factor, on_progress=reported.append
        )
        low, high = brute(problem, solution.value, found.threshold * factor)
        assert found.low == pytest.approx(low, abs=2e-3 * (high - low))
        assert found.high == pytest.approx(high, abs=2e-3 * (high - low))
        assert found.note == "" and np.all(np.diff(found.values) > 0)
        assert reported[-1] == 1.0 and reported == sorted(reported)
    up, down = found.high - found.value, found.value - found.low
    assert up > 1.05 * down, "the case is not asymmetric"
    assert found.document()["interval"] == [found.low, found.high]


def test_whether_a_rise_is_reached_is_that_of_brute_force():
    problem = decay()
    solution = levenberg_marquardt(problem)
    walk = Walk(problem, solution, 1, 2.5, 3.84, None, None)
    low, high = brute(problem, solution.value, 2.5 * 3.84)
    for end, sign in ((low, 1), (high, -1)):
        assert walk.reaches(end - 0.01 * sign, 3.84) and not walk.reaches(end + 0.01 * sign, 3.84)


class WithPrior(LeastSquaresProblem):
    """b is 0 ± 0.001 before any data."""

    def evaluate(self, z, y=None, *, want="value", cancel=None):
        found = super().evaluate(z, y, want=want, cancel=cancel)
        found = replace(found, value=found.value + 0.5e6 * z[1] ** 2)
        if found.equations is None:
            return found
        g, H = np.array([0, 1e6 * z[1]]), np.diag([0, 1e6])
        return replace(found, equations=replace(found.equations, prior_g=g, prior_H=H))


def test_a_prior_that_closes_a_side_spares_its_rollouts():
    J = np.random.default_rng(1).normal(size=(30, 1, 2))
    asked = []

    def residuals(z):
        asked.append(z)
        return [J @ z - 1.0]

    problem = WithPrior(("a", "b"), np.zeros(2), residuals, lambda z: [J])
    walk = Walk(problem, levenberg_marquardt(problem), 1, 1.0, 2.7, None, None)
    assert walk.reaches(0.01, 2.7)
    asked.clear()
    assert walk.reaches(-0.01, 2.7) and walk.reaches(2.0, 2.7) and not asked
    assert not walk.reaches(0.0005, 2.7) and asked


def test_a_linear_problem_gives_the_covariance():
    J = np.random.default_rng(1).normal(size=(30, 1, 3))
    problem = LeastSquaresProblem(tuple("abc"), np.zeros(3), lambda z: [J @ z - 1.0], lambda z: [J])
    solution = levenberg_marquardt(problem)
    found = gauss_newton_covariance(problem, solution)
    for i, name in enumerate("abc"):
        p = profile(problem, solution, name, 3.0 * found.std_dev[i])  # a poor first step
        np.testing.assert_allclose([p.low, p.high], found.interval()[i], rtol=1e-3)


def test_sides_are_open_at_bounds_and_when_cancelled():
    problem = decay(lower=(-9.0, 0.45))
    solution = levenberg_marquardt(problem)
    found = profile(problem, solution, "b", 0.05)
    assert found.low is None and found.high is not None
    assert "open below" in found.note and "lower bound" in found.note
    assert found.values[0] == pytest.approx(0.45)
    stop = SimpleNamespace(cancelled=True)
    cut = profile(problem, solution, "b", 0.05, cancel=stop)
    assert cut.low is None and cut.high is None and "cancelled" in cut.note
    assert len(cut.values) == 1


def test_a_better_minimum_on_the_way_is_said():
    problem = decay()
    solution = levenberg_marquardt(problem)
    off = solution.z + np.array([0.1, 0.06])
    early = type(solution)(**{**vars(solution), "z": off, "value": problem.evaluate(off).value})
    found = profile(problem, early, "b", 0.05)
    assert "lower cost" in found.note and found.rise.min() == 0.0


def test_bad_names_and_sigmas():
    problem = decay()
    solution = levenberg_marquardt(problem)
    with pytest.raises(InputError, match="parameter"):
        profile(problem, solution, "c", 0.1)
    with pytest.raises(InputError, match="standard deviation"):
        profile(problem, solution, "b", float("nan"))


def test_pinned_problems_keep_nuisance_starts(scene, options, engine, trials):
    """Any Problem: an arrow system with a variable taken out is that of the smaller problem."""
    parameters = [
        Parameter("cube.drag", "kg/s", 0.6, 0.01, 5.0, "log"),
        Parameter("g", "m/s^2", 9.8, 5.0, 12.0, sets={"gravity.z": (-1, 1)}),
    ]
    problem = SimulationProblem(
        scene, options, ParameterMap(parameters, scene), trials, nuisance=True, simulator=engine
    )
    solution = levenberg_marquardt(problem)
    found = gauss_newton_covariance(problem, solution)
    drag = profile(problem, solution, "cube.drag", np.sqrt(found.covariance_z[0, 0]))
    np.testing.assert_allclose([drag.low, drag.high], found.interval()[0], rtol=0.02)
    assert drag.logarithmic
    fewer = ParameterMap([parameters[0], replace(parameters[1], value=9.7, free=False)], scene)
    held = SimulationProblem(scene, options, fewer, trials, nuisance=True, simulator=engine)
    pinned = Pinned(problem, {1: problem.map.scaled({"g": 9.7})[1]})
    for want in ("equations", "curvature"):
        a, b = (p.evaluate(held.start, solution.y, want=want) for p in (held, pinned))
        for ours, theirs in zip(a.equations.reduced(), b.equations.reduced(), strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(a.gradient[0], b.gradient[0])
    assert b.series[0].by_z.shape[2] == 1
    alone = levenberg_marquardt(Pinned(problem, dict(enumerate(solution.z))))
    np.testing.assert_allclose(alone.y, solution.y, atol=1e-4)
    assert alone.z.shape == (0,)
