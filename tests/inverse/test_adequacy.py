"""Residuals beside noise: white where the model is right; what a held parameter would explain."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import LeastSquaresProblem, levenberg_marquardt
from diffsim_ros.inverse.adequacy import adequacy
from diffsim_ros.inverse.score_test import score_test
from tests.inverse.test_time_correlation import correlated

GAIN = np.random.default_rng(3).normal(size=(4, 3))


def swing(rate=12.0, decay=1.5, n=300):
    """Jacobian (n, 4, 3) of a damped swing: two amplitudes and an offset, in four channels."""
    t = np.arange(n) / 100.0
    wave = np.exp(-decay * t)
    columns = [wave * np.cos(rate * t), wave * np.sin(rate * t), np.ones(n)]
    return np.stack(columns, axis=1)[:, None, :] * GAIN


def fitted(data, J=None):
    """Adequacy of swings of 12 rad/s fitted to data (n, 4)."""
    J = swing(n=len(data)) if J is None else J
    names = tuple("abc")[: J.shape[2]]
    start = np.zeros(len(names))
    problem = LeastSquaresProblem(names, start, lambda z: [J @ z - data], lambda z: [J])
    return adequacy(problem, levenberg_marquardt(problem))


def test_white_noise_is_white():
    generator = np.random.default_rng(0)
    found = [fitted(2.0 * generator.normal(size=(300, 4))) for _ in range(200)]
    below = np.mean([one.probability < 0.05 for one in found])
    assert below < 0.08
    assert np.mean([one.level for one in found]) == pytest.approx(2.0, rel=0.01)
    assert np.mean([one.noise for one in found]) == pytest.approx(2.0, rel=0.01)
    assert found[0].dof == pytest.approx(1197.0) and found[0].trials.shape == (1,)


def test_degrees_of_freedom_leave_out_what_the_fit_took():
    """As many coefficients as a quarter of the samples: uncorrected, the level would be 0.87."""
    generator = np.random.default_rng(1)
    J = np.cos(np.pi * np.outer(np.arange(40) + 0.5, np.arange(10)) / 40)[:, None, :]
    names, levels = tuple("abcdefghij"), []
    for _ in range(300):
        data = generator.normal(size=(40, 1))
        problem = LeastSquaresProblem(
            names, np.zeros(10), lambda z, d=data: [J @ z - d], lambda z: [J]
        )
        found = adequacy(problem, levenberg_marquardt(problem))
        levels.append(found.level**2)
        assert found.dof == pytest.approx(30.0, abs=1e-6)
    assert np.mean(levels) == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize(
    "data",
    [
        swing(12.3) @ [8.0, 0.0, 0.0],  # another frequency
        swing(12.0, 2.5) @ [8.0, 0.0, 0.0],  # another decay
        np.linspace(-1.0, 1.0, 300)[:, None] * np.ones(4),  # a drift
        correlated(np.random.default_rng(5), 300, 4, 0.9),
    ],
)
def test_what_a_model_leaves_out_is_seen(data):
    found = fitted(data + np.random.default_rng(6).normal(size=(300, 4)))
    assert found.probability < 1e-4 and found.ratio > 1.5
    assert found.noise == pytest.approx(1.0, abs=0.15) and found.excess > 0.2


def test_missing_samples_and_short_series():
    generator = np.random.default_rng(7)
    data, J = generator.normal(size=(300, 4)), swing()
    gone = generator.random((300, 4)) < 0.3
    J[gone], data[gone] = 0.0, 0.0
    found = fitted(data, J)
    assert found.dof == pytest.approx(np.sum(~gone) - 3.0, abs=0.1) and found.probability > 0.01
    short = fitted(generator.normal(size=(8, 4)))
    assert np.isnan(short.ratio) and np.isnan(short.probability) and np.isfinite(short.level)


def test_a_held_parameter_is_named_with_what_it_would_explain():
    """Against the fit with the parameter free: the gain of a linear problem is exact."""
    t = np.arange(300) / 100.0
    J = np.concatenate([swing(), (t[:, None] * np.ones(4))[..., None], swing(30.0)[..., :1]], 2)
    data = J @ [1.0, 2.0, 0.5, 0.4, 0.0] + np.random.default_rng(8).normal(size=(300, 4))

    def problem_of(columns):
        part = J[..., columns]
        names = tuple("abcde"[c] for c in columns)
        start = np.zeros(len(columns))
        return LeastSquaresProblem(names, start, lambda z: [part @ z - data], lambda z: [part])

    narrow, whole = problem_of([0, 1, 2]), problem_of([0, 1, 2, 3, 4])
    end = levenberg_marquardt(narrow)
    found = score_test(whole, np.append(end.z, [0.0, 0.0]), end.y, tuple("abc"))
    assert [score.name for score in found] == ["d", "e"]
    freed = levenberg_marquardt(problem_of([0, 1, 2, 3]))
    assert found[0].gain == pytest.approx(end.value - freed.value, rel=1e-6)
    assert found[0].probability < 1e-6 < found[1].probability
    noisier = score_test(whole, np.append(end.z, [0.0, 0.0]), end.y, tuple("abc"), noise=2.0)
    assert noisier[0].statistic == pytest.approx(found[0].statistic / 4.0)


def test_a_parameter_held_at_its_bound_can_go_one_way_only():
    """Half of what noise alone gives lies beyond the bound, and speaks for nothing."""
    J, t = swing(), np.arange(300) / 100.0
    held = np.concatenate([J, (t[:, None] * np.ones(4))[..., None]], 2)

    def score(slope, **bounds):
        data = held @ [1.0, 2.0, 0.5, slope] + np.random.default_rng(8).normal(size=(300, 4))

        def problem(names, part, **given):
            start = np.zeros(len(names))
            return LeastSquaresProblem(
                names, start, lambda z: [part @ z - data], lambda z: [part], **given
            )

        narrow, whole = problem(tuple("abc"), J), problem(tuple("abcd"), held, **bounds)
        end = levenberg_marquardt(narrow)
        return score_test(whole, np.append(end.z, 0.0), end.y, tuple("abc"))[0]

    lower, upper = np.array([-np.inf] * 3 + [0.0]), np.array([np.inf] * 3 + [0.0])
    for sign, inside, outside in ((1.0, "lower", "upper"), (-1.0, "upper", "lower")):
        free = score(0.1 * sign)
        bounds = {"lower": lower, "upper": upper}
        towards = score(0.1 * sign, **{inside: bounds[inside]})
        assert towards.statistic == free.statistic > 1.0 and towards.value == free.value
        assert towards.probability == pytest.approx(0.5 * free.probability)
        beyond = score(0.1 * sign, **{outside: bounds[outside]})
        assert (beyond.statistic, beyond.gain, beyond.value) == (0.0, 0.0, 0.0)
        assert beyond.probability == 1.0


def test_a_point_that_cannot_be_simulated_is_refused():
    bad = LeastSquaresProblem(
        ("a",), [0.0], lambda z: [np.full((3, 1), np.nan)], lambda z: [np.ones((3, 1, 1))]
    )
    with pytest.raises(InputError, match="score_test: z"):
        score_test(bad, np.zeros(1), np.zeros((1, 0)), ())
