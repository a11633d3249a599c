"""Which point is which marker: found from their places, followed over time, swaps undone.

Two steps.  `identified` finds the markers among the points of one frame: every assignment whose
distances agree with those of their places is tried by a rigid fit, the best one is kept, and one
that is not clearly better than the next is refused.  `followed` continues from there, forwards and
backwards: each marker is expected where its velocity, or after a gap the rigid motion of the
others, takes it, and all of them are assigned together to the points of the frame at the least sum
of distances. What is further than the gate from every expectation is an outlier, or a point of
another object.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.optimize import linear_sum_assignment

from ....errors import InputError
from .attach import rigid_fit

TRIES = 50
"""First frames that are searched for the markers."""
TRIPLES = 12
"""Of places, largest triangles first, that the search begins from."""
CLEARLY = 2.0
"""The second best assignment leaves so many times the error of the best, or it is refused."""
LOYALTY = 0.1
"""Of the gate: a point that carries another label must be so much nearer to be taken."""


@dataclass(frozen=True)
class Labelled:
    """Followed markers (n, m, 3) [m], NaN where missing, and what was done.

    swaps     frames (from 0) in which a marker was taken from another label than before
    outliers  labelled points that were no marker's;  strays  points without a label, the same
    """

    position: np.ndarray
    swaps: tuple[int, ...]
    outliers: int
    strays: int

    def sentence(self, source: str) -> str:
        """Sentences about a recording; empty if nothing was done."""
        parts = []
        if self.swaps:
            first = ", ".join(map(str, self.swaps[:5])) + (", ..." if len(self.swaps) > 5 else "")
            parts.append(f"labels changed in {len(self.swaps)} frames ({first}) and were put right")
        if self.outliers:
            parts.append(f"{self.outliers} outliers left out")
        if self.strays:
            parts.append(f"{self.strays} points of no marker left out")
        return f"{source}: " + "; ".join(parts) if parts else ""


def labelled(
    source: str,
    t: np.ndarray,
    points: np.ndarray,
    places: np.ndarray,
    *,
    own: np.ndarray | None,
    tolerance: float,
    gate: float,
) -> Labelled:
    """Markers of a recording.

    t (n,) [s];  points (n, k, 3) [m], NaN: none;  places (m, 3) of the markers [m], any frame
    own        (m,) columns that carry the markers' labels; None: points have no labels
    tolerance  [m] of a marker from its place after the rigid fit
    gate       [m] of a marker from where it is expected, per frame since its last one
    Raises InputError if the markers are not found, or can be taken for each other.
    """
    frame, columns = _start(source, points, places, own, tolerance)
    position = np.full((len(t), len(places), 3), np.nan)
    column = np.full((len(t), len(places)), -1)
    for rows in (slice(frame, None), slice(frame, None, -1)):
        found, taken = followed(t[rows], points[rows], columns, gate, own)
        position[rows], column[rows] = found, taken
    visible = np.isfinite(points).all(axis=2).sum()
    left = int(visible - (column >= 0).sum())
    if own is None:
        return Labelled(position, (), 0, left)
    return Labelled(position, _changes(column, own), left, 0)


def _changes(column: np.ndarray, own: np.ndarray) -> tuple[int, ...]:
    """Frames in which a marker has another label than in its last frame."""
    last, frames = np.array(own), []
    for k, taken in enumerate(column):
        visible = taken >= 0
        if (taken[visible] != last[visible]).any():
            frames.append(k)
        last[visible] = taken[visible]
    return tuple(frames)


def _start(
    source: str, points: np.ndarray, places: np.ndarray, own: np.ndarray | None, tolerance: float
) -> tuple[int, np.ndarray]:
    """First frame with all markers, or the one with most, and the points that they are (m,)."""
    best = None
    for frame in range(min(TRIES, len(points))):
        columns = identified(f"{source}, frame {frame}", points[frame], places, own, tolerance)
        count = int((columns >= 0).sum())
        if count >= 3 and (best is None or count > best[0]):
            best = count, frame, columns
        if count == len(places):
            break
    if best is None:
        got = f"not found within {tolerance:g} m in {min(TRIES, len(points))} frames"
        rule = "points as far apart as measurement.markers [m]"
        raise InputError(source, "markers", got, rule, "is the unit the metre?")
    return best[1], best[2]


def identified(
    place: str, points: np.ndarray, places: np.ndarray, own: np.ndarray | None, tolerance: float
) -> np.ndarray:
    """Points (m,) that are the markers at `places` (m, 3), -1 where none is; own labels win ties.

    Raises InputError if two assignments fit equally well and no labels decide.
    """
    near = assignments(points, places, tolerance)
    if not near:
        return np.full(len(places), -1)
    if own is not None:
        return max(near, key=lambda columns: (columns == own).sum())
    if len(near) > 1:
        a, b = (list(map(int, columns)) for columns in near[:2])
        rule = "markers at places that cannot be taken for each other"
        raise InputError(place, "markers", f"points {a} and {b} fit equally well", rule)
    return near[0]


def assignments(points: np.ndarray, places: np.ndarray, tolerance: float) -> list[np.ndarray]:
    """Points (m,) that can be the markers at `places` (m, 3), -1 where none is: all equal fits.

    Those with most markers, least error first; none is CLEARLY better than another.
    """
    visible = np.flatnonzero(np.isfinite(points).all(axis=1))
    found: dict[tuple[int, ...], tuple[int, float]] = {}
    for triple in _triples(places):
        for guess in _matching(points[visible], places[triple], tolerance):
            columns, error = _completed(points, places, triple, visible[guess], visible, tolerance)
            if np.isfinite(error):
                found[tuple(columns)] = int((columns >= 0).sum()), error
        if any(count == min(len(places), len(visible)) for count, _ in found.values()):
            break
    most = max((count for count, _ in found.values()), default=0)
    ranked = sorted((error, columns) for columns, (count, error) in found.items() if count == most)
    return [np.array(c) for error, c in ranked if error < CLEARLY * ranked[0][0] + 1e-9]


def _triples(places: np.ndarray) -> list[list[int]]:
    """Three markers each, largest triangles first."""
    every = list(combinations(range(len(places)), 3))
    corner = places[np.array(every)]
    area = np.linalg.norm(
        np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0]), axis=1
    )
    return [list(every[i]) for i in np.argsort(-area)[:TRIPLES]]


def _matching(points: np.ndarray, corner: np.ndarray, tolerance: float) -> np.ndarray:
    """Ordered triples of points (l, 3) with the sides of a triangle `corner` (3, 3)."""
    distance = np.linalg.norm(points[:, None] - points[None], axis=2)
    np.fill_diagonal(distance, np.inf)

    def alike(a: int, b: int) -> np.ndarray:
        return np.abs(distance - np.linalg.norm(corner[a] - corner[b])) < 2 * tolerance

    pairs = np.argwhere(alike(0, 1))
    k, third = np.nonzero(alike(0, 2)[pairs[:, 0]] & alike(1, 2)[pairs[:, 1]])
    return np.column_stack([pairs[k], third])


def _completed(
    points: np.ndarray, places: np.ndarray, triple: Sequence[int], guess: Sequence[int],
    visible: np.ndarray, tolerance: float,
) -> tuple[np.ndarray, float]:  # fmt: skip
    """The other markers of an assignment of three, and the rms distance after the rigid fit [m]."""
    chosen, columns = np.array(triple), np.array(guess)
    for _ in range(2):  # the second fit is that of all
        R, shift = rigid_fit(places[chosen], points[columns])
        distance = np.linalg.norm((places @ R.T + shift)[:, None] - points[visible][None], axis=2)
        rows, taken = linear_sum_assignment(np.minimum(distance, 2 * tolerance))
        good = distance[rows, taken] < tolerance
        if good.sum() < 3:
            return np.full(len(places), -1), np.inf
        chosen, columns = rows[good], visible[taken[good]]
    result = np.full(len(places), -1)
    result[chosen] = columns
    return result, float(np.sqrt(np.mean(distance[rows, taken][good] ** 2)))


def followed(
    t: np.ndarray, points: np.ndarray, columns: np.ndarray, gate: float, own: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """Markers (n, m, 3) and the points that they are (n, m), from those of the first frame on."""
    n, m = len(t), len(columns)
    position, taken = np.full((n, m, 3), np.nan), np.full((n, m), -1)
    last = np.full((m, 2), -1)  # last frame of each marker, and the one before
    home, shape = (None if own is None else np.array(own)), 0
    for k in range(n):
        if k == 0:
            chosen = np.asarray(columns)
        else:
            expected, since = _expected(t, position, last, k)
            chosen = _assigned(expected, points[k], gate * since, gate, home)
        if (chosen >= 0).sum() < 3:  # no motion is known yet, or it has changed too much
            known = np.isfinite(position[shape]).all(axis=1)
            chosen = np.full(m, -1)
            chosen[known] = _nearest(points[k], position[shape, known], gate)
        visible = chosen >= 0
        position[k, visible], taken[k] = points[k, chosen[visible]], chosen
        last[visible, 1], last[visible, 0] = last[visible, 0], k
        if home is not None:
            home[visible] = chosen[visible]
        if visible.sum() >= 3:
            shape = k
    return position, taken


def _nearest(points: np.ndarray, places: np.ndarray, gate: float) -> np.ndarray:
    """Points (m,) of a body moved from `places` (m, 3), the nearest of those that fit equally."""
    near = assignments(points, places, gate)
    if not near:
        return np.full(len(places), -1)
    return min(near, key=lambda c: np.linalg.norm(points[c[c >= 0]] - places[c >= 0], axis=1).sum())


def _assigned(
    expected: np.ndarray, points: np.ndarray, reach: np.ndarray, gate: float,
    home: np.ndarray | None,
) -> np.ndarray:  # fmt: skip
    """Points (m,) at the least sum of distances from the expected places, -1 beyond reach."""
    cost = np.linalg.norm(expected[:, None] - points[None], axis=2)
    if home is not None:
        cost = cost + LOYALTY * gate * (np.arange(len(points)) != home[:, None])
    possible = np.isfinite(cost) & (cost < reach[:, None])
    worst = float(reach.sum()) + 1.0
    rows, columns = linear_sum_assignment(np.where(possible, cost, worst))
    chosen = np.full(len(expected), -1)
    good = possible[rows, columns]
    chosen[rows[good]] = columns[good]
    return chosen


def _expected(
    t: np.ndarray, position: np.ndarray, last: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Where the markers should be in frame k (m, 3), NaN if never measured; frames since then."""
    m = len(last)
    expected, since = np.full((m, 3), np.nan), np.maximum(k - last[:, 0], 1)
    fresh = [i for i in range(m) if last[i, 0] == k - 1]
    for i in range(m):
        a, b = last[i]
        if a < 0:
            continue
        expected[i] = position[a, i]
        if b >= 0 and a == k - 1:
            expected[i] += (t[k] - t[a]) / (t[a] - t[b]) * (position[a, i] - position[b, i])
    for i in range(m):
        a = last[i, 0]
        if 0 <= a < k - 1:
            others = [j for j in fresh if np.isfinite(position[a, j]).all()]
            if len(others) >= 3:
                R, shift = rigid_fit(position[a, others], expected[others])
                expected[i] = R @ position[a, i] + shift
    return expected, since
