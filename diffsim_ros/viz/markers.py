"""Marker descriptions as plain data; sensing/building.py turns them into visualization_msgs.

Facts that a Marker enforces because rviz does not forgive them: TRIANGLE_LIST has a multiple of
three points and LINE_LIST of two, every used scale is non-zero, quaternions are unit. Ids must be
unique per namespace (rviz would show only the last); a lifetime of 0 means for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from diffsim_ros.viz.motion import EDGES, Motion, put
from diffsim_ros.viz.style import MEASURED, SIMULATED

ARROW = 0.01  # length of a force [m/N]
LONGEST_ARROW = 0.3  # [m]: the forces of an impact would leave the picture
TABLE = 1.2  # least width of the table below a motion [m]
APART = 1.3  # edges between two instants of a picture
LOOKS = {"measured": (MEASURED, 0.35), "simulated": (SIMULATED, 1.0)}
"""Colour and opacity of bodies."""
RESIDUAL = (0.80, 0.15, 0.25, 0.9)
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

    def moved(self, position: np.ndarray, orientation: np.ndarray) -> Marker:
        """The same marker in another place; its points are not copied, nor checked again.

        Raises ValueError as the constructor does.
        """
        other = object.__new__(Marker)
        other.__dict__.update(self.__dict__)
        put(other, "position", position, (3,))
        put(other, "orientation", orientation, (4,))
        return other

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


def static_markers(motion: Motion) -> list[Marker]:
    """Return what does not change while a motion plays: the table (top at z = 0) and whole paths.

    The table lies below the motion and is at least TABLE [m] wide.
    """
    tracks = {"measured": motion.measured_position, "simulated": motion.simulated_position}
    xy = np.concatenate([track[:, :2] for track in tracks.values()])
    low, high = xy.min(axis=0), xy.max(axis=0)
    thickness, width = 0.01, np.maximum(high - low + 0.5, TABLE)
    found = [
        Marker(
            "table", 0, position=(*(0.5 * (low + high)), -0.5 * thickness),
            scale=(float(width[0]), float(width[1]), thickness), colour=(0.90, 0.91, 0.93, 1.0),
        )
    ]  # fmt: skip
    for who, track in tracks.items() if motion.frames > 1 else ():
        look = {"scale": (0.004, 0.0, 0.0), "colour": rgba(LOOKS[who][0], 0.45)}
        kind = MarkerKind.LINE_STRIP
        found.append(Marker(f"path/{who}", 0, kind, points=track, **look))
    return found


def strobe_markers(motion: Motion) -> list[Marker]:
    """Return instants of a motion in one picture, from its start to its end.

    The body's centre moves by at least APART times its longest edge from one to the next.
    """
    track = motion.simulated_position
    frames = [0]
    for k in range(motion.frames):
        if np.linalg.norm(track[k] - track[frames[-1]]) >= APART * max(motion.size):
            frames.append(k)
    if np.linalg.norm(track[-1] - track[frames[-1]]) < 0.5 * APART * max(motion.size):
        frames = frames[:-1]
    frames.append(motion.frames - 1)
    return [m for index, k in enumerate(frames) for m in _cubes(motion, k, index)]


def _cubes(motion: Motion, k: int, index: int) -> list[Marker]:
    """Both cubes at frame k with their edges; `index` keeps several frames apart."""
    shape = np.asarray(motion.size, dtype=float)
    edges = ((np.asarray(EDGES).ravel()[:, None] >> np.arange(3)) & 1) - 0.5
    found = []
    for who, (colour, alpha) in LOOKS.items():
        common = {
            "position": getattr(motion, f"{who}_position")[k],
            "orientation": getattr(motion, f"{who}_orientation")[k],
        }  # fmt: skip
        tint = (*(0.62 * part for part in rgba(colour)[:3]), 1.0)
        found += [
            Marker(f"{who}/cube", index, scale=tuple(shape), colour=rgba(colour, alpha), **common),
            Marker(
                f"{who}/edges", index, MarkerKind.LINE_LIST, scale=(0.0025, 0.0, 0.0), colour=tint,
                points=edges * shape * 1.002, **common,
            ),
        ]  # fmt: skip
    return found


def force_arrow(number: int, start: np.ndarray, force: np.ndarray) -> Marker:
    """A force (3,) [N] at a place (3,) [m] as an arrow of ARROW [m/N], up to LONGEST_ARROW.

    DELETE where it would be shorter than 0.1 mm.
    """
    share = LONGEST_ARROW / max(ARROW * float(np.linalg.norm(force)), 1e-12)
    tip = start + ARROW * force * min(1.0, share)
    active = float(np.linalg.norm(tip - start)) > 1e-4
    return Marker(
        "contact_force",
        number,
        MarkerKind.ARROW,
        Action.ADD if active else Action.DELETE,
        scale=(0.006, 0.014, 0.016),
        colour=(0.0, 0.62, 0.45, 1.0),
        points=(start, tip) if active else (),
    )


def label(text: str, position: Sequence[float], height: float) -> Marker:
    """Return words at a place, letters `height` [m] high, facing the viewer."""
    return Marker(
        "label",
        0,
        MarkerKind.TEXT,
        position=position,
        scale=(0.0, 0.0, height),
        colour=(0.12, 0.16, 0.20, 1.0),
        text=text,
    )
