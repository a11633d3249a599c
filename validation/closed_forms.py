"""Closed forms of the two neo-Hookean solids: uniaxial, simple shear, volumetric.

    neo_hookean         Psi = mu/2 (I_C - 3) - mu ln J + lambda/2 (ln J)^2
    neo_hookean_safe  Psi = mu/2 (I_C - 3) - mu (J - 1) + lambda'/2 (J - 1)^2

With lambda' = lambda + mu both linearise to the same Young's modulus and Poisson ratio; the second
lives on through J <= 0.
P is the first Piola-Kirchhoff stress dPsi/dF, sigma = P F^T / J the Cauchy stress [Pa].
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import spherical_jn

MODELS = ("neo_hookean", "neo_hookean_safe")


def lame(young: float, poisson: float) -> tuple[float, float]:
    """(mu, lambda) of linear elasticity [Pa]."""
    return young / (2 * (1 + poisson)), young * poisson / ((1 + poisson) * (1 - 2 * poisson))


def _volume_terms(J, mu, lam, model):
    """(energy, its derivative by J) of all but mu/2 (I_C - 3)."""
    if model == "neo_hookean":
        log = np.log(J)
        return -mu * log + lam / 2 * log**2, (-mu + lam * log) / J
    if model == "neo_hookean_safe":
        return -mu * (J - 1) + (lam + mu) / 2 * (J - 1) ** 2, -mu + (lam + mu) * (J - 1)
    raise ValueError(f"model: got {model!r}; accepted: {' | '.join(MODELS)}")


def energy(F: np.ndarray, young: float, poisson: float, model: str = "neo_hookean") -> float:
    """Energy per reference volume [J/m^3] of the deformation gradient F (3, 3)."""
    mu, lam = lame(young, poisson)
    return mu / 2 * (np.sum(F**2) - 3) + _volume_terms(np.linalg.det(F), mu, lam, model)[0]


def first_piola(
    F: np.ndarray, young: float, poisson: float, model: str = "neo_hookean"
) -> np.ndarray:
    """P (3, 3) = mu F + dPsi/dJ cof F."""
    mu, lam = lame(young, poisson)
    columns = F.T
    cofactor = np.stack(
        [np.cross(columns[(k + 1) % 3], columns[(k + 2) % 3]) for k in range(3)], axis=1
    )
    return mu * F + _volume_terms(np.linalg.det(F), mu, lam, model)[1] * cofactor


def uniaxial(
    stretch: float, young: float, poisson: float, model: str = "neo_hookean"
) -> tuple[float, float]:
    """(nominal stress P_11, lateral stretch) of a bar pulled to `stretch`, its sides free.

    The lateral stretch b solves P_22 = mu b + dPsi/dJ(a b^2) a b = 0.
    """
    mu, lam = lame(young, poisson)

    def lateral(b):
        return mu + _volume_terms(stretch * b**2, mu, lam, model)[1] * stretch

    b = brentq(lateral, 1e-3, 1e3, xtol=1e-15, rtol=1e-15)
    slope = _volume_terms(stretch * b**2, mu, lam, model)[1]
    return mu * stretch + slope * b**2, b


def simple_shear(
    shear: float, young: float, poisson: float, model: str = "neo_hookean"
) -> np.ndarray:
    """Cauchy stress (3, 3) of F = I + shear e1 (x) e2: mu (F F^T - I), as J = 1, for both forms."""
    mu, lam = lame(young, poisson)
    F = np.eye(3)
    F[0, 1] = shear
    return mu * (F @ F.T) + _volume_terms(1.0, mu, lam, model)[1] * np.eye(3)


def volumetric(stretch: float, young: float, poisson: float, model: str = "neo_hookean") -> float:
    """Mean Cauchy stress (minus the pressure) of F = stretch I: mu/stretch + dPsi/dJ."""
    mu, lam = lame(young, poisson)
    return mu / stretch + _volume_terms(stretch**3, mu, lam, model)[1]


def principal_stretch_at(stress: float, young: float, poisson: float, model="neo_hookean") -> float:
    """Stretch (0.5 to 3) of a bar under a nominal stress P_11: the inverse of `uniaxial`."""
    return brentq(lambda a: uniaxial(a, young, poisson, model)[0] - stress, 0.5, 3.0, xtol=1e-14)


def sphere_modes(poisson: float) -> tuple[float, float]:
    """omega a / c_s of a free sphere's lowest torsional and spheroidal modes of degree 2.

    a: radius, c_s = sqrt(mu/density); Lamb's problem in the spherical Bessel functions of Eringen
    and Suhubi, Elastodynamics II (1975). Five modes each.
    """
    n, ratio = 2, np.sqrt((1 - 2 * poisson) / (2 - 2 * poisson))  # c_s over the speed of pressure

    def torsional(y):
        return (n - 1) * spherical_jn(n, y) - y * spherical_jn(n + 1, y)

    def spheroidal(y):
        x = ratio * y
        a, b, c, d = (spherical_jn(k, z) for z in (x, y) for k in (n, n + 1))
        normal = (n * n - n - y * y / 2) * a + 2 * x * b, n * (n + 1) * ((n - 1) * c - y * d)
        tangent = (n - 1) * a - x * b, (n * n - 1 - y * y / 2) * c + y * d
        return normal[0] * tangent[1] - normal[1] * tangent[0]

    return brentq(torsional, 2, 3), brentq(spheroidal, 2.3, 3)
