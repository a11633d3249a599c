"""Whether a model explains its data: residuals at a solution beside white noise.

The residuals of every series are split into cosines (DCT-II) over its samples.  Their Jacobian says
what the fit took of each cosine, so that of white noise of variance s^2

    E |B r|^2 = s^2 nu,   nu = tr B (1 - J C J^T - J_y H_yy^-1 J_y^T) B^T,                  [Eq. 21]

B rows of the transform, J = J_z - J_y X, X = H_yy^-1 H_yz, C the covariance of the free parameters.
The faster half of the cosines gives s^2; a wrong model leaves something slower.  Octaves of the
slower half are compared with it one by one, for a drift stands in the first and a wrong frequency
in one of the later:

    F_b = (|B_b r|^2 / nu_b) / s^2  ~  F(nu_b, nu_fast).                                    [Eq. 22]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .problem import Problem
from .solution import Solution
from .time_correlation import Series, unseen
from .uncertainty import expansion_at, free_inverse

FIRST = 4
"""Cosines of the first band; the next ones hold as many as all before them."""
LEAST_SAMPLES = 12
"""Of a series that is split; of shorter ones only the size counts."""
ALPHA = 0.01
"""Probability below which residuals are called something else than noise."""
LEVEL = 1.2
"""Residuals this much larger or smaller than the stated sigmas are not their noise."""
LEAST_FAST = 12.0
"""Degrees of freedom that the fast half must have to measure the noise."""


@dataclass(frozen=True)
class Adequacy:
    """Residuals at a solution beside noise.

    level        their root mean square, in sigmas, corrected for what the fit took
    ratio        of the mean square of the worst octave to the noise's; 1: white, NaN: too short
    probability  that white noise gives such a ratio in any octave
    noise        root mean square of the fast half, in sigmas; NaN: too short
    excess       root mean square of what is not noise, in sigmas: sqrt(level^2 - noise^2)
    dof          degrees of freedom that are left
    worst        name of the objective that the ratio is of
    trials       (K,) mean square of each trial's residuals over the noise's
    """

    level: float
    ratio: float
    probability: float
    noise: float
    excess: float
    dof: float
    worst: str
    trials: np.ndarray

    @property
    def is_noise(self) -> bool:
        """Whether the residuals look like noise of the stated sigmas."""
        return not self.probability < ALPHA and 1.0 / LEVEL <= self.level <= LEVEL


@dataclass
class _Powers:
    """Sums of squares and their degrees of freedom: of bands, of the fast half, of all."""

    bands: dict[int, np.ndarray]
    fast: np.ndarray
    whole: np.ndarray


def adequacy(problem: Problem, solution: Solution) -> Adequacy:
    """Compare the residuals at a solution with white noise; InputError if it cannot be simulated.

    Costs one evaluation with Jacobians.
    """
    from scipy.fft import dct  # not at a node's start

    expansion = expansion_at(problem, solution)
    equations = expansion.evaluation.equations
    C = free_inverse(problem, solution, expansion)
    *_, X = equations.eliminated()
    own = np.linalg.inv(equations.Hyy) if equations.gy.shape[1] else equations.Hyy
    names: dict[str, _Powers] = {}
    trials = np.zeros((len(equations.gz), 2))
    for series in expansion.series:
        found = names.setdefault(series.name, _Powers({}, np.zeros(2), np.zeros(2)))
        for r, by_z, by_y in _channels(series):
            J = by_z - by_y @ X[series.trial][:, 1:]
            # hat = factor factor^T: what the fit takes from every residual
            factor = np.concatenate([J @ _root(C), by_y @ _root(own[series.trial])], axis=1)
            whole = np.array([r @ r, max(len(r) - np.sum(factor**2), 0.0)])
            found.whole += whole
            trials[series.trial] += whole
            if len(r) < LEAST_SAMPLES:
                continue
            spectrum, taken = (dct(v, norm="ortho", axis=0) ** 2 for v in (r, factor))
            for band, part in _octaves(len(r)):
                power = np.array([spectrum[part].sum(), len(spectrum[part]) - taken[part].sum()])
                into = found.fast if band < 0 else found.bands.setdefault(band, np.zeros(2))
                into += np.maximum(power, 0.0)
    return _compared(names, trials)


def _compared(names: dict[str, _Powers], trials: np.ndarray) -> Adequacy:
    """The worst octave of all objectives, and the sizes of all residuals."""
    from scipy.stats import f as fisher  # takes half a second, and nodes start without it

    square, dof = np.sum([p.whole for p in names.values()] or [np.zeros(2)], axis=0)
    fast = np.sum([p.fast for p in names.values()] or [np.zeros(2)], axis=0)
    level = float(np.sqrt(square / dof)) if dof > 0 else np.nan
    noise = float(np.sqrt(fast[0] / fast[1])) if fast[1] >= LEAST_FAST else np.nan
    ratio, least, worst, tried = np.nan, 1.0, "", 0
    for name, powers in names.items():
        if powers.fast[1] < LEAST_FAST or powers.fast[0] == 0.0:
            continue
        floor = powers.fast[0] / powers.fast[1]
        for power, left in powers.bands.values():
            if left < 1.0:
                continue
            tried += 1
            found = float(power / left / floor)
            chance = float(fisher.sf(found, left, powers.fast[1]))
            if not worst or (chance, -found) < (least, -ratio):
                ratio, least, worst = found, chance, name
    excess = np.sqrt(max(level**2 - noise**2, 0.0)) if np.isfinite(noise) else np.nan
    floor = noise**2 if np.isfinite(noise) and noise > 0.0 else 1.0
    with np.errstate(invalid="ignore", divide="ignore"):
        each = trials[:, 0] / trials[:, 1] / floor
    chance = min(1.0, least * max(tried, 1)) if worst else np.nan
    return Adequacy(level, ratio, chance, noise, float(excess), float(dof), worst, each)


def _channels(series: Series) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Residuals (n,) of a channel over its measured samples, with their Jacobians (n, nz), (n, ny).

    Several samples of one instant, the points of a cloud, share what the model does wrong there:
    they count as one, their mean by its own noise.
    """
    if np.any(np.diff(series.samples) <= 0):
        _, rows, counts = np.unique(series.samples, return_inverse=True, return_counts=True)
        scale = np.sqrt(counts * series.residual.shape[1])

        def mean(values: np.ndarray) -> np.ndarray:
            summed = np.zeros((len(counts), *values.shape[2:]))
            np.add.at(summed, rows, values.sum(axis=1))
            return summed / scale.reshape(-1, *[1] * (summed.ndim - 1))

        yield mean(series.residual), mean(series.by_z), mean(series.by_y)
        return
    seen = ~unseen(series)
    for c in range(series.residual.shape[1]):
        rows = seen[:, c]
        if rows.any():
            yield series.residual[rows, c], series.by_z[rows, c], series.by_y[rows, c]


def _octaves(count: int) -> Iterator[tuple[int, slice]]:
    """Number and place in the spectrum of each octave of the slower half; -1: of the faster."""
    half, first, last, band = count // 2, 0, FIRST, 0
    while first < half:
        yield band, slice(first, min(last, half))
        first, last, band = last, 2 * last, band + 1
    yield -1, slice(half, count)


def _root(matrix: np.ndarray) -> np.ndarray:
    """R with R R^T = matrix, symmetric and positive semi-definite."""
    if not matrix.size:
        return matrix
    values, vectors = np.linalg.eigh(0.5 * (matrix + matrix.T))
    return vectors * np.sqrt(np.maximum(values, 0.0))
