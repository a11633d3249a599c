"""Predicted recordings of a depth camera as one bag: points by residual over the simulated mesh."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.real2sim.bags import CloudTrack, MarkerTrack, write_motion
from diffsim_ros.viz import style
from diffsim_ros.viz.markers import Action, Kind, Marker
from diffsim_ros.viz.playback import CLOUD_TOPIC, MARKER_TOPIC

RATE = 30.0  # surfaces drawn per second
BODY = (*to_rgb(style.SIMULATED), 0.45)
FULL = 3.0  # residual [sigma] of the full colour
TABLE = 1.0  # edge of the floor drawn [m]


def residual_colours(residual: np.ndarray) -> np.ndarray:
    """Colours (n, 3) of residuals in sigma (n,): orange outside, grey on the surface, blue in."""
    share = np.clip(np.asarray(residual, float) / FULL, -1.0, 1.0)[:, None]
    middle = np.array([0.82, 0.83, 0.84])
    ends = np.where(share > 0, to_rgb(style.WARN), to_rgb(style.SIMULATED))
    return middle + np.abs(share) * (ends - middle)


def write_cloud_playback(
    path: str | os.PathLike[str], result: Any, *, frame_id: str = "world", pause: float = 0.5
) -> Path:
    """Write the predictions of an EstimationResult of clouds as an MCAP for rviz2 and Foxglove.

    Recordings follow each other with `pause` [s] between them: the points that were seen on
    CLOUD_TOPIC, coloured by residual and with fields `distance` [m] and `residual` [sigma]; the
    simulated surface on MARKER_TOPIC. Raises FileExistsError if `path` exists.
    """
    times: list[float] = []
    frames: list[list[Marker]] = []
    stamps: list[float] = []
    clouds: list[Any] = []
    extra: dict[str, list[np.ndarray]] = {"distance": [], "residual": []}
    clock = 0.0
    for prediction in result.predictions:
        wanted = np.arange(prediction.clock[0], prediction.clock[-1] + 1e-9, 1.0 / RATE)
        last = len(prediction.clock) - 1
        for row in np.unique(np.clip(np.searchsorted(prediction.clock, wanted), 0, last)):
            first = row == 0
            clear = [Marker("", 0, action=Action.DELETE_ALL)] if first else []
            times.append(clock + float(prediction.clock[row]))
            frames.append(clear + _drawn(prediction, row, frame_id, floor=first))
        for i, t in enumerate(prediction.t):
            stamps.append(clock + float(t))
            colour = residual_colours(prediction.residual[i])
            clouds.append(Points(prediction.points[i], colour))
            for name, values in extra.items():
                values.append(getattr(prediction, name)[i])
        clock = max(times[-1], stamps[-1]) + pause
    points = CloudTrack(CLOUD_TOPIC, frame_id, stamps, clouds, extra)
    return write_motion(
        path, [], markers=[MarkerTrack(MARKER_TOPIC, times, frames)], clouds=[points]
    )


class Points(SimpleNamespace):
    """Points (n, 3) [m] with colours (n, 3), as real2sim.bags.CloudTrack takes them."""

    def __init__(self, points: np.ndarray, colour: np.ndarray) -> None:
        super().__init__(points=np.asarray(points, float), colour=colour)

    def __len__(self) -> int:
        return len(self.points)


def _drawn(prediction: Any, row: int, frame_id: str, *, floor: bool) -> list[Marker]:
    """The simulated surface at an instant, the floor with the first, and a label."""
    corners = prediction.vertices[row][prediction.triangles].reshape(-1, 3)
    top = corners[:, 2].max() + 0.03
    rms = 1e3 * float(prediction.rms.mean())
    found = [
        Marker("body", 0, Kind.TRIANGLE_LIST, colour=BODY, points=corners, frame_id=frame_id),
        Marker(
            "label", 0, Kind.TEXT, position=(*corners[:, :2].mean(axis=0), top),
            scale=(0.0, 0.0, 0.025), colour=(0.12, 0.16, 0.20, 1.0), frame_id=frame_id,
            text=f"{prediction.name}  t = {prediction.clock[row]:.2f} s\n{rms:.1f} mm rms",
        ),
    ]  # fmt: skip
    if floor and prediction.floor is not None:
        found.append(_floor(*prediction.floor, prediction.vertices[..., :2], frame_id))
    return found


def _floor(normal: np.ndarray, offset: float, places: np.ndarray, frame_id: str) -> Marker:
    """A square of the plane normal . x = offset below places (..., 2), facing up."""
    low, high = places.reshape(-1, 2).min(axis=0), places.reshape(-1, 2).max(axis=0)
    middle, half = (low + high) / 2, (high - low).max() / 2 + TABLE / 4
    square = middle + half * np.array([(-1, -1), (1, -1), (1, 1), (-1, -1), (1, 1), (-1, 1)])
    height = (offset - square @ normal[:2]) / normal[2]
    points = np.column_stack([square, height])
    look = (0.93, 0.93, 0.92, 1.0)
    return Marker("table", 0, Kind.TRIANGLE_LIST, colour=look, points=points, frame_id=frame_id)
