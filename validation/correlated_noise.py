"""Do intervals cover when noise is correlated over time?  One recording of a damped swing.

Amplitude, phase, decay, frequency and offset of a swing measured in several channels are fitted to
noise that is an autoregression of first order in time (0.9: 19 frames are worth one), partly shared
between channels, as what a model does wrong is.  Beside it, the covariance that takes all residuals
for independent.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros.inverse import (
    LeastSquaresProblem,
    correlated_covariance,
    gauss_newton_covariance,
    levenberg_marquardt,
)

from .common import binomial_bounds, share

REPETITIONS = 300
TRUTH = np.array([1.0, 0.3, 1.5, 12.0, 0.2])  # cosine, sine, decay [1/s], frequency [rad/s], offset
NAMES = ("cosine", "sine", "decay", "frequency", "offset")
RATE, SIGMA = 100.0, 0.05
# frames, channels, correlation of neighbours, share of the noise common to all channels
CASES = (
    (150, 4, 0.0, 0.0), (150, 4, 0.5, 0.0), (150, 4, 0.9, 0.0), (150, 4, 0.9, 0.7),
    (400, 4, 0.9, 0.0), (400, 12, 0.9, 0.7), (150, 4, 0.95, 0.0),
)  # fmt: skip
COVERAGE = (0.85, 0.99)  # where a channel is worth 7 independent frames or more


def noise(generator, n: int, q: int, rho: float, shared: float) -> np.ndarray:
    """Autoregression of first order, variance one (n, q)."""
    white = np.sqrt(1 - shared) * generator.normal(size=(n + 200, q))
    white = white + np.sqrt(shared) * generator.normal(size=(n + 200, 1))
    e = np.zeros_like(white)
    for i in range(1, len(e)):
        e[i] = rho * e[i - 1] + np.sqrt(1 - rho * rho) * white[i]
    return e[200:]


def swing(n: int, q: int, data: np.ndarray | None = None):
    """Fit of a swing to data (n, q), sigma SIGMA; None: the true curves (n, q)."""
    t = np.arange(n) / RATE
    gain = np.random.default_rng(7).normal(size=(2, q))

    def parts(z):
        wave = np.exp(-z[2] * t)
        return wave * np.cos(z[3] * t), wave * np.sin(z[3] * t)

    def model(z):
        c, s = parts(z)
        return np.outer(z[0] * c + z[1] * s, gain[0]) + z[4] * gain[1]

    if data is None:
        return model(TRUTH)

    def jacobian(z):
        c, s = parts(z)
        u, v = z[0] * c + z[1] * s, z[1] * c - z[0] * s
        J = np.stack([np.outer(column, gain[0]) for column in (c, s, -t * u, t * v)], axis=2)
        offset = np.broadcast_to(gain[1], (n, q))
        return [np.concatenate([J, offset[..., None]], axis=2) / SIGMA]

    return LeastSquaresProblem(NAMES, TRUTH * 1.02, lambda z: [(model(z) - data) / SIGMA], jacobian)


def coverage(case: tuple, count: int, seed: int) -> dict:
    """Share of the 95 % intervals that contain the truth, by parameter; sigma as reported."""
    n, q, rho, shared = case
    clean, generator = swing(n, q), np.random.default_rng([seed, n, q, round(100 * rho)])
    inside = {"correlated": [], "independent": []}
    worth = []
    for _ in range(count):
        problem = swing(n, q, clean + SIGMA * noise(generator, n, q, rho, shared))
        solution = levenberg_marquardt(problem)
        found = correlated_covariance(problem, solution)
        worth.append(found.dof + len(NAMES))
        usual = gauss_newton_covariance(problem, solution, noise="estimated")
        for kind, one in (("correlated", found), ("independent", usual)):
            low, high = one.interval(0.95).T
            inside[kind].append((low < TRUTH) & (TRUTH < high))
    figures = {kind: dict(zip(NAMES, np.mean(rows, axis=0).tolist(), strict=True))
               for kind, rows in inside.items()}  # fmt: skip
    return {
        "frames": n, "channels": q, "correlation": rho, "shared": shared, "residuals": n * q,
        "independent_residuals": float(np.median(worth)), "coverage": figures,
        "mean": {kind: float(np.mean(rows)) for kind, rows in inside.items()},
    }  # fmt: skip


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All cases; a tenth has a tenth of the repetitions of the third one."""
    count, whole = share(REPETITIONS, fraction), fraction >= 1
    done = [coverage(case, count, seed) for case in (CASES if whole else CASES[2:3])]
    for entry in done:
        few = entry["frames"] * (1 - entry["correlation"]) / (1 + entry["correlation"]) < 7
        low, high = binomial_bounds(count * len(NAMES), *COVERAGE, fraction)
        covered = round(entry["mean"]["correlated"] * count * len(NAMES))
        assert few or low <= covered <= high, f"{entry}"
        if entry["correlation"] >= 0.9:
            assert entry["mean"]["independent"] < 0.75, f"{entry}"
    return {"repetitions": count, "cases": done}
