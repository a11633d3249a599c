"""Predicted joint logs as one bag: the arm as lines through its joints, measured and simulated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.real2sim.bags import MarkerTrack, write_motion
from diffsim_ros.viz.joint_report import LOOKS
from diffsim_ros.viz.markers import Action, Kind, Marker
from diffsim_ros.viz.playback import MARKER_TOPIC

RATE = 30.0  # frames drawn per second
WIDTH = (0.02, 0.02, 0.02)  # of the lines [m]


def write_joint_playback(
    path: str | os.PathLike[str], result: Any, *, frame_id: str = "world", pause: float = 0.5
) -> Path:
    """Write the predictions of an EstimationResult as an MCAP that rviz2 and Foxglove play.

    Trials follow each other with `pause` [s] between them.  Raises FileExistsError if it exists.
    """
    times: list[float] = []
    frames: list[list[Marker]] = []
    clock = 0.0
    for prediction in result.predictions:
        t = prediction.t
        rows = np.searchsorted(t, np.arange(t[0], t[-1], 1.0 / RATE)).clip(0, len(t) - 1)
        for row in rows:
            clear = [Marker("", 0, action=Action.DELETE_ALL)] if row == rows[0] else []
            drawn = [
                Marker(
                    who, 0, Kind.LINE_STRIP, scale=WIDTH, colour=(*to_rgb(LOOKS[who]), 1.0),
                    points=np.concatenate([np.zeros((1, 3)), places[row]]), frame_id=frame_id,
                )
                for who, places in prediction.places.items()
            ]  # fmt: skip
            times.append(clock + float(t[row] - t[rows[0]]))
            frames.append(clear + drawn)
        clock = times[-1] + pause
    return write_motion(path, [], markers=[MarkerTrack(MARKER_TOPIC, times, frames)])
