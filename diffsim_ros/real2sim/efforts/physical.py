"""Inertial parameters that stay physical: a convex barrier that is their distance to the URDF's.

Of the pseudo-inertia J(phi) (4, 4), linear in the ten parameters of a body and positive definite
for every mass distribution (Wensing, Kim and Slotine, IEEE RA-L 3, 2018),

    d(phi | phi0) = tr(J0^-1 J) - log det(J0^-1 J) - 4                                       (1)

is the Bregman divergence of -log det (Lee, Wensing and Park, IEEE Trans. Robotics 36, 2020):
convex, zero at phi0, infinite at the border of what is physical, the same in every frame and unit.
"""

from __future__ import annotations

import numpy as np

THINNEST = 2e-3
"""[m] Radius of gyration that a body has at least in every direction, where a URDF has less."""


def _basis() -> np.ndarray:
    """J(phi) = sum phi_a basis[a], phi as in robots.dynamics (10, 4, 4)."""
    out = np.zeros((10, 4, 4))
    out[0, 3, 3] = 1.0
    for k in range(3):
        out[1 + k, k, 3] = out[1 + k, 3, k] = 1.0
        out[4 + k, :3, :3] = 0.5 * np.eye(3)
        out[4 + k, k, k] -= 1.0
    for a, (i, j) in ((7, (0, 1)), (8, (0, 2)), (9, (1, 2))):
        out[a, i, j] = out[a, j, i] = -1.0
    return out


BASIS = _basis()


def pseudo_inertia(phi: np.ndarray) -> np.ndarray:
    """J (..., 4, 4) of phi (..., 10)."""
    return np.einsum("...a,aij->...ij", phi, BASIS)


def from_pseudo_inertia(J: np.ndarray) -> np.ndarray:
    """phi (10,) of J (4, 4)."""
    I = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]  # noqa: E741
    return np.array([J[3, 3], *J[:3, 3], *I[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]])


def is_physical(phi: np.ndarray) -> bool:
    """True where every body (..., 10) has a positive definite pseudo-inertia."""
    return bool(np.linalg.eigvalsh(pseudo_inertia(phi))[..., 0].min() > 0.0)


def thickened(phi: np.ndarray, thinnest: float = THINNEST) -> np.ndarray:
    """phi (n, 10) with a pseudo-inertia that is positive definite: second moments about the centre
    of mass of at least mass * thinnest^2 [m]."""
    out = []
    for row in phi:
        J, m = pseudo_inertia(row), max(row[0], 1e-6)
        centre = J[:3, 3] / m
        values, axes = np.linalg.eigh(J[:3, :3] - m * np.outer(centre, centre))
        about = axes @ np.diag(np.maximum(values, m * thinnest**2)) @ axes.T
        J[:3, :3], J[3, 3] = about + m * np.outer(centre, centre), m
        out.append(from_pseudo_inertia(J))
    return np.array(out)


class Divergence:
    """Sum of (1) over bodies with parameters phi0 (n, 10), with derivatives by all of them."""

    def __init__(self, phi0: np.ndarray) -> None:
        self.inverse = np.linalg.inv(pseudo_inertia(phi0))
        self.reference = np.linalg.slogdet(self.inverse)[1].sum() + 4 * len(phi0)

    def value(self, phi: np.ndarray) -> float:
        """At phi (n, 10); infinite where a body is not physical."""
        J = pseudo_inertia(phi)
        if not np.linalg.eigvalsh(J)[:, 0].min() > 0:
            return np.inf
        traces = np.einsum("bij,bji->", self.inverse, J)
        return float(traces - np.linalg.slogdet(J)[1].sum() - self.reference)

    def derivatives(self, phi: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient (10 n,) and Hessian (10 n, 10 n) at phi (n, 10)."""
        own = np.linalg.inv(pseudo_inertia(phi))
        gradient = np.einsum("bij,aji->ba", self.inverse - own, BASIS).ravel()
        turned = np.einsum("bij,ajk->baik", own, BASIS)
        blocks = np.einsum("baij,bcji->bac", turned, turned)
        hessian = np.zeros((gradient.size, gradient.size))
        for b, block in enumerate(blocks):
            hessian[10 * b : 10 * b + 10, 10 * b : 10 * b + 10] = block
        return gradient, hessian
