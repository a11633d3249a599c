"""A quadratic surface through the costs of many draws: smooth minimum and its spread over tosses.

Each toss's cost is rugged in the parameters, but its average over a neighbourhood is not. The
surface is fitted per toss (one linear least squares for all), so the minimum for any resampled set
of tosses costs a small eigenproblem and no simulation.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

RADIUS = 2.5
"""Largest distance of a minimum from the centre, in standard deviations of the draws."""
FLOOR = 1e-3
"""Smallest curvature taken as such, relative to the largest."""


@dataclass(frozen=True)
class Surface:
    """Costs of K tosses around a centre, each a quadratic in u = L^-1 (z - centre).

    centre (n,), L (n, n)   of the draws;  z, costs  the draws (m, n), (m, K)
    """

    centre: np.ndarray
    L: np.ndarray
    z: np.ndarray
    costs: np.ndarray

    @classmethod
    def through(cls, z: np.ndarray, costs: np.ndarray) -> Surface:
        """Surface through draws z (m, n) with costs (m, K); m must exceed its coefficients."""
        centre = z.mean(axis=0)
        spread = np.cov(z.T).reshape(len(centre), -1)
        floor = 1e-12 * np.trace(spread) + 1e-300
        L = np.linalg.cholesky(spread + floor * np.eye(len(centre)))
        return cls(centre, L, z, costs)

    @staticmethod
    def coefficients(n: int) -> int:
        """Number of coefficients of one quadratic in n variables."""
        return (n + 1) * (n + 2) // 2

    def minimum(self, weights: np.ndarray, rows: np.ndarray | None = None) -> np.ndarray:
        """z of the smallest weighted cost (weights (K,)), within RADIUS of the centre.

        rows  indices of the draws to use (a resampling of them), default all
        """
        g, H = self._quadratic(weights, rows)
        return self.centre + self.L @ _trusted_minimum(g, H, RADIUS)

    def values(self, z: np.ndarray) -> np.ndarray:
        """Smoothed cost of every toss at z (n,), (K,)."""
        features = _features(np.linalg.solve(self.L, (self.z - self.centre).T).T)
        coefficients = np.linalg.lstsq(features, self.costs, rcond=None)[0]
        return (_features(np.linalg.solve(self.L, z - self.centre)[None]) @ coefficients)[0]

    def _quadratic(
        self, weights: np.ndarray, rows: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Slope (n,) and curvature (n, n) of the weighted cost in u."""
        z, costs = (self.z, self.costs) if rows is None else (self.z[rows], self.costs[rows])
        u = np.linalg.solve(self.L, (z - self.centre).T).T
        coefficients = np.linalg.lstsq(_features(u), costs @ weights, rcond=None)[0]
        n = u.shape[1]
        H = np.zeros((n, n))
        H[np.triu_indices(n)] = coefficients[n + 1 :]
        return coefficients[1 : n + 1], H + H.T

    def bootstrap(self, samples: int, seed: int) -> np.ndarray:
        """Minima (samples, n) over resampled tosses and draws."""
        rng = np.random.default_rng(seed)
        m, K = self.costs.shape
        minima = []
        for _ in range(samples):
            weights = np.bincount(rng.integers(0, K, size=K), minlength=K) / K
            drawn: Any = rng.integers(0, m, size=m)
            minima.append(self.minimum(weights, drawn))
        return np.array(minima)


def better_half(z: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """Mean (n,) of the better half of draws z (m, n), the best weighing most; costs (m,)."""
    order = np.argsort(costs, kind="stable")[: max(1, len(costs) // 2)]
    weights = np.log(len(order) + 0.5) - np.log(np.arange(1, len(order) + 1))
    return (weights / weights.sum()) @ z[order]


def _features(u: np.ndarray) -> np.ndarray:
    """1, u_i and u_i u_j (i <= j) of points u (m, n)."""
    i, j = np.triu_indices(u.shape[1])
    return np.concatenate([np.ones((len(u), 1)), u, u[:, i] * u[:, j]], axis=1)


def _trusted_minimum(g: np.ndarray, H: np.ndarray, radius: float) -> np.ndarray:
    """Minimiser of g.u + u.H u/2 in the ball |u| <= radius (H may be indefinite)."""
    values, vectors = np.linalg.eigh(H)
    slope = vectors.T @ g
    least = max(FLOOR * float(np.abs(values).max()), 1e-300)

    def step(shift: float) -> np.ndarray:
        return -slope / np.maximum(values + shift, least)

    if values[0] >= least and np.linalg.norm(step(0.0)) <= radius:
        return vectors @ step(0.0)
    low = max(0.0, -float(values[0]))
    high = low + float(np.linalg.norm(g)) / radius + least
    for _ in range(100):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if np.linalg.norm(step(middle)) > radius else (low, middle)
    u = step(high)
    return vectors @ u * min(1.0, radius / max(float(np.linalg.norm(u)), 1e-300))
