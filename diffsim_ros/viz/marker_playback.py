"""Predicted recordings of markers as one bag: measured and simulated spheres and the body."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.real2sim.bags import MarkerTrack, write_motion
from diffsim_ros.viz import style
from diffsim_ros.viz.markers import Action, Kind, Marker
from diffsim_ros.viz.playback import MARKER_TOPIC

RATE = 30.0  # frames drawn per second
SPHERE = (0.005, 0.005, 0.005)  # diameters of a marker [m]
BODY = (*to_rgb(style.SIMULATED), 0.6)


def write_marker_playback(
    path: str | os.PathLike[str], result: Any, *, frame_id: str = "world", pause: float = 0.5
) -> Path:
    """Write the predictions of an EstimationResult as an MCAP that rviz2 and Foxglove play.

    Recordings follow each other with `pause` [s] between them, each from 0.1 s before its release
    to 2 s after it. Raises FileExistsError if `path` exists.
    """
    times: list[float] = []
    frames: list[list[Marker]] = []
    clock = 0.0
    for prediction in result.predictions:
        wanted = np.arange(max(prediction.t[0], -0.1), min(prediction.t[-1], 2.0), 1.0 / RATE)
        rows = np.unique(np.clip(np.searchsorted(prediction.t, wanted), 0, len(prediction.t) - 1))
        for row in rows:
            clear = [Marker("", 0, action=Action.DELETE_ALL)] if row == rows[0] else []
            times.append(clock + float(prediction.t[row] - prediction.t[rows[0]]))
            frames.append(clear + _drawn(prediction, row, frame_id))
        clock = times[-1] + pause
    return write_motion(path, [], markers=[MarkerTrack(MARKER_TOPIC, times, frames)])


def _drawn(prediction: Any, row: int, frame_id: str) -> list[Marker]:
    """One frame: two lists of spheres, and the surface."""
    found = []
    for who, colour in (("measured", style.MEASURED), ("simulated", style.SIMULATED)):
        places = getattr(prediction, who)[row]
        places = places[np.isfinite(places).all(axis=1)]
        if len(places):
            kind, look = Kind.SPHERE_LIST, (*to_rgb(colour), 1.0)
            found.append(
                Marker(who, 0, kind, scale=SPHERE, colour=look, points=places, frame_id=frame_id)
            )
    if prediction.vertices is not None:
        points = prediction.vertices[row][prediction.triangles].reshape(-1, 3)
        found.append(
            Marker("body", 0, Kind.TRIANGLE_LIST, colour=BODY, points=points, frame_id=frame_id)
        )
    return found
