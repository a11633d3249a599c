"""Do random halves of the trials agree? A check of standard deviations without a model of noise.

Halves a and b of K trials are fitted apart, each from the first guess: begun at the end of the
whole fit, both would stay at its kinks. If the covariance C of the whole fit holds, z_a - z_b has
covariance K (1/K_a + 1/K_b) C, about 4 C. After a search their minima on its surface are taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ..errors import NotConverged
from ..inverse.uncertainty import Uncertainty
from .fit import Fit, fit_trials
from .model import Model
from .progress import Reporter

FEWEST = 4
"""Trials of which halves say something."""
LEVEL = 0.95
"""Quantile of the chi-square distribution beyond which standard deviations are enlarged."""


@dataclass(frozen=True)
class Halves:
    """Two halves of the trials.

    z       name -> difference of the halves over its standard deviation
    rms     of these;  factor  by which standard deviations are enlarged for them (1: none)
    """

    z: dict[str, float]
    rms: float
    factor: float

    def metrics(self) -> dict:
        """Section `halves` of metrics.json."""
        return {"rms": self.rms, "factor": self.factor, "z": self.z}


def halves_of(
    model: Model, fit: Fit, found: Uncertainty, seed: int, cancel: Any = None
) -> Halves | None:
    """Fit two random halves; None for fewer than FEWEST trials, or where one cannot be fitted."""
    from scipy.stats import chi2

    K = len(fit.kept)
    free = np.flatnonzero(np.diagonal(found.covariance_z) > 0.0)
    if K < FEWEST or not len(free):
        return None
    order = np.random.default_rng(seed).permutation(K)
    ends = [_fitted(model, fit, np.sort(half), cancel) for half in (order[::2], order[1::2])]
    if not all(np.isfinite(z).all() for z in ends) or getattr(cancel, "cancelled", False):
        return None
    sigma = np.sqrt(np.diagonal(found.covariance_z)[free])
    spread = np.sqrt(K * (1.0 / len(order[::2]) + 1.0 / len(order[1::2])))
    z = (ends[0] - ends[1])[free] / (spread * sigma)
    square, count = float(z @ z), len(z)
    factor = np.sqrt(square / count) if square > chi2.ppf(LEVEL, count) else 1.0
    names = {found.names[i]: float(value) for i, value in zip(free, z, strict=True)}
    return Halves(names, float(np.sqrt(square / count)), float(max(factor, 1.0)))


def _fitted(model: Model, fit: Fit, chosen: np.ndarray, cancel: Any) -> np.ndarray:
    """Parameters (nz,) fitted to these trials; NaN where the fit fails."""
    if fit.surface is not None:  # rugged: the minimum of their smoothed costs
        weights = np.zeros(len(fit.kept))
        weights[chosen] = 1.0
        z = fit.surface.minimum(weights)
        return np.clip(z, fit.problem.lower, fit.problem.upper)
    try:
        return fit_trials(model, [fit.kept[i] for i in chosen], Reporter(None, []), cancel).z
    except NotConverged:
        return np.full(len(fit.z), np.nan)


def enlarged(found: Uncertainty, factor: float) -> Uncertainty:
    """The same with standard deviations `factor` times as large."""
    samples = None if found.samples is None else found.z + factor * (found.samples - found.z)
    return replace(
        found,
        covariance_z=factor**2 * found.covariance_z,
        std_dev=factor * found.std_dev,
        samples=samples,
    )
