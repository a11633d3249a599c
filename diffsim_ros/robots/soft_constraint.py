"""MuJoCo's soft contacts and limits as a spring with Hunt and Crossley's damping.

Under an acceleration a0 of the coordinate r (depth) MuJoCo's force holds r'' = (1 - d) a0 - d (b r'
+ K d r) (its docs, Solver parameters): K and b follow from solref, the impedance d(r) from solimp.
Both of what matters are kept: how deep the constraint is under a load, and that it does not bounce.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

GRAVITY = 9.81
"""Acceleration [m/s^2] of the load at which the stiffness is MuJoCo's."""
HUNT_CROSSLEY = 11.5
"""Damping c [s/m, s/rad] per damping ratio of solref. What comes in at v = 1 m/s (rad/s)
against the force k d (1 + c d') then goes as deep as v / (e omega), as a critically damped
oscillator does: c - log(1 + c v) / v = (c / e)^2 v / 2."""


def stiffness_of(
    reference: Sequence[float], impedance: Sequence[float], least_time: float,
    acceleration: float = GRAVITY,
) -> tuple[float, float]:  # fmt: skip
    """Stiffness per mass [1/s^2], and damping ratio.

    The depth r at which the force is a load's acceleration a times the mass solves
    K d(r)^2 r = (1 - d(r)) a.

    reference, impedance  solref and solimp
    least_time            [s] of solref, twice MuJoCo's step
    acceleration          a [m/s^2 or rad/s^2]
    """
    stiffness, ratio = _oscillator(reference, impedance, least_time)
    low, high = 1e-12, 1e3
    for _ in range(120):
        r = math.sqrt(low * high)
        d = _impedance(r, impedance)
        low, high = (r, high) if stiffness * d * d * r < acceleration * (1 - d) else (low, r)
    return acceleration / high, ratio


def limit_of(
    reference: Sequence[float], impedance: Sequence[float], least_time: float, load: float,
    mobility: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Stiffness [N m/rad or N/m], damping [s/rad or s/m] and damping depth [rad or m] of a limit.

    The load [N m or N] rests as deep as in MuJoCo. A start at x beyond the limit leaves it as fast
    as there: MuJoCo's limit is an oscillator x'' = -2 z w x' - w^2 x whatever the inertia, which
    never pulls, so that the coordinate moves on at w x exp(-z T) from w t = T = acos z /
    sqrt(1 - z^2); the engine's limit lets go at the speed x / (c w_d) where x is more than w_d, c
    the damping, w_d its depth.

    mobility  1 / effective inertia [1/(kg m^2) or 1/kg]
    """
    first, second = map(float, reference)
    if first > 0 and second <= 0:
        second = 1.0  # named (mjcf_ignored)
    load = max(load, GRAVITY / mobility)
    found, ratio = stiffness_of((first, second), impedance, least_time, load * mobility)
    most = min(max(float(impedance[1]), 1e-4), 0.9999)
    rate = most * math.sqrt(_oscillator((first, second), impedance, least_time)[0])
    damping = HUNT_CROSSLEY * ratio
    return found / mobility, damping, math.exp(ratio * _release(ratio)) / rate / max(damping, 1e-6)


def _release(ratio: float) -> float:
    """acos z / sqrt(1 - z^2), which is 1 at z = 1 and acosh z / sqrt(z^2 - 1) beyond."""
    off = abs(1 - ratio * ratio)
    if off < 1e-8:
        return 1.0
    return (math.acos(ratio) if ratio < 1 else math.acosh(ratio)) / math.sqrt(off)


def _oscillator(
    reference: Sequence[float], impedance: Sequence[float], least_time: float
) -> tuple[float, float]:
    """K [1/s^2] and damping ratio."""
    first, second = map(float, reference)
    most = min(max(float(impedance[1]), 1e-4), 0.9999)
    if first > 0:
        rate = 1 / (most * max(first, least_time) * max(second, 1e-9))
        return rate * rate, second
    stiffness = max(-first, 1e-9) / most**2
    return stiffness, -second / most / (2 * math.sqrt(stiffness))


def _impedance(r: float, impedance: Sequence[float]) -> float:
    """MuJoCo's d(r)."""
    least, most, width, middle, power = map(float, impedance)
    x = min(r / width, 1.0) if width > 0 else 1.0
    middle = min(max(middle, 1e-4), 0.9999)
    if x <= middle:
        y = x**power / middle ** (power - 1)
    else:
        y = 1 - (1 - x) ** power / (1 - middle) ** (power - 1)
    return min(max(least + y * (most - least), 1e-4), 0.9999)
