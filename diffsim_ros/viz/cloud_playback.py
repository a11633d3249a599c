"""Predicted recordings of clouds as one bag: the points by residual over the simulated surface."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.sensing.bags import RecordedClouds, write_motion
from diffsim_ros.viz import style
from diffsim_ros.viz.cloud_plots import COLOURS, REACH
from diffsim_ros.viz.markers import Marker, MarkerKind, label
from diffsim_ros.viz.playback import CLOUD_TOPIC, Reel

BODY = (*to_rgb(style.SIMULATED), 0.6)
FLOOR = (0.93, 0.93, 0.92, 1.0)
MARGIN = 0.25  # of the floor drawn, around the motion [m]
EXTRA = ("distance", "residual")


class Points(NamedTuple):
    """Points [m] and colours (n, 3) of one frame, as bags.RecordedClouds takes them."""

    points: np.ndarray
    colour: np.ndarray

    def __len__(self) -> int:
        return len(self.points)


def residual_colours(residual: np.ndarray) -> np.ndarray:
    """Colours (n, 4) of residuals (n,) [sigma]: blue behind the surface, red before it."""
    share = 0.5 + np.asarray(residual) / (2.0 * REACH)
    return mpl.colormaps[COLOURS](np.clip(share, 0.0, 1.0))


def write_cloud_playback(
    path: str | os.PathLike[str], result: Any, *, frame_id: str = "world", pause: float = 0.5
) -> Path:
    """Write the predictions of an EstimationResult as an MCAP that rviz2 and Foxglove play.

    Recordings follow each other with `pause` [s] between them: surfaces at their own rate on
    MARKER_TOPIC; points as the camera saw them on CLOUD_TOPIC, coloured by residual, with fields
    `distance` [m] and `residual` [sigma]. Raises FileExistsError if `path` exists.
    """
    reel = Reel(pause)
    stamps: list[float] = []
    clouds: list[Points] = []
    extra: dict[str, list[np.ndarray]] = {name: [] for name in EXTRA}
    for prediction in result.predictions:
        count = range(len(prediction.clock))
        reel.draw(prediction.clock, (_drawn(prediction, i, frame_id) for i in count))
        for k, t in enumerate(prediction.t):
            stamps.append(reel.start + float(t))
            colour = residual_colours(prediction.residual[k])[:, :3]
            clouds.append(Points(prediction.points[k], colour))
            for name, columns in extra.items():
                columns.append(getattr(prediction, name)[k])
        reel.end(max(prediction.clock[-1], prediction.t[-1]))
    recorded = RecordedClouds(CLOUD_TOPIC, frame_id, stamps, clouds, extra)
    return write_motion(path, [], markers=reel.tracks(), clouds=[recorded])


def _drawn(prediction: Any, i: int, frame_id: str) -> list[Marker]:
    """The simulated surface at an instant and a label; with the first, what stays."""
    corners = prediction.vertices[i][prediction.triangles].reshape(-1, 3)
    above = (*corners[:, :2].mean(axis=0), corners[:, 2].max() + 0.03)
    off = 1e3 * float(np.sqrt(np.mean(prediction.rms**2)))
    words = f"{prediction.name}  t = {prediction.clock[i]:.2f} s\n{off:.1f} mm rms"
    text = label(words, above, 0.025, frame_id)
    body = Marker(
        "body", 0, MarkerKind.TRIANGLE_LIST, colour=BODY, points=corners, frame_id=frame_id
    )
    if i:
        return [body, text]
    still = [] if prediction.floor is None else [_floor(prediction, frame_id)]
    return [*still, body, text]


def _floor(prediction: Any, frame_id: str) -> Marker:
    """A square of the scene's floor below the motion, facing up."""
    normal, offset = prediction.floor
    places = prediction.vertices[..., :2].reshape(-1, 2)
    low, high = places.min(axis=0) - MARGIN, places.max(axis=0) + MARGIN
    share = np.array([(0, 0), (1, 0), (1, 1), (0, 0), (1, 1), (0, 1)])
    square = low + share * (high - low)
    height = (offset - square @ normal[:2]) / normal[2]
    points = np.column_stack([square, height])
    return Marker(
        "table", 0, MarkerKind.TRIANGLE_LIST, colour=FLOOR, points=points, frame_id=frame_id
    )
