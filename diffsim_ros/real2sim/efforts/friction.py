"""Laws of a joint's friction, linear in their coefficients: columns by velocity and load."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class FrictionLaw:
    """A law of friction: effort = sum of coefficient * column.

    name     as users give it;  terms  names of the coefficients
    columns  (qd (n,), load (n,), fast) -> (n, k): velocity [rad/s or m/s], torque or force that the
             bodies ask of the joint by the URDF [N m or N], and the joint's speed when it moves
             fast (its 95th percentile), the scale of the law's own constants
    """

    name: str
    terms: tuple[str, ...]
    columns: Callable[[np.ndarray, np.ndarray, float], np.ndarray]


SLIP = 0.01
"""Speed at which dry friction is at 76 % of its level, over the joint's fast speed."""
STRIBECK = 0.2
"""Stribeck velocity over the joint's fast speed."""


def direction(qd: np.ndarray, fast: float | np.ndarray) -> np.ndarray:
    """The sign of a velocity, smooth about zero: tanh(qd / (SLIP fast))."""
    return np.tanh(qd / (SLIP * fast))


def _coulomb_viscous(qd: np.ndarray, load: np.ndarray, fast: float) -> np.ndarray:
    return np.stack([qd, direction(qd, fast)], axis=1)


def _asymmetric(qd: np.ndarray, load: np.ndarray, fast: float) -> np.ndarray:
    return np.stack([np.maximum(qd, 0), np.minimum(qd, 0), direction(qd, fast)], axis=1)


def _stribeck(qd: np.ndarray, load: np.ndarray, fast: float) -> np.ndarray:
    sign = direction(qd, fast)
    return np.stack([qd, sign, sign * np.exp(-np.abs(qd) / (STRIBECK * fast))], axis=1)


def _load(qd: np.ndarray, load: np.ndarray, fast: float) -> np.ndarray:
    sign = direction(qd, fast)
    return np.stack([qd, sign, sign * np.abs(load)], axis=1)


def _load_stribeck(qd: np.ndarray, load: np.ndarray, fast: float) -> np.ndarray:
    sign = direction(qd, fast)
    dip = sign * np.exp(-np.abs(qd) / (STRIBECK * fast))
    return np.stack([qd, sign, dip, sign * np.abs(load)], axis=1)


LAWS = {
    law.name: law
    for law in (
        FrictionLaw("coulomb_viscous", ("viscous", "coulomb"), _coulomb_viscous),
        # Coulomb levels of both directions differ by twice the offset that every joint has
        FrictionLaw("asymmetric", ("viscous_up", "viscous_down", "coulomb"), _asymmetric),
        FrictionLaw("stribeck", ("viscous", "coulomb", "stribeck"), _stribeck),
        FrictionLaw("load", ("viscous", "coulomb", "by_load"), _load),
        FrictionLaw("load_stribeck", ("viscous", "coulomb", "stribeck", "by_load"), _load_stribeck),
    )
}
"""Name -> law; the first is the simplest."""
COMPARED = ("coulomb_viscous", "stribeck", "load", "load_stribeck")
"""Laws that are compared where none are named."""
