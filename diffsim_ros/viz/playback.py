"""Predicted trials as one bag: played one after the other, measured and simulated, with markers."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.real2sim.bags import MarkerTrack, PoseTrack, write_motion
from diffsim_ros.viz import style
from diffsim_ros.viz.markers import Action, Kind, Marker, static_markers, toss_markers
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.summary import motion_of

TOPICS = {"measured": "/cube/measured", "simulated": "/cube/simulated"}
LOOKS = {"measured": (style.MEASURED, 0.35), "simulated": (style.SIMULATED, 1.0)}
POINT = (0.02, 0.02, 0.02)  # diameter at which a point mass is drawn [m]
MARKER_TOPIC = "/markers"
CLOUD_TOPIC = "/points"


def write_playback(
    path: str | os.PathLike[str],
    predictions: Iterable[Any],
    *,
    frame_id: str = "world",
    pause: float = 0.5,
    marker_rate: float = 30.0,
    marked: int = 12,
) -> Path:
    """Write predictions (or an EstimationResult) as an MCAP that rviz2 and Foxglove play.

    Trials follow each other with `pause` [s] between them. All poses go on TOPICS and /tf; the
    first `marked` trials are also drawn on /markers at `marker_rate` [Hz].
    Raises FileExistsError if `path` exists.
    """
    predictions = getattr(predictions, "predictions", predictions)
    motions = [p if isinstance(p, Motion) else motion_of(p) for p in predictions]
    tracks: dict[str, list[tuple]] = {who: [] for who in TOPICS}
    times: list[float] = []
    frames: list[list[Marker]] = []
    clock = 0.0
    for number, motion in enumerate(motions):
        t = motion.t - motion.t[0] + clock
        for who, track in tracks.items():
            position = getattr(motion, f"{who}_position")
            if position is not None:
                track.append((t, position, getattr(motion, f"{who}_orientation")))
        if number < marked:
            for k in _every(motion.t, marker_rate):
                clear = [Marker("", 0, action=Action.DELETE_ALL)] if k == 0 else []
                static = static_markers(motion, frame_id=frame_id) if k == 0 else []
                times.append(float(t[k]))
                frames.append(
                    clear + static + toss_markers(motion, k, frame_id=frame_id, text=True)
                )
        clock = float(t[-1]) + pause
    return write_motion(
        path,
        [_joined(TOPICS[who], frame_id, parts) for who, parts in tracks.items() if parts],
        markers=[MarkerTrack(MARKER_TOPIC, times, frames)] if frames else (),
    )


def write_pose_playback(
    path: str | os.PathLike[str],
    result: Any,
    *,
    frame_id: str = "world",
    pause: float = 0.5,
    marker_rate: float = 30.0,
    marked: int = 12,
) -> Path:
    """Write the recordings of an EstimationResult of poses, each body on topics of its own.

    The first `marked` are drawn on MARKER_TOPIC too, as those of write_playback.
    """
    tracks: dict[str, list[tuple]] = {}
    times: list[float] = []
    frames: list[list[Marker]] = []
    clock = 0.0
    for number, prediction in enumerate(result.predictions):
        t = prediction.t - prediction.t[0] + clock
        for k, body in enumerate(prediction.bodies):
            for who in TOPICS:
                poses = getattr(prediction, who)[:, k]
                track = tracks.setdefault(f"/{body}/{who}", [])
                track.append((t, poses[:, :3], poses[:, 3:]))
        for row in _every(prediction.t, marker_rate) if number < marked else ():
            clear = [] if row else [Marker("", 0, action=Action.DELETE_ALL)]
            times.append(float(t[row]))
            frames.append(clear + _bodies(prediction, row, frame_id))
        clock = float(t[-1]) + pause
    return write_motion(
        path,
        [_joined(topic, frame_id, parts) for topic, parts in tracks.items()],
        markers=[MarkerTrack(MARKER_TOPIC, times, frames)] if frames else (),
    )


def _bodies(prediction: Any, row: int, frame_id: str) -> list[Marker]:
    """Every body at a frame: measured as a ghost, simulated, and the name of the recording."""
    found = []
    for who, (colour, alpha) in LOOKS.items():
        poses = getattr(prediction, who)[row]
        for k, (body, kind) in enumerate(zip(prediction.bodies, prediction.kinds, strict=True)):
            size = prediction.sizes[k] if kind != "point" else POINT
            found.append(
                Marker(
                    f"{who}/{body}", 0, Kind.CUBE if kind == "box" else Kind.SPHERE,
                    position=poses[k, :3], orientation=poses[k, 3:], scale=tuple(size),
                    colour=(*to_rgb(colour), alpha), frame_id=frame_id,
                )
            )  # fmt: skip
    places = prediction.measured[row, :, :3]
    where = (*places[:, :2].mean(axis=0), places[:, 2].max() + 0.1)
    look = {"scale": (0.0, 0.0, 0.03), "colour": (0.12, 0.16, 0.20, 1.0), "frame_id": frame_id}
    text = f"{prediction.name}  t = {prediction.t[row]:.2f} s"
    return [*found, Marker("label", 0, Kind.TEXT, position=where, text=text, **look)]


def _joined(topic: str, frame_id: str, parts: list[tuple]) -> PoseTrack:
    t, position, orientation = (np.concatenate(column) for column in zip(*parts, strict=True))
    return PoseTrack(topic, frame_id, t, position, orientation)


def _every(t: np.ndarray, rate: float) -> list[int]:
    """Frames at times t (n,) [s] that are about 1 / rate [s] apart, the last one included."""
    t = t - t[0]
    wanted = np.arange(0.0, t[-1] + 1e-9, 1.0 / rate)
    return sorted({*np.searchsorted(t, wanted - 1e-9).tolist(), len(t) - 1})
