"""Gauss-Newton equations in arrow form and their Schur complement [Eqs. 8-10].

Shared variables z (nz) meet every trial, nuisance variables y_k (ny) only trial k:

    [ H_zz  H_zy ] [dz]     [g_z]          reduced:  sum_k (H_zz,k - H_zy,k H_yy,k^-1 H_yz,k) dz
    [ H_yz  H_yy ] [dy] = - [g_y]                        = -sum_k (g_z,k - H_zy,k H_yy,k^-1 g_y,k)
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .losses import Loss


@dataclass(frozen=True)
class NormalEquations:
    """Gradient and Gauss-Newton Hessian of the cost, kept per trial.

    prior_g (nz,), prior_H (nz, nz)   of the shared prior
    gz (K, nz), Hzz (K, nz, nz)       of each trial by z
    gy (K, ny), Hyy (K, ny, ny)       of each trial by its own y
    Hyz (K, ny, nz)                   mixed
    start_prior (K,)                  weights of the priors |y_k|^2/2 of starts in gy and Hyy
                                      (None: 1)
    """

    prior_g: np.ndarray
    prior_H: np.ndarray
    gz: np.ndarray
    Hzz: np.ndarray
    gy: np.ndarray
    Hyy: np.ndarray
    Hyz: np.ndarray
    start_prior: np.ndarray | None = None

    @property
    def start_priors(self) -> np.ndarray:
        """Hessian (K, ny, ny) of the priors of starts alone."""
        K, ny = self.gy.shape
        weight = np.ones(K) if self.start_prior is None else self.start_prior
        return weight[:, None, None] * np.eye(ny)

    def with_noise(self, factor: float) -> NormalEquations:
        """Hessians with residuals whose variances are `factor` times as large.

        Priors, those of starts too, are absolute and stay; the gradients are left as they are.
        """
        inner = (self.Hyy - self.start_priors) / factor + self.start_priors
        return replace(self, Hzz=self.Hzz / factor, Hyz=self.Hyz / factor, Hyy=inner)

    @property
    def gradient_z(self) -> np.ndarray:
        """Gradient of the whole cost by z (nz,), at fixed y."""
        return self.prior_g + self.gz.sum(axis=0)

    def diagonals(self) -> tuple[np.ndarray, np.ndarray]:
        """Diagonals of the whole Hessian: (nz,) and (K, ny)."""
        zz = np.diagonal(self.prior_H) + np.einsum("kii->i", self.Hzz)
        return zz, np.einsum("kii->ki", self.Hyy).copy()

    def eliminated(
        self, damping_y: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Per-trial (g (K, nz), H (K, nz, nz), X (K, ny, 1 + nz)) with y eliminated [Eq. 9].

        X = H_yy^-1 [g_y, H_yz] gives dy = -(X[:, 0] + X[:, 1:] dz) [Eq. 10].  damping_y (K, ny) is
        added to the diagonal of H_yy.
        """
        if self.gy.shape[1] == 0:
            return self.gz, self.Hzz, np.zeros((len(self.gz), 0, 1 + self.gz.shape[1]))
        Hyy = self.Hyy
        if damping_y is not None:
            Hyy = Hyy + damping_y[:, :, None] * np.eye(Hyy.shape[1])
        right = np.concatenate([self.gy[:, :, None], self.Hyz], axis=2)
        X = np.linalg.solve(Hyy, right)
        HzyX = np.einsum("kyz,kyc->kzc", self.Hyz, X)
        return self.gz - HzyX[:, :, 0], self.Hzz - HzyX[:, :, 1:], X

    def reduced(
        self, damping_y: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (g (nz,), H (nz, nz), X) of the whole cost with all y eliminated."""
        g, H, X = self.eliminated(damping_y)
        H = self.prior_H + H.sum(axis=0)
        return self.prior_g + g.sum(axis=0), 0.5 * (H + H.T), X

    def change(self, dz: np.ndarray, dy: np.ndarray) -> float:
        """Change of the quadratic model along (dz, dy): g.d + d.H d/2."""
        Hdz = (self.prior_H + self.Hzz.sum(axis=0)) @ dz
        Hdy = np.einsum("kij,kj->ki", self.Hyy, dy) + 2.0 * (self.Hyz @ dz)
        linear = self.gradient_z @ dz + np.sum(self.gy * dy)
        return float(linear + 0.5 * (dz @ Hdz + np.sum(dy * Hdy)))


def accumulate(
    residual: np.ndarray, jacobian: np.ndarray, loss: Loss, *, second_order: bool = False
) -> tuple[float, np.ndarray, np.ndarray]:
    """Robust sum over blocks: S = sum_m rho(|r_m|^2), half its gradient and Gauss-Newton Hessian.

    residual (M, q), jacobian (M, q, n).  Returns (S, g (n,), H (n, n)) with g = J^T W r exact
    and H = J^T W J, W = rho' (iteratively re-weighted, positive); second_order adds the curvature
    of the loss, 2 rho'' (J^T r)(J^T r)^T, as an uncertainty needs it.
    """
    squared = np.einsum("mq,mq->m", residual, residual)
    rho, weight, curvature = loss(squared)
    n = jacobian.shape[2]
    flat = jacobian.reshape(-1, n)
    if loss.is_plain:
        return float(rho.sum()), flat.T @ residual.ravel(), flat.T @ flat
    scaled = (jacobian * weight[:, None, None]).reshape(-1, n)
    H = scaled.T @ flat
    if second_order:
        slope = np.einsum("mqn,mq->mn", jacobian, residual)
        H = H + 2.0 * (slope * curvature[:, None]).T @ slope
    return float(rho.sum()), scaled.T @ residual.ravel(), H
