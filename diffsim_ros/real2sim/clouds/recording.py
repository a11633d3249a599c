"""Whole recordings of a depth camera: a sequence of files, an NPZ or a rosbag2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ...errors import InputError
from .bag import read_bag
from .cloud import Cloud
from .files import read_sequence

BAGS = (".mcap", ".db3")


@dataclass(frozen=True, eq=False)
class CloudRecording:
    """Frames of one static sensor, in the sensor's frame, in the order of time.

    name    as reports and metrics call it;  source  file or topic, for messages
    """

    name: str
    clouds: Sequence[Cloud]
    source: str


def read_recording(
    path: str | Path, *, topic: str = "", rate: float | None = None, scale: float = 1.0
) -> CloudRecording:
    """Read a folder of .pcd and .ply files, an .npz, or a rosbag2 (.mcap, .db3, its folder).

    topic   of a bag ("": its only PointCloud2 topic);  rate [Hz] of files whose names are no stamps
    scale   metres per unit
    Raises InputError as `read_sequence` and `read_bag`.
    """
    path = Path(path)
    if not path.exists():
        raise InputError(path, "", "no such file or folder", "a recording of point clouds")
    bag = path.suffix.lower() in BAGS or (path.is_dir() and _holds_bag(path))
    if bag:
        clouds = read_bag(path, topic, scale=scale)
    else:
        clouds = read_sequence(path, rate=rate, scale=scale)
    return CloudRecording(path.name if path.is_dir() else path.stem, clouds, str(path))


def _holds_bag(folder: Path) -> bool:
    return (folder / "metadata.yaml").is_file() or any(
        file.suffix.lower() in BAGS for file in folder.iterdir()
    )
