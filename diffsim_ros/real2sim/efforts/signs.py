"""Signs of a joint's coefficients: rotors have inertia and friction opposes motion.

Efforts may have either sign beside torques; that of the gain is the sign of all others but the
offset's and Stribeck's.  A joint with a coefficient of the wrong sign cannot be simulated.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .friction import FrictionLaw
from .regression import Coefficients

OWN = ("armature", "offset")
"""Coefficients of every joint beside its friction: effort per acceleration, and a constant."""
EITHER = ("offset", "stribeck")
"""Those that may have either sign."""


def beyond_zero(
    c: Coefficients, laws: Sequence[FrictionLaw], spread: np.ndarray
) -> list[np.ndarray]:
    """How many standard deviations every joint's coefficients (2 + k,) are on the wrong side of 0;
    0 for the right one.

    spread  of (phi, gain, friction of every joint), one after the other
    """
    found, first = [], c.phi.size + len(c.gain)
    for gain, own, law in zip(c.gain, c.friction, laws, strict=True):
        sigma = spread[first : first + len(own)]
        first += len(own)
        share = own / np.where(sigma > 0, sigma, np.inf)
        signed = np.array([term not in EITHER for term in (*OWN, *law.terms)])
        rubs = signed & (np.arange(len(own)) >= len(OWN))
        sign = np.sign(gain) or np.sign(share[rubs][np.argmax(np.abs(share[rubs]))])
        found.append(np.where(signed, np.maximum(-sign * share, 0.0), 0.0))
    return found


def without_worst(
    kept: Sequence[np.ndarray], beyond: Sequence[np.ndarray]
) -> tuple[np.ndarray, ...]:
    """Masks of what is kept, less the coefficient of each joint that is most wrong: what one takes
    may have been the other's."""
    out = []
    for own, far in zip(kept, beyond, strict=True):
        less = own.copy()
        if far.max() > 0.0:
            less[np.argmax(far)] = False
        out.append(less)
    return tuple(out)
