"""The surface through draws of rugged costs with known minima."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from diffsim_ros.real2sim.fit import Fit, _Training
from diffsim_ros.real2sim.options import FitOptions
from diffsim_ros.real2sim.surface import Surface, better_half


def noisy_tosses(K=60, m=120, noise=0.02, seed=1):
    """K tosses whose quadratics have minima around (0.2, -0.1), plus ripples."""
    rng = np.random.default_rng(seed)
    minima = np.array([0.2, -0.1]) + rng.normal(0.0, 0.3, (K, 2))
    z = rng.normal(0.0, 0.3, (m, 2))
    costs = ((z[:, None] - minima) ** 2).sum(axis=2) + rng.normal(0.0, noise, (m, K))
    return Surface.through(z, costs), minima


def test_surface_finds_the_mean_minimum_through_the_noise():
    surface, minima = noisy_tosses()
    found = surface.minimum(np.ones(60) / 60)
    np.testing.assert_allclose(found, minima.mean(axis=0), atol=0.01)


def test_surface_bootstrap_gives_the_standard_error_of_the_mean():
    surface, minima = noisy_tosses()
    spread = surface.bootstrap(400, seed=2).std(axis=0)
    np.testing.assert_allclose(spread, minima.std(axis=0) / np.sqrt(60), rtol=0.2)


def test_surface_without_curvature_stays_near_its_draws():
    rng = np.random.default_rng(3)
    z = rng.normal(0.0, 1.0, (80, 2))
    surface = Surface.through(z, (z[:, :1] + 0.0 * z[:, 1:]) @ np.ones((1, 4)))
    found = surface.minimum(np.ones(4))
    assert 2.0 < np.linalg.norm(found - z.mean(axis=0)) < 3.2
    assert found[0] < -2.0


def test_smoothed_value_is_that_of_the_quadratic():
    surface, minima = noisy_tosses(noise=0.0)
    z = np.array([0.1, 0.3])
    np.testing.assert_allclose(surface.values(z), ((z - minima) ** 2).sum(axis=1), rtol=1e-8)


def test_better_half_moves_downhill():
    rng = np.random.default_rng(4)
    z = rng.normal(0.0, 1.0, (200, 3))
    moved = better_half(z, ((z - 2.0) ** 2).sum(axis=1))
    assert (moved > 0.2).all()


def test_a_search_that_still_gains_has_not_converged_however_much_tosses_differ(monkeypatch):
    """A tenth of the cost, within two standard errors of that gain: formerly converged."""
    model = SimpleNamespace(config=SimpleNamespace(fit=FitOptions()))
    training = _Training(model, None, None)
    costs = np.ones((1, 3)), []
    monkeypatch.setattr("diffsim_ros.real2sim.fit._costs", lambda problem, z, cancel: costs)
    surface, _ = noisy_tosses()
    start = Fit(np.zeros(2), np.zeros((3, 0)), 3.0, "converged", "", None, [], [])
    for ended, status in (((8, 0.1, 0.2), "not_converged"), ((5, 0.01, 0.2), "converged")):
        found = training._searched(start, None, np.zeros(2), surface, ended)
        assert found.status == status and f"of {ended[0]} rounds" in found.message
