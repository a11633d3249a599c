"""Ten numbers of a mass that is always physical: the log-Cholesky pseudo-inertia.

Rucker and Wensing, Smooth Parameterization of Rigid-Body Inertia, IEEE RA-L 7 (2022): the pseudo-
inertia J = int (x, 1)(x, 1)^T dm is positive definite for every real mass, and

    J = e^{2 alpha} U U^T,   U = [e^d1 s12 s13 t1; 0 e^d2 s23 t2; 0 0 e^d3 t3; 0 0 0 1]     (2a)

so theta = (alpha, d1, d2, d3, s12, s23, s13, t1, t2, t3) has no bounds that physics sets: the mass
is e^{2 alpha}, t the centre of mass, e^d and s the shape.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffsim_ros.errors import InputError

WORDS = ("alpha", "d1", "d2", "d3", "s12", "s23", "s13", "t1", "t2", "t3")
SHEARS = ((0, 1), (1, 2), (0, 2))  # places of s12, s23, s13
SIX = ([0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2])  # xx, yy, zz, xy, xz, yz


def root(theta: Sequence[float] | np.ndarray) -> np.ndarray:
    """U (4, 4) of theta (10,), without the factor e^alpha."""
    U = np.eye(4)
    U[[0, 1, 2], [0, 1, 2]] = np.exp(theta[1:4])
    for (i, j), s in zip(SHEARS, theta[4:7], strict=True):
        U[i, j] = s
    U[:3, 3] = theta[7:]
    return U


def pseudo_inertia(theta: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """J (4, 4) of theta (10,), and dJ/dtheta (10, 4, 4)."""
    theta = np.asarray(theta, float)
    U, scale = root(theta), math.exp(2.0 * theta[0])
    moved = np.zeros((10, 4, 4))  # dU, of alpha: U itself
    moved[0] = U
    for k in range(3):
        moved[1 + k, k, k] = U[k, k]
        moved[4 + k, SHEARS[k][0], SHEARS[k][1]] = 1.0
        moved[7 + k, k, 3] = 1.0
    turned = moved @ U.T
    return scale * U @ U.T, scale * (turned + np.swapaxes(turned, 1, 2))


def theta_of(mass: float, centre: Sequence[float], inertia: np.ndarray) -> np.ndarray:
    """Theta (10,) of a mass [kg], its centre (3,) [m] and inertia (3, 3) about it [kg m^2].

    Raises InputError where no mass distribution has them.
    """
    second = 0.5 * np.trace(inertia) * np.eye(3) - np.asarray(inertia, float)
    least = float(np.linalg.eigvalsh(second)[0])
    if not mass > 0 or not least > 0:
        rule = "a mass > 0, principal moments > 0 and each below the sum of the others"
        raise InputError(
            "pseudo-inertia", "mass, inertia", (mass, np.array(inertia).tolist()), rule
        )
    # upper factor of second / mass: Cholesky of the reversed matrix
    upper = np.linalg.cholesky(second[::-1, ::-1] / mass)[::-1, ::-1]
    shears = [upper[i, j] for i, j in SHEARS]
    return np.array([0.5 * math.log(mass), *np.log(np.diagonal(upper)), *shears, *centre])


def _inertia(second: np.ndarray) -> np.ndarray:
    """Inertia (..., 6) of second moments (..., 3, 3)."""
    trace = np.trace(second, axis1=-2, axis2=-1)[..., None, None]
    return (trace * np.eye(3) - second)[..., SIX[0], SIX[1]]


def about_point(J: np.ndarray, origin: Sequence[float]) -> np.ndarray:
    """Pseudo-inertia (..., 4, 4) about the point from which its own origin is at `origin`."""
    shift = np.eye(4)
    shift[:3, 3] = origin
    return shift @ J @ shift.T


def ten(J: np.ndarray) -> np.ndarray:
    """Mass, first moment, inertia xx, yy, zz, xy, xz, yz (..., 10) about the origin of J."""
    parts = [J[..., 3, 3, None], J[..., :3, 3], _inertia(J[..., :3, :3])]
    return np.concatenate(parts, axis=-1)


def physical(theta: Sequence[float] | np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mass, centre (3), inertia about it (6) as a vector (10,), and its Jacobian (10, 10)."""
    theta = np.asarray(theta, float)
    at_centre = theta.copy()
    at_centre[7:] = 0.0  # about the centre J is that of t = 0
    J, moved = pseudo_inertia(at_centre)
    values, slopes = np.zeros(10), np.zeros((10, 10))
    values[0], values[1:4], values[4:] = J[3, 3], theta[7:], _inertia(J[:3, :3])
    slopes[0, 0] = 2.0 * J[3, 3]
    slopes[1:4, 7:] = np.eye(3)
    slopes[4:, :7] = _inertia(moved[:7, :3, :3]).T
    return values, slopes


@dataclass(frozen=True)
class InertiaGroup:
    """Ten parameters that set the mass, first moment and inertia of one payload of the engine.

    name     of the group: its parameters are NAME.alpha ...
    payload  engine parameters PAYLOAD.mass, .moment.x ..., .inertia.xx ...
    origin   origin of theta's centre, in the body's frame (its node) [m]
    """

    name: str
    payload: str
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return tuple(f"{self.name}.{word}" for word in WORDS)

    @property
    def scene_parameters(self) -> tuple[str, ...]:
        """Engine parameters, in the order of `values`."""
        words = ["mass", *(f"moment.{a}" for a in "xyz")]
        words += [f"inertia.{k}" for k in ("xx", "yy", "zz", "xy", "xz", "yz")]
        return tuple(f"{self.payload}.{word}" for word in words)

    def values(self, theta: Sequence[float] | np.ndarray) -> np.ndarray:
        """Engine parameters (10,) of theta (10,)."""
        return ten(about_point(pseudo_inertia(theta)[0], self.origin))

    def jacobian(self, theta: Sequence[float] | np.ndarray) -> np.ndarray:
        """d(values)/d(theta) (10, 10)."""
        return ten(about_point(pseudo_inertia(theta)[1], self.origin)).T
