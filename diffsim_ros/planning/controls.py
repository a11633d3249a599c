"""Controls of a plan: numbers that set parameters of its scene."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from ..fields import REQUIRED, Field, Reader, Section
from ..parameter import SETS, UNIT, Parameter, read_sets

CONTROL: Section = {
    "value": Field("number", "first guess, and where `weight` pulls to", default=REQUIRED),
    "unit": UNIT,
    "bounds": Field("bounds", "smallest and largest value", default=REQUIRED),
    "sets": SETS,
    "weight": Field(
        "number",
        "of the square of (value - first guess) / (half the bounds' distance)",
        default=0.0,
        minimum=0,
    ),
}


def control(
    name: str, unit: str, value: float, bounds: tuple[float, float], *, weight: float,
    half: float | None = None, free: bool = True, **more: Any,
) -> Parameter:  # fmt: skip
    """A control whose usual change is half the bounds' distance, with a weak prior by its weight.

    half  that distance, where rounding of the bounds must not matter
    """
    low, high = bounds
    usual = 0.5 * (high - low) if half is None else half
    if weight and free:
        more |= {"prior_mean": value, "prior_sigma": usual / np.sqrt(weight)}
    return Parameter(name, unit, value, low, high, typical=usual, free=free, **more)


def read_control(reader: Reader, name: str, value: object, known: Collection[str]) -> Parameter:
    """`controls.NAME` that is one number; `known` are the scene's parameters."""
    key = f"controls.{name}"
    given = reader.section(CONTROL, value, key)
    sets = read_sets(reader, given["sets"], f"{key}.sets", known)
    return control(name, given["unit"], given["value"], given["bounds"], weight=given["weight"],
                   sets=sets)  # fmt: skip
