"""Markers of a rosbag2 recording (mocap4r2_msgs, PointCloud2), read without a distribution."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from ...errors import InputError
from .. import bags
from ..clouds.packed import decode_message
from ..messages import BODIES, CLOUD, MOCAP

KINDS = (MOCAP, BODIES)
MOST = 64
"""Points of a cloud whose points are markers."""
Labelled = tuple[str, tuple[str, ...], np.ndarray, np.ndarray, tuple[str, ...]]
"""Frame, names, times (n,), places (n, m, 3) and notes."""


def bag_markers(path: str | Path, topic: str = "") -> Labelled:
    """Frame, names, times [s] (n,), places [m] (n, m, 3) and notes of one topic.

    topic   of Markers, or of RigidBodies (their labelled markers); "": the only one, or the only
            one on which markers have names; in a bag without such topics, of PointCloud2, whose
            points are markers without names
    A marker that a message lacks, or that is NaN there, was not seen. An index is no identity:
    nameless markers are called by theirs ("marker 3"), and that is all it says.
    Raises InputError as bags.read_messages, and naming the sample for a frame that changes, a name
    that occurs twice, or no marker at all.
    """
    path = Path(path)
    types = {kind for kind, count in bags.topics(path).values() if count}
    kinds = (*KINDS, CLOUD) if topic or not types & set(KINDS) else KINDS
    topic, samples = bags.read_messages(path, kinds, topic or _named(path))
    return labelled(f"{path}: {topic}", samples)


def labelled(place: str, samples: Sequence[tuple[int, Any]]) -> Labelled:
    """The same of messages with their times of arrival [ns]; place: file and topic, for errors."""
    t, notes = bags.clock(samples)
    frame_id, frames = samples[0][1].header.frame_id, []
    for k, (_, message) in enumerate(samples):
        sample = f"{place}: sample {k}"
        if message.header.frame_id != frame_id:
            rule = f"the same frame throughout, {frame_id!r}"
            raise InputError(sample, "frame_id", message.header.frame_id, rule)
        found: dict[str, Any] = {}
        for name, translation in _places(message, sample):
            if name in found:
                raise InputError(sample, "marker_name", name, "each name once")
            found[name] = translation
        frames.append(found)
    names = tuple(dict.fromkeys(name for found in frames for name in found))
    if not names:
        raise InputError(place, "markers", "none in any frame", "at least one marker")
    position = np.full((len(frames), len(names), 3), np.nan)
    column = {name: i for i, name in enumerate(names)}
    for k, found in enumerate(frames):
        for name, p in found.items():
            position[k, column[name]] = p.x, p.y, p.z
    position[~np.isfinite(position).all(axis=2)] = np.nan
    return frame_id, names, t, position, notes


def _places(message: Any, place: str) -> Iterator[tuple[str, Any]]:
    """Name and place of every marker of a Markers, RigidBodies or PointCloud2 message."""
    if hasattr(message, "point_step"):
        yield from _points(message, place)
    for marker in getattr(message, "markers", ()):
        yield marker.marker_name or f"marker {marker.marker_index}", marker.translation
    for body in getattr(message, "rigidbodies", ()):
        for marker in body.markers:
            name = marker.marker_name or f"{body.rigid_body_name}{marker.marker_index}"
            yield name, marker.translation


def _points(message: Any, place: str) -> Iterator[tuple[str, SimpleNamespace]]:
    """Points of a small cloud, called after their order; none of an empty one."""
    count = message.width * message.height
    if count > MOST:
        raise InputError(place, "points", count, f"at most {MOST}, one per marker")
    points = decode_message(message, place).points if count else ()
    for i, (x, y, z) in enumerate(points):
        yield f"marker {i}", SimpleNamespace(x=x, y=y, z=z)


def _named(path: Path) -> str:
    """The topic whose markers have names, where a bag has several; "" leaves it to the reader."""
    found = [t for t, (kind, count) in bags.topics(path).items() if kind in KINDS and count]
    if len(found) < 2:
        return found[0] if found else ""
    named = []
    for topic in found:
        _, samples = bags.read_messages(path, KINDS, topic)
        names = [name for _, message in samples[:1] for name, _ in _places(message, str(path))]
        if names and not all(name.startswith("marker ") for name in names):
            named.append(topic)
    return named[0] if len(named) == 1 else ""
