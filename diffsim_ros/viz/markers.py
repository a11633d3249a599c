"""Marker descriptions as plain data; nodes/convert.py turns them into visualization_msgs.

Facts that a Marker enforces because rviz does not forgive them: ids are unique per namespace
(`check_unique`), TRIANGLE_LIST has a multiple of three points and LINE_LIST of two, every used
scale is non-zero, quaternions are unit, and a lifetime of 0 means for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np

from diffsim_ros.viz.motion import EDGES, Motion, put, world_corners
from diffsim_ros.viz.style import MEASURED, SIMULATED

LONGEST_ARROW = 0.3  # [m]: the forces of an impact would leave the picture
Colour = tuple[float, float, float, float]


class MarkerKind(IntEnum):
    """visualization_msgs/Marker.type: the same numbers."""

    ARROW = 0
    CUBE = 1
    SPHERE = 2
    CYLINDER = 3
    LINE_STRIP = 4
    LINE_LIST = 5
    SPHERE_LIST = 7
    POINTS = 8
    TEXT = 9
    TRIANGLE_LIST = 11


class Action(IntEnum):
    """visualization_msgs/Marker.action: the same numbers."""

    ADD = 0
    DELETE = 2
    DELETE_ALL = 3


LISTS = {
    MarkerKind.LINE_STRIP,
    MarkerKind.LINE_LIST,
    MarkerKind.SPHERE_LIST,
    MarkerKind.POINTS,
    MarkerKind.TRIANGLE_LIST,
}
USED_SCALES = {
    MarkerKind.LINE_STRIP: (0,),
    MarkerKind.LINE_LIST: (0,),
    MarkerKind.TEXT: (2,),
    MarkerKind.POINTS: (0, 1),
}
MULTIPLE = {MarkerKind.TRIANGLE_LIST: 3, MarkerKind.LINE_LIST: 2}


@dataclass(frozen=True, eq=False)
class Marker:
    """One marker, field for field that of visualization_msgs.

    ns, id        identity; one id once per namespace
    kind, action  what it is; add (or change), delete, delete all
    position      of the marker's frame in `frame_id` [m]           (3,)
    orientation   quaternion x, y, z, w                             (4,)
    scale         [m]; LINE_*: x is the width; ARROW with two points: shaft diameter, head
                  diameter, head length; TEXT: z is the height of a capital  (3,)
    colour        r, g, b, a in 0 ... 1
    points        in the marker's frame [m]                         (n, 3), empty if unused
    colours       per point; empty: `colour` everywhere (and lighting stays on)   (n, 4)
    text, frame_id; lifetime [s], 0 = for ever
    Raises ValueError naming namespace, id and rule.
    """

    ns: str
    id: int
    kind: MarkerKind = MarkerKind.CUBE
    action: Action = Action.ADD
    position: np.ndarray | Sequence[float] = (0.0, 0.0, 0.0)
    orientation: np.ndarray | Sequence[float] = (0.0, 0.0, 0.0, 1.0)
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    colour: Colour = (1.0, 1.0, 1.0, 1.0)
    points: np.ndarray | Sequence[Sequence[float]] = ()
    colours: np.ndarray | Sequence[Sequence[float]] = ()
    text: str = ""
    frame_id: str = "world"
    lifetime: float = 0.0

    def __post_init__(self) -> None:
        try:
            put(self, "position", self.position, (3,))
            put(self, "orientation", self.orientation, (4,))
            put(self, "points", np.reshape(self.points, (-1, 3)), (len(self.points), 3))
            put(self, "colours", np.reshape(self.colours, (-1, 4)), (len(self.colours), 4))
            self._check()
        except ValueError as error:
            raise ValueError(f"Marker {self.ns}/{self.id}: {error}") from None

    def _check(self) -> None:
        if self.action is not Action.ADD:
            return
        if abs(np.linalg.norm(self.orientation) - 1.0) > 1e-6:
            raise ValueError(f"orientation must be a unit quaternion, got {self.orientation}")
        if any(self.scale[axis] <= 0 for axis in USED_SCALES.get(self.kind, (0, 1, 2))):
            raise ValueError(f"the scales that {self.kind.name} uses must be > 0, got {self.scale}")
        if not all(0.0 <= part <= 1.0 for part in self.colour):
            raise ValueError(f"colour must lie in 0 ... 1, got {self.colour}")
        if len(self.points) % MULTIPLE.get(self.kind, 1):
            raise ValueError(
                f"{self.kind.name} needs a multiple of {MULTIPLE[self.kind]} points, "
                f"got {len(self.points)}"
            )
        if self.kind is MarkerKind.ARROW and len(self.points) not in (0, 2):
            raise ValueError(f"ARROW takes 0 or 2 points, got {len(self.points)}")
        if len(self.colours) not in (0, len(self.points)):
            raise ValueError(f"{len(self.colours)} colours for {len(self.points)} points")


def rgba(colour: str, alpha: float = 1.0) -> Colour:
    """Return (r, g, b, alpha) in 0 ... 1 of "#rrggbb"."""
    red, green, blue = (int(colour[i : i + 2], 16) / 255.0 for i in (1, 3, 5))
    return red, green, blue, alpha


def check_unique(markers: Iterable[Marker]) -> None:
    """Raise ValueError if a namespace holds an id twice (rviz would show only the last)."""
    seen: set[tuple[str, int]] = set()
    for marker in markers:
        if (marker.ns, marker.id) in seen:
            raise ValueError(f"Marker {marker.ns}/{marker.id}: this id stands there twice")
        seen.add((marker.ns, marker.id))


def static_markers(
    motions: Motion | Sequence[Motion],
    *,
    frame_id: str = "world",
    ground: bool = True,
    ground_size: float = 1.2,
    paths: bool = True,
) -> list[Marker]:
    """Return what does not change while a motion plays: the table (top at z = 0) and whole paths.

    The table is centred below the motions and at least `ground_size` [m] wide.
    """
    motions = [motions] if isinstance(motions, Motion) else list(motions)
    markers = [_table(motions, ground_size, frame_id)] if ground else []
    if paths:
        for i, motion in enumerate(motions):
            markers += _paths(motion, motion.frames, i, frame_id, alpha=0.45)
    return markers


def _table(motions: Sequence[Motion], ground_size: float, frame_id: str) -> Marker:
    tracks = [
        track[:, :2]
        for motion in motions
        for track in (motion.measured_position, motion.simulated_position)
        if track is not None
    ]
    xy = np.concatenate(tracks) if tracks else np.zeros((1, 2))
    low, high = xy.min(axis=0), xy.max(axis=0)
    thickness = 0.01
    width = np.maximum(high - low + 0.5, ground_size)
    return Marker(
        "table",
        0,
        MarkerKind.CUBE,
        position=(*(0.5 * (low + high)), -0.5 * thickness),
        scale=(float(width[0]), float(width[1]), thickness),
        colour=(0.90, 0.91, 0.93, 1.0),
        frame_id=frame_id,
    )


def _paths(motion: Motion, end: int, i: int, frame_id: str, alpha: float) -> list[Marker]:
    """LINE_STRIPs of both centres over frames 0 ... end - 1 (none below two frames)."""
    if end < 2:
        return []
    return [
        Marker(
            f"path/{who}",
            i,
            MarkerKind.LINE_STRIP,
            scale=(0.004, 0.0, 0.0),
            colour=rgba(colour, alpha),
            points=track[:end],
            frame_id=frame_id,
        )
        for who, colour, track in (
            ("measured", MEASURED, motion.measured_position),
            ("simulated", SIMULATED, motion.simulated_position),
        )
        if track is not None
    ]


def toss_markers(
    motion: Motion,
    k: int,
    *,
    index: int = 0,
    frame_id: str = "world",
    force_scale: float = 0.01,
    forces: bool = True,
    residuals: bool = True,
    text: bool = False,
) -> list[Marker]:
    """Return frame k of a motion: measured cube (ghost), simulated cube, residuals, forces.

    `index` keeps several motions apart (it enters the ids), `force_scale` is the arrows' length
    [m/N], up to LONGEST_ARROW. Contacts without force are sent as DELETE so that no arrow of an
    earlier frame stays.
    Raises IndexError if the motion has no frame k.
    """
    if not -motion.frames <= k < motion.frames:
        raise IndexError(f"Motion '{motion.name}' has {motion.frames} frames, asked for {k}")
    markers: list[Marker] = []
    if motion.measured_position is not None:
        pose = motion.measured_position[k], motion.measured_orientation[k]
        markers += _box("measured", index, pose, motion.size, MEASURED, 0.35, frame_id)
    if motion.simulated_position is not None:
        pose = motion.simulated_position[k], motion.simulated_orientation[k]
        markers += _box("simulated", index, pose, motion.size, SIMULATED, 1.0, frame_id)
    if residuals and motion.paired:
        markers.append(_residuals(motion, k, index, frame_id))
    if forces and motion.contact_force is not None:
        markers += _forces(motion, k, index, force_scale, frame_id)
    if text:
        markers.append(_label(motion, k, index, frame_id))
    return markers


def strobe_markers(motion: Motion, apart: float = 1.3, **options: Any) -> list[Marker]:
    """Return instants of a motion in one picture, from its start to its end.

    The body's centre moves by at least `apart` times its longest edge from one to the next.
    `options` are those of toss_markers.
    """
    track = motion.simulated_position
    track = motion.measured_position if track is None else track
    frames = [0]
    for k in range(motion.frames):
        if np.linalg.norm(track[k] - track[frames[-1]]) >= apart * max(motion.size):
            frames.append(k)
    if np.linalg.norm(track[-1] - track[frames[-1]]) < 0.5 * apart * max(motion.size):
        frames = frames[:-1]
    frames.append(motion.frames - 1)
    options = {"forces": False, "residuals": False, **options}
    return [
        marker
        for index, k in enumerate(frames)
        for marker in toss_markers(motion, k, index=index, **options)
    ]


def _box(who, index, pose, size, colour, alpha, frame_id) -> list[Marker]:
    position, orientation = pose
    shape = np.asarray(size, dtype=float)
    tint = np.array(rgba(colour, 1.0))
    tint[:3] *= 0.62
    edges = (np.asarray(EDGES).ravel()[:, None] >> np.arange(3)) & 1
    common = {"position": position, "orientation": orientation, "frame_id": frame_id}
    return [
        Marker(
            f"{who}/cube",
            index,
            MarkerKind.CUBE,
            scale=tuple(shape),
            colour=rgba(colour, alpha),
            **common,
        ),
        Marker(
            f"{who}/edges",
            index,
            MarkerKind.LINE_LIST,
            scale=(0.0025, 0.0, 0.0),
            colour=tuple(tint),
            points=(edges - 0.5) * shape * 1.002,
            **common,
        ),
    ]


def _residuals(motion: Motion, k: int, index: int, frame_id: str) -> Marker:
    """Lines from each measured corner to the same corner of the simulated cube."""
    start = world_corners(motion.measured_position[k], motion.measured_orientation[k], motion.size)
    end = world_corners(motion.simulated_position[k], motion.simulated_orientation[k], motion.size)
    return Marker(
        "residual",
        index,
        MarkerKind.LINE_LIST,
        scale=(0.002, 0.0, 0.0),
        colour=(0.80, 0.15, 0.25, 0.9),
        points=np.stack([start, end], axis=1).reshape(-1, 3),
        frame_id=frame_id,
    )


def _forces(motion, k, index, force_scale, frame_id) -> list[Marker]:
    """One arrow per contact point, on the simulated body, ending where the force points."""
    count = motion.contact_force.shape[1]
    at = zip(motion.contact_point[k], motion.contact_force[k], strict=True)
    return [
        force_arrow(index * count + c, start, force, force_scale, frame_id)
        for c, (start, force) in enumerate(at)
    ]


def force_arrow(
    number: int, start: np.ndarray, force: np.ndarray, scale: float = 0.01, frame_id: str = "world"
) -> Marker:
    """A force (3,) [N] at a place (3,) [m] as an arrow of `scale` m/N, up to LONGEST_ARROW.

    DELETE where it would be shorter than 0.1 mm.
    """
    tip = start + scale * force * min(
        1.0, LONGEST_ARROW / max(scale * float(np.linalg.norm(force)), 1e-12)
    )
    active = float(np.linalg.norm(tip - start)) > 1e-4
    return Marker(
        "contact_force",
        number,
        MarkerKind.ARROW,
        Action.ADD if active else Action.DELETE,
        scale=(0.006, 0.014, 0.016),
        colour=(0.0, 0.62, 0.45, 1.0),
        points=(start, tip) if active else (),
        frame_id=frame_id,
    )


def _label(motion: Motion, k: int, index: int, frame_id: str) -> Marker:
    track = motion.simulated_position if motion.measured_position is None else None
    above = (motion.measured_position if track is None else track)[k] + (0.0, 0.0, 0.14)
    words = f"{motion.name}  t = {motion.t[k]:.2f} s"
    if motion.paired:
        words += f"\n{1e3 * motion.position_error()[k]:.0f} mm, "
        words += f"{np.degrees(motion.rotation_error()[k]):.0f} deg apart"
    return label(words, above, 0.03, frame_id, index)


def label(
    text: str, position: Sequence[float], height: float, frame_id: str, index: int = 0
) -> Marker:
    """Return words at a place, letters `height` [m] high, facing the viewer."""
    return Marker(
        "label",
        index,
        MarkerKind.TEXT,
        position=position,
        scale=(0.0, 0.0, height),
        colour=(0.12, 0.16, 0.20, 1.0),
        text=text,
        frame_id=frame_id,
    )
