"""Points that go through a solid, by their paths: which passed it, and how deep they got.

A point is shallow while it is less deep than SHALLOW of the solid's thickness. Its *face* is where
it was last shallow or outside: the nearest point e of the surface, and the normal n there. Then
it goes through if

    n . n_now < OPPOSITE       the side that is nearest now lies opposite to its face
    (e - x) . n > limit        it is farther behind its face than may be

or if it lies outside before and after a frame, and its straight path between the two enters by one
side and leaves by the opposite one. The path's own bend bounds what the straight one tells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Evaluate = Callable[[Array], tuple[Array, Array]]
"""Points (n, 3) [m] -> signed distances (n,) [m] and normals (n, 3)."""
SHALLOW = 0.25
OPPOSITE = -0.5
"""Cosine between two normals that are of opposite sides."""
MOST_PARTS = 400
"""Places of the path between two frames that are looked at."""


@dataclass(frozen=True)
class Passage:
    """A point that went through.

    point, frame   which, and when it was seen first
    depth          how far behind its face it got up to the end [m]
    jumped         how far it went between two frames where it passed unseen [m], else 0
    opposite       whether it came to the opposite side
    """

    point: int
    frame: int
    depth: float
    jumped: float
    opposite: bool


def passage(x: Array, evaluate: Evaluate, thickness: float, limit: float) -> Passage | None:
    """The first point that goes through a solid, None where none does.

    x          (F, n, 3) [m] in the frame of the solid
    thickness  of the solid [m], its smallest; inf of a half-space
    limit      how far behind its face a point may get [m]
    """
    count = x.shape[1]
    shallow = min(SHALLOW * thickness, limit)
    gap, normal = evaluate(x[0])
    face, side, before = x[0] - gap[:, None] * normal, normal.copy(), gap
    first: Passage | None = None
    deepest = 0.0
    for k in range(len(x)):
        if k:
            gap, normal = evaluate(x[k])
            if first is None:
                first = _jump(x, np.stack([before, gap]), k, evaluate, thickness)
        behind = np.einsum("ni,ni->n", face - x[k], side)
        turned = np.einsum("ni,ni->n", side, normal) < OPPOSITE
        inside = gap < -shallow
        through = inside & (turned | (behind > limit))
        if first is None and through.any():
            point = int(np.argmax(np.where(through, behind, -np.inf)))
            first = Passage(point, k, 0.0, 0.0, bool(turned[point]))
        if first is not None:
            deepest = max(deepest, float(behind[first.point]) if gap[first.point] < 0 else 0.0)
        new = ~inside
        if first is not None:
            new &= np.arange(count) != first.point
        face[new] = x[k, new] - gap[new, None] * normal[new]
        side[new], before = normal[new], gap
    if first is None:
        return None
    return Passage(first.point, first.frame, max(deepest, first.depth), first.jumped,
                   first.opposite)  # fmt: skip


def _jump(x: Array, gap: Array, k: int, evaluate: Evaluate, thickness: float) -> Passage | None:
    """A point that passes between frames k - 1 and k, outside in both."""
    move = x[k] - x[k - 1]
    far = np.linalg.norm(move, axis=1)
    least = SHALLOW * thickness if np.isfinite(thickness) else np.inf
    of = np.flatnonzero((gap > -least).all(axis=0) & (far > least) & (gap.min(axis=0) < far))
    if not len(of):
        return None
    deepest, entered, left = _along(x[k - 1, of], move[of], far[of], evaluate, least / 2)
    bend = np.max([_bend(x, k - 1), _bend(x, k)], axis=0)[of]
    through = (deepest > bend) & (entered < OPPOSITE) & (left > -OPPOSITE)
    if not through.any():
        return None
    row = int(np.argmax(np.where(through, deepest, -np.inf)))
    return Passage(int(of[row]), k, float(deepest[row]), float(far[of[row]]), True)


def _along(
    start: Array, move: Array, far: Array, evaluate: Evaluate, least: float
) -> tuple[Array, Array, Array]:
    """Of straight paths (m, 3) of lengths `far`: how deep each gets (m,) [m], and the cosines
    between its direction and the normal where it enters and where it leaves (m,)."""
    along = move / far[:, None]
    deepest, entered, left = np.zeros(len(far)), np.zeros(len(far)), np.zeros(len(far))
    gone = np.zeros(len(far))
    for _ in range(MOST_PARTS):
        on = np.flatnonzero(gone < far)
        if not len(on):
            break
        gap, normal = evaluate(start[on] + gone[on, None] * along[on])
        cosine = np.einsum("ni,ni->n", normal, along[on])
        inside = gap < 0
        fresh = on[inside & (deepest[on] == 0)]
        entered[fresh] = cosine[inside & (deepest[on] == 0)]
        left[on[inside]] = cosine[inside]
        deepest[on] = np.maximum(deepest[on], -gap)
        gone[on] += np.maximum(gap, least)  # no surface is nearer than the gap
    return deepest, entered, left


def _bend(x: Array, k: int) -> Array:
    """How far the path bows from straight lines at frame k  (n,) [m]."""
    if not 0 < k < len(x) - 1:
        return np.zeros(x.shape[1])
    return np.linalg.norm(x[k + 1] - 2 * x[k] + x[k - 1], axis=1) / 8
