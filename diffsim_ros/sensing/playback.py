"""Recordings on one clock, to be published as their drivers published them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..errors import InputError
from ..tables import read_header
from . import bags, cdr
from .bags import RawMessage, is_bag
from .cdr import NANO
from .columns import TEXTS
from .frames import STATIC
from .messages import POSE, TF
from .observation import MarkerFrame
from .poses import holds_poses
from .read import export_of, read_kind, readers, sensors
from .tosses import read_tosses


@dataclass(frozen=True)
class Playlist:
    """Samples in the order of publishing.

    t       time since the first sample [ns], increasing for tosses, as recorded for bags  (n,)
    trial   number of the trial that a sample belongs to                                   (n,)
    frame   the frame that they are given in ("" of messages)
    One of these is given, the others are None:
    poses     position [m] and quaternion (x, y, z, w), as recorded                        (n, 7)
    markers   frames of optical markers; missing ones are left out                          n
    messages  serialised, of any sensor, or transforms                                     n
    """

    t: np.ndarray
    trial: np.ndarray
    frame: str
    poses: np.ndarray | None = None
    markers: Sequence[MarkerFrame] | None = None
    messages: Sequence[RawMessage] | None = None

    def __len__(self) -> int:
        return len(self.t)


def read_playlist(
    path: str | Path, *, trials: Sequence[int] = (), topic: str = "", gap: float = 1.0
) -> Playlist:
    """Tosses of an npz file, markers of a table or C3D file, or what a bag holds.

    trials  numbers of the trials to play, in that order (not of a bag)
    topic   of a bag: play this alone; "": its only topic of PoseStamped, or all that can be
    gap     time between the last sample of a trial and the first of the next [s]; a bag keeps its
            own stamps, and a hole longer than `gap` starts its next trial
    Raises InputError as read_tosses, read_kind and bags.read_messages do, and for trials of a
    bag.
    """
    path = Path(path)
    if is_bag(path):
        if len(trials):
            rule = "no trials: all of a bag is played"
            raise InputError(path, "trials", list(trials), rule)
        return _from_bag(path, topic, gap)
    if _holds_markers(path):
        return _from_markers(path, trials, gap)
    return _from_tosses(path, trials, gap)


def _holds_markers(path: Path) -> bool:
    """True of a table or C3D file that is no table of poses."""
    suffix = path.suffix.lower()
    known = [one for form in sensors()["markers"].formats for one in form.suffixes]
    export = export_of(path)
    if export is not None:
        return all(one.kind == "markers" for one in export.read(path))
    header = read_header(path, "a readable table") if suffix in TEXTS else []
    return suffix in known and not holds_poses(header)


def _from_tosses(path: Path, wanted: Sequence[int], gap: float) -> Playlist:
    by_id = {trial.id: trial for trial in read_tosses(path, wanted or None)}
    chosen = [by_id[int(i)] for i in wanted] if len(wanted) else list(by_id.values())
    t = _in_a_row([trial.poses.t for trial in chosen], gap)
    numbers = [np.full(len(trial), trial.id) for trial in chosen]
    poses = np.concatenate([trial.poses.value for trial in chosen])
    return Playlist(t, np.concatenate(numbers), chosen[0].poses.frame, poses=poses)


def _in_a_row(times: Sequence[np.ndarray], gap: float) -> np.ndarray:
    """Stamps [ns] of trials one after the other; times [s] of each."""
    stamps, offset = [], 0
    for own in times:
        t = np.rint((own - own[0]) * NANO).astype(np.int64)
        stamps.append(t + offset)
        offset += int(t[-1]) + round(gap * NANO)
    return np.concatenate(stamps)


def _from_markers(path: Path, wanted: Sequence[int], gap: float) -> Playlist:
    markers = read_kind(path, "markers")
    names, t, position = markers.names, markers.t, markers.position
    trial = np.ones(len(t), int) if markers.numbers is None else markers.numbers
    known = list(dict.fromkeys(trial.tolist()))
    for number in wanted:
        if number not in known:
            raise InputError(path, "trials", int(number), f"one of {known}")
    rows = [np.flatnonzero(trial == number) for number in (wanted or known)]
    stamps = _in_a_row([t[own] for own in rows], gap)
    frames = []
    for number, row in enumerate(np.concatenate(rows)):
        visible = np.flatnonzero(np.isfinite(position[row]).all(axis=1))
        shown = tuple(names[i] for i in visible)
        frames.append(MarkerFrame(0, "tracker", number, shown, position[row][visible]))
    return Playlist(stamps, trial[np.concatenate(rows)], "tracker", markers=frames)


def _from_bag(path: Path, topic: str, gap: float) -> Playlist:
    known = {name: kind for name, (kind, count) in bags.topics(path).items() if count}
    if topic and topic not in known:
        return _from_poses(path, topic, gap)  # which refuses it by name
    chosen = {topic: known[topic]} if topic else known
    moving = [name for name, kind in chosen.items() if kind == TF and name != STATIC]
    # messages of all sensors begin with a header, but transforms
    stamped = [name for name, kind in chosen.items() if kind in readers() and kind != TF]
    if not stamped + moving or [chosen[name] for name in stamped] == [POSE]:
        return _from_poses(path, topic, gap)
    found = []
    for name in stamped + moving:
        for k, message in enumerate(bags.read_raw(path, name)):
            place = f"{path}: {name}: sample {k}"
            if name in moving:
                stamp = cdr.first_stamp(message.data, place)
            else:
                stamp, _ = cdr.header(message.data, place)
            found.append(message._replace(stamp=stamp or message.stamp))
    found.sort(key=lambda message: message.stamp)
    t = np.array([message.stamp for message in found], np.int64)
    trial = _numbered(t, gap)
    if known.get(STATIC) == TF:
        static = bags.read_raw(path, STATIC)
        found = static + found
        t = np.concatenate([np.full(len(static), t[0]), t])
        trial = np.concatenate([np.ones(len(static), int), trial])
    return Playlist(t - t[0], trial, "", messages=found)


def restamped(message: RawMessage, stamp: int) -> bytes:
    """The bytes of a message of a Playlist with another stamp [ns]."""
    return (cdr.restamped_transforms if message.msgtype == TF else cdr.restamped)(
        message.data, stamp
    )


def _numbered(t: np.ndarray, gap: float) -> np.ndarray:
    return 1 + np.concatenate([[0], np.cumsum(np.diff(t) > gap * NANO)]).astype(int)


def _from_poses(path: Path, topic: str, gap: float) -> Playlist:
    recorded = read_kind(path, "poses", topic)
    t = np.rint(recorded.t * NANO).astype(np.int64)
    return Playlist(t, _numbered(t, gap), recorded.frame, poses=recorded.value)
