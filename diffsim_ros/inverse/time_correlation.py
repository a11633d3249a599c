"""Residuals correlated from frame to frame: how many independent ones they count for.

Of a series of M samples by q channels the covariance is taken as separable,

    Cov(r_ia, r_jb) = S_ab rho(|i - j|),                                                    [Eq. 16]

S (q, q) from the residuals themselves, rho that of an autoregression fitted to all channels
together (Yule-Walker, order by Akaike's criterion), which models oscillating as well as decaying
correlation.  With J the residuals' Jacobian (nuisance starts eliminated) and H the cost's Hessian,

    C = H^-1 [ sum over series of J^T (rho x S) J / (1 - lost) ] H^-1                       [Eq. 17]

`lost` is the share of the residuals' variance that the fit removed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .normal_equations import NormalEquations

MOST_LAGS = 12  # of the autoregression
LEAST_SAMPLES = 12  # of a series, to estimate its own noise


@dataclass(frozen=True)
class Series:
    """Residuals of one objective of one trial, as the gradient of the cost weights them.

    name, trial  of the objective, number of the trial
    samples      (M,) whole numbers, increasing with time; equal ones are of the same instant
    residual     (M, q) divided by sigma, times the weights of robust losses
    by_z, by_y   (M, q, nz), (M, q, ny) its Jacobians without those weights
    """

    name: str
    trial: int
    samples: np.ndarray
    residual: np.ndarray
    by_z: np.ndarray
    by_y: np.ndarray


@dataclass(frozen=True)
class SeriesNoise:
    """The noise of one series, estimated from its residuals.

    count      residuals of measured samples (not occluded)
    phi        autoregression of the whole series, () if neighbours are independent
    frames     samples that one independent sample takes: sum of rho over all lags, 1 at least
    channels   independent ones of the q channels: (tr S)^2 / |S|^2
    S          (q, q) covariance of the channels, None: sigmas are used as they are (a short series)
    """

    name: str
    trial: int
    count: int
    phi: np.ndarray
    frames: float
    channels: float
    S: np.ndarray | None

    @property
    def effective(self) -> float:
        """Effective number of independent residuals."""
        if self.S is None:
            return float(self.count)
        return max(1.0, self.count / len(self.S) / self.frames * self.channels)


def autoregression(e: np.ndarray) -> np.ndarray:
    """Coefficients phi of e_t = sum_k phi_k e_(t-k) + white, common to all columns of e (M, q).

    Rows of NaN are missing samples.  Order 0 ... MOST_LAGS by Akaike's criterion.
    """
    valid, e = np.isfinite(e), np.nan_to_num(e)
    total = float(np.sum(e**2))
    most = min(MOST_LAGS, len(e) // 4)
    if total == 0.0 or most < 1:
        return np.zeros(0)
    rho = [1.0]
    for lag in range(1, most + 1):
        pairs = np.sum(valid[lag:] & valid[:-lag])
        mean = np.sum(e[lag:] * e[:-lag]) / max(pairs, 1) * (valid.sum() / total)
        rho.append(float(mean) * (1.0 - lag / len(e)))  # tapered: positive definite
    best, criterion = np.zeros(0), 0.0
    for order in range(1, most + 1):
        R = np.array([[rho[abs(i - j)] for j in range(order)] for i in range(order)])
        phi = np.linalg.lstsq(R, np.array(rho[1 : order + 1]), rcond=1e-10)[0]
        left = 1.0 - float(phi @ rho[1 : order + 1])
        if left <= 0.0:
            break
        value = float(valid.sum()) * np.log(left) + 2.0 * order
        if value < criterion:
            best, criterion = phi, value
    return best


def autocorrelation(phi: np.ndarray, count: int) -> np.ndarray:
    """Correlations rho (count,) at lags 0 ... count - 1 of the autoregression phi."""
    order = len(phi)
    rho = np.zeros(max(count, order + 1))
    rho[0] = 1.0
    if order:
        A, b = np.eye(order), np.zeros(order)
        for k in range(order):
            for j, c in enumerate(phi):
                lag = abs(k - j)
                if lag == 0:
                    b[k] += c
                else:
                    A[k, lag - 1] -= c
        rho[1 : order + 1] = np.linalg.solve(A, b)
        for k in range(order + 1, count):
            rho[k] = phi @ rho[k - order : k][::-1]
    return rho[:count]


def _frames(phi: np.ndarray, count: int) -> float:
    """Samples per independent one: 1 + 2 sum (1 - lag/count) rho, 1 at least."""
    rho = autocorrelation(phi, count)
    taper = 1.0 - np.arange(count) / count
    return max(1.0, float(2.0 * (taper @ rho) - 1.0))


def _on_grid(series: Series) -> tuple[np.ndarray, np.ndarray] | None:
    """Residuals with missing samples as NaN (n, q) and the rows (M,) that they stand in; None if
    several samples are of one instant."""
    steps = np.diff(series.samples)
    if len(steps) and steps.min() <= 0:
        return None
    spacing = int(np.gcd.reduce(steps)) if len(steps) else 1
    rows = (series.samples - series.samples[0]) // spacing
    grid = np.full((int(rows[-1]) + 1, series.residual.shape[1]), np.nan)
    # an occluded channel has residual and Jacobian zero
    grid[rows] = np.where(unseen(series), np.nan, series.residual)
    return grid, rows


def unseen(series: Series) -> np.ndarray:
    moved = np.any(series.by_z != 0.0, axis=2) | np.any(series.by_y != 0.0, axis=2)
    return (series.residual == 0.0) & ~moved


def _instants(series: Series) -> np.ndarray:
    """Mean residual of every instant (n, 1), of a series with several samples in each."""
    numbers, rows = np.unique(series.samples, return_inverse=True)
    mean = np.zeros((len(numbers), 1))
    np.add.at(mean, rows, series.residual.mean(axis=1, keepdims=True))
    return mean / np.bincount(rows)[:, None]


def noise_of(series: Series) -> SeriesNoise:
    """Correlation over time and between channels of a series' residuals."""
    grid = _on_grid(series)
    count = int(np.sum(~unseen(series)))
    known = (series.name, series.trial, count)
    if grid is None:
        e = _instants(series)
        if len(e) < LEAST_SAMPLES:
            return SeriesNoise(*known, np.zeros(0), 1.0, 1.0, None)
        phi = autoregression(e)
        # one instant counts once: its samples share what the model does wrong there
        width = count / len(e)
        frames = _frames(phi, len(e))
        return SeriesNoise(*known, phi, frames * width, 1.0, np.eye(1))
    e = grid[0]
    if len(e) < LEAST_SAMPLES:
        return SeriesNoise(*known, np.zeros(0), 1.0, float(e.shape[1]), None)
    phi = autoregression(e)
    frames = _frames(phi, len(e))
    valid, filled = np.isfinite(e).sum(axis=0), np.nan_to_num(e)
    S = filled.T @ filled / np.sqrt(np.outer(np.maximum(valid, 1), np.maximum(valid, 1)))
    trace, square = float(np.trace(S)), float(np.sum(S**2))
    square = max(square - trace**2 * frames / len(e), trace**2 / len(S))
    channels = trace**2 / square if square > 0 else float(len(S))
    return SeriesNoise(*known, phi, frames, channels, S)


def _meat(series: Series, noise: SeriesNoise, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J^T (rho x S) J (n, n) of one series, and the same with S = 1; J (M, q, n)."""
    if noise.S is None:  # the sigmas are used as they are
        square = np.einsum("mqi,mqj->ij", J, J)
        return square, square
    grid = _on_grid(series)
    if grid is None:
        scores = np.einsum("mqi,mq->mi", J, series.residual)
        numbers, rows = np.unique(series.samples, return_inverse=True)
        summed = np.zeros((len(numbers), J.shape[2]))
        np.add.at(summed, rows, scores)
        share = _frames(noise.phi, len(numbers))
        square = np.einsum("mqi,mqj->ij", J, J)
        return share * summed.T @ summed, share * square
    e, rows = grid
    filled = np.zeros((len(e), *J.shape[1:]))
    filled[rows] = J
    flat = filled.reshape(len(e), -1)
    rho = autocorrelation(noise.phi, len(e))
    from scipy.linalg import matmul_toeplitz  # not at a node's start

    spread = matmul_toeplitz((rho, rho), flat).reshape(filled.shape)
    whole = np.einsum("mai,ab,mbj->ij", filled, noise.S, spread, optimize=True)
    return whole, np.einsum("mai,maj->ij", filled, spread)


@dataclass(frozen=True)
class TimeNoise:
    """The noise of all series together.

    series    SeriesNoise of each
    meat      (nz, nz) of [Eq. 17], corrected for `lost`; None if it was not asked for
    lost      that share
    """

    series: tuple[SeriesNoise, ...]
    meat: np.ndarray | None
    lost: float

    @property
    def count(self) -> int:
        """Residuals."""
        return sum(s.count for s in self.series)

    @property
    def effective(self) -> float:
        """Effective number of independent ones."""
        return float(sum(s.effective for s in self.series))


def time_noise(
    series: Sequence[Series], equations: NormalEquations, inverse: np.ndarray
) -> TimeNoise:
    """Noise of the residuals at a solution.

    equations  NormalEquations there;  inverse (nz, nz) of the cost's Hessian, y eliminated
    """
    noises = tuple(noise_of(s) for s in series)
    nz, ny = inverse.shape[0], equations.gy.shape[1]
    *_, X = equations.eliminated()
    meat, lost = np.zeros((nz, nz)), 0.0
    for one, noise in zip(series, noises, strict=True):
        follow = X[one.trial][:, 1:]
        J = one.by_z - one.by_y @ follow
        whole, plain = _meat(one, noise, J)
        meat += whole
        lost += float(np.trace(inverse @ plain))
        if ny:
            _, own = _meat(one, noise, one.by_y)
            lost += float(np.trace(np.linalg.solve(equations.Hyy[one.trial], own)))
    for follow in X[:, :, 1:]:
        meat += follow.T @ follow  # the prior of a start is a residual too
    share = min(0.9, lost / max(sum(n.count for n in noises), 1))
    return TimeNoise(noises, meat / (1.0 - share), share)
