"""Predicted recordings of markers as one bag: spheres, residuals and the body, and the data."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.sensing.bags import MocapTrack, write_motion
from diffsim_ros.viz import style
from diffsim_ros.viz.marker_report import rows_of
from diffsim_ros.viz.markers import Marker, MarkerKind, label
from diffsim_ros.viz.playback import Reel

RATE = 30.0  # frames drawn per second
SPHERE = (0.005, 0.005, 0.005)  # diameters of a marker [m]
BODY = (*to_rgb(style.SIMULATED), 0.6)
COLOURS = {"measured": style.MEASURED, "simulated": style.SIMULATED}
MOCAP_TOPICS = {who: f"/markers/{who}" for who in COLOURS}
"""Topics of mocap4r2_msgs/Markers."""


def write_marker_playback(
    path: str | os.PathLike[str], result: Any, *, frame_id: str = "world", pause: float = 0.5
) -> Path:
    """Write the predictions of an EstimationResult as an MCAP that rviz2 and Foxglove play.

    Recordings follow each other with `pause` [s] between them, each from 0.1 s before its release
    to 2 s after it: pictures at RATE on MARKER_TOPIC, every frame's measured and simulated markers
    on MOCAP_TOPICS. Raises FileExistsError if `path` exists.
    """
    data: dict[str, list[MocapTrack]] = {who: [] for who in COLOURS}
    reel = Reel(pause)
    for prediction in result.predictions:
        rows = rows_of(prediction, RATE)
        t = prediction.t - prediction.t[rows[0]]
        drawn = [_drawn(prediction, row, frame_id) for row in rows]
        reel.draw(t[rows], [_paths(prediction, rows, frame_id) + drawn[0], *drawn[1:]])
        span = slice(rows[0], rows[-1] + 1)
        for who, topic in MOCAP_TOPICS.items():
            track = t[span] + reel.start, prediction.markers, getattr(prediction, who)[span]
            data[who].append(MocapTrack(topic, frame_id, *track))
        reel.end(t[rows[-1]])
    mocap = [track for tracks in data.values() for track in tracks]
    return write_motion(path, [], markers=reel.tracks(), mocap=mocap)


def _paths(prediction: Any, rows: np.ndarray, frame_id: str) -> list[Marker]:
    """The path of every marker, measured and simulated, as lines that stay."""
    found = []
    for who, colour in COLOURS.items():
        places = getattr(prediction, who)[rows]
        lines = np.stack([places[:-1], places[1:]], axis=2).reshape(-1, 2, 3)
        lines = lines[np.isfinite(lines).all(axis=(1, 2))].reshape(-1, 3)
        if len(lines):
            look = {"scale": (0.0008, 0.0, 0.0), "colour": (*to_rgb(colour), 0.7)}
            found.append(
                Marker(
                    f"path/{who}", 0, MarkerKind.LINE_LIST, points=lines, frame_id=frame_id, **look
                )
            )
    return found


def _drawn(prediction: Any, row: int, frame_id: str) -> list[Marker]:
    """One frame: two lists of spheres, lines between them, the surface, and a label."""
    found = []
    for who, colour in COLOURS.items():
        places = getattr(prediction, who)[row]
        places = places[np.isfinite(places).all(axis=1)]
        if len(places):
            kind, look = MarkerKind.SPHERE_LIST, (*to_rgb(colour), 1.0)
            found.append(
                Marker(who, 0, kind, scale=SPHERE, colour=look, points=places, frame_id=frame_id)
            )
    ends = np.stack([prediction.measured[row], prediction.simulated[row]], axis=1)
    ends = ends[np.isfinite(ends).all(axis=(1, 2))]
    if len(ends):
        look = {"scale": (0.0015, 0.0, 0.0), "colour": (0.80, 0.15, 0.25, 0.9)}
        points = ends.reshape(-1, 3)
        found.append(
            Marker("residual", 0, MarkerKind.LINE_LIST, points=points, frame_id=frame_id, **look)
        )
        found.append(_label(prediction, row, ends, frame_id))
    if prediction.vertices is not None:
        points = prediction.vertices[row][prediction.triangles].reshape(-1, 3)
        found.append(
            Marker(
                "body", 0, MarkerKind.TRIANGLE_LIST, colour=BODY, points=points, frame_id=frame_id
            )
        )
    return found


def _label(prediction: Any, row: int, ends: np.ndarray, frame_id: str) -> Marker:
    """Name, time since the release and mean distance of the markers, above them."""
    apart = 1e3 * float(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1).mean())
    above = (*ends[:, 0, :2].mean(axis=0), ends[:, 0, 2].max() + 0.02)
    text = f"{prediction.name}  t = {prediction.t[row]:.2f} s\n{apart:.2f} mm apart"
    return label(text, above, 0.01, frame_id)
