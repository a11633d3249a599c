"""Predicted trials as one bag: played one after the other, measured and simulated, with markers."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.sensing.bags import RecordedMarkers, RecordedPoses, write_motion
from diffsim_ros.viz import style
from diffsim_ros.viz.markers import Action, Marker, MarkerKind, label, static_markers, toss_markers
from diffsim_ros.viz.motion import Motion
from diffsim_ros.viz.summary import motion_of

TOPICS = {"measured": "/cube/measured", "simulated": "/cube/simulated"}
LOOKS = {"measured": (style.MEASURED, 0.35), "simulated": (style.SIMULATED, 1.0)}
POINT = (0.02, 0.02, 0.02)  # diameter at which a point mass is drawn [m]
MARKER_TOPIC = "/markers"
CLOUD_TOPIC = "/points"


class Reel:
    """Recordings drawn one after the other on MARKER_TOPIC, with `pause` [s] between them."""

    def __init__(self, pause: float) -> None:
        self.pause = pause
        self.start = 0.0
        """Time [s] at which the recording begins that is played now."""
        self._times: list[float] = []
        self._frames: list[list[Marker]] = []

    def draw(self, t: Sequence[float], frames: Iterable[Sequence[Marker]]) -> None:
        """Draw a recording: frames at t [s] since its start, the first on a clean stage."""
        for k, (time, frame) in enumerate(zip(t, frames, strict=True)):
            self._times.append(self.start + float(time))
            clear = [] if k else [Marker("", 0, action=Action.DELETE_ALL)]
            self._frames.append([*clear, *frame])

    def end(self, last: float) -> None:
        """Go on to the next recording; this one lasts `last` [s]."""
        self.start = self.start + float(last) + self.pause

    def tracks(self) -> list[RecordedMarkers]:
        """What bags.write_motion takes; nothing where nothing was drawn."""
        return [RecordedMarkers(MARKER_TOPIC, self._times, self._frames)] if self._times else []


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
    reel = Reel(pause)
    for number, motion in enumerate(motions):
        t = motion.t - motion.t[0]
        for who, track in tracks.items():
            position = getattr(motion, f"{who}_position")
            if position is not None:
                track.append((t + reel.start, position, getattr(motion, f"{who}_orientation")))
        if number < marked:
            rows = _every(t, marker_rate)
            reel.draw(t[rows], (_drawn(motion, k, frame_id) for k in rows))
        reel.end(t[-1])
    return write_motion(
        path,
        [_joined(TOPICS[who], frame_id, parts) for who, parts in tracks.items() if parts],
        markers=reel.tracks(),
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
    reel = Reel(pause)
    for number, prediction in enumerate(result.predictions):
        t = prediction.t - prediction.t[0]
        for k, body in enumerate(prediction.bodies):
            for who in TOPICS:
                poses = getattr(prediction, who)[:, k]
                track = tracks.setdefault(f"/{body}/{who}", [])
                track.append((t + reel.start, poses[:, :3], poses[:, 3:]))
        if number < marked:
            rows = _every(t, marker_rate)
            reel.draw(t[rows], (_bodies(prediction, row, frame_id) for row in rows))
        reel.end(t[-1])
    return write_motion(
        path,
        [_joined(topic, frame_id, parts) for topic, parts in tracks.items()],
        markers=reel.tracks(),
    )


def _drawn(motion: Motion, k: int, frame_id: str) -> list[Marker]:
    """The cube at a frame; with the first one, what stays."""
    static = [] if k else static_markers(motion, frame_id=frame_id)
    return static + toss_markers(motion, k, frame_id=frame_id, text=True)


def _bodies(prediction: Any, row: int, frame_id: str) -> list[Marker]:
    """Every body at a frame: measured as a ghost, simulated, and the name of the recording."""
    found = []
    for who, (colour, alpha) in LOOKS.items():
        poses = getattr(prediction, who)[row]
        for k, (body, kind) in enumerate(zip(prediction.bodies, prediction.kinds, strict=True)):
            size = prediction.sizes[k] if kind != "point" else POINT
            found.append(
                Marker(
                    f"{who}/{body}", 0, MarkerKind.CUBE if kind == "box" else MarkerKind.SPHERE,
                    position=poses[k, :3], orientation=poses[k, 3:], scale=tuple(size),
                    colour=(*to_rgb(colour), alpha), frame_id=frame_id,
                )
            )  # fmt: skip
    places = prediction.measured[row, :, :3]
    where = (*places[:, :2].mean(axis=0), places[:, 2].max() + 0.1)
    text = f"{prediction.name}  t = {prediction.t[row]:.2f} s"
    return [*found, label(text, where, 0.03, frame_id)]


def _joined(topic: str, frame_id: str, parts: list[tuple]) -> RecordedPoses:
    t, position, orientation = (np.concatenate(column) for column in zip(*parts, strict=True))
    return RecordedPoses(topic, frame_id, t, position, orientation)


def _every(t: np.ndarray, rate: float) -> list[int]:
    """Frames at times t (n,) [s] that are about 1 / rate [s] apart, the last one included."""
    t = t - t[0]
    wanted = np.arange(0.0, t[-1] + 1e-9, 1.0 / rate)
    return sorted({*np.searchsorted(t, wanted - 1e-9).tolist(), len(t) - 1})
