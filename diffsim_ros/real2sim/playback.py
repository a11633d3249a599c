"""Recorded poses on one clock, to be sent again as their driver sent them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError, nearest
from .bags import read_poses
from .recorder import NANO
from .tosses import read_tosses

BAG_SUFFIXES = (".mcap", ".db3")


@dataclass(frozen=True)
class Playlist:
    """Poses in the order of sending.

    t      time since the first sample [ns], increasing for tosses, as recorded for bags  (n,)
    trial  number of the trial that a sample belongs to                                   (n,)
    poses  position [m] and quaternion (x, y, z, w), as recorded                          (n, 7)
    frame  the frame that they are given in
    """

    t: np.ndarray
    trial: np.ndarray
    poses: np.ndarray
    frame: str

    def __len__(self) -> int:
        return len(self.t)


def read_playlist(
    path: str | Path, *, trials: Sequence[int] = (), topic: str = "", gap: float = 1.0
) -> Playlist:
    """Tosses of an npz file (all, or `trials` in that order) or the poses of a bag's topic.

    gap  time between the last sample of a toss and the first of the next [s]; a bag keeps its own
         stamps, and a hole longer than `gap` starts its next trial
    Raises InputError as read_tosses and read_poses do, and for trials of a bag.
    """
    path = Path(path)
    if path.is_dir() or path.suffix in BAG_SUFFIXES:
        if len(trials):
            rule = "no trials: all of a bag is played"
            raise InputError(path, "trials", list(trials), rule)
        return _from_bag(path, topic, gap)
    return _from_tosses(path, trials, gap)


def _from_tosses(path: Path, wanted: Sequence[int], gap: float) -> Playlist:
    by_id = {trial.id: trial for trial in read_tosses(path, wanted or None)}
    chosen = [by_id[int(i)] for i in wanted] if len(wanted) else list(by_id.values())
    stamps, numbers, poses, offset = [], [], [], 0
    for trial in chosen:
        t = np.rint((trial.poses.t - trial.poses.t[0]) * NANO).astype(np.int64)
        stamps.append(t + offset)
        numbers.append(np.full(len(trial), trial.id))
        poses.append(trial.poses.value)
        offset += int(t[-1]) + round(gap * NANO)
    return Playlist(
        np.concatenate(stamps),
        np.concatenate(numbers),
        np.concatenate(poses),
        chosen[0].poses.frame,
    )


def _from_bag(path: Path, topic: str, gap: float) -> Playlist:
    track = read_poses(path, topic).track
    t = np.rint(track.t * NANO).astype(np.int64)
    trial = 1 + np.concatenate([[0], np.cumsum(np.diff(t) > gap * NANO)])
    poses = np.concatenate([track.position, track.orientation], axis=1)
    return Playlist(t, trial, poses, track.frame_id)


def read_raw(path: str | Path, topic: str) -> list[tuple[int, bytes]]:
    """Stamps [ns] and serialised messages (CDR) of one topic of a bag, in the order of the bag.

    Raises InputError if the bag is missing or unreadable or has no such topic.
    """
    from rosbags.highlevel import AnyReader
    from rosbags.typesys import Stores, get_typestore

    path = Path(path)
    if not path.exists():
        raise InputError(path, "", "nothing", "a rosbag2 folder, .mcap or .db3 file")
    try:
        with AnyReader([path], default_typestore=get_typestore(Stores.ROS2_JAZZY)) as reader:
            chosen = [c for c in reader.connections if c.topic == topic]
            found = sorted({c.topic for c in reader.connections})
            messages = [(t, bytes(raw)) for _, t, raw in reader.messages(connections=chosen)]
    except Exception as error:  # damaged files raise struct, key, type, sqlite ... errors
        reason = f"{type(error).__name__}: {error}"
        raise InputError(path, "", reason, "a complete rosbag2 recording") from error
    if not chosen:
        raise InputError(path, "topic", topic, "a topic of this bag", nearest(topic, found))
    return messages
