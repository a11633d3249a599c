"""Standard deviations that halves of the trials agree with (real2sim/halves.py)."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import norm

from diffsim_ros.inverse.uncertainty import Uncertainty
from diffsim_ros.real2sim import halves
from diffsim_ros.real2sim.halves import Halves, enlarged, halves_of

SIGMA = np.array([0.1, 0.2])


def uncertainty():
    return Uncertainty(
        "sandwich", ("a", "b"), np.zeros(2), np.diag(SIGMA**2), SIGMA, np.eye(2), (True, True),
        {}, ("", "stiff"), (), samples=np.array([[0.1, 0.2], [-0.1, -0.2]]),
    )  # fmt: skip


def compared(monkeypatch, *ends, trials=8):
    """Halves of eight trials whose fits end there."""
    given = iter(ends)
    monkeypatch.setattr(halves, "_fitted", lambda *rest: next(given))
    return halves_of(
        None, SimpleNamespace(kept=list(range(trials)), z=np.zeros(2)), uncertainty(), seed=0
    )


def test_standard_deviations_are_enlarged_where_halves_disagree(monkeypatch):
    """Halves that lie four standard deviations apart."""
    apart = compared(monkeypatch, 4.0 * SIGMA, -4.0 * SIGMA)
    assert apart.rms == pytest.approx(4.0) and apart.factors == pytest.approx({"a": 4.0, "b": 4.0})
    assert apart.z == pytest.approx({"a": 4.0, "b": 4.0})
    found = uncertainty()
    wide = enlarged(found, apart)
    np.testing.assert_allclose(wide.std_dev, 4.0 * SIGMA)
    np.testing.assert_allclose(np.diagonal(wide.covariance_z), 16.0 * SIGMA**2)
    np.testing.assert_allclose(wide.samples, 4.0 * found.samples)
    assert compared(monkeypatch, trials=3) is None


def test_the_difference_of_halves_is_an_estimate_not_a_test(monkeypatch):
    """1.5 standard deviations are within chance, and count all the same; 0.5 take nothing away."""
    some = compared(monkeypatch, 1.5 * SIGMA, -1.5 * SIGMA)
    assert some.factors == pytest.approx({"a": 1.5, "b": 1.5}) and not some.apart
    assert "times 1.5" in str(some)
    none = compared(monkeypatch, 0.5 * SIGMA, -0.5 * SIGMA)
    assert set(none.factors.values()) == {1.0} and "agree" in str(none)
    np.testing.assert_allclose(enlarged(uncertainty(), none).std_dev, SIGMA)


def test_a_parameter_that_halves_put_far_apart_is_named(monkeypatch):
    apart = compared(monkeypatch, np.array([0.025, 0.8]), np.array([-0.025, -0.8]))
    assert apart.apart == ("b",) and "most of all in b" in str(apart)
    assert apart.metrics()["apart"] == ["b"]
    own, all_ = 4.0**2, 0.5 * (4.0**2 + 0.25**2)
    factors = np.sqrt(0.5 * (np.array([0.25**2, own]) + all_))
    wide = enlarged(uncertainty(), apart)
    np.testing.assert_allclose(wide.std_dev / SIGMA, factors, rtol=1e-3)
    np.testing.assert_allclose(np.sqrt(np.diagonal(wide.covariance_z)), wide.std_dev)
    assert "times 2.01 to 3.47" in str(apart)
    assert not wide.notes[0] and wide.notes[1].startswith("stiff; ")
    assert "4 times as far apart" in wide.notes[1]


def test_ends_that_chance_moves_are_counted_once():
    """Two halves and the whole end by chance, whatever their trials: the mean square is right."""
    rng, chance = np.random.default_rng(1), 5.0
    found = []
    for _ in range(4000):
        whole, *ends = chance * SIGMA * rng.standard_normal((3, 2))
        fit = SimpleNamespace(kept=list(range(8)), z=whole)
        with pytest.MonkeyPatch.context() as patch:
            given = iter(ends)
            patch.setattr(halves, "_fitted", lambda *rest, given=given: next(given))
            found.append(halves_of(None, fit, uncertainty(), seed=0).rms ** 2)
    assert np.mean(found) == pytest.approx(chance**2, rel=0.05)


@pytest.mark.parametrize("surface", [None, "of a search"])
def test_halves_are_fitted_apart_as_the_whole_was(monkeypatch, surface):
    """From the first guess with other draws, after a search too."""
    from dataclasses import dataclass

    from diffsim_ros.real2sim.options import FitOptions

    @dataclass(frozen=True)
    class Config:
        fit: FitOptions

    @dataclass(frozen=True)
    class Model:
        config: Config
        map: SimpleNamespace

    calls = []

    def fit_trials(model, trials, reporter, cancel, side):
        calls.append((model.config.fit, tuple(trials)))
        return SimpleNamespace(z=np.zeros(2))

    monkeypatch.setattr(halves, "fit_trials", fit_trials)
    fit = SimpleNamespace(kept=list(range(9)), surface=surface, z=np.zeros(2))
    options = FitOptions(search_evaluations=40, seed=3)  # two parameters: nine draws are enough
    model = Model(Config(options), SimpleNamespace(names=("a", "b")))
    assert halves_of(model, fit, uncertainty(), seed=0).rms == 0.0
    (one, first), (other, second) = calls
    assert one.search_evaluations == other.search_evaluations == 20
    assert len({one.seed, other.seed, options.seed}) == 3
    assert sorted(first + second) == fit.kept and abs(len(first) - len(second)) == 1


@pytest.mark.parametrize("n", [1, 4, 7])
def test_right_intervals_stay_right_and_narrow_ones_cover_more(n):
    """Estimates and differences of halves of Gaussian fits, std_dev right or half of it."""
    rng, count = np.random.default_rng(n), 20_000
    quantile = norm.ppf(0.975)
    for true, low, high in ((1.0, 0.955, 0.97), (2.0, 0.80, 0.95)):
        estimates, apart = true * rng.standard_normal((2, count, n))
        both = [Halves({"a": abs(z[0])}, np.sqrt(z @ z / n)) for z in apart]
        factor = np.array([one.factors["a"] for one in both])
        covered = np.mean(np.abs(estimates[:, 0]) <= quantile * factor)
        plain = np.mean(np.abs(estimates[:, 0]) <= quantile)
        assert low <= covered <= high and covered > plain, (n, true, covered, plain)
