"""What a sensor beside the camera recorded: poses or markers of bags and tables, and stamps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...errors import InputError
from ...files import is_regular
from .. import bags
from ..bag_poses import CARRIERS, read_bodies
from ..markers.bag import labelled
from ..markers.files import raw_markers
from ..messages import BODIES, MOCAP
from ..streams import holds_poses, read_streams

UNIT = 1e-3
"""By which the length of a quaternion may differ from 1."""


@dataclass(frozen=True, eq=False)
class Samples:
    """What a sensor recorded, its own stamps and frame.

    source       file or topic, for messages;  frame  its name, "" unknown;  t (n,) [s], increasing
    position     (n, m, 3) [m], NaN: not seen;  names (m,) of markers
    orientation  (n, 4) x, y, z, w, of poses
    """

    source: str
    t: np.ndarray
    position: np.ndarray
    orientation: np.ndarray | None = None
    names: tuple[str, ...] = ()
    frame: str = ""

    def kept(self, which: np.ndarray) -> Samples:
        """Those of a mask (n,)."""
        turns = None if self.orientation is None else self.orientation[which]
        return replace(self, t=self.t[which], position=self.position[which], orientation=turns)

    def since(self, begin: float) -> Samples:
        """Those from a stamp on."""
        return self.kept(self.t >= begin)


def read_samples(path: str | Path, kind: str, topic: str = "") -> Samples:
    """The recording of one sensor; kind "poses" or "markers"; topic of a bag with several.

    Stamps are those of the file; of a bag seconds since 1970, as those of clouds.
    Raises InputError naming file, topic, sample and value.
    """
    return _checked((_poses if kind == "poses" else _markers)(Path(path), topic))


def _poses(path: Path, topic: str) -> Samples:
    """Poses of a bag, PoseStamped unless a topic of others is named, or a table of poses."""
    if bags.is_bag(path):
        if topic and bags.topics(path).get(topic, (bags.POSE, 0))[0] in set(CARRIERS) - {bags.POSE}:
            return _of_body(path, topic)
        found = bags.read_poses(path, topic)
        t = found.epoch_ns * 1e-9 + found.track.t
        place = f"{path}: {found.track.topic}"
        track = found.track
        turns, frame = track.orientation, track.frame_id
        return Samples(place, t, track.position[:, None], turns, frame=frame)
    if not is_regular(path) or not holds_poses(path):
        rule = "a rosbag2, or a table with the columns t px py pz qx qy qz qw"
        raise InputError(path, "", "no table of poses" if path.is_file() else "no such file", rule)
    (stream,) = read_streams(path)
    return Samples(str(path), stream.t, stream.position, stream.orientation)


def _of_body(path: Path, topic: str) -> Samples:
    """Poses of the one body that a topic speaks of."""
    found = read_bodies(path, topic)
    if len(found) != 1:
        names = ", ".join(one.body for one in found) or "none"
        raise InputError(f"{path}: {topic}", "bodies", names, "exactly one body")
    one, place = found[0], f"{path}: {topic}"
    t = one.begin * 1e-9 + one.t
    return Samples(place, t, one.position[:, None], one.orientation, frame=one.frame)


def _markers(path: Path, topic: str) -> Samples:
    """Labelled markers of a bag, a CSV or a C3D file."""
    if bags.is_bag(path):
        topic, messages = bags.read_messages(path, (MOCAP, BODIES), topic)
        place = f"{path}: {topic}"
        frame, names, t, position, _ = labelled(place, messages)
        first = bags.nanoseconds(messages[0][1].header.stamp) or messages[0][0]
        return Samples(place, first * 1e-9 + t, position, names=names, frame=frame)
    if not is_regular(path):
        raise InputError(path, "", "no such file", "a rosbag2, CSV or C3D of markers")
    names, t, position, _ = raw_markers(path)
    return Samples(str(path), t, position, names=names)


def _checked(samples: Samples) -> Samples:
    """Refuse clocks that stand still, poses that are no numbers, quaternions that are not unit."""
    bad = np.flatnonzero(~np.isfinite(samples.t))
    back = np.flatnonzero(np.diff(samples.t) <= 0) + 1
    for rows, rule in ((bad, "a finite stamp [s]"), (back, "increasing stamps [s]")):
        if len(rows):
            raise InputError(
                samples.source, f"sample {rows[0]}, t", float(samples.t[rows[0]]), rule
            )
    if samples.orientation is None:
        return samples
    bad = np.flatnonzero(~np.isfinite(samples.position).all(axis=(1, 2)))
    if len(bad):
        place = samples.position[bad[0], 0].tolist()
        raise InputError(samples.source, f"sample {bad[0]}, position", place, "finite numbers [m]")
    norm = np.linalg.norm(samples.orientation, axis=1)
    bad = np.flatnonzero(~(np.abs(norm - 1) <= UNIT))
    if len(bad):
        rule, got = "a unit quaternion x, y, z, w", samples.orientation[bad[0]].tolist()
        raise InputError(samples.source, f"sample {bad[0]}, orientation", got, rule)
    return samples
