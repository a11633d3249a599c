"""Whole recordings of a depth camera: a sequence of files, an NPZ or a rosbag2."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...files import exists
from ..bags import is_bag
from ..frames import Frames, bag_frames
from ..timing import clock
from .bag import read_bag
from .cloud import Cloud
from .files import read_sequence
from .samples import Samples


@dataclass(frozen=True, eq=False)
class CloudRecording:
    """Frames of one static sensor, in the sensor's frame, in the order of time.

    name    as reports and metrics call it;  source  file or topic, for messages
    clouds  of the first sensor, where it is a camera
    frames  static transforms that were recorded along, None: none
    auxiliary  what other sensors recorded meanwhile (measurement.sensors), by their names; of the
            first one too, where it is no camera
    """

    name: str
    clouds: Sequence[Cloud]
    source: str
    frames: Frames | None = None
    auxiliary: Mapping[str, Samples | CloudRecording] = field(default_factory=dict)

    @property
    def stamps(self) -> np.ndarray:
        """Of the first sensor, whichever it is [s]."""
        if self.clouds:
            return np.array([cloud.stamp for cloud in self.clouds])
        own = [one.t for one in self.auxiliary.values() if isinstance(one, Samples)]
        return own[0] if own else np.zeros(0)

    def begun(self, begin: float) -> CloudRecording:
        """The recording from a stamp on."""
        clouds = [cloud for cloud in self.clouds if cloud.stamp >= begin]
        auxiliary = {
            name: own.since(begin) if isinstance(own, Samples) else own
            for name, own in self.auxiliary.items()
        }
        return replace(self, clouds=clouds, auxiliary=auxiliary)


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
    if not exists(path):
        raise InputError(path, "", "no such file or folder", "a recording of point clouds")
    name = path.name if path.is_dir() else path.stem
    if not is_bag(path):
        return [CloudRecording(name, read_sequence(path, rate=rate, scale=scale), str(path))]
    clouds = read_bag(path, topic, scale=scale)
    trial, names = trials(name, np.array([cloud.stamp for cloud in clouds]))
    static = static_frames(path)
    return [
        CloudRecording(
            own,
            [cloud for cloud, number in zip(clouds, trial, strict=True) if number == k],
            str(path),
            static,
        )
        for k, own in names.items()
    ]


def trials(name: str, t: np.ndarray) -> tuple[np.ndarray, dict[int, str]]:
    """Which trial each of stamps t (n,) is of, separated by holes, and what each is called."""
    trial = clock(t, None).trial
    numbers = list(dict.fromkeys(trial.tolist()))
    alone = len(numbers) == 1
    return trial, {number: name if alone else f"{name}_{number}" for number in numbers}


def static_frames(path: Path) -> Frames | None:
    """Static transforms recorded along with a file, None: none."""
    found = bag_frames(path) if is_bag(path) else None
    return found if found is not None and found.by_child else None
