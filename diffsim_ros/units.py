"""Numbers with units in files: `1.5 mm` where metres are expected.

A unit is a product of symbols with powers, where `/` divides by the one symbol after it: `N s/m`,
`kg/m^3`, `mN/mm`, `deg/s`.  Angles have a dimension of their own: `N m` is no `N m/rad`.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache

from diffsim_ros.errors import nearest

Dimension = tuple[int, ...]
"""Powers of kg, m, s and rad."""
PREFIXES = {"G": 9, "M": 6, "k": 3, "d": -1, "c": -2, "m": -3, "u": -6, "µ": -6, "μ": -6, "n": -9}
TURN = 2 * Fraction(math.pi)
MOST_TURNED = 2 * math.pi * (1 + 1e-3)
"""Angle [rad] beyond which a number without a unit is taken for degrees."""
PREFIXED: dict[str, tuple[Fraction, Dimension]] = {
    "g": (Fraction(1, 1000), (1, 0, 0, 0)),
    "m": (Fraction(1), (0, 1, 0, 0)),
    "s": (Fraction(1), (0, 0, 1, 0)),
    "rad": (Fraction(1), (0, 0, 0, 1)),
    "Hz": (Fraction(1), (0, 0, -1, 0)),
    "N": (Fraction(1), (1, 1, -2, 0)),
    "Pa": (Fraction(1), (1, -1, -2, 0)),
    "J": (Fraction(1), (1, 2, -2, 0)),
}
PLAIN: dict[str, tuple[Fraction, Dimension]] = {
    "1": (Fraction(1), (0, 0, 0, 0)),
    "%": (Fraction(1, 100), (0, 0, 0, 0)),
    "deg": (TURN / 360, (0, 0, 0, 1)),
    "°": (TURN / 360, (0, 0, 0, 1)),
    "rev": (TURN, (0, 0, 0, 1)),
    "rpm": (TURN / 60, (0, 0, -1, 1)),
    "min": (Fraction(60), (0, 0, 1, 0)),
    "bar": (Fraction(100_000), (1, -1, -2, 0)),
}
SYMBOLS = {
    **{
        prefix + name: (factor * Fraction(10) ** power, dimension)
        for name, (factor, dimension) in PREFIXED.items()
        for prefix, power in {"": 0, **PREFIXES}.items()
    },
    **PLAIN,
}
LONGEST = 200
"""Characters of a number with its unit."""
_DECIMAL = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBER = re.compile(rf"({_DECIMAL})(?:/({_DECIMAL}))?(?:\s+|(?=[^\s\d./eE])|$)(.*)")
_SYMBOL = re.compile(r"([^\s\d/*·^+-]+|1)(?:\^?([+-]?\d))?")


def read_number(text: str, unit: str) -> tuple[float, bool]:
    """(number in `unit`, whether the text names a unit) of `1e-3`, `1/480`, `0.37 kg`, `90 deg`.

    unit   unit of a key; several are alternatives: `rad or m`.  ValueError: why it is none.
    """
    match = _NUMBER.fullmatch(text.strip()) if len(text) < LONGEST else None
    if match is None or (match[2] is not None and float(match[2]) == 0):
        raise ValueError("")
    number = float(match[1]) / float(match[2] or 1)
    given = match[3].strip("[] ")
    if not given:
        return number, False
    factor = _factor(given, unit)
    return number * factor.numerator / factor.denominator, True


@lru_cache(maxsize=1000)
def _factor(given: str, unit: str) -> Fraction:
    """By which a number in `given` is multiplied for `unit`; ValueError where they do not agree."""
    alternatives = re.split(" or |, ", unit)
    if given in alternatives:
        return Fraction(1)
    factor, dimension = _parsed(given)
    for own in filter(None, alternatives):
        try:
            scale, wanted = _parsed(own)
        except ValueError:  # a unit of its own, as sigma
            continue
        if wanted == dimension:
            return factor / scale
    raise ValueError(f"{given} is no unit of this key; it has {unit or 'none'}")


def _parsed(text: str) -> tuple[Fraction, Dimension]:
    """Factor to SI and dimension of a product of symbols."""
    total, powers = Fraction(1), [0, 0, 0, 0]
    for i, part in enumerate(text.split("/")):
        symbols = part.replace("*", " ").replace("·", " ").split()
        if not symbols or (i > 0 and len(symbols) > 1):
            raise ValueError(f"{text}: one symbol after each /")
        for symbol in symbols:
            match = _SYMBOL.fullmatch(symbol)
            if match is None or match[1] not in SYMBOLS:
                raise ValueError(
                    f"{symbol} is no known unit; {nearest(symbol, [*PREFIXED, *PLAIN])}"
                )
            power = int(match[2] or 1) * (-1 if i > 0 else 1)
            factor, dimension = SYMBOLS[match[1]]
            total *= factor**power
            powers = [p + power * d for p, d in zip(powers, dimension, strict=True)]
    return total, tuple(powers)
