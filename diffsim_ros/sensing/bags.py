"""rosbag2 recordings, read and written without a ROS distribution (package `rosbags`).

Written: MCAP with Jazzy's message definitions inside, so that `ros2 bag play`, rviz2 and Foxglove
need nothing else.  Read: MCAP and sqlite3, a folder with metadata.yaml or a single file.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.sensing import bag_files
from diffsim_ros.sensing import messages as build
from diffsim_ros.sensing.bag_check import check_definition, check_fields, cut_of, same_fields
from diffsim_ros.sensing.bag_files import SUFFIXES, is_bag
from diffsim_ros.sensing.messages import MARKERS, POSE, Entry, OfferedQos
from diffsim_ros.sensing.stamps import NO_STAMPS, nanoseconds, times

__all__ = ["MARKERS", "NO_STAMPS", "POSE", "SUFFIXES", "is_bag", "nanoseconds", "times"]
NOTHING = "no messages"
PROGRESS = 2000
"""Messages between two reports of progress."""
EPOCH_NS = 1_700_000_000_000_000_000  # invented start of recordings that have no clock of their own


class RecordedPoses(NamedTuple):
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


class RecordedMarkers(NamedTuple):
    """Marker arrays of one topic: at t[i] [s] since the epoch, frames[i] (viz.markers.Marker)."""

    topic: str
    t: Sequence[float]
    frames: Sequence[Sequence[Any]]


class MocapTrack(NamedTuple):
    """Labelled markers of one topic (mocap4r2_msgs/Markers).

    t [s] since the epoch (n,); position [m] in `frame_id`, NaN where missing (n, m, 3)
    """

    topic: str
    frame_id: str
    t: np.ndarray
    names: Sequence[str]
    position: np.ndarray


class RecordedClouds(NamedTuple):
    """Clouds of one topic: at t[i] [s] since the epoch, clouds[i] (clouds.cloud.Cloud).

    extra   name -> a further number of every point, (n,) for each cloud
    """

    topic: str
    frame_id: str
    t: Sequence[float]
    clouds: Sequence[Any]
    extra: Mapping[str, Sequence[np.ndarray]] = {}

    def columns(self, i: int) -> dict[str, np.ndarray]:
        """The further numbers of cloud i."""
        return {name: values[i] for name, values in self.extra.items()}


class RecordedWrenches(NamedTuple):
    """Wrenches of one topic: force [N], torque [N m] (n, 3) in the axes of `frame_id`, about its
    origin; t [s] since the epoch (n,)."""

    topic: str
    frame_id: str
    t: np.ndarray
    force: np.ndarray
    torque: np.ndarray


class RecordedJoints(NamedTuple):
    """Joint states of one topic: position, velocity, effort (n, joints) at t [s] (n,)."""

    topic: str
    t: np.ndarray
    names: Sequence[str]
    position: np.ndarray
    velocity: np.ndarray
    effort: np.ndarray


class RawMessage(NamedTuple):
    """A message as it is stored: stamp [ns], topic, type ("std_msgs/msg/Bool"), CDR bytes."""

    stamp: int
    topic: str
    msgtype: str
    data: bytes


def write_motion(
    path: str | os.PathLike[str],
    motions: Iterable[RecordedPoses | tuple],
    *,
    markers: Iterable[RecordedMarkers] = (),
    mocap: Iterable[MocapTrack] = (),
    clouds: Iterable[RecordedClouds] = (),
    wrenches: Iterable[RecordedWrenches] = (),
    joints: Iterable[RecordedJoints] = (),
    transforms: bool = True,
    epoch_ns: int = EPOCH_NS,
    optional: bool = False,
) -> Path:
    """Write poses, pictures (markers), labelled markers, clouds, wrenches and joint states as a
    rosbag2 MCAP.

    Predicted trials of an EstimationResult: viz.playback.

    `path` ending in .mcap becomes one file, any other a bag folder with metadata.yaml; both play
    with `ros2 bag play`.  Each motion is (topic, frame_id, t, position, orientation), see
    RecordedPoses; with `transforms` it is also sent on /tf, its topic without the leading slash
    being the child frame.  The bag appears whole or not at all.  Returns its path.
    optional  without the package `rosbags` warn and write nothing; for what only shows a result
    Raises FileExistsError if `path` exists, InputError without `rosbags`, ValueError naming topic
    and sample for shapes that disagree, non-finite numbers or times before the epoch.
    """
    try:
        build.require_rosbags()
    except InputError as error:
        if not optional:
            raise
        warnings.warn(f"{Path(path).name} is not written: {error}", stacklevel=2)
        return Path(path)
    motions = [_checked(RecordedPoses(*motion)) for motion in motions]
    entries = [build.pose_entries(motion, epoch_ns) for motion in motions]
    if transforms:
        entries += [build.transform_entries(motion, epoch_ns) for motion in motions]
    entries += [build.picture_entries(track, epoch_ns) for track in markers]
    entries += [build.mocap_entries(track, epoch_ns) for track in mocap]
    entries += [build.cloud_entries(track, epoch_ns) for track in clouds]
    entries += [build.wrench_entries(track, epoch_ns) for track in wrenches]
    entries += [build.joint_entries(track, epoch_ns) for track in joints]
    build.write_bag(Path(path), [entry for group in entries for entry in group])
    return Path(path)


def write_raw(
    path: str | os.PathLike[str],
    messages: Iterable[RawMessage],
    offered: Mapping[str, Sequence[OfferedQos]] | None = None,
) -> Path:
    """Write messages as they were received; like write_motion. Returns the path.

    offered  see messages.write_bag
    """
    entries = [Entry(m.stamp, m.topic, m.msgtype, partial(bytes, m.data)) for m in messages]
    build.write_bag(Path(path), entries, offered)
    return Path(path)


def world_of(path: str | os.PathLike[str]) -> str:
    """Frame in which the poses of a recording of ours are wanted, "" unknown; errors as topics."""
    for name, (kind, count) in topics(path).items():
        if kind == build.TEXT and name.endswith(build.WORLD) and count:
            return str(read_messages(path, kind, name)[1][0][1].data)
    return ""


def topic_of(path: str | os.PathLike[str], msgtype: str, topic: str = "") -> str:
    """The topic of that type, "" takes the only one; InputError as read_messages."""
    found = [name for name, (kind, _) in topics(path).items() if kind == msgtype]
    return _choose(Path(path), topic, msgtype, found)


class TopicSamples(list):
    """[(time of arrival [ns], message)] of one topic, and notes on what reading it showed."""

    notes: tuple[str, ...] = ()


_progress: ContextVar[Callable[[int, int], None] | None] = ContextVar("progress", default=None)


@contextmanager
def watched(on_progress: Callable[[int, int], None]) -> Iterator[None]:
    """Have on_progress(messages read, messages of the topic) called while topics are read."""
    token = _progress.set(on_progress)
    try:
        yield
    finally:
        _progress.reset(token)


def read_messages(
    path: str | os.PathLike[str], msgtype: str | Sequence[str], topic: str = ""
) -> tuple[str, TopicSamples]:
    """Return (topic, [(time of arrival [ns], message)]) of one topic; "" takes the only one.

    msgtype   the type, or the types, that the topic may have
    Other topics may be of unknown types, or damaged: they are not read. Exact copies of messages,
    stamps and all, are left out; that and counts that differ are notes.
    Raises InputError if the bag is missing, unreadable or damaged, has no (or several) topics of
    that type and none is named, or the topic is empty, has fewer messages than its file counts, or
    one that cannot be decoded.
    """
    path = Path(path)
    kinds = (msgtype,) if isinstance(msgtype, str) else tuple(msgtype)
    return _read(path, kinds, topic, _decoded)


def read_bytes(path: str | os.PathLike[str], msgtype: str, topic: str) -> TopicSamples | None:
    """[(time of arrival [ns], bytes)] of one topic; as read_messages, but not decoded.

    None where the bag has another definition of the type than the known one.
    """

    def undecoded(path: Path, topic: str, reader: Any, chosen: Sequence[Any]) -> TopicSamples:
        store = _store(path, _defined(chosen))
        if not same_fields(msgtype, store.fielddefs, build.types().fielddefs):
            return TopicSamples()
        return _kept(path, topic, reader, chosen, lambda raw, kind: raw)

    try:
        return _read(Path(path), (msgtype,), topic, undecoded)[1]
    except InputError as error:
        if error.value != NOTHING:
            raise
        return None


def _read(
    path: Path, kinds: Sequence[str], topic: str, samples_of: Callable[..., TopicSamples]
) -> tuple[str, TopicSamples]:
    """The topic that is meant, and its samples with all notes."""
    with _opened(path) as reader:
        connections = [c for c in reader.connections if c.msgtype in kinds]
        topic = _choose(path, topic, " or ".join(kinds), [c.topic for c in connections])
        chosen = [c for c in connections if c.topic == topic]
        samples = samples_of(path, topic, reader, chosen)
        samples.notes = (*reader.notes, *samples.notes, *_count_notes(reader, topic, kinds))
    if not samples:
        raise InputError(path, topic, NOTHING, f"at least one {' or '.join(kinds)}")
    return topic, samples


def _decoded(path: Path, topic: str, reader: Any, chosen: Sequence[Any]) -> TopicSamples:
    """The messages of these connections, exact copies left out."""
    return _kept(path, topic, reader, chosen, _store(path, _defined(chosen)).deserialize_cdr)


def _kept(
    path: Path, topic: str, reader: Any, chosen: Sequence[Any], decode: Callable[[bytes, str], Any]
) -> TopicSamples:
    """What decode(bytes, type) makes of every message, exact copies left out."""
    samples, total, read, copies = TopicSamples(), sum(c.msgcount for c in chosen), 0, 0
    seen: set[tuple[bytes, int]] = set()
    report = _progress.get() or (lambda read, total: None)
    for connection, stamp, raw in reader.messages(chosen):
        read += 1
        if read % PROGRESS == 0:
            report(read, total)
        mark = _stamp_of(raw, connection.msgtype)
        if any(mark) and topic != build.STATIC:
            key = mark, hash(raw)
            if key in seen:
                copies += 1
                continue
            seen.add(key)
        try:
            samples.append((stamp, decode(raw, connection.msgtype)))
        except Exception as error:  # bytes of another type raise all kinds of errors
            place, reason = f"{path}: {topic}: sample {len(samples)}", f"{error!r}"
            raise InputError(place, "", reason, f"a {connection.msgtype}") from error
    if read < total:
        got, rule = f"{read} messages", f"the {total} that the file's own index counts"
        raise InputError(path, topic, got, rule, f"the file is damaged; {cut_of(path)}")
    if copies:
        text = f"{copies} of {read} messages are exact copies of others, stamps and all: left out"
        samples.notes = (text,)
    return samples


def _stamp_of(raw: bytes, msgtype: str) -> bytes:
    """Bytes of the stamp of a message with a header, or of the first transform of several."""
    return raw[8:16] if msgtype == build.TF else raw[4:12]


def _count_notes(reader: Any, topic: str, kinds: Sequence[str]) -> list[str]:
    """Notes on counts of a topic that differ from those of metadata.yaml, and on what of it is of
    other types."""
    of_topic = [c for c in reader.connections if c.topic == topic]
    found, notes = sum(c.msgcount for c in of_topic), []
    stated = None if reader.stated is None else reader.stated.get(topic, 0)
    if stated is not None and stated != found:
        notes.append(
            f"metadata.yaml counts {stated} messages of {topic}, the files hold {found}: these are "
            f"read{' (were files cut or exchanged?)' if found < stated else ''}"
        )
    others = {c.msgtype: c.msgcount for c in of_topic if c.msgtype not in kinds and c.msgcount}
    for kind, count in others.items():
        notes.append(f"{count} messages of {topic} are of type {kind}: not read")
    return notes


def _defined(connections: Sequence[Any]) -> Any:
    """One of the connections of a topic, with a definition if any file has one."""
    return next((c for c in connections if c.msgdef.data), connections[0])


def read_raw(path: str | os.PathLike[str], topic: str) -> list[RawMessage]:
    """Messages of one topic as they are stored, in the order of the bag.

    Raises InputError if the bag is missing or unreadable or has no such topic.
    """
    path = Path(path)
    with _opened(path) as reader:
        chosen = [c for c in reader.connections if c.topic == topic]
        if not chosen:
            found = sorted({c.topic for c in reader.connections})
            raise InputError(path, "topic", topic, "a topic of this bag", nearest(topic, found))
        return [
            RawMessage(stamp, topic, connection.msgtype, bytes(raw))
            for connection, stamp, raw in reader.messages(chosen)
        ]


def topics(path: str | os.PathLike[str]) -> dict[str, tuple[str, int]]:
    """Topics of a bag: name -> (type, number of messages), of one with several types that of most;
    errors as read_messages."""
    counts: dict[str, dict[str, int]] = {}
    with _opened(Path(path)) as reader:
        for c in reader.connections:
            own = counts.setdefault(c.topic, {})
            own[c.msgtype] = own.get(c.msgtype, 0) + c.msgcount
    return {name: max(own.items(), key=lambda one: one[1]) for name, own in counts.items()}


@contextmanager
def _opened(path: Path) -> Iterator[Any]:
    """bag_files.opened, where `rosbags` is there."""
    build.require_rosbags()
    with bag_files.opened(path) as reader:
        yield reader


def _store(path: Path, connection: Any) -> Any:
    """Message types to read a topic with: those in the bag, else the known ones.

    Of this topic alone: AnyReader takes those of all topics, and fails at one it cannot parse.
    """
    from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore

    text, reason = connection.msgdef.data, "no definition in the bag"
    place = f"{path}: {connection.topic}"
    if connection.ext.serialization_format not in ("cdr", ""):
        got = connection.ext.serialization_format
        raise InputError(place, "serialization format", got, "cdr")
    check_definition(place, text)
    if text:
        store = get_typestore(Stores.EMPTY)
        try:
            if connection.msgdef.format.name == "MSG":
                store.register(get_types_from_msg(text, connection.msgtype))
            for part in _idl(text) if connection.msgdef.format.name == "IDL" else ():
                store.register(get_types_from_idl(part))
            store.get_msgdef(connection.msgtype)
            check_fields(place, connection.msgtype, store.fielddefs, build.types().fielddefs)
            return store
        except InputError:
            raise
        except Exception as error:  # the parser's and the store's own, and key errors
            reason = f"{type(error).__name__}: {error}"
    if connection.msgtype in build.types().fielddefs:
        return build.types()
    raise InputError(place, connection.msgtype, reason, "a type with a readable definition")


def _idl(text: str) -> list[str]:
    """The files of a definition in IDL: each after a line of = and its name, or one alone."""
    mark = "=" * 80 + "\n"
    parts = text.split(mark)[1:]
    return [part.partition("\n")[2] for part in parts] if parts else [text]


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


def times_of(samples: Sequence[tuple[int, Any]]) -> tuple[np.ndarray, tuple[str, ...]]:
    """Times [ns] of messages with headers (stamps.times), and notes, those of reading them too."""
    stamps = [nanoseconds(message.header.stamp) for _, message in samples]
    ns, notes = times(stamps, [arrival for arrival, _ in samples])
    return ns, (*getattr(samples, "notes", ()), *notes)


def _checked(motion: RecordedPoses) -> RecordedPoses:
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
    return RecordedPoses(motion.topic, motion.frame_id, t, position, orientation)
