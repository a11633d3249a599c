"""Predicted joint logs as one bag: the arm as lines through its joints, measured and simulated."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.colors import to_rgb

from diffsim_ros.sensing.bags import write_motion
from diffsim_ros.viz.joint_report import LOOKS, rows_of
from diffsim_ros.viz.markers import Marker, MarkerKind
from diffsim_ros.viz.playback import Reel

RATE = 30.0  # frames drawn per second
WIDTH = (0.02, 0.02, 0.02)  # of the lines [m]


def write_joint_playback(
    path: str | os.PathLike[str], result: Any, *, frame_id: str = "world", pause: float = 0.5
) -> Path:
    """Write the predictions of an EstimationResult as an MCAP that rviz2 and Foxglove play.

    Trials follow each other with `pause` [s] between them.  Raises FileExistsError if it exists.
    """
    reel = Reel(pause)
    for prediction in result.predictions:
        rows = rows_of(prediction, RATE)
        t = prediction.t[rows] - prediction.t[rows[0]]
        reel.draw(t, (_drawn(prediction, row, frame_id) for row in rows))
        reel.end(t[-1])
    return write_motion(path, [], markers=reel.tracks())


def _drawn(prediction: Any, row: int, frame_id: str) -> list[Marker]:
    return [
        Marker(
            who, 0, MarkerKind.LINE_STRIP, scale=WIDTH, colour=(*to_rgb(LOOKS[who]), 1.0),
            points=np.concatenate([np.zeros((1, 3)), places[row]]), frame_id=frame_id,
        )
        for who, places in prediction.places.items()
    ]  # fmt: skip
