"""Poses of bodies: the messages of a bag that carry them, tables, and the npz format of tosses.

A bag with static transforms (/tf_static) to the frame in which its poses are wanted, the
observer's `world_frame` or else "world", has them transformed; any other keeps its own frames.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..npz import whole_numbers
from ..rotation import quat_multiply
from ..tables import number_table
from . import bags, markers
from .cdr import NANO
from .columns import TEXTS, read_timed
from .formats import Format, SensorKind
from .frames import Frames, bag_frames
from .messages import BODIES, NAMED, ODOMETRY, POSE, POSES, STATIC, TF, TRANSFORM, UNSURE
from .observation import UNIT_TOLERANCE, Observation, pose_values
from .packed_poses import FRAMES_NAMED, packed_poses
from .toss_file import REQUIRED, TOSSES, toss_arrays

WORLD = "world"
"""Frame of the scene, where a bag does not name one."""
COLUMNS = ("px", "py", "pz", "qx", "qy", "qz", "qw")
STAMP = "stamp"
"""Column of a table: the source's stamps, in seconds since 1970 with all their digits."""
TRANSFORMS = TF.split("/")[-1]
"""Format of an observation that is a frame of /tf: one of many, most of which no tracker sent."""
NAMELESS = "poses have no names: called after their order in the messages, which may change"
GENERIC = ("pose", "odom", "odometry")
"""Last words of a topic that name no body."""
TABLE = "a rosbag2, or a table with the columns t px py pz qx qy qz qw"


# ---------------------------------------------------------------------------- files


def read_arrays(path: Path) -> list[Observation]:
    """Tosses of an npz file, one observation a body; numbers unchanged."""
    arrays = toss_arrays(path)
    rows, trial, t = [], [], []
    dt = float(arrays["dt"])
    triples = zip(arrays["toss_id"], arrays["start"], arrays["length"], strict=True)
    for number, start, length in triples:
        own = np.arange(int(start), int(start) + int(length))
        rows.append(own)
        trial.append(np.full(len(own), int(number)))
        t.append(arrays["t"][own] if "t" in arrays else dt * np.arange(len(own)))
    state = arrays["state"][np.concatenate(rows)].astype(float)
    several = state.ndim == 3
    names = [str(name) for name in arrays["bodies"]] if several else ["body"]
    state = state.reshape(len(state), -1, state.shape[-1])
    values = {"position": state[..., :3], "orientation": state[..., [4, 5, 6, 3]]}
    if state.shape[-1] == 13:
        values["spin"] = state[..., 10:13]
    every = Observation(
        kind="poses", t=np.concatenate(t).astype(float), names=tuple(names), source=str(path),
        values=values,
        frame="world", numbers=np.concatenate(trial), format=TOSSES,
    )  # fmt: skip
    return [replace(every.of(name), sensor=name if several else "") for name in names]


def read_table(path: Path) -> list[Observation]:
    """Columns t, px .. pz, qx .. qw and, optionally, toss_id and stamp (what the observer saves).

    With stamps t is the time since the first of them, in all tosses.
    """
    header, rows, lines, notes = read_timed(path, "a readable table")
    if not holds_poses(header):
        raise InputError(path, "", "no table of poses", TABLE)
    if "t" not in header:
        raise InputError(path, "header", header[:12], "a column t [s] beside the pose")
    short = next((k for k, row in enumerate(rows) if len(row) != len(header)), None)
    if not rows or short is not None:
        line = "rows" if short is None else f"line {lines[short]}"
        rule = f"rows of {len(header)} numbers, as the header"
        got = f"{len(rows[short or 0])} cells" if rows else "none"
        raise InputError(path, line, got, rule)
    known = [name for name in ("t", *COLUMNS, "toss_id") if name in header]
    at = [header.index(name) for name in known]
    table = number_table(path, known, [[row[k] for k in at] for row in rows], lines)
    column = {name: table[:, i] for i, name in enumerate(known)}
    trial = None
    if "toss_id" in column:
        trial = whole_numbers(path, column, "toss_id", (None,))
    value = np.stack([column[c] for c in COLUMNS], axis=1)
    t, epoch = column["t"], 0
    if STAMP in header:
        cells = [row[header.index(STAMP)] for row in rows]
        ns = np.array([_nanoseconds(path, k, one) for k, one in zip(lines, cells, strict=True)])
        t, epoch = (ns - ns[0]) / NANO, int(ns[0])
        _check_stamps(path, t, column["t"], trial, lines)
    rest = {"numbers": trial, "epoch": epoch, "notes": notes}
    return [_poses(path, "table of poses", ("body",), t, value, **rest)]


def _check_stamps(
    path: Path, t: np.ndarray, own: np.ndarray, trial: np.ndarray | None, lines: Sequence[int]
) -> None:
    """Refuse stamps [s] that do not advance as the column t does within a toss."""
    inside = np.diff(trial) == 0 if trial is not None else np.ones(max(len(t) - 1, 0), bool)
    bad = np.flatnonzero(inside & (np.abs(np.diff(t) - np.diff(own)) > 1e-6))
    if len(bad):
        k = int(bad[0])
        got = f"{t[k + 1] - t[k]:.9g} s later, t {own[k + 1] - own[k]:.9g} s"
        rule = "the source's stamps in seconds, which advance as t does"
        raise InputError(
            path, f"line {lines[k + 1]}, {STAMP}", got, rule, "give the column another name"
        )


def _nanoseconds(path: Path, line: int, cell: str) -> int:
    """A stamp [ns], exactly: a float of seconds since 1970 has 0.2 us."""
    try:
        found = round(Decimal(cell) * NANO)
    except (InvalidOperation, ValueError, OverflowError):
        found = 2**63
    if not abs(found) < 2**63:
        raise InputError(path, f"line {line}, {STAMP}", cell, "a time [s]")
    return found


def _poses(
    path: Path, what: str, names: tuple[str, ...], t: np.ndarray, value: np.ndarray, **rest: Any
) -> Observation:
    """Observation of poses px py pz qx qy qz qw of every body."""
    values = pose_values(value)
    return Observation(
        kind="poses", t=t, names=names, values=values, source=str(path), format=what, **rest
    )


def body_of(topic: str) -> str:
    """Name of the body that a topic of poses speaks of: /vrpn_mocap/cube/pose is cube."""
    parts = [part for part in topic.split("/") if part]
    return parts[-2] if len(parts) > 1 and parts[-1] in GENERIC else parts[-1]


def holds_poses(names: Collection[str]) -> bool:
    """True of a table with the columns of a pose."""
    return set(COLUMNS) <= set(names)


# ---------------------------------------------------------------------------- bags


def read_topic(path: str | Path, topic: str, *, placed: bool = True) -> list[Observation]:
    """Every body of a topic of one of CARRIERS, in the order of their first messages.

    placed  transform them by static transforms of the bag, see the module
    Raises InputError as bags.read_messages; for a frame that changes; for unusable /tf_static; for
    messages without any body.
    """
    path = Path(path)
    kind = bags.topics(path)[topic][0]
    found, told = _at_once(path, topic, kind) or _by_message(path, topic, kind)
    timed = [bags.times(rows.stamp, rows.arrival) for rows in found.values()]
    begin = min(int(ns.min()) for ns, _ in timed)
    names = [body for body, _ in found]
    bodies = [
        _body(path, topic, _title(body, parent, names), rows, ns, begin, (*told, *notes))
        for ((body, parent), rows), (ns, notes) in zip(found.items(), timed, strict=True)
    ]
    what = kind.split("/")[-1]
    if kind == POSES:
        bodies = [replace(one, notes=(*one.notes, NAMELESS)) for one in bodies]
    bodies = [
        replace(one, sensor=topic if len(found) == 1 else f"{topic} ({one.names[0]})", format=what)
        for one in bodies
    ]
    if not placed:
        return bodies
    world, known = bags.world_of(path) or WORLD, bag_frames(path)
    return [_placed(one, topic, world, known) for one in bodies]


class _Rows(NamedTuple):
    """Samples of one body: stamps and times of arrival [ns], frames, and poses (n, 7)."""

    stamp: Sequence[int] | np.ndarray
    arrival: Sequence[int]
    frames: set[str]
    value: np.ndarray


Bodies = dict[tuple[str, str], _Rows]
"""(body, parent frame where that tells bodies apart) -> its samples."""


def _at_once(path: Path, topic: str, kind: str) -> tuple[Bodies, tuple[str, ...]] | None:
    """The body of a topic whose messages have one layout, and notes; None of any other."""
    samples = bags.read_bytes(path, kind, topic) if kind in FRAMES_NAMED else None
    packed = packed_poses([raw for _, raw in samples], kind) if samples else None
    if samples is None or packed is None:
        return None
    body = (packed.child.lstrip("/") if kind == TRANSFORM else packed.child) or body_of(topic)
    arrival = [stamp for stamp, _ in samples]
    rows = _Rows(packed.stamp, arrival, {packed.frame}, packed.value)
    return {(body, ""): rows}, samples.notes


def _by_message(path: Path, topic: str, kind: str) -> tuple[Bodies, tuple[str, ...]]:
    """The bodies of a topic, and notes; InputError for messages without any."""
    _, samples = bags.read_messages(path, kind, topic)
    found: dict[tuple[str, str], list[tuple]] = {}
    for arrival, message in samples:
        for header, body, position, q in CARRIERS[kind](message):
            # two trackers may publish one frame: their poses are two bodies' until one is named
            key = body or body_of(topic), header.frame_id if kind == TF else ""
            row = (position.x, position.y, position.z, q.x, q.y, q.z, q.w)
            stamp = bags.nanoseconds(header.stamp)
            found.setdefault(key, []).append((stamp, arrival, header.frame_id, row))
    if not found:
        raise InputError(path, topic, "no body in any message", "at least one")
    bodies = {}
    for key, rows in found.items():
        stamps, arrivals, frames, values = zip(*rows, strict=True)
        bodies[key] = _Rows(stamps, arrivals, set(frames), np.array(values, float))
    return bodies, samples.notes


def read_bag(path: str | Path, topic: str = "") -> list[Observation]:
    """The one body of a topic, PoseStamped (as recorded) unless a topic of others is named.

    Raises InputError as read_topic, and where topic or body is ambiguous.
    """
    path = Path(path)
    if bags.topics(path).get(topic, (POSE, 0))[0] not in set(CARRIERS) - {POSE}:
        return read_topic(path, bags.topic_of(path, POSE, topic), placed=False)
    found = read_topic(path, topic)
    if len(found) != 1:
        names = ", ".join(one.names[0] for one in found)
        raise InputError(f"{path}: {topic}", "bodies", names, "exactly one body")
    return found


def _title(body: str, parent: str, names: list[str]) -> str:
    """Name of a body; of one that several parents have, with its own."""
    return f"{parent}->{body}" if names.count(body) > 1 else body


def _body(
    path: Path, topic: str, body: str, rows: _Rows, ns: np.ndarray, begin: int,
    notes: tuple[str, ...],
) -> Observation:  # fmt: skip
    """The poses of rows at times ns, counted from `begin` [ns]."""
    if len(rows.frames) > 1:
        place = f"{path}: {topic}: {body}"
        raise InputError(place, "frame_id", sorted(rows.frames), "the same frame throughout")
    t, (frame,) = (ns - begin) * 1e-9, rows.frames
    return _poses(path, "", (body,), t, rows.value, frame=frame, notes=notes, epoch=begin)


def _placed(poses: Observation, topic: str, world: str, known: Frames) -> Observation:
    """The poses in `world` where a static transform leads there."""
    try:
        step = known.lookup(world, poses.frame, topic)
    except InputError:
        return poses
    if poses.frame.lstrip("/") == world.lstrip("/"):
        return poses
    values = {
        "position": step.moved(poses.values["position"]),
        "orientation": quat_multiply(step.orientation, poses.values["orientation"]),
    }
    note = f"moved from {poses.frame!r} to {world!r} by {STATIC}"
    return replace(poses, frame=world, values=values, notes=(*poses.notes, note))


def _pose(message: Any) -> Iterator[tuple]:
    yield message.header, "", message.pose.position, message.pose.orientation


def _odometry(message: Any) -> Iterator[tuple]:
    pose = message.pose.pose
    yield message.header, message.child_frame_id, pose.position, pose.orientation


def _named(message: Any) -> Iterator[tuple]:
    for one in message.poses:
        yield message.header, one.name, one.pose.position, one.pose.orientation


def _rigid_bodies(message: Any) -> Iterator[tuple]:
    for one in message.rigidbodies:
        yield message.header, one.rigid_body_name, one.pose.position, one.pose.orientation


def _transform(message: Any) -> Iterator[tuple]:
    moved = message.transform
    yield message.header, message.child_frame_id.lstrip("/"), moved.translation, moved.rotation


def _unsure(message: Any) -> Iterator[tuple]:
    pose = message.pose.pose
    yield message.header, "", pose.position, pose.orientation


def _nameless(message: Any) -> Iterator[tuple]:
    for i, one in enumerate(message.poses):
        yield message.header, f"pose {i}", one.position, one.orientation


def _transforms(message: Any) -> Iterator[tuple]:
    for one in message.transforms:
        moved = one.transform
        yield one.header, one.child_frame_id.lstrip("/"), moved.translation, moved.rotation


CARRIERS = {
    POSE: _pose, ODOMETRY: _odometry, NAMED: _named, BODIES: _rigid_bodies, TF: _transforms,
    TRANSFORM: _transform, UNSURE: _unsure, POSES: _nameless,
}  # fmt: skip
"""Message type -> (header, body or "", position, orientation) of every pose in a message, whoever
read it: rosbags or rclpy."""


def _markers_or_poses(path: Path, topic: str) -> list[Observation]:
    """The markers of rigid bodies where the message has them, else their poses."""
    _, samples = bags.read_messages(path, BODIES, topic)
    marked = any(body.markers for _, message in samples for body in message.rigidbodies)
    return markers.read_bag(path, topic) if marked else read_topic(path, topic)


# ---------------------------------------------------------------------------- bodies


def chosen_bodies(
    path: str | Path, found: Sequence[Observation], bodies: Sequence[str] = ()
) -> list[Observation]:
    """The poses of the wanted bodies, one each; an only body whatever its name.

    A frame of /tf counts where it is named, or where nothing else has poses.
    Raises InputError naming what there is.
    """
    poses = [one for one in found if one.kind == "poses"]
    sent = [one for one in poses if one.format != TRANSFORMS]
    chosen = []
    for body in bodies:
        named = [one for one in sent if body in one.names]
        named = named or [one for one in poses if body in one.names]
        chosen += named if len(named) == 1 else []
    if chosen and len(chosen) == len(bodies):
        return chosen
    if len(bodies) < 2 and len(sent or poses) == 1:
        return sent or poses
    names = ", ".join(f"{one.names[0]} on {one.sensor}" for one in poses) or "none"
    rule = f"one each of {', '.join(bodies)}" if bodies else "exactly one body with poses"
    raise InputError(path, "poses", names, rule, "name the body as it is called here")


def together(path: str | Path, bodies: Sequence[Observation]) -> list[Observation]:
    """The poses at the stamps at which every body was measured."""
    visible = [
        np.isfinite(one.position[:, 0]).all(axis=1) & np.isfinite(one.orientation).all(axis=1)
        for one in bodies
    ]
    stamps = [one.epoch + np.rint(one.t * NANO).astype(np.int64) for one in bodies]
    common = stamps[0][visible[0]]
    for own, mask in zip(stamps, visible, strict=True):
        common = np.intersect1d(common, own[mask])
    if not len(common):
        names = ", ".join(one.names[0] for one in bodies)
        raise InputError(path, "poses", names, "bodies that were measured at the same stamps")
    t = (common - common[0]) / NANO
    rows = [
        np.flatnonzero(mask)[np.searchsorted(own[mask], common)]
        for own, mask in zip(stamps, visible, strict=True)
    ]
    return [replace(one.kept(own), t=t) for one, own in zip(bodies, rows, strict=True)]


def trials(poses: Observation) -> list[Observation]:
    """The poses as one trial, on their own stamps.

    Lost samples are left out.
    Raises InputError for poses that are no numbers and quaternions that are not unit.
    """
    if poses.lost:
        poses = poses.kept(np.isfinite(poses.value).all(axis=1))
    bad = np.flatnonzero(~np.isfinite(poses.position).all(axis=(1, 2)))
    if len(bad):
        place = poses.position[bad[0], 0].tolist()
        raise InputError(poses.place, f"sample {bad[0]}, position", place, "finite numbers [m]")
    norm = np.linalg.norm(poses.orientation, axis=1)
    bad = np.flatnonzero(~(np.abs(norm - 1) <= UNIT_TOLERANCE))
    if len(bad):
        rule, got = "a unit quaternion x, y, z, w", poses.orientation[bad[0]].tolist()
        raise InputError(poses.place, f"sample {bad[0]}, orientation", got, rule)
    return [replace(poses, numbers=None)]


SENSOR = SensorKind(
    kind="poses",
    accepted=TABLE,
    formats=(
        Format(TEXTS, holds_poses, read_table),
        Format((".npz",), lambda names: len(set(names) & set(REQUIRED)) > 2, read_arrays),
    ),
    topics=dict.fromkeys(CARRIERS, read_topic) | {BODIES: _markers_or_poses},
    bag=read_bag,
    trials=trials,
)
