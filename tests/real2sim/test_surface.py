"""The search without gradients and the surface through its draws, on costs with known minima."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros.real2sim.search import Population, default_size, reflected
from diffsim_ros.real2sim.surface import Surface


def searched(cost, start, generations, seed=0, bound=2.0):
    n = len(start)
    wide = np.full(n, bound)
    population = Population(start, 0.3 * np.ones(n), -wide, wide, default_size(n), seed)
    for _ in range(generations):
        z = population.draw()
        assert (np.abs(z) <= bound).all()
        population.learn(z, cost(z))
    return population


@pytest.mark.parametrize("n", [1, 2, 5])
def test_search_finds_the_minimum_of_a_badly_scaled_bowl(n):
    scale = 10.0 ** np.linspace(-1, 2, n)
    found = searched(lambda z: ((z - 0.4) ** 2 * scale).sum(axis=1), np.zeros(n), 150)
    np.testing.assert_allclose(found.mean, 0.4, atol=0.02)


def test_search_sees_through_ripples_that_stop_a_gradient():
    def cost(z):
        return ((z - 0.5) ** 2).sum(axis=1) + 0.02 * np.sin(200.0 * z).sum(axis=1)

    found = searched(cost, np.full(3, -1.0), 120)
    np.testing.assert_allclose(found.mean, 0.5, atol=0.15)


def test_failed_draws_count_as_the_worst():
    def cost(z):
        return np.where(z[:, 0] > 0.3, np.inf, (z[:, 0] - 0.5) ** 2)

    found = searched(cost, np.zeros(1), 60)
    assert 0.25 < found.mean[0] <= 0.3


def test_search_ends_at_a_bound_and_equal_seeds_give_equal_bits():
    first = searched(lambda z: z[:, 0], np.zeros(2), 60, bound=1.0)
    again = searched(lambda z: z[:, 0], np.zeros(2), 60, bound=1.0)
    assert first.mean[0] == pytest.approx(-1.0, abs=0.01)
    np.testing.assert_array_equal(first.mean, again.mean)


def test_reflection_folds_into_the_box_and_leaves_free_sides_alone():
    z = np.array([[1.2, 5.0], [-0.3, -7.0], [0.4, 0.0]])
    folded = reflected(z, np.array([0.0, -np.inf]), np.array([1.0, np.inf]))
    np.testing.assert_allclose(folded, [[0.8, 5.0], [0.3, -7.0], [0.4, 0.0]])


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
