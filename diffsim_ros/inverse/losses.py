"""Robust losses: how much a squared residual norm counts.

A loss maps s = |r|^2 >= 0 to rho(s), rho(0) = 0, rho' > 0; the cost is rho(s)/2 [Eq. 3].
`__call__` returns (rho, rho', rho'') arrays of s's shape.  `scale` is in units of |r|: well inside
it a residual counts fully (rho' = 1).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError


@dataclass(frozen=True)
class Loss:
    """Base of all losses: plain least squares, rho(s) = s."""

    def __call__(self, s: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (rho, rho', rho'') at s."""
        s = np.asarray(s, float)
        return s, np.ones_like(s), np.zeros_like(s)

    @property
    def is_plain(self) -> bool:
        """True when rho(s) = s, so that no weights are needed."""
        return type(self) is Loss


@dataclass(frozen=True)
class _ScaledLoss(Loss):
    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise InputError(type(self).__name__, "scale", self.scale, "a finite number > 0")


@dataclass(frozen=True)
class Huber(_ScaledLoss):
    """Quadratic within `scale`, linear outside: rho = 2 c sqrt(s) - c^2 for s > c^2."""

    def __call__(self, s: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (rho, rho', rho'') at s."""
        s, c = np.asarray(s, float), self.scale
        inside = s <= c * c
        root = np.sqrt(np.where(inside, c * c, s))
        rho = np.where(inside, s, 2 * c * root - c * c)
        return rho, np.where(inside, 1.0, c / root), np.where(inside, 0.0, -0.5 * c / root**3)


@dataclass(frozen=True)
class SoftL1(_ScaledLoss):
    """Smooth Huber: rho = 2 c^2 (sqrt(1 + s/c^2) - 1)."""

    def __call__(self, s: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (rho, rho', rho'') at s."""
        u, c2 = np.asarray(s, float) / self.scale**2, self.scale**2
        root = np.sqrt(1 + u)
        return 2 * c2 * u / (root + 1), 1 / root, -0.5 / (c2 * root**3)


@dataclass(frozen=True)
class Cauchy(_ScaledLoss):
    """Far outliers hardly count: rho = c^2 log(1 + s/c^2)."""

    def __call__(self, s: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (rho, rho', rho'') at s."""
        u, c2 = np.asarray(s, float) / self.scale**2, self.scale**2
        return c2 * np.log1p(u), 1 / (1 + u), -1 / (c2 * (1 + u) ** 2)


@dataclass(frozen=True)
class StudentT(Loss):
    """Twice the negative log likelihood of a multivariate t: rho = (dof + count) log(1 + s/dof).

    count  number of residuals in s; dof  degrees of freedom, small = heavy tails.  rho' is 1 where
    s is as large as expected (s = count).  As loss of a trial's total it assumes that each trial
    has its own unknown noise level, which is what a chaotic toss looks like.
    """

    dof: float = 4.0
    count: float = 1.0

    def __post_init__(self) -> None:
        if not (self.dof > 0 and self.count > 0):
            raise InputError("StudentT", "dof, count", (self.dof, self.count), "numbers > 0")

    def __call__(self, s: np.ndarray | float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return (rho, rho', rho'') at s."""
        total, base = self.dof + self.count, self.dof + np.asarray(s, float)
        return total * np.log(base / self.dof), total / base, -total / base**2
