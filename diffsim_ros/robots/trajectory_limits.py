"""Where a joint trajectory leaves its limits, between its points too: exactly, not by sampling.

On each piece the interpolation is a polynomial in Bernstein form, and lies within the hull of its
coefficients: pieces whose hull is within the limits need no further look, of the others the extrema
are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .arm import Limits
from .trajectory import JointTrajectory

SLACK = 1e-6
"""Share of a limit that rounding may take: motions scaled to a limit touch it."""


@dataclass(frozen=True)
class Problem:
    """A joint's quantity beyond its limit at a time [s]; rule says what is accepted."""

    time: float
    joint: str
    quantity: str
    value: float
    rule: str

    @property
    def key(self) -> str:
        """Where it is."""
        return f"joint {self.joint} at {self.time:.6g} s: {self.quantity}"

    @property
    def short(self) -> str:
        """All of it in a few words."""
        return f"{self.quantity} of {self.joint} {self.value:.6g} at {self.time:.6g} s"


def beyond_limits(trajectory: JointTrajectory, limits: Limits, *, jerk: bool) -> list[Problem]:
    """The first excess of position, velocity, acceleration (and jerk) of each joint."""
    bounds = [("position", limits.lower, limits.upper)]
    for name in ("velocity", "acceleration", "jerk") if jerk else ("velocity", "acceleration"):
        most = getattr(limits, name)
        bounds.append((name, -most, most))
    spline, found = trajectory.splines[0], []
    for quantity, low, high in bounds:
        room = [SLACK * np.where(np.isfinite(end), np.abs(end), 0.0) for end in (low, high)]
        for time, k, value in _excesses(spline, low - room[0], high + room[1]):
            rule = f"from {low[k]:.6g} to {high[k]:.6g}"
            found.append(Problem(time, trajectory.names[k], quantity, value, rule))
        spline = spline.derivative()
    return found


def _excesses(spline, low: np.ndarray, high: np.ndarray) -> Iterator[tuple[float, int, float]]:
    """(time, joint, value) of each joint's first piece with a value outside; its worst."""
    from scipy.interpolate import PPoly

    outside = (spline.c.max(axis=0) > high) | (spline.c.min(axis=0) < low)  # (pieces, joints)
    powers = PPoly.from_bernstein_basis(spline).c if outside.any() else None
    for k in np.flatnonzero(outside.any(axis=0)):
        for piece in np.flatnonzero(outside[:, k]):
            begin, end = spline.x[piece : piece + 2]
            polynomial = powers[:, piece, k]
            turns = np.roots(np.polyder(polynomial))
            turns = turns.real[(np.abs(turns.imag) < 1e-9) & (turns.real > 0)]
            times = np.concatenate([[0.0], turns[turns < end - begin], [end - begin]])
            values = np.polyval(polynomial, times)
            excess = np.maximum(values - high[k], low[k] - values)
            worst = int(np.argmax(excess))
            if excess[worst] > 0.0:
                yield float(begin + times[worst]), int(k), float(values[worst])
                break


def jumps(
    parts: Sequence[JointTrajectory], velocity: np.ndarray, limits: Limits, period: float
) -> list[Problem]:
    """Where the velocity jumps by more than the acceleration limit allows within `period` [s].

    parts     one after the other; velocity  (n,) before; rest follows
    """
    rates = [part.splines[1] for part in parts]
    times = np.concatenate([rate.x[:-1] for rate in rates] + [rates[-1].x[-1:]])
    before = np.concatenate([velocity[None], *(rate.c[-1] for rate in rates)])
    after = np.concatenate([*(rate.c[0] for rate in rates), np.zeros((1, len(velocity)))])
    change, most = after - before, limits.acceleration * period
    found = []
    for k, name in enumerate(parts[0].names):
        for i in np.flatnonzero(np.abs(change[:, k]) > most[k])[:1]:
            rule = f"at most {most[k]:.6g} within a control period of {period:g} s"
            value = float(change[i, k])
            found.append(Problem(float(times[i]), name, "velocity jump", value, rule))
    return found
