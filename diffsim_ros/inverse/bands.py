"""Prediction bands: uncertainty of a held-out motion that is due to the parameters.

Linearised: with J the residuals' Jacobian, nuisance starts eliminated, C the covariance of z and
H_yy the information on the start (prior and data of that trial),

    Var(r) = J C J^T + J_y H_yy^-1 J_y^T                                                      [20]

in units of the measurement's sigmas.  Measurements scatter around it by one sigma more.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError

from .problem import Problem

QUANTILE = 1.959963984540054  # of the normal distribution, two-sided 95 %


@dataclass(frozen=True)
class Band:
    """One objective of one trial.

    samples   (M,) numbers that increase with time
    residual  (M, q) predicted minus measured, in sigmas (weighted down where a loss is robust)
    sigma     (M, q) standard deviation of the prediction, in sigmas
    """

    name: str
    trial: int
    samples: np.ndarray
    residual: np.ndarray
    sigma: np.ndarray

    @property
    def inside(self) -> float:
        """Share of measurements within the 95 % band of prediction and sensor together."""
        visible = (self.residual != 0.0) | (self.sigma != 0.0)  # occluded ones are zero
        within = np.abs(self.residual) <= QUANTILE * np.sqrt(1.0 + self.sigma**2)
        return float(within[visible].mean()) if visible.any() else 1.0

    @property
    def widest(self) -> int:
        """Channel with the widest band."""
        return int(np.argmax(np.sum(self.sigma**2, axis=0)))


@dataclass(frozen=True)
class TrialBand:
    """Prediction band of one objective of a trial; t (M,) its samples' times [s]."""

    trial: str
    t: np.ndarray
    band: Band


def prediction_bands(
    problem: Problem, z: np.ndarray, covariance: np.ndarray, y: np.ndarray | None = None
) -> list[Band]:
    """Bands of every objective of every trial of a problem that was not fitted  [20].

    z, covariance  (nz,), (nz, nz) of the estimate; NaN rows (at a bound) count as known
    y              nuisance variables of these trials at z, None: zeros
    """
    y = np.zeros(problem.nuisance_shape) if y is None else y
    found = problem.evaluate(z, y, want="curvature")
    if not found.ok:
        cause = "; ".join(found.failures) or "cancelled"
        raise InputError("prediction_bands", "trial", cause, "trials that can be simulated")
    C, e = np.nan_to_num(np.asarray(covariance, float)), found.equations
    *_, X = e.eliminated()
    bands = []
    for s in found.series:
        J = s.by_z - s.by_y @ X[s.trial][:, 1:]
        variance = np.einsum("mqi,ij,mqj->mq", J, C, J)
        if s.by_y.shape[2]:
            start = np.linalg.inv(e.Hyy[s.trial])
            variance = variance + np.einsum("mqi,ij,mqj->mq", s.by_y, start, s.by_y)
        sigma = np.sqrt(np.maximum(variance, 0.0))
        bands.append(Band(s.name, s.trial, s.samples, s.residual, sigma))
    return bands
