"""The protocol itself: it passes exact gradients, fails wrong ones, and skips other branches."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import GradientReport, check_gradient
from diffsim_ros.inverse.gradient_check import EPSILONS, DirectionCheck

X = np.array([0.3, -0.7, 1.1])


def smooth(points):
    return [np.sin(p[0]) * np.exp(p[1]) + p[2] ** 3 for p in points], [0] * len(points)


def gradient(p):
    return np.array([np.cos(p[0]) * np.exp(p[1]), np.sin(p[0]) * np.exp(p[1]), 3 * p[2] ** 2])


def test_epsilons_are_two_per_decade():
    assert len(EPSILONS) == 13 and EPSILONS[0] == 1e-3
    np.testing.assert_allclose(EPSILONS[-1], 1e-9)
    np.testing.assert_allclose(EPSILONS[:-1] / EPSILONS[1:], np.sqrt(10))


def test_an_exact_gradient_passes():
    report = check_gradient(smooth, X, gradient(X), directions=50)
    assert report.passed and len(report.counted) == 50 and not report.lacking
    assert report.worst < 1e-8 and all(c.clean == 13 for c in report.checks)
    assert "passed: 50 directions, 0 without a plateau" in report.summary()


@pytest.mark.parametrize("wrong", [2e-6, 1e-3, 1.0])
def test_a_wrong_gradient_fails(wrong):
    report = check_gradient(smooth, X, gradient(X) * (1 + wrong), directions=20)
    assert not report.passed and len(report.failed) == 20 and "FAILED" in report.summary()
    assert report.worst == pytest.approx(wrong / (1 + wrong), rel=1e-2)


def test_a_wrong_component_shows_in_small_directional_derivatives():
    """D keeps a thousandth of |grad|: a direction across the gradient is not excused."""
    g = gradient(X)
    across = np.cross(g, [1.0, 0, 0])
    report = check_gradient(smooth, X, g + 1e-4 * across, along=across[None])
    assert abs(report.checks[0].exact) < 1e-3 * np.linalg.norm(g) and not report.passed
    right = check_gradient(smooth, X, g, along=across[None])
    assert abs(right.checks[0].exact) < 1e-12 and right.passed, "its round-off is not an error"


def branched(points):
    """A jump of value and slope at p0 = 0.3 + 1e-5: only smaller eps are clean."""
    branch = [int(p[0] > 0.3 + 1e-5) for p in points]
    return [
        v + 5 * b * p[0] for v, b, p in zip(smooth(points)[0], branch, points, strict=True)
    ], branch


def test_only_runs_on_the_same_branch_count():
    along = np.eye(3)[:1]
    report = check_gradient(branched, X, gradient(X), along=along)
    (check,) = report.checks
    assert check.clean == 9 and check.epsilon < 1e-5 and report.passed
    blind = check_gradient(lambda p: (branched(p)[0], [0] * len(p)), X, gradient(X), along=along)
    assert blind.checks[0].clean == 13


def test_no_plateau_is_listed_and_not_counted():
    def torn(points):
        return smooth(points)[0], [0, *range(1, len(points))]

    report = check_gradient(torn, X, gradient(X), directions=2, label="scene 7")
    assert report.lacking == ("scene 7[0]", "scene 7[1]") and not report.counted
    assert not report.passed, "nothing was checked"

    def failing(points):
        values = np.array(smooth(points)[0])
        values[np.linalg.norm(points - X, axis=1) > 2e-9] = np.inf
        return values, [0] * len(points)

    assert check_gradient(failing, X, gradient(X), directions=1).checks[0].clean == 1


def entry(error, spread=1e-12, plateau=True):
    return DirectionCheck("d", 1.0, 1.0 if plateau else np.nan, error, spread, 1e-5, 13)


def test_pass_rules_and_counts():
    good = [entry(1e-9)] * 97
    assert GradientReport(tuple(good)).passed
    rough = entry(5e-5, spread=3e-5)
    assert rough.passed and not entry(5e-5, spread=1e-5).passed
    assert not entry(2e-4, spread=1e-3).passed, "never above 1e-4"
    assert GradientReport((*good, *[rough] * 5)).passed
    assert not GradientReport((*good, *[rough] * 6)).passed, "95 % must be fine"
    lacking = entry(np.nan, plateau=False)
    assert GradientReport((*good, lacking)).passed
    assert not GradientReport((*good, *[lacking] * 3)).passed, "2 % may lack a plateau"
    assert GradientReport(tuple(good), adjoint=1e-10).passed
    assert not GradientReport(tuple(good), adjoint=1e-8).passed


def test_reports_merge():
    merged = GradientReport.merged(
        [GradientReport((entry(1e-9),), 1e-12), GradientReport((entry(1e-3),), None)]
    )
    assert len(merged.checks) == 2 and merged.adjoint == 1e-12 and len(merged.failed) == 1


def test_bad_calls_are_named():
    with pytest.raises(InputError, match="gradient"):
        check_gradient(smooth, X, np.array([1.0, np.nan, 0.0]))
    with pytest.raises(InputError, match="evaluated"):
        check_gradient(lambda p: ([np.inf] * len(p), [0] * len(p)), X, gradient(X))
