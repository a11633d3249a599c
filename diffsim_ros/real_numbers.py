"""Arrays that a program gives: real numbers, or an error that names what else they are."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diffsim_ros.errors import InputError

Array = NDArray[np.float64]

REAL_KINDS = "iuf"
"""NumPy's kinds of types whose numbers are real: whole numbers with a sign, without, and floats."""


def numbers(place: object, key: str, given: Any) -> Array:
    """A copy of real numbers as an array of floats, of any shape; they may be infinite or NaN.

    InputError for what is no array, and for flags, text, complex numbers, None and masked entries.
    """
    rule = "numbers"
    try:
        array = np.asarray(given)
    except Exception as error:  # whatever the object's own conversion raises
        remedy = f"{type(error).__name__}: {error}"
        raise InputError(place, key, given, rule, remedy) from None
    if np.ma.is_masked(given):
        raise InputError(place, key, given, rule, "some are masked; fill or drop them")
    if array.dtype.kind == "O" and all(_is_real(one) for one in array.flat):
        return np.array(array, float)
    if array.dtype.kind not in REAL_KINDS and array.size:
        raise InputError(place, key, given, rule, f"real ones; these are of type {array.dtype}")
    return np.array(array, float)


def finite(place: object, key: str, given: Any, shape: tuple[int, ...]) -> Array:
    """Real numbers of exactly this shape, a copy; InputError for another shape, and for NaN."""
    array = numbers(place, key, given)
    if array.shape != shape:
        remedy = f"it has {array.shape}; nothing is broadcast"
        raise InputError(place, key, given, f"finite numbers of shape {shape}", remedy)
    if not np.isfinite(array).all():
        raise InputError(place, key, given, f"finite numbers of shape {shape}")
    return array


def _is_real(one: object) -> bool:
    return isinstance(one, Real) and not isinstance(one, bool | np.bool_)
