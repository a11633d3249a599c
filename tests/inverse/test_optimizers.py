"""Solvers x problems with known minima, bounds, failures, cancelling, callbacks, determinism."""

import itertools
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_matrix

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    LeastSquaresProblem,
    LMOptions,
    Parameter,
    ParameterMap,
    SimulationProblem,
    continuation,
    horizons,
    lbfgs,
    levenberg_marquardt,
)
from diffsim_ros.inverse.optimizers import _Descent, box_step
from diffsim_ros.inverse.solution import Recorder

SOLVERS = [levenberg_marquardt, lbfgs]


def rosenbrock(**settings):
    return LeastSquaresProblem(
        ("a", "b"), [-1.2, 1.0],
        lambda z: [np.array([[10 * (z[1] - z[0] ** 2)], [1 - z[0]]])],
        lambda z: [csr_matrix([[-20 * z[0], 10.0], [-1.0, 0.0]])],
        **settings,
    )  # fmt: skip


def decay(**settings):
    """a exp(-b t) with exact data a = 2, b = 0.5; fails (log of a negative number) for b < 0.1."""
    t = np.linspace(0, 4, 9)

    def residuals(z):
        with np.errstate(invalid="ignore"):
            return [
                (z[0] * np.exp(-z[1] * t) - 2 * np.exp(-0.5 * t) + 0 * np.log(z[1] - 0.1))[:, None]
            ]

    def jacobians(z):
        e = np.exp(-z[1] * t)
        return [np.stack([e, -z[0] * t * e], axis=1)[:, None, :]]

    return LeastSquaresProblem(("a", "b"), [1.0, 3.0], residuals, jacobians, **settings)


# problem, minimum, at bound
CASES = {
    "rosenbrock": (rosenbrock(), [1, 1], {}),
    "rosenbrock, upper bound": (
        rosenbrock(lower=[-2, -2], upper=[0.5, 2]), [0.5, 0.25], {"a": "upper"},
    ),
    "rosenbrock, bound not active": (rosenbrock(lower=[-2, -2], upper=[3, 3]), [1, 1], {}),
    "rosenbrock, both": (
        rosenbrock(lower=[0.0, 0.5], upper=[0.5, 2]), [0.5, 0.5], {"a": "upper", "b": "lower"},
    ),
    "decay": (decay(), [2, 0.5], {}),
    "decay, lower bound": (decay(lower=[0, 0.8], upper=[9, 9]), None, {"b": "lower"}),
}  # fmt: skip


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("case", CASES)
def test_known_minima(solver, case):
    problem, minimum, at_bound = CASES[case]
    solution = solver(problem)
    if minimum is None:
        peer = minimize(
            lambda z: problem.evaluate(z).value, problem.lower + 0.5, method="L-BFGS-B",
            bounds=list(zip(problem.lower, problem.upper, strict=True)), options={"gtol": 1e-10},
        )  # fmt: skip
        minimum = peer.x
    assert solution.converged, solution.message
    np.testing.assert_allclose(solution.z, minimum, atol=2e-5)
    assert solution.at_bound == at_bound
    assert np.all(solution.z >= problem.lower) and np.all(solution.z <= problem.upper)
    assert solution.parameters == dict(zip(("a", "b"), solution.z, strict=True))


@pytest.mark.parametrize("seed", range(8))
def test_box_step_satisfies_the_optimality_conditions(seed):
    generator = np.random.default_rng(seed)
    n = 1 + seed
    A = generator.normal(size=(n + 1, n)) * 10.0 ** generator.uniform(-3, 3, n)
    H, g = A.T @ A, A.T @ generator.normal(size=n + 1)
    free = np.linalg.solve(H, -g)
    low = np.where(generator.random(n) < 0.6, -0.3 * np.abs(free), -np.inf)
    high = np.where(generator.random(n) < 0.6, 0.3 * np.abs(free), np.inf)
    d = box_step(g, H, low, high)
    assert np.all((d >= low) & (d <= high))
    slope = (g + H @ d) / np.sqrt(np.diagonal(H)) / np.linalg.norm(A.T @ A)
    inside = (d > low) & (d < high)
    size = np.abs(g / np.sqrt(np.diagonal(H))).max() / np.linalg.norm(A.T @ A)
    assert np.all(np.abs(slope[inside]) < 1e-8 * size)
    assert np.all(slope[d <= low] > -1e-8 * size) and np.all(slope[d >= high] < 1e-8 * size)
    np.testing.assert_allclose(box_step(g, H, -np.full(n, np.inf), np.full(n, np.inf)), free, 1e-5)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda f: f.__name__)
def test_failures_are_rejected_and_reported(solver):
    problem = decay()
    far = np.array([0.2, 1.0])  # a full step from here leaves the domain
    solution = solver(problem, far)
    assert solution.failures, "the case was not reached"
    assert "block 0: non-finite" in solution.failures[0]
    assert solution.converged and solution.value < 1e-12 and np.all(np.isfinite(solution.z))
    assert any(entry.failures for entry in solution.history)
    failed_start = solver(problem, np.array([1.0, 0.0]))
    assert failed_start.status == "start_failed" and not failed_start.converged
    assert "non-finite" in failed_start.message


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda f: f.__name__)
def test_callback_sees_every_iteration_and_cancelling_keeps_the_best(solver):
    token, observed = SimpleNamespace(cancelled=False), []

    def watch(progress):
        observed.append(progress)
        token.cancelled = len(observed) == 5

    solution = solver(rosenbrock(), callback=watch, cancel=token)
    assert solution.status == "cancelled" and not solution.converged
    assert len(observed) == 5 and solution.history == tuple(observed)
    assert [p.iteration for p in observed] == [1, 2, 3, 4, 5] and set(observed[0].parameters) == {
        "a",
        "b",
    }
    assert solution.value == observed[-1].value == min(p.value for p in observed)
    assert solution.value == rosenbrock().evaluate(solution.z).value


def test_the_cost_never_rises_and_rejections_are_said():
    solution = levenberg_marquardt(rosenbrock())
    values = [p.value for p in solution.history]
    assert all(a >= b for a, b in itertools.pairwise(values))
    assert any(not p.accepted for p in solution.history)
    limited = levenberg_marquardt(rosenbrock(), options=LMOptions(max_iterations=3))
    assert limited.status == "max_iterations" and limited.iterations == 3
    assert lbfgs(rosenbrock(), max_iterations=3).status == "max_iterations"


def test_a_wrong_gradient_is_called_a_stall():
    right = rosenbrock()
    wrong = LeastSquaresProblem(
        right.names, right.start, right.residuals, lambda z: [-right.jacobians(z)[0]]
    )
    solution = levenberg_marquardt(wrong, options=LMOptions(max_iterations=200))
    assert solution.status == "stalled" and "check-gradient" in solution.message
    np.testing.assert_array_equal(solution.z, right.start)


def test_unseen_and_tied_variables_do_not_break_the_solver():
    problem = LeastSquaresProblem(
        ("a", "b", "c"), [3.0, 1.0, 5.0],
        lambda z: [np.array([[z[0] + z[1] - 1.0, 2 * (z[0] + z[1]) - 2.0]])],
        lambda z: [np.array([[[1.0, 1, 0], [2, 2, 0]]])],
    )  # fmt: skip
    solution = levenberg_marquardt(problem)
    assert solution.converged and solution.z[:2].sum() == pytest.approx(1.0)
    assert solution.z[2] == 5.0


@pytest.mark.parametrize("share, status", [(2.0, "target"), (0.5, "beyond")])
def test_whether_a_target_can_be_reached_is_known_early(share, status):
    """The least cost of the decay in its bounds is known: twice it is met, half of it is not."""
    problem, *_ = CASES["decay, lower bound"]
    least = levenberg_marquardt(problem)
    options = LMOptions(target=share * least.value)
    found = levenberg_marquardt(problem, options=options)
    assert found.status == status and found.evaluations < least.evaluations
    assert (found.value < options.target) == (status == "target")


def test_bad_settings_are_named():
    with pytest.raises(InputError, match="damping"):
        LMOptions(damping=0.0)
    with pytest.raises(InputError, match="max_iterations"):
        LMOptions(max_iterations=-1)
    with pytest.raises(InputError, match="start: z"):
        levenberg_marquardt(rosenbrock(), np.array([np.nan, 1.0]))
    with pytest.raises(InputError, match=r"\(2,\)"):
        LeastSquaresProblem(("a", "b"), [1.0], lambda z: [], lambda z: [])


PARAMETERS = [
    Parameter("cube.drag", "kg/s", 0.2, 0.01, 5.0, "log"),
    Parameter("g", "m/s^2", 9.0, 5.0, 12.0, sets={"gravity.z": (-1, 1)}),
]


@pytest.fixture
def tosses(scene, options, engine, trials):
    return SimulationProblem(
        scene, options, ParameterMap(PARAMETERS, scene), trials, nuisance=True, simulator=engine
    )


def test_elimination_solves_the_whole_system(tosses):
    generator = np.random.default_rng(0)
    y = generator.normal(size=tosses.nuisance_shape)
    e = tosses.evaluate(tosses.start, y, want="equations").equations
    K, ny = y.shape
    full = np.zeros((2 + K * ny,) * 2)
    full[:2, :2] = e.prior_H + e.Hzz.sum(axis=0)
    for k in range(K):
        rows = slice(2 + k * ny, 2 + (k + 1) * ny)
        full[rows, rows], full[rows, :2], full[:2, rows] = e.Hyy[k], e.Hyz[k], e.Hyz[k].T
    gradient = np.concatenate([e.gradient_z, e.gy.ravel()])
    whole = np.linalg.solve(full, -gradient)
    g, H, X = e.reduced()
    dz = np.linalg.solve(H, -g)
    dy = -(X[:, :, 0] + X[:, :, 1:] @ dz)
    np.testing.assert_allclose(np.concatenate([dz, dy.ravel()]), whole, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(np.linalg.inv(H), np.linalg.inv(full)[:2, :2], rtol=1e-8)
    assert e.change(dz, dy) == pytest.approx(gradient @ whole + 0.5 * whole @ full @ whole)
    np.testing.assert_allclose(np.concatenate([e.diagonals()[0], e.diagonals()[1].ravel()]),
                               np.diagonal(full))  # fmt: skip


def test_nuisance_starts_are_estimated_with_the_parameters(tosses, engine):
    solution = levenberg_marquardt(tosses)
    assert solution.converged and solution.iterations < 15, solution.message
    assert solution.parameters["cube.drag"] == pytest.approx(0.7, abs=0.02)
    assert solution.parameters["g"] == pytest.approx(9.6, abs=0.1)
    assert 0.3 < np.sqrt(np.mean(solution.y**2)) < 2.0, "whitened: of order one"
    assert set(engine.modes) <= {"sensitivity", "none"}
    peer = lbfgs(tosses, solution.z + 0.01, 0.9 * solution.y, gradient_tolerance=1e-4)
    assert engine.modes[-1] == "checkpoint"
    assert peer.value == pytest.approx(solution.value, rel=1e-3)
    np.testing.assert_allclose(peer.z, solution.z, atol=5e-3)


def test_a_chaotic_trial_does_not_carry_the_robust_estimate(scene, options, engine, trials, toss):
    from dataclasses import replace

    from diffsim_ros.inverse import Cauchy

    wild = toss(np.random.default_rng(9), {"gravity.z": -5.0, "cube.drag": 3.0}, 40)
    errors = []
    for loss in (None, Cauchy(15.0)):
        mixed = [*trials, wild]
        if loss is not None:
            mixed = [replace(t, loss=loss) for t in mixed]
        problem = SimulationProblem(
            scene, options, ParameterMap(PARAMETERS, scene), mixed, nuisance=True, simulator=engine
        )
        solution = levenberg_marquardt(problem)
        assert solution.converged
        errors.append(abs(solution.parameters["g"] - 9.6))
    assert errors[1] < 0.1 and errors[0] > 5 * errors[1]


def test_deterministic(tosses):
    a, b = levenberg_marquardt(tosses), levenberg_marquardt(tosses)
    np.testing.assert_array_equal(a.z, b.z)
    assert a.history == b.history


def test_continuation_ends_at_the_problem_itself(tosses):
    stages = []
    problems = [tosses.compliant(f, ["cube.drag"]) for f in (0.25, 0.5)] + [tosses]
    solutions = continuation(problems, on_stage=stages.append)
    assert stages == [0, 1, 2]
    drags = [s.parameters["cube.drag"] for s in solutions]
    assert drags[0] == pytest.approx(0.7 * 4, rel=0.05), "the soft problem was not solved"
    direct = levenberg_marquardt(tosses)
    assert solutions[-1].value == pytest.approx(direct.value, rel=1e-9)
    cancelled = continuation(problems, cancel=SimpleNamespace(cancelled=True))
    assert len(cancelled) == 1 and cancelled[0].status == "cancelled"
    with pytest.raises(InputError, match="at least one"):
        continuation([])


def test_shortened_trials_end_early(tosses, engine):
    count = [tosses.shortened(n).evaluate(tosses.start).count for n in (5, [3, 4, 5, 6])]
    assert count == [4 * (5 * 6 + 12), 6 * (3 + 4 + 5 + 6) + 4 * 12]
    assert len(tosses.shortened(5).rollouts(tosses.start)[0].time) == 6
    assert tosses.shortened(999).evaluate(tosses.start).value == tosses.evaluate(tosses.start).value
    stages = horizons(20, 5, 1.5)
    assert stages == [5, 8, 12, 18]
    solutions = continuation([*(tosses.shortened(n) for n in stages), tosses])
    direct = levenberg_marquardt(tosses)
    assert solutions[-1].value == pytest.approx(direct.value, rel=1e-9)
    assert solutions[-1].iterations < direct.iterations
    with pytest.raises(InputError, match="growth"):
        horizons(20, 5, 1.0)


def test_a_minimum_at_a_kink_is_one():
    """|z0| + |z0 - z1| as squares of square roots: Gauss-Newton has a slope to the very end."""

    def rows(z):
        return np.array([2.0 + abs(z[0]), 1 + abs(z[1] - z[0]) + 0.3 * z[0]])

    problem = LeastSquaresProblem(
        ("a", "b"), [1.0, 0.4],
        lambda z: [rows(z)[:, None]],
        lambda z: [np.array([
            [[np.sign(z[0]), 0]],
            [[-np.sign(z[1] - z[0]) + 0.3, np.sign(z[1] - z[0])]],
        ])],
    )  # fmt: skip
    solution = levenberg_marquardt(problem)
    assert solution.status == "kink" and solution.converged, solution.message
    assert solution.value <= 1.01 * 2.5 and solution.iterations < 60


def test_a_minimum_in_a_corner_is_recognised_by_its_slope():
    problem, minimum, _ = CASES["rosenbrock, both"]
    solution = levenberg_marquardt(problem, np.array(minimum))
    assert solution.status == "gradient" and solution.iterations == 0
    held = levenberg_marquardt(problem, np.array([0.5, 1.0]))
    assert held.history[-1].gradient < 1e-8


def test_a_failure_looks_like_a_bowl_to_the_line_search():
    problem = decay()
    descent = _Descent(problem, Recorder(problem, 9, None), None)
    good, bad = np.array([1.0, 0.5]), np.array([1.0, 0.05])
    value, _ = descent(good)
    surrogate, slope = descent(bad)
    assert surrogate >= value + 1.0 and descent.best[0] == value
    assert slope @ (good - bad) < 0, "downhill is back"
    assert descent.failed == ("block 0: non-finite residual",)
