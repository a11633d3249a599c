"""Piecewise quintics of joints: control points, derivatives, and bounds that hold everywhere.

A piece is kept as its Bernstein control points: the polynomial lies within their hull, so limits
that hold for control points hold at every time, not only at samples.  Arrays of control points are
(degree + 1, pieces, joints); pieces last `steps` (pieces,) [s].
"""

from __future__ import annotations

import numpy as np

TIGHT = 1e-6
"""Share of an extreme by which its bound may be too large."""


def control_points(steps, positions, velocities, accelerations) -> np.ndarray:
    """Control points (6, m - 1, j) of the quintics through m knots (m, j), `steps` (m - 1,)."""
    h = np.asarray(steps, float)[:, None]
    q, v, a = (np.asarray(rows, float) for rows in (positions, velocities, accelerations))
    first = [q[:-1], q[:-1] + h * v[:-1] / 5, q[:-1] + h * (2 * v[:-1] / 5 + h * a[:-1] / 20)]
    last = [q[1:] + h * (-2 * v[1:] / 5 + h * a[1:] / 20), q[1:] - h * v[1:] / 5, q[1:]]
    return np.stack(first + last)


def derivative(points: np.ndarray, steps: np.ndarray) -> np.ndarray:
    """Control points of the time derivative, one fewer per piece."""
    return (len(points) - 1) * np.diff(points, axis=0) / np.asarray(steps, float)[:, None]


def derivatives(points: np.ndarray, steps: np.ndarray) -> list[np.ndarray]:
    """Control points of position, velocity, acceleration and jerk."""
    rows = [points]
    for _ in range(3):
        rows.append(derivative(rows[-1], steps))
    return rows


def halves(points: np.ndarray) -> np.ndarray:
    """Both halves of every piece (axis 1), by de Casteljau: the firsts, then the seconds."""
    rows, left, right = points, [points[0]], [points[-1]]
    while len(rows) > 1:
        rows = (rows[1:] + rows[:-1]) / 2
        left.append(rows[0])
        right.append(rows[-1])
    return np.concatenate([np.stack(left), np.stack(right[::-1])], axis=1)


def highest(points: np.ndarray, tight: float = TIGHT) -> np.ndarray:
    """Largest value (j,) of every joint over all pieces, from above, by branch and bound."""
    reached = np.maximum(points[0], points[-1]).max(axis=0)
    joints = np.broadcast_to(np.arange(points.shape[2]), points.shape[1:]).ravel()
    rows = points.reshape(len(points), -1)
    bound = reached.copy()
    for _ in range(40):
        hull = rows.max(axis=0)
        open_ = hull > reached[joints] + tight * np.abs(reached[joints]) + 1e-12
        if not open_.any():
            break
        rows, joints = rows[:, open_], np.tile(joints[open_], 2)
        rows = halves(rows[:, :, None])[:, :, 0]
        np.maximum.at(reached, joints, np.maximum(rows[0], rows[-1]))
    else:
        np.maximum.at(bound, joints, rows.max(axis=0))
    return np.maximum(bound, reached * (1 + tight * np.sign(reached)) + 1e-12)


def extremes(points: np.ndarray, tight: float = TIGHT) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest value (j,) of every joint over all pieces."""
    both = highest(np.concatenate([points, -points], axis=2), tight)
    return -both[points.shape[2] :], both[: points.shape[2]]


def sampled(knots: np.ndarray, states: np.ndarray, period: float) -> tuple[np.ndarray, np.ndarray]:
    """Times and q, qd, qdd (3, n, j) at about every `period` of pieces between states (3, m, j).

    Knots are among the times, so that quintics between the samples are the same curve.
    """
    steps = np.diff(knots)
    counts = np.maximum(np.ceil(steps / period - 1e-9).astype(int), 1)
    piece = np.repeat(np.arange(len(steps)), counts)
    share = np.concatenate([np.arange(n) / n for n in counts])
    rows = derivatives(control_points(steps, *states), steps)[:3]
    found = np.stack([_values(row[:, piece], share[:, None]) for row in rows])
    times = np.append(knots[piece] + share * steps[piece], knots[-1])
    return times, np.concatenate([found, states[:, -1:]], axis=1)


def _values(points: np.ndarray, share: np.ndarray) -> np.ndarray:
    """Values of every piece at its share (pieces, 1) of the duration, by de Casteljau."""
    while len(points) > 1:
        points = (1 - share) * points[:-1] + share * points[1:]
    return points[0]
