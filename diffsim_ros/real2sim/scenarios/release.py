"""When a body was released: rules for a marker's path, for recordings and simulations.

inverse.swing measures the swings of both.
"""

from __future__ import annotations

import numpy as np

from ...errors import InputError

BEFORE = 20
"""Frames at the beginning whose mean is the place from which motion counts."""


def release_frame(place: str, position: np.ndarray, distance: float) -> int:
    """First frame in which a marker (n, 3) is further than `distance` [m] from where it was held.

    Raises InputError if it moves at once, or never.
    """
    held = np.nanmean(position[:BEFORE], axis=0)
    moved = np.flatnonzero(np.linalg.norm(position - held, axis=1) > distance)
    if not len(moved):
        rule = f"a motion of more than {distance:g} m"
        raise InputError(place, "release", "none", rule, "is the right marker named?")
    if moved[0] < BEFORE:
        rule = f"at least {BEFORE} frames at rest before the release"
        remedy = (
            "record it at rest first; what is driven, pushed or thrown needs a scene of its own "
            "(docs/how-to/markers.md)"
        )
        raise InputError(place, "release", f"frame {moved[0]}", rule, remedy)
    return int(moved[0])


def crossing(t: np.ndarray, position: np.ndarray, held: np.ndarray, distance: float) -> float:
    """Time [s] at which a marker (n, 3) passes `distance` [m] from `held`, between two frames.

    Frames in which it is missing are passed over.  NaN where it is beyond the distance from the
    first frame on, or never comes that far: no clock can be aligned then.
    The root of the distance is nearly linear in time after a release from rest: interpolated so.
    """
    root = np.sqrt(np.linalg.norm(position - held, axis=1))
    visible = np.isfinite(root)
    t, root = np.asarray(t)[visible], root[visible]
    beyond = np.flatnonzero(root > np.sqrt(distance))
    if not len(beyond) or beyond[0] == 0:
        return float("nan")
    k = int(beyond[0])
    share = (np.sqrt(distance) - root[k - 1]) / (root[k] - root[k - 1])
    return float(t[k - 1] + share * (t[k] - t[k - 1]))
