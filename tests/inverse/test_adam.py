"""ADAM: minima, bounds, failures, ripples, cancelling."""

from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    AdamOptions,
    LeastSquaresProblem,
    Parameter,
    ParameterMap,
    SimulationProblem,
    adam,
    growing,
    levenberg_marquardt,
)
from tests.inverse.test_optimizers import decay, rosenbrock

LONG = AdamOptions(max_iterations=3000, patience=60)


@pytest.mark.parametrize(("problem", "minimum", "at_bound"), [
    (rosenbrock(), [1, 1], {}),
    (rosenbrock(lower=[-2, -2], upper=[0.5, 2]), [0.5, 0.25], {"a": "upper"}),
    (decay(), [2, 0.5], {}),
])  # fmt: skip
def test_known_minima(problem, minimum, at_bound):
    solution = adam(problem, options=LONG)
    assert solution.status in ("objective", "gradient"), solution.message
    np.testing.assert_allclose(solution.z, minimum, atol=0.02)
    assert solution.at_bound == at_bound
    again = adam(problem, options=LONG)
    np.testing.assert_array_equal(solution.z, again.z)


def ripples(depth):
    """A bowl with ripples that trap a line search; least near 3."""

    def residuals(z):
        return [np.array([[z[0] - 3.0], [depth * (1 + np.sin(25 * z[0]))]])]

    def jacobians(z):
        return [np.array([[1.0], [25 * depth * np.cos(25 * z[0])]])]

    return LeastSquaresProblem(("a",), [0.0], residuals, jacobians)


def test_it_passes_ripples_that_stop_a_descent():
    problem = ripples(0.35)
    stuck = levenberg_marquardt(problem)
    found = adam(problem, options=AdamOptions(max_iterations=400, rate=0.2))
    assert stuck.z[0] < 2.5, "the case is too easy"
    assert abs(found.z[0] - 3.0) < 0.3


def test_failures_shorten_the_steps():
    problem = decay()
    solution = adam(problem, [2.0, 0.6], options=AdamOptions(max_iterations=1000, rate=0.6))
    assert solution.failures, "the case was not reached"
    assert np.isfinite(solution.value) and solution.value < 1e-2
    assert adam(problem, [1.0, 0.0]).status == "start_failed"


def test_cancelling_and_callbacks_give_the_best_so_far():
    stop, observed = SimpleNamespace(cancelled=False), []

    def callback(progress):
        observed.append(progress.value)
        stop.cancelled = len(observed) == 5

    solution = adam(rosenbrock(), callback=callback, cancel=stop)
    assert solution.status == "cancelled" and len(observed) == 5
    assert solution.value == min(observed) and observed == sorted(observed, reverse=True)
    with pytest.raises(InputError, match="rate"):
        AdamOptions(rate=0.0)


def test_growing_shares_of_every_trial(scene, options, engine, trials):
    problem = SimulationProblem(
        scene, options, ParameterMap([Parameter("cube.drag", "kg/s", 0.6)], scene), trials,
        nuisance=True, simulator=engine,
    )  # fmt: skip
    stages = growing(problem, (0.25, 0.5))
    assert stages[-1] is problem and len(stages) == 3
    for share, stage in zip((0.25, 0.5), stages, strict=False):
        for short, whole in zip(stage.trials, problem.trials, strict=True):
            assert short.steps == pytest.approx(share * whole.steps, abs=options.record_every)
    with pytest.raises(InputError, match="increasing"):
        growing(problem, (0.5, 0.25))
