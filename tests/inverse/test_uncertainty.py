"""Covariances against theory and repetition; identifiability by name."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    Cauchy,
    LeastSquaresProblem,
    Parameter,
    ParameterMap,
    SimulationProblem,
    bootstrap,
    gauss_newton_covariance,
    identifiability,
    levenberg_marquardt,
    sandwich_covariance,
)
from diffsim_ros.inverse.normal_equations import NormalEquations
from diffsim_ros.inverse.problem import Evaluation

DRAG = Parameter("cube.drag", "kg/s", 0.6, 0.01, 5.0, "log")
GRAVITY = Parameter("g", "m/s^2", 9.8, 5.0, 12.0, sets={"gravity.z": (-1, 1)})


def line(noise, K=30, m=8, seed=0, lower=-np.inf, loss=None):
    """Blocks of y = a + b t, a = 1, b = 2; `noise(generator, K, m)` is added; sigma is 1."""
    generator = np.random.default_rng(seed)
    t = generator.uniform(-1, 1, (K, m))
    data = 1 + 2 * t + noise(generator, K, m)
    J = [np.stack([np.ones(m), row], axis=1)[:, None, :] for row in t]
    extra = {} if loss is None else {"loss": loss}
    return LeastSquaresProblem(
        ("a", "b"), [0.0, 0.0],
        lambda z: [(j[:, 0] @ z - d)[:, None] for j, d in zip(J, data, strict=True)],
        lambda z: J, lower=lower, **extra,
    )  # fmt: skip


def white(generator, K, m):
    return generator.normal(size=(K, m))


def test_gauss_newton_is_linear_regression():
    problem = line(white)
    solution = levenberg_marquardt(problem)
    A = np.concatenate([j[:, 0] for j in problem.jacobians(solution.z)])
    found = gauss_newton_covariance(problem, solution)
    np.testing.assert_allclose(found.covariance_z, np.linalg.inv(A.T @ A), rtol=1e-10)
    np.testing.assert_allclose(found.std_dev, np.sqrt(np.diagonal(np.linalg.inv(A.T @ A))))
    assert found.identifiable == (True, True) and found.notes == ("", "")
    low, high = found.interval(0.95)[0]
    assert high - low == pytest.approx(2 * 1.959964 * found.std_dev[0], rel=1e-6)


def test_estimated_noise_scales_the_covariance():
    problem = line(lambda g, K, m: 3 * g.normal(size=(K, m)))
    solution = levenberg_marquardt(problem)
    known = gauss_newton_covariance(problem, solution)
    found = gauss_newton_covariance(problem, solution, noise="estimated")
    assert found.dof == 30 * 8 - 2
    ratio = found.std_dev / known.std_dev
    np.testing.assert_allclose(ratio, np.sqrt(2 * solution.value / found.dof))
    assert ratio[0] == pytest.approx(3.0, rel=0.15)


class WithPriors:
    """r_k = A_k z + B_k y_k - d_k with a prior on z and y_k ~ N(0, 1), a stand-in for rollouts."""

    names, lower, upper = ("a", "b"), np.full(2, -np.inf), np.full(2, np.inf)
    start, logarithmic = np.zeros(2), np.zeros(2, bool)
    prior = np.array([0.0, 4.0])  # 1/variance

    def __init__(self, noise, K=6, m=7, ny=2, seed=4):
        generator = np.random.default_rng(seed)
        self.A, self.B = generator.normal(size=(K, m, 2)), generator.normal(size=(K, m, ny))
        y = generator.normal(size=(K, ny))
        self.d = self.A @ [0.3, -0.2] + np.einsum("kmy,ky->km", self.B, y)
        self.d += noise * generator.normal(size=(K, m))
        self.nuisance_shape = (K, ny)

    def evaluate(self, z, y, *, want="value", cancel=None):
        r = self.A @ z + np.einsum("kmy,ky->km", self.B, y) - self.d
        costs = 0.5 * (r**2).sum(axis=1) + 0.5 * (y**2).sum(axis=1)
        A, B = self.A.transpose(0, 2, 1), self.B.transpose(0, 2, 1)
        gz, gy = np.einsum("kam,km->ka", A, r), np.einsum("kym,km->ky", B, r) + y
        inner = B @ self.B + np.eye(y.shape[1])
        equations = NormalEquations(
            self.prior * z, np.diag(self.prior), gz, A @ self.A, gy, inner, B @ self.A
        )
        value = float(costs.sum() + 0.5 * self.prior @ z**2)
        return Evaluation(
            value, equations=equations, trial_costs=costs, count=r.size + y.size,
            gradient=(self.prior * z + gz.sum(axis=0), gy),
        )  # fmt: skip

    def values(self, z):
        return np.asarray(z, float)

    def value_slopes(self, z):
        return np.ones(2)

    def joint(self):
        """Jacobian of all residuals by (z, y_1 ... y_K), and the precision of the priors."""
        (K, ny), m = self.nuisance_shape, self.A.shape[1]
        J = np.zeros((K * m, 2 + K * ny))
        for k in range(K):
            rows = slice(k * m, k * m + m)
            J[rows, :2], J[rows, 2 + k * ny : 2 + k * ny + ny] = self.A[k], self.B[k]
        return J, np.diag([*self.prior, *np.ones(K * ny)])


@pytest.mark.parametrize("noise", [0.7, 5.0])
def test_estimated_noise_scales_neither_priors_nor_beliefs(noise):
    """(J^T J / s^2 + P)^-1 of everything together, and s^2 (N - p + tr C P) = |r|^2."""
    problem = WithPriors(noise)
    solution = levenberg_marquardt(problem)
    found = gauss_newton_covariance(problem, solution, noise="estimated")
    J, P = problem.joint()
    whole = np.linalg.inv(J.T @ J / found.noise**2 + P)
    np.testing.assert_allclose(found.covariance_z, whole[:2, :2], rtol=1e-9)
    r = problem.A @ solution.z + np.einsum("kmy,ky->km", problem.B, solution.y) - problem.d
    left = J.shape[0] - J.shape[1] + np.trace(whole @ P)
    assert found.dof == pytest.approx(left)
    assert found.noise == pytest.approx(np.sqrt((r**2).sum() / left))
    assert found.noise == pytest.approx(noise, rel=0.3)
    assert found.std_dev[1] < 0.5, "a prior determines that much whatever the residuals are"


def shared(generator, K, m):
    """Model error: a whole block is off together."""
    return 2 * generator.normal(size=(K, 1)) + 0.3 * generator.normal(size=(K, m))


def test_sandwich_and_bootstraps_see_errors_shared_within_a_trial():
    estimates, sandwiches, one_steps = [], [], []
    for seed in range(60):
        problem = line(shared, seed=seed)
        solution = levenberg_marquardt(problem)
        estimates.append(solution.z)
        sandwiches.append(sandwich_covariance(problem, solution).std_dev)
        one_steps.append(bootstrap(problem, solution, samples=200, seed=seed).std_dev)
    truth = np.std(estimates, axis=0)
    np.testing.assert_allclose(np.mean(sandwiches, axis=0), truth, rtol=0.25)
    np.testing.assert_allclose(np.mean(one_steps, axis=0), truth, rtol=0.25)
    naive = gauss_newton_covariance(problem, solution).std_dev
    assert naive[0] < 0.5 * truth[0], "independent noise would be too confident here"


def test_one_step_bootstrap_is_the_refit_for_a_linear_problem():
    problem = line(shared, K=12)
    solution = levenberg_marquardt(problem)
    quick = bootstrap(problem, solution, samples=20, seed=3)
    full = bootstrap(problem, solution, samples=20, seed=3, refit=levenberg_marquardt)
    np.testing.assert_allclose(quick.samples, full.samples, atol=1e-7)
    low, high = full.interval(0.5).T
    assert np.all(low < solution.z + full.std_dev) and np.all(low < high)
    with pytest.raises(InputError, match="at least 2"):
        stop = SimpleNamespace(cancelled=True)
        bootstrap(problem, solution, samples=5, refit=levenberg_marquardt, cancel=stop)


def test_sandwich_uses_the_curvature_of_robust_losses():
    """M-estimators: re-weighted Hessians would give too small sigmas."""
    estimates, sigmas = [], []
    for seed in range(150):
        problem = line(lambda g, K, m: g.standard_t(2, size=(K, m)), seed=seed, loss=Cauchy(1.0))
        solution = levenberg_marquardt(problem)
        estimates.append(solution.z)
        sigmas.append(sandwich_covariance(problem, solution).std_dev)
    np.testing.assert_allclose(np.mean(sigmas, axis=0), np.std(estimates, axis=0), rtol=0.15)


def test_a_parameter_at_its_bound_is_held():
    problem = line(white, lower=[1.5, -9.0])
    solution = levenberg_marquardt(problem)
    found = gauss_newton_covariance(problem, solution)
    assert found.at_bound == {"a": "lower"} and "lower bound" in found.notes[0]
    assert np.isnan(found.std_dev[0]) and np.all(np.isnan(found.interval()[0]))
    b = np.concatenate([j[:, 0, 1] for j in problem.jacobians(solution.z)])
    assert found.std_dev[1] == pytest.approx(1 / np.linalg.norm(b)), "conditional on a"
    drawn = bootstrap(problem, solution, samples=300)
    assert drawn.samples[:, 0].min() >= 1.5
    far = line(white, lower=[2.5, -9.0])  # in no sample it leaves the bound: not known, not exact
    drawn = bootstrap(far, levenberg_marquardt(far), samples=100)
    assert np.isnan(drawn.std_dev[0]) and drawn.std_dev[1] > 0.0


def hessian(*rows):
    J = np.array(rows, float)
    return J.T @ J


BOUNDS = (np.full(3, -np.inf), np.full(3, np.inf))


@pytest.mark.parametrize(
    ("H", "able", "says"),
    [
        (np.diag([4.0, 9, 1]), (True, True, True), ["", "", ""]),
        (np.diag([4.0, 0, 1]), (True, False, True), ["", "do not depend", ""]),
        (hessian([1, 1, 0], [0, 0, 1]), (False, False, True), ["from b", "from a", ""]),
        (hessian([1, 1, 0], [0, 0.05, 1]), (False, False, False), ["from b", "from a", "b"]),
        (hessian([1, 1, 1], [1, 0, 0]), (True, False, False), ["", "from c (-1", "from b"]),
        (hessian([1, -1, 0], [0, 1, -1]), (False,) * 3, ["from b (+1.0", "from a", "from a"]),
        (
            hessian([1, 2, 1], [0, 1, -1]), (False,) * 3,
            ["a combination with b, c|from", "", ""],
        ),
    ],
)  # fmt: skip
def test_identifiability_by_name(H, able, says):
    found = identifiability(H, ("a", "b", "c"), *BOUNDS)
    assert found.identifiable == able, found.notes
    for note, part in zip(found.notes, says, strict=True):
        assert any(p in note for p in part.split("|")), found.notes
    assert all(abs(c) > 0.99 for *_, c in found.pairs)


def test_hidden_combinations_are_named():
    """Four parameters of which the data see two combinations: no pair need be correlated."""
    generator = np.random.default_rng(4)
    J = np.zeros((40, 5))
    J[:, :4] = generator.normal(size=(40, 2)) @ generator.normal(size=(2, 4))
    J[:, 4] = generator.normal(size=40)
    found = identifiability(J.T @ J, "abcde", np.full(5, -np.inf), np.full(5, np.inf))
    assert found.identifiable == (False, False, False, False, True), found.notes
    assert not found.pairs, "the case was not reached"
    assert all("only a combination with" in note for note in found.notes[:4])


def test_too_little_information_is_said():
    low, high = np.array([0.0, -np.inf]), np.array([1.0, np.inf])
    found = identifiability(
        np.diag([1.0, 0.5]), "ab", low, high, logarithmic=np.array([False, True])
    )
    assert "bounds" in found.notes[0] and "factor of e" in found.notes[1]
    np.testing.assert_allclose(found.sigma, [1.0, np.sqrt(2)])


@pytest.fixture
def fit(scene, options, engine, trials):
    def run(parameters, trials=trials):
        problem = SimulationProblem(
            scene, options, ParameterMap(parameters, scene), trials, nuisance=True, simulator=engine
        )
        return problem, levenberg_marquardt(problem)

    return run


def test_mass_and_drag_cannot_be_told_apart(fit):
    problem, solution = fit([DRAG, GRAVITY, Parameter("cube.mass", "kg", 0.4, scale="log")])
    found = gauss_newton_covariance(problem, solution)
    assert found.identifiable == (False, True, False)
    ((a, b, correlation),) = found.pairs
    assert (a, b) == ("cube.drag", "cube.mass") and correlation > 0.999
    assert "cube.mass" in found.notes[0] and found.notes[1] == ""
    assert np.all(np.isfinite(found.std_dev)) and found.std_dev[0] > 100


def test_a_prior_that_decides_is_said(fit):
    mass = Parameter("cube.mass", "kg", 0.5, scale="log", prior_mean=0.5, prior_sigma=0.05)
    problem, solution = fit([DRAG, GRAVITY, mass])
    found = gauss_newton_covariance(problem, solution)
    assert found.std_dev[2] == pytest.approx(0.05, rel=0.05)
    assert found.std_dev[0] == pytest.approx(0.1 * solution.parameters["cube.drag"], rel=0.1)
    assert "prior decides" in found.notes[2] and not found.identifiable[2]


def test_log_parameters_have_positive_intervals(fit):
    problem, solution = fit([DRAG, GRAVITY])
    found = gauss_newton_covariance(problem, solution)
    sigma_z = np.sqrt(found.covariance_z[0, 0])
    drag = solution.parameters["cube.drag"]
    assert found.std_dev[0] == pytest.approx(drag * sigma_z)
    expected = drag * np.exp([-1.96 * sigma_z, 1.96 * sigma_z])
    np.testing.assert_allclose(found.interval()[0], expected, rtol=1e-4)
    note = sandwich_covariance(problem, solution).notes
    assert note == ("", "")
    few = fit([DRAG, GRAVITY], [problem.trials[0], problem.trials[1]])
    assert "only 2 trials" in sandwich_covariance(*few).notes[0]
    with pytest.raises(InputError, match="2 trials"):
        sandwich_covariance(*fit([DRAG, GRAVITY], problem.trials[:1]))


def test_intervals_cover_the_truth_when_starts_are_nuisance_variables(fit, toss):
    """120 repetitions of 3 tosses: prior and data consistent, each piece of data used once."""
    truth = {"gravity.z": -9.6, "cube.drag": 0.7, "cube.mass": 0.5}
    generator, inside, scores = np.random.default_rng(77), [], []
    for _ in range(120):
        tosses = [toss(generator, truth, 16, name=str(k)) for k in range(3)]
        problem, solution = fit([DRAG, GRAVITY], tosses)
        found = gauss_newton_covariance(problem, solution)
        low, high = found.interval(0.95).T
        inside.append((low < [0.7, 9.6]) & ([0.7, 9.6] < high))
        scores.append((problem.values(solution.z) - [0.7, 9.6]) / found.std_dev)
    share = np.mean(inside, axis=0)
    assert np.all(share > 0.88) and np.all(share <= 1.0), share
    np.testing.assert_allclose(np.std(scores, axis=0), 1.0, atol=0.25)


def test_using_the_data_twice_is_overconfident(fit, toss):
    """The rule of inverse.md, shown: the prior of the start must not be residuals again."""
    truth = {"gravity.z": -9.6, "cube.drag": 0.7, "cube.mass": 0.5}
    once = [toss(np.random.default_rng(1), truth, 16)]
    twice = [replace(once[0], objectives=once[0].objectives * 2)]
    a, b = (gauss_newton_covariance(*fit([GRAVITY], t)).std_dev[0] for t in (once, twice))
    assert b < 0.9 * a


def test_a_solution_that_cannot_be_simulated_is_refused(fit):
    problem, solution = fit([DRAG, GRAVITY])
    with pytest.raises(InputError, match="non_finite"):
        gauss_newton_covariance(problem, replace(solution, z=np.array([5.0, 1.0])))
    with pytest.raises(InputError, match="known"):
        gauss_newton_covariance(problem, solution, noise="maybe")
