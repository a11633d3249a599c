"""Points of a stream: extent, occlusion, single-frame outliers, quaternions' norms."""

from __future__ import annotations

import numpy as np

OUTLIER = 20.0
"""Distance from both neighbours' lines beyond which a sample is an outlier, in robust sigmas."""
OUTLIER_SHARE = 0.02
"""The same as a share of the recording's extent: both must be exceeded."""


def extent(position: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Lowest and highest coordinates (3,) of points (n, m, 3); NaN without any."""
    points = position.reshape(-1, 3)
    points = points[np.isfinite(points).all(axis=1)]
    if not len(points):
        return np.full(3, np.nan), np.full(3, np.nan)
    return points.min(axis=0), points.max(axis=0)


def missing(position: np.ndarray) -> np.ndarray:
    """Share of the samples in which each point is missing, (m,)."""
    return 1.0 - np.isfinite(position).all(axis=2).mean(axis=0)


def outliers(position: np.ndarray, trial: np.ndarray) -> list[tuple[int, int, float]]:
    """Single samples off their neighbours' lines: (sample, point, distance), farthest first.

    A bounce lies on the line through the two samples before it, or on that through the two after;
    an outlier on neither.
    """
    found = []
    low, high = extent(position)
    floor = OUTLIER_SHARE * float(np.linalg.norm(high - low))
    whole = trial[4:] == trial[:-4] if len(trial) > 4 else np.zeros(0, bool)
    for m in range(position.shape[1]):
        p = position[:, m]
        if len(p) < 5:
            continue
        middle = p[2:-2]
        before = np.linalg.norm(middle - (2 * p[1:-3] - p[:-4]), axis=1)
        after = np.linalg.norm(middle - (2 * p[3:-1] - p[4:]), axis=1)
        off = np.where(whole, np.minimum(before, after), np.nan)
        usual = 1.4826 * np.nanmedian(off) if np.isfinite(off).any() else np.nan
        for k in np.flatnonzero(off > max(OUTLIER * usual, floor)):
            found.append((int(k) + 2, m, float(off[k])))
    return sorted(found, key=lambda one: -one[2])


def norms(orientation: np.ndarray) -> np.ndarray:
    """Lengths of quaternions (n, 4), (n,)."""
    return np.linalg.norm(orientation, axis=1)
