"""Predicted recordings as one bag that rviz2 and Foxglove play, one after the other."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from diffsim_ros.sensing.bags import (
    MocapTrack,
    RecordedClouds,
    RecordedMarkers,
    RecordedPoses,
    write_motion,
)
from diffsim_ros.viz.animation import RATE, Animation
from diffsim_ros.viz.markers import Action, Marker

MOCAP_TOPICS = {"measured": "/markers/measured", "simulated": "/markers/simulated"}
"""Topics of mocap4r2_msgs/Markers."""
MARKER_TOPIC = "/markers"
CLOUD_TOPIC = "/points"
SPHERE = (0.005, 0.005, 0.005)
"""Diameters of a marker [m]."""
FRAME = "world"
PAUSE = 0.5
"""[s] between two recordings."""


class Points(NamedTuple):
    """Points [m] and colours (n, 3) of one frame, as bags.RecordedClouds takes them."""

    points: np.ndarray
    colour: np.ndarray

    def __len__(self) -> int:
        return len(self.points)


class Reel:
    """Recordings one after the other, with PAUSE between them, all in FRAME.

    start  time [s] at which the recording begins that is played now; times below are since then
    pictures, clouds  what has been drawn
    """

    def __init__(self) -> None:
        self.start = 0.0
        self.pictures = RecordedMarkers(MARKER_TOPIC, [], [])
        self._poses: dict[str, list[tuple]] = {}
        self._mocap: list[MocapTrack] = []
        self.clouds = RecordedClouds(CLOUD_TOPIC, FRAME, [], [], {})

    def draw(self, t: Sequence[float], frames: Iterable[Sequence[Marker]]) -> None:
        """Pictures at t [s] on MARKER_TOPIC, the first on a clean stage."""
        for k, (time, frame) in enumerate(zip(t, frames, strict=True)):
            clear = [] if k else [Marker("", 0, action=Action.DELETE_ALL)]
            self.pictures.t.append(self.start + float(time))
            self.pictures.frames.append([*clear, *frame])

    def poses(self, topic: str, t: np.ndarray, position: np.ndarray, turn: np.ndarray) -> None:
        """A body at t (n,): places (n, 3) [m] and quaternions (n, 4), on a topic and /tf."""
        self._poses.setdefault(topic, []).append((t + self.start, position, turn))

    def mocap(self, topic: str, t: np.ndarray, names: Sequence[str], places: np.ndarray) -> None:
        """Labelled markers at t (n,): places (n, m, 3) [m]."""
        self._mocap.append(MocapTrack(topic, FRAME, t + self.start, names, places))

    def cloud(self, t: float, points: Points, **fields: np.ndarray) -> None:
        """Points at t on CLOUD_TOPIC, with a number of each point per field."""
        self.clouds.t.append(self.start + float(t))
        self.clouds.clouds.append(points)
        for name, column in fields.items():
            self.clouds.extra.setdefault(name, []).append(column)

    def end(self, last: float) -> None:
        """Go on to the next recording; this one lasts `last` [s]."""
        self.start = self.start + float(last) + PAUSE

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write all of it as an MCAP; raises FileExistsError if `path` exists."""
        poses = [
            RecordedPoses(topic, FRAME, *map(np.concatenate, zip(*parts, strict=True)))
            for topic, parts in self._poses.items()
        ]
        return write_motion(
            path,
            poses,
            markers=[self.pictures] if self.pictures.t else [],
            mocap=self._mocap,
            clouds=[self.clouds] if self.clouds.t else [],
            optional=True,
        )


def write_playback(path: str | os.PathLike[str], play: Callable[[Reel], None]) -> Path:
    """Write what `play` draws (estimation_page.Sections.play) as an MCAP.

    Raises FileExistsError if `path` exists.
    """
    reel = Reel()
    play(reel)
    return reel.write(path)


def recorded_animation(animation: Animation, rate: float = RATE) -> RecordedMarkers:
    """An animation as MarkerArrays on MARKER_TOPIC: what has changed, and what is no more."""
    chosen = animation.instants(rate)
    frames: list[list[Marker]] = []
    before: dict[tuple[str, int], Marker] = {}
    for number in chosen:
        now = {(m.ns, m.id): m for m in animation.frame(int(number))}
        gone = [Marker(ns, k, action=Action.DELETE) for ns, k in before if (ns, k) not in now]
        frames.append([*gone, *(m for key, m in now.items() if before.get(key) is not m)])
        before = now
    return RecordedMarkers(MARKER_TOPIC, animation.time[chosen].tolist(), frames)


def every(t: np.ndarray) -> list[int]:
    """Frames at times t (n,) [s] that are about 1 / RATE [s] apart, the last one included."""
    t = t - t[0]
    wanted = np.arange(0.0, t[-1] + 1e-9, 1.0 / RATE)
    return sorted({*np.searchsorted(t, wanted - 1e-9).tolist(), len(t) - 1})
