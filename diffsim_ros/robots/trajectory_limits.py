"""Where a joint trajectory leaves its limits, between its points too: exactly, not by sampling.

On each piece the interpolation is a polynomial in Bernstein form, and lies within the hull of its
coefficients: pieces whose hull is within the limits are done, of the others the extrema
are found.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .arm import Limits
from .quintic import halves
from .trajectory import JointTrajectory

SLACK = 1e-6
"""Share of a limit that rounding may take: motions scaled to a limit touch it."""
HALVINGS = 12
"""Of a piece, before its extrema are searched: its hull is then narrower by 4 to this power."""


@dataclass(frozen=True)
class Exceeded:
    """A joint's quantity beyond its limit at a time [s]; rule: what is accepted."""

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
        """A short description."""
        return f"{self.quantity} of {self.joint} {self.value:.6g} at {self.time:.6g} s"


def beyond_limits(trajectory: JointTrajectory, limits: Limits, *, jerk: bool) -> list[Exceeded]:
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
            found.append(Exceeded(time, trajectory.names[k], quantity, value, rule))
        spline = spline.derivative()
    return found


def _excesses(spline, low: np.ndarray, high: np.ndarray) -> Iterator[tuple[float, int, float]]:
    """(time, joint, value) of each joint's first piece with a value outside; its worst."""
    outside = (spline.c.max(axis=0) > high) | (spline.c.min(axis=0) < low)  # (pieces, joints)
    for k in np.flatnonzero(outside.any(axis=0)):
        found = _first(spline, np.flatnonzero(outside[:, k]), k, low[k], high[k])
        if found:
            yield found[0], int(k), found[1]


def _first(spline, pieces: np.ndarray, k: int, low: float, high: float):
    """(time, value) of the worst of a joint's first piece that leaves the range; None: none."""
    while len(pieces):
        suspects = pieces[_suspects(spline.c[:, pieces, k], low, high)]
        for piece in suspects:
            time, value = _worst(spline, piece, k, low, high)
            if not low <= value <= high:
                return time, value
        # one that left it by rounding only hides those behind it
        pieces = pieces[pieces > suspects[-1]] if len(suspects) else suspects
    return None


def _suspects(points: np.ndarray, low: float, high: float) -> np.ndarray:
    """Pieces, by their control points (degree + 1, p), that may leave the range, up to the first
    that surely does: they are halved until hulls are within it or ends outside."""
    owner, rows = np.arange(points.shape[1]), points
    last = points.shape[1]  # the first piece known to leave the range
    for _ in range(HALVINGS):
        ends = rows[[0, -1]]
        sure = owner[((ends > high) | (ends < low)).any(axis=0)]
        last = min([last, *sure])
        open_ = ((rows.max(axis=0) > high) | (rows.min(axis=0) < low)) & (owner < last)
        if not open_.any():
            owner = owner[:0]
            break
        owner = np.tile(owner[open_], 2)
        rows = halves(rows[:, open_, None])[:, :, 0]
    found = np.append(owner[owner < last], last)
    return np.unique(found[found < points.shape[1]])


def _worst(spline, piece: int, k: int, low: float, high: float) -> tuple[float, float]:
    """Time and value of a joint's piece farthest beyond the range, or nearest to leaving it."""
    from scipy.interpolate import BPoly, PPoly

    begin, end = spline.x[piece : piece + 2]
    one = BPoly(spline.c[:, piece : piece + 1, k], np.array([0.0, end - begin]))
    polynomial = PPoly.from_bernstein_basis(one).c[:, 0]
    turns = np.roots(np.polyder(polynomial))
    turns = turns.real[(np.abs(turns.imag) < 1e-9) & (turns.real > 0)]
    times = np.concatenate([np.linspace(0.0, end - begin, 9), turns[turns < end - begin]])
    values = np.polyval(polynomial, times)
    worst = int(np.argmax(np.maximum(values - high, low - values)))
    return float(begin + times[worst]), float(values[worst])


def jumps(
    trajectory: JointTrajectory,
    limits: Limits,
    period: float,
    before: np.ndarray | None = None,
    after: np.ndarray | float = 0.0,
) -> list[Exceeded]:
    """Where the velocity jumps by more than the acceleration limit allows within `period` [s].

    before, after  (n,) velocities that the trajectory follows (None: its own first) and precedes
    """
    rate = trajectory.splines[1]
    first = rate.c[0, 0] if before is None else before
    old = np.concatenate([first[None], rate.c[-1]])
    new = np.concatenate([rate.c[0], np.broadcast_to(after, first.shape)[None]])
    return too_sudden(trajectory.names, rate.x, new - old, limits, period)


def too_sudden(
    names: Sequence[str], times: np.ndarray, change: np.ndarray, limits: Limits, period: float
) -> list[Exceeded]:
    """Of changes of velocity (m, n) at times (m,), the first of each joint that is too large."""
    most, found = limits.acceleration * period, []
    for k, name in enumerate(names):
        for i in np.flatnonzero(np.abs(change[:, k]) > most[k])[:1]:
            rule = f"at most {most[k]:.6g} within a control period of {period:g} s"
            value = float(change[i, k])
            found.append(Exceeded(float(times[i]), name, "velocity jump", value, rule))
    return found
