"""Whole recordings of a depth camera: a sequence of files, an NPZ or a rosbag2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...errors import InputError
from ..bags import is_bag
from ..frames import Frames, bag_frames
from ..recordings.timing import clock
from .bag import read_bag
from .cloud import Cloud
from .files import read_sequence
from .samples import Samples


@dataclass(frozen=True, eq=False)
class CloudRecording:
    """Frames of one static sensor, in the sensor's frame, in the order of time.

    name    as reports and metrics call it;  source  file or topic, for messages
    frames  static transforms that were recorded along, None: none
    beside  what other sensors recorded meanwhile (measurement.sensors), by their names
    """

    name: str
    clouds: Sequence[Cloud]
    source: str
    frames: Frames | None = None
    beside: Mapping[str, Samples] = field(default_factory=dict)


def read_recordings(
    path: str | Path, *, topic: str = "", rate: float | None = None, scale: float = 1.0
) -> list[CloudRecording]:
    """Read a folder of .pcd and .ply files, an .npz, or a rosbag2 (.mcap, .db3, its folder).

    topic   of a bag ("": its only PointCloud2 topic);  rate [Hz] of files whose names are no stamps
    scale   metres per unit
    A bag may hold several trials: holes in its stamps (recordings.timing) tell them apart, and
    each is called after file and trial, throw_2.
    Raises InputError as `read_sequence` and `read_bag`.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(path, "", "no such file or folder", "a recording of point clouds")
    name = path.name if path.is_dir() else path.stem
    if not is_bag(path):
        return [CloudRecording(name, read_sequence(path, rate=rate, scale=scale), str(path))]
    clouds = read_bag(path, topic, scale=scale)
    static = bag_frames(path)
    trial = clock(np.array([cloud.stamp for cloud in clouds]), None).trial
    numbers = list(dict.fromkeys(trial.tolist()))
    return [
        CloudRecording(
            name if len(numbers) == 1 else f"{name}_{number}",
            [cloud for cloud, own in zip(clouds, trial, strict=True) if own == number],
            str(path),
            static if static.by_child else None,
        )
        for number in numbers
    ]
