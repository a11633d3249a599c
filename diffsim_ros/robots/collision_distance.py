"""Distances of solids from signed distance functions, as near as wanted, for many poses at once.

A distance function rises by at most 1 m a metre, so the points of a cell of half diagonal r are at
least its centre's value - r away; that of a convex solid is convex, and lies above its tangents.
Cells of a solid are halved until the bound is near enough.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .collision_solids import Convex, Solid

NEAR = 5e-4
"""[m] by which a distance may be reported too small ..."""
SHARE = 0.02
"""... or this share of it, whichever is more."""
MOST_CELLS = 300_000
"""Open at once; where there are more, the bound so far is returned, less than the distance."""
BATCH = 256
"""Poses at a time: bounds memory, and the time until a cancelled check ends."""
LEVELS = 40
CORNERS = np.stack(np.meshgrid([-1.0, 1.0], [-1.0, 1.0], [-1.0, 1.0]), -1).reshape(-1, 3)

Sign = Callable[[], None]
"""Asked now and then; raises to end a computation."""


def half_space(field: Any) -> tuple[np.ndarray, float] | None:
    """Normal (3,) and offset [m] of an engine Sdf that is a half-space, None of any other."""
    field = field.sdf if isinstance(field, Convex) else field
    if getattr(field, "regions", 0) != 1 or np.isfinite(field.bounds()[0]).any():
        return None
    gap, normal, *_ = field.evaluate(np.zeros((1, 3)))
    return normal[0], -float(gap[0])


def above(solid: Solid, poses: np.ndarray, normal: np.ndarray, offset: float) -> np.ndarray:
    """Exact distances (m,) [m] of a solid, its core's frame at `poses` (m, 4, 4), of a half-space.

    Below it they are depths, < 0.
    """
    reach = solid.support(normal @ poses[:, :3, :3])
    return poses[:, :3, 3] @ normal - offset - reach


def distances(
    solid: Solid, poses: np.ndarray, field: Any, enough: np.ndarray, ask: Sign = lambda: None
) -> np.ndarray:
    """Lower bounds (m,) [m] of the distances of a solid from a field; < 0: depths.

    poses   (m, 4, 4) of the core's frame in the field's
    enough  (m,) [m]: the bound is given where the distance is larger
    They are at most NEAR, or SHARE of the distance, too small.
    """
    found = [np.zeros(0)]
    for i in range(0, len(poses), BATCH):
        ask()
        found.append(_distances(solid, poses[i : i + BATCH], field, enough[i : i + BATCH]))
    return np.concatenate(found)


def _distances(solid: Solid, poses: np.ndarray, field: Any, enough: np.ndarray) -> np.ndarray:
    count = len(poses)
    upper = np.full(count, np.inf)
    which, centres = np.arange(count), np.zeros((count, 3))
    half = solid.half.copy()  # of all cells of a level
    for _ in range(LEVELS):
        radius = float(np.linalg.norm(half))
        outside = solid.outside(centres)
        turned = np.einsum("kij,kj->ki", poses[which, :3, :3], centres)
        points = turned + poses[which, :3, 3]
        if isinstance(field, Convex):
            gap, normal = field.sdf.evaluate(points)[:2]
            spread = np.abs(np.einsum("kji,kj->ki", poses[which, :3, :3], normal)) @ half
        else:
            gap, spread = field.evaluate(points)[0], radius
        gap = gap - solid.radius
        np.minimum.at(upper, which, gap + np.maximum(outside, 0.0))
        wanted = np.minimum(_lowered(upper), enough)[which]
        open_ = (outside <= radius) & (gap - spread < wanted)
        if not open_.any():
            break
        if np.count_nonzero(open_) > MOST_CELLS:
            least = np.minimum(_lowered(upper), enough)
            np.minimum.at(least, which[open_], (gap - spread)[open_])
            return least
        which, centres = which[open_], centres[open_]
        cut = half > half.max() / 2
        half = np.where(cut, half / 2, half)
        moves = np.unique(CORNERS * np.where(cut, half, 0.0), axis=0)
        centres = (centres[:, None] + moves).reshape(-1, 3)
        which = np.repeat(which, len(moves))
    return np.minimum(_lowered(upper), enough)


def _lowered(upper: np.ndarray) -> np.ndarray:
    """The lower bound that is near enough to an upper one."""
    return upper - np.maximum(NEAR, SHARE * np.abs(upper))
