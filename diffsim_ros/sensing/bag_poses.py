"""Poses of bodies in a bag, whatever messages carry them, in the frame that is wanted.

A bag with static transforms (/tf_static) to the frame in which its poses are wanted, that of the
observer's `world_frame` or else "world", has them moved there; any other keeps its own frames.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ..errors import InputError
from ..rotation import quat_multiply
from . import bags
from .frames import Frames, bag_frames
from .messages import BODIES, NAMED, ODOMETRY, POSE, STATIC, TF
from .recorder import body_of

WORLD = "world"
"""Frame of the scene, where a bag does not say which one is wanted."""


class BodyPoses(NamedTuple):
    """Poses of one body as recorded: their order, nothing dropped.

    topic, body  where they come from, and whose they are;  frame: that they are given in
    begin        stamp of the topic's first pose [ns since 1970];  t since then [s]      (n,)
    position     [m] (n, 3);  orientation  x, y, z, w (n, 4), as recorded (NaN: not seen)
    notes        what reading noticed
    """

    topic: str
    body: str
    frame: str
    begin: int
    t: np.ndarray
    position: np.ndarray
    orientation: np.ndarray
    notes: tuple[str, ...] = ()


def read_bodies(path: str | Path, topic: str) -> list[BodyPoses]:
    """Every body of a topic of one of CARRIERS, in the order in which they were first seen.

    Raises InputError as bags.read_messages; for a frame that changes; for unusable /tf_static.
    """
    path = Path(path)
    kind = bags.topics(path)[topic][0]
    _, samples = bags.read_messages(path, kind, topic)
    found: dict[tuple[str, str], list[tuple]] = {}
    for arrival, message in samples:
        for header, body, position, q in CARRIERS[kind](message):
            # two trackers may see one frame of /tf: their poses are two bodies' until one is named
            key = body or body_of(topic), header.frame_id if kind == TF else ""
            row = (position.x, position.y, position.z, q.x, q.y, q.z, q.w)
            stamp = bags.nanoseconds(header.stamp)
            found.setdefault(key, []).append((stamp, arrival, header.frame_id, row))
    world, known = bags.world_of(path) or WORLD, bag_frames(path)
    begin = min((row[0] or row[1] for rows in found.values() for row in rows), default=0)
    names = [body for body, _ in found]
    return [
        _placed(_body(path, topic, _title(body, parent, names), rows, begin), world, known)
        for (body, parent), rows in found.items()
    ]


def _title(body: str, parent: str, names: list[str]) -> str:
    """Name of a body; of one that several parents have, with its own."""
    return f"{parent}->{body}" if names.count(body) > 1 else body


def _body(path: Path, topic: str, body: str, rows: list[tuple], begin: int) -> BodyPoses:
    frames = {row[2] for row in rows}
    if len(frames) > 1:
        place = f"{path}: {topic}: {body}"
        raise InputError(place, "frame_id", sorted(frames), "the same frame throughout")
    ns = np.array([row[0] for row in rows], np.int64)
    notes: tuple[str, ...] = ()
    if not ns.any():
        ns, notes = np.array([row[1] for row in rows], np.int64), (bags.NO_STAMPS,)
    values = np.array([row[3] for row in rows], float)
    t = (ns - begin) * 1e-9
    return BodyPoses(topic, body, frames.pop(), begin, t, values[:, :3], values[:, 3:], notes)


def _placed(poses: BodyPoses, world: str, known: Frames) -> BodyPoses:
    """The poses in `world` where a static transform leads there."""
    try:
        step = known.lookup(world, poses.frame, poses.topic)
    except InputError:
        return poses
    if poses.frame.lstrip("/") == world.lstrip("/"):
        return poses
    return poses._replace(
        frame=world,
        position=step.moved(poses.position),
        orientation=quat_multiply(step.orientation, poses.orientation),
        notes=(*poses.notes, f"moved from {poses.frame!r} to {world!r} by {STATIC}"),
    )


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


def _transforms(message: Any) -> Iterator[tuple]:
    for one in message.transforms:
        moved = one.transform
        yield one.header, one.child_frame_id.lstrip("/"), moved.translation, moved.rotation


CARRIERS = {
    POSE: _pose, ODOMETRY: _odometry, NAMED: _named, BODIES: _rigid_bodies, TF: _transforms,
}  # fmt: skip
"""Message type -> (header, body or "", position, orientation) of every pose in a message."""
