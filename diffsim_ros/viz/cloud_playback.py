"""Predicted recordings of clouds as one bag: the points by residual over the simulated surface."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.real2sim.bags import MarkerTrack, write_motion
from diffsim_ros.viz import style
from diffsim_ros.viz.cloud_plots import COLOURS, REACH
from diffsim_ros.viz.markers import Action, Kind, Marker
from diffsim_ros.viz.playback import MARKER_TOPIC

POINT = (0.004, 0.004, 0.004)  # edge of a point [m]
BODY = (*to_rgb(style.SIMULATED), 0.6)


def residual_colours(residual: np.ndarray) -> np.ndarray:
    """Colours (n, 4) of residuals (n,) [sigma]: blue behind the surface, red before it."""
    share = 0.5 + np.asarray(residual) / (2.0 * REACH)
    return mpl.colormaps[COLOURS](np.clip(share, 0.0, 1.0))


def write_cloud_playback(
    path: str | os.PathLike[str], result: Any, *, frame_id: str = "world", pause: float = 0.5
) -> Path:
    """Write the predictions of an EstimationResult as an MCAP that rviz2 and Foxglove play.

    Recordings follow each other with `pause` [s] between them; surfaces at their own rate, points
    as the camera saw them. Raises FileExistsError if `path` exists.
    """
    times: list[float] = []
    frames: list[list[Marker]] = []
    clock = 0.0
    for prediction in result.predictions:
        for i, t in enumerate(prediction.clock):
            clear = [Marker("", 0, action=Action.DELETE_ALL)] if i == 0 else []
            times.append(clock + float(t))
            frames.append(clear + _drawn(prediction, i, float(t), frame_id))
        clock = times[-1] + pause
    return write_motion(path, [], markers=[MarkerTrack(MARKER_TOPIC, times, frames)])


def _drawn(prediction: Any, i: int, t: float, frame_id: str) -> list[Marker]:
    """The simulated surface, and the last frame of the camera."""
    k = max(0, int(np.searchsorted(prediction.t, t + 1e-6)) - 1)
    corners = prediction.vertices[i][prediction.triangles].reshape(-1, 3)
    return [
        Marker(
            "cloud", 0, Kind.POINTS, scale=POINT, points=prediction.points[k],
            colours=residual_colours(prediction.residual[k]), frame_id=frame_id,
        ),
        Marker("body", 0, Kind.TRIANGLE_LIST, colour=BODY, points=corners, frame_id=frame_id),
    ]  # fmt: skip
