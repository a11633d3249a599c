"""A contact's law in the terms of other simulators.

Drake's point contact is this engine's law, f_n = k_n d (1 + c_n d'), so its numbers are copied.
Linear dashpots (MuJoCo's solref, Gazebo's kd) cannot be the same at every speed: they are given the
restitution e that the law has at one speed v of impact when one point carries the whole mass,

    a (1 + e) = ln((1 + a)/(1 - e a)),  a = c_n v.

Neither pulls: see `bounce`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from scipy.optimize import brentq

IMPACT = 1.0
"""Speed v [m/s] where no other is given."""
LEAST = 1e-3
"""Restitution of what does not bounce."""
IMPEDANCE = 0.95
"""MuJoCo's d: the share of the contact's acceleration that the constraint takes over."""


def restitution(c_n: float, speed: float = IMPACT) -> float:
    """Restitution of f_n = k_n d (1 + c_n d') at a speed [m/s] for one point that carries the
    mass."""
    a = c_n * speed

    def excess(e: float) -> float:
        return math.log((1 + a) / (1 - e * a)) - a * (1 + e)

    if a < 1e-3:  # there the two sides differ by rounding only
        return 1.0 - 2.0 * a / 3.0
    top = min(1.0, (1 - 1e-12) / a)
    return brentq(excess, 0.0, top) if excess(top) > 0 else top


def dissipation(e: float) -> float:
    """The c_n [s/m] whose restitution is e, 0 < e <= 1."""
    return brentq(lambda c_n: restitution(c_n) - e, 0.0, 1e6) if e < 1.0 else 0.0


def bounce(zeta: float) -> float:
    """Restitution of a linear spring and dashpot of this damping ratio, which only push: contact
    ends where their force does, exp(-(pi - 2 b) tan b) with sin b = zeta <= 1, and beyond it
    exp(-2 g coth g) with cosh g = zeta."""
    if zeta < 1.0:
        angle = math.asin(zeta)
        return math.exp(-(math.pi - 2.0 * angle) * math.tan(angle))
    growth = math.acosh(zeta)
    return math.exp(-2.0 * growth / math.tanh(growth)) if growth > 0.0 else math.exp(-2.0)


def damping_ratio(e: float) -> float:
    """The damping ratio whose `bounce` is e, 0 < e <= 1; of less than LEAST that of LEAST."""
    e = max(e, LEAST)
    return brentq(lambda zeta: bounce(zeta) - e, 0.0, 100.0) if e < 1.0 else 0.0


def linear(contact: Mapping[str, float], mass: float) -> tuple[float, float]:
    """Spring [N/m] and dashpot [N s/m] with the law's restitution e."""
    zeta = damping_ratio(contact["e"])
    return contact["k_n"], 2 * zeta * math.sqrt(contact["k_n"] * mass)
