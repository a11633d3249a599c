"""rosbag2 recordings of poses, read and written without a ROS distribution (package `rosbags`).

Written: MCAP with Jazzy's message definitions inside, so that `ros2 bag play`, rviz2 and Foxglove
need nothing else.  Read: MCAP and sqlite3, a folder with metadata.yaml or a single file.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.output import STAGE_PREFIX, move_new

POSE = "geometry_msgs/msg/PoseStamped"
TF = "tf2_msgs/msg/TFMessage"
MARKERS = "visualization_msgs/msg/MarkerArray"
EPOCH_NS = 1_700_000_000_000_000_000  # invented start of recordings that have no clock of their own


class PoseTrack(NamedTuple):
    """Poses of one topic.

    topic        e.g. "/cube/measured"
    frame_id     frame that the poses are given in
    t            time [s] since the bag's epoch                 (n,)
    position     [m]                                            (n, 3)
    orientation  quaternion x, y, z, w, body to `frame_id`      (n, 4)
    """

    topic: str
    frame_id: str
    t: np.ndarray
    position: np.ndarray
    orientation: np.ndarray


class MarkerTrack(NamedTuple):
    """Marker arrays of one topic: at t[i] [s] since the epoch, frames[i] (viz.markers.Marker)."""

    topic: str
    t: Sequence[float]
    frames: Sequence[Sequence[Any]]


@dataclass(frozen=True)
class BagPoses:
    """What `read_poses` found: the samples as recorded, in the order of the bag, nothing dropped.

    track      topic, frame and samples; track.t counts from `epoch_ns`
    epoch_ns   stamp of the first sample [ns since 1970]
    stamps     "header", or "received" where the publisher left all header stamps 0
    """

    track: PoseTrack
    epoch_ns: int
    stamps: str


def write_motion(
    path: str | os.PathLike[str],
    motions: Iterable[PoseTrack | tuple],
    *,
    markers: Iterable[MarkerTrack] = (),
    transforms: bool = True,
    epoch_ns: int = EPOCH_NS,
) -> Path:
    """Write poses (and markers) as a rosbag2 MCAP; return its path.

    Predicted trials of an EstimationResult, with markers: viz.playback.write_playback.

    `path` ending in .mcap becomes one file, any other a bag folder with metadata.yaml; both play
    with `ros2 bag play`.  Each motion is (topic, frame_id, t, position, orientation), see
    PoseTrack; with `transforms` it is also sent on /tf, its topic without the leading slash being
    the child frame.  The bag appears whole or not at all.
    Raises FileExistsError if `path` exists, ValueError naming topic and sample for shapes that
    disagree, non-finite numbers or times before the epoch.
    """
    path = Path(path)
    if os.path.lexists(path):
        raise FileExistsError(17, "file exists", str(path))
    motions = [_checked(PoseTrack(*motion)) for motion in motions]
    entries = [_pose_entries(motion, epoch_ns) for motion in motions]
    if transforms:
        entries += [_transform_entries(motion, epoch_ns) for motion in motions]
    entries += [_marker_entries(track, epoch_ns) for track in markers]
    path.parent.mkdir(parents=True, exist_ok=True)
    stage = Path(tempfile.mkdtemp(prefix=STAGE_PREFIX, dir=path.parent))
    try:
        bag = stage / (path.stem if path.suffix == ".mcap" else path.name)
        _write_bag(bag, sorted((e for group in entries for e in group), key=lambda e: e.stamp))
        if path.suffix == ".mcap":
            move_new(bag / f"{bag.name}.mcap", path)
        else:
            os.rename(bag, path)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
    return path


def read_poses(path: str | os.PathLike[str], topic: str = "") -> BagPoses:
    """Read the PoseStamped messages of one topic; "" takes the only such topic of the bag.

    Raises InputError if the bag is missing, unreadable or damaged, has no (or several) PoseStamped
    topics and none is named, the topic is empty, or its frame changes.
    """
    path = Path(path)
    return _to_track(path, *read_messages(path, POSE, topic))


def read_messages(
    path: str | os.PathLike[str], msgtype: str, topic: str = ""
) -> tuple[str, list[tuple[int, Any]]]:
    """Return (topic, [(time of arrival [ns], message)]) of one topic; "" takes the only one.

    Raises InputError if the bag is missing, unreadable or damaged, has no (or several) topics of
    that type and none is named, or the topic is empty.
    """
    from rosbags.highlevel import AnyReader

    path = Path(path)
    if not path.exists():
        raise InputError(path, "", "nothing", "a rosbag2 folder, .mcap or .db3 file")
    try:
        with AnyReader([path], default_typestore=_types()) as reader:
            connections = [c for c in reader.connections if c.msgtype == msgtype]
            topic = _choose(path, topic, msgtype, [c.topic for c in connections])
            chosen = [c for c in connections if c.topic == topic]
            samples = [
                (stamp, reader.deserialize(raw, connection.msgtype))
                for connection, stamp, raw in reader.messages(connections=chosen)
            ]
    except InputError:
        raise
    except Exception as error:  # damaged files raise struct, key, type, sqlite ... errors
        reason = f"{type(error).__name__}: {error}"
        raise InputError(path, "", reason, "a complete rosbag2 recording") from error
    if not samples:
        raise InputError(path, topic, "no messages", f"at least one {msgtype}")
    return topic, samples


def topics(path: str | os.PathLike[str]) -> dict[str, tuple[str, int]]:
    """Topics of a bag: name -> (type, number of messages); errors as read_messages."""
    from rosbags.highlevel import AnyReader

    path = Path(path)
    if not path.exists():
        raise InputError(path, "", "nothing", "a rosbag2 folder, .mcap or .db3 file")
    found: dict[str, tuple[str, int]] = {}
    try:
        with AnyReader([path], default_typestore=_types()) as reader:
            for c in reader.connections:
                before = found.get(c.topic, ("", 0))[1]
                found[c.topic] = (c.msgtype, before + c.msgcount)
    except Exception as error:  # as in read_messages
        reason = f"{type(error).__name__}: {error}"
        raise InputError(path, "", reason, "a rosbag2 recording that can be read") from error
    return found


def pose_topics(path: str | os.PathLike[str]) -> dict[str, int]:
    """Return the bag's PoseStamped topics with their numbers of messages; errors as topics."""
    return {name: count for name, (kind, count) in topics(path).items() if kind == POSE}


def _choose(path: Path, topic: str, msgtype: str, found: list[str]) -> str:
    found = sorted(set(found))
    if topic in found:
        return topic
    if topic:
        raise InputError(path, "topic", topic, f"a topic of type {msgtype}", nearest(topic, found))
    if len(found) != 1:
        names = ", ".join(found) or "none"
        rule = f"exactly one topic of type {msgtype}"
        raise InputError(path, "topic", names, rule, "name one topic")
    return found[0]


def _to_track(path: Path, topic: str, samples: list[tuple[int, Any]]) -> BagPoses:
    frames = {message.header.frame_id for _, message in samples}
    if len(frames) > 1:
        raise InputError(path, f"{topic} frame_id", sorted(frames), "the same frame throughout")
    ns = np.array([nanoseconds(message.header.stamp) for _, message in samples], dtype=np.int64)
    stamps = "header"
    if not ns.any():
        ns, stamps = np.array([stamp for stamp, _ in samples], dtype=np.int64), "received"
    poses = [message.pose for _, message in samples]
    position = np.array([(p.position.x, p.position.y, p.position.z) for p in poses])
    orientation = np.array(
        [(p.orientation.x, p.orientation.y, p.orientation.z, p.orientation.w) for p in poses]
    )
    t = (ns - ns[0]) * 1e-9
    track = PoseTrack(topic, frames.pop(), t, position, orientation)
    return BagPoses(track, int(ns[0]), stamps)


def nanoseconds(stamp: Any) -> int:
    """Stamp [ns] of a message's time."""
    return stamp.sec * 1_000_000_000 + stamp.nanosec


def _checked(motion: PoseTrack) -> PoseTrack:
    """Return the motion as float arrays of agreeing shapes; ValueError names topic and sample."""
    t = np.asarray(motion.t, dtype=float)
    position = np.asarray(motion.position, dtype=float)
    orientation = np.asarray(motion.orientation, dtype=float)
    shapes = (t.shape, position.shape, orientation.shape)
    if shapes != ((len(t),), (len(t), 3), (len(t), 4)):
        raise ValueError(f"{motion.topic}: expected shapes (n,), (n, 3), (n, 4), got {shapes}")
    good = np.isfinite(t) & np.isfinite(position).all(1) & np.isfinite(orientation).all(1)
    if not good.all():
        raise ValueError(f"{motion.topic}: sample {np.argmin(good)} is not finite")
    if len(t) and t.min() < 0:
        raise ValueError(f"{motion.topic}: times must be >= 0 s since the epoch, got {t.min()}")
    return PoseTrack(motion.topic, motion.frame_id, t, position, orientation)


# ---------------------------------------------------------------------------- messages


class _Entry(NamedTuple):
    """A message that is built only when it is written (markers of many frames are large)."""

    stamp: int
    topic: str
    msgtype: str
    build: Callable[[], Any]


def _write_bag(path: Path, entries: Sequence[_Entry]) -> None:
    from rosbags.rosbag2 import StoragePlugin, Writer

    types = _types()
    # version 8 differs from Jazzy's 9 only in how QoS is written; older distributions read it too
    with Writer(path, version=8, storage_plugin=StoragePlugin.MCAP) as writer:
        connections = {}
        for entry in entries:
            if entry.topic not in connections:
                connections[entry.topic] = writer.add_connection(
                    entry.topic, entry.msgtype, typestore=types
                )
            data = types.serialize_cdr(entry.build(), entry.msgtype)
            writer.write(connections[entry.topic], entry.stamp, data)


@cache
def _types() -> Any:
    from rosbags.typesys import Stores, get_typestore

    return get_typestore(Stores.ROS2_JAZZY)


def _message(name: str, *fields: Any) -> Any:
    return _types().types[name](*fields)


def _stamp(ns: int) -> Any:
    return _message("builtin_interfaces/msg/Time", ns // 1_000_000_000, ns % 1_000_000_000)


def _header(ns: int, frame_id: str) -> Any:
    return _message("std_msgs/msg/Header", _stamp(ns), frame_id)


def _point(xyz: Iterable[float]) -> Any:
    return _message("geometry_msgs/msg/Point", *map(float, xyz))


def _vector(xyz: Iterable[float]) -> Any:
    return _message("geometry_msgs/msg/Vector3", *map(float, xyz))


def _quaternion(xyzw: Iterable[float]) -> Any:
    return _message("geometry_msgs/msg/Quaternion", *map(float, xyzw))


def _colour(rgba: Iterable[float]) -> Any:
    return _message("std_msgs/msg/ColorRGBA", *map(float, rgba))


def _stamps(t: np.ndarray, epoch_ns: int) -> list[int]:
    return [epoch_ns + round(1e9 * float(seconds)) for seconds in t]


def _pose_entries(motion: PoseTrack, epoch_ns: int) -> Iterator[_Entry]:
    for i, ns in enumerate(_stamps(motion.t, epoch_ns)):

        def build(i: int = i, ns: int = ns) -> Any:
            pose = _message(
                "geometry_msgs/msg/Pose",
                _point(motion.position[i]),
                _quaternion(motion.orientation[i]),
            )
            return _message(POSE, _header(ns, motion.frame_id), pose)

        yield _Entry(ns, motion.topic, POSE, build)


def _transform_entries(motion: PoseTrack, epoch_ns: int) -> Iterator[_Entry]:
    child = motion.topic.lstrip("/")
    for i, ns in enumerate(_stamps(motion.t, epoch_ns)):

        def build(i: int = i, ns: int = ns) -> Any:
            transform = _message(
                "geometry_msgs/msg/Transform",
                _vector(motion.position[i]),
                _quaternion(motion.orientation[i]),
            )
            header = _header(ns, motion.frame_id)
            stamped = _message("geometry_msgs/msg/TransformStamped", header, child, transform)
            return _message(TF, [stamped])

        yield _Entry(ns, "/tf", TF, build)


def _marker_entries(track: MarkerTrack, epoch_ns: int) -> Iterator[_Entry]:
    for ns, frame in zip(_stamps(np.asarray(track.t), epoch_ns), track.frames, strict=True):

        def build(ns: int = ns, frame: Sequence[Any] = frame) -> Any:
            return _message(MARKERS, [_marker(marker, ns) for marker in frame])

        yield _Entry(ns, track.topic, MARKERS, build)


def _marker(marker: Any, ns: int) -> Any:
    """viz.markers.Marker -> visualization_msgs/Marker."""
    life = round(1e9 * marker.lifetime)
    no_stamp = _message("std_msgs/msg/Header", _stamp(0), "")
    return _message(
        "visualization_msgs/msg/Marker",
        _header(ns, marker.frame_id),
        marker.ns,
        int(marker.id),
        int(marker.kind),
        int(marker.action),
        _message(
            "geometry_msgs/msg/Pose", _point(marker.position), _quaternion(marker.orientation)
        ),
        _vector(marker.scale),
        _colour(marker.colour),
        _message("builtin_interfaces/msg/Duration", life // 1_000_000_000, life % 1_000_000_000),
        False,
        [_point(point) for point in marker.points],
        [_colour(colour) for colour in marker.colours],
        "",
        _message("sensor_msgs/msg/CompressedImage", no_stamp, "", np.zeros(0, dtype=np.uint8)),
        [],
        marker.text,
        "",
        _message("visualization_msgs/msg/MeshFile", "", np.zeros(0, dtype=np.uint8)),
        False,
    )
