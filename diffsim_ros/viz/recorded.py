"""Pictures of a bag, or of a Reel that would become one, as animations."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.sensing import bags
from diffsim_ros.sensing.messages import CLOUD, MARKERS
from diffsim_ros.viz.animation import Animation
from diffsim_ros.viz.markers import Action, Colour, Marker, MarkerKind
from diffsim_ros.viz.playback import MARKER_TOPIC, Reel

POINTS = "points"
"""Namespace of clouds."""
POINT = (0.005, 0.005, 0.005)
"""Size of a cloud's points [m]."""
TIME = "  t = "
"""Begins the time in a label."""
MOST_TEXT = 60
"""Characters of a motion's name."""
Key = tuple[str, int]


def bag_animations(path: str | os.PathLike[str], name: str = "") -> list[Animation]:
    """What the pictures of a motion.mcap show: an animation for each recording in it.

    name  of a motion without a label;  default: that of the bag's folder
    Raises InputError for a bag that cannot be read, or has no pictures.
    """
    path = Path(path)
    found = bags.topics(path)
    if found.get(MARKER_TOPIC, ("", 0))[0] != MARKERS:
        rule = f"a motion.mcap with pictures on {MARKER_TOPIC}"
        remedy = "write the results anew: those of former versions may have none"
        raise InputError(path, "topics", sorted(found), rule, remedy)
    _, samples = bags.read_messages(path, MARKERS, MARKER_TOPIC)
    first = samples[0][0]
    t = [1e-9 * (stamp - first) for stamp, _ in samples]
    frames = [[marker_of(one) for one in message.markers] for _, message in samples]
    clouds: list[tuple[float, Marker]] = []
    if any(kind == CLOUD for kind, _ in found.values()):
        clouds = _clouds(path, first)
    return split(t, frames, clouds, name or path.resolve().parent.name)


def reel_animations(reel: Reel, name: str = "") -> list[Animation]:
    """The same of recordings that are drawn, but not written."""
    pictures, clouds = reel.pictures, reel.clouds
    points = [
        (t, cloud_marker(one.points, one.colour))
        for t, one in zip(clouds.t, clouds.clouds, strict=True)
    ]
    return split(pictures.t, pictures.frames, points, name)


def split(
    t: Sequence[float], frames: Sequence[Sequence[Marker]], clouds: Sequence[tuple[float, Marker]],
    name: str,
) -> list[Animation]:  # fmt: skip
    """An animation for each stretch that begins with a clean stage, after the first too.

    t  [s] of frames, each of them what has changed;  clouds  (t, marker)
    """
    starts = [k for k, frame in enumerate(frames) if _clears(frame) or k == 0]
    found = []
    for begin, end in zip(starts, [*starts[1:], len(frames)], strict=True):
        last = t[end] if end < len(t) else np.inf
        within = [(time - t[begin], one) for time, one in clouds if t[begin] <= time < last]
        times = np.array(t[begin:end]) - t[begin]
        states = _states(frames[begin:end], times, within)
        title = _title(states[0]) or name
        found.append(Animation(title, times, _picker(states)).settled())
    return found


def _picker(states: list[list[Marker]]) -> Any:
    return lambda number: states[number]


def _clears(frame: Sequence[Marker]) -> bool:
    return any(marker.action is Action.DELETE_ALL for marker in frame)


def _states(
    frames: Sequence[Sequence[Marker]], t: np.ndarray, clouds: Sequence[tuple[float, Marker]]
) -> list[list[Marker]]:
    """What is seen after each frame."""
    seen: dict[Key, Marker] = {}
    states = []
    for time, frame in zip(t, frames, strict=True):
        for marker in frame:
            if marker.action is Action.DELETE_ALL:
                seen.clear()
            elif marker.action is Action.DELETE:
                seen.pop((marker.ns, marker.id), None)
            elif marker.kind is MarkerKind.TEXT:
                # players show the time themselves, and browsers lay out a new text slowly
                words = marker.text.split(TIME)[0]
                seen[marker.ns, marker.id] = replace(marker, text=words)
            else:
                seen[marker.ns, marker.id] = marker
        shown = [one for at, one in clouds if at <= time + 1e-9]
        states.append([*seen.values(), *shown[-1:]])
    return states


def _title(markers: Sequence[Marker]) -> str:
    """The words of a label."""
    texts = [m.text for m in markers if m.kind is MarkerKind.TEXT]
    return texts[0][:MOST_TEXT] if texts else ""


def _clouds(path: Path, first: int) -> list[tuple[float, Marker]]:
    """(t, marker) of every cloud, t since a stamp [ns]."""
    from diffsim_ros.sensing.clouds.packed import decode_message

    topic, samples = bags.read_messages(path, CLOUD)
    found = []
    for k, (stamp, message) in enumerate(samples):
        cloud = decode_message(message, f"{path}: {topic}: sample {k}", stamp=1e-9 * stamp)
        found.append((1e-9 * (stamp - first), cloud_marker(cloud.points, cloud.colour)))
    return found


def cloud_marker(points: np.ndarray, colour: np.ndarray | None) -> Marker:
    """Points (n, 3) [m] with colours (n, 3) in 0 ... 1."""
    colours: Any = ()
    if colour is not None and len(colour):
        colours = np.column_stack([np.clip(colour, 0.0, 1.0), np.ones(len(colour))])
    return Marker(POINTS, 0, MarkerKind.POINTS, scale=POINT, points=points, colours=colours,
                  colour=(0.3, 0.3, 0.3, 1.0))  # fmt: skip


def marker_of(message: Any) -> Marker:
    """A visualization_msgs/Marker as it was before it was written."""
    position, turn = message.pose.position, message.pose.orientation
    scale = message.scale
    return Marker(
        message.ns, message.id, MarkerKind(message.type), Action(message.action),
        position=(position.x, position.y, position.z), orientation=(turn.x, turn.y, turn.z, turn.w),
        scale=(scale.x, scale.y, scale.z), colour=_rgba(message.color),
        points=[(p.x, p.y, p.z) for p in message.points],
        colours=[_rgba(c) for c in message.colors], text=message.text,
        frame_id=message.header.frame_id,
    )  # fmt: skip


def _rgba(colour: Any) -> Colour:
    return colour.r, colour.g, colour.b, colour.a
