"""What is seen of a motion at each of its instants: markers, whatever shows them.

The viewer, videos and motion.mcap draw the same Animation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diffsim_ros.rotation import quat_conjugate, quat_matrix, quat_multiply
from diffsim_ros.viz.field_colours import FieldColours
from diffsim_ros.viz.markers import Action, Marker, MarkerKind, force_arrow
from diffsim_ros.viz.scene_markers import (
    LEAST,
    PLANE_MARGIN,
    body_markers,
    link_markers,
    pose_at,
    surroundings,
    target_markers,
)

Array = np.ndarray
RATE = 30.0
"""Pictures of a second of a motion [Hz], where nothing else is asked for."""
PATH = "path/"
"""Begins the namespace of paths."""


@dataclass(frozen=True, eq=False)
class Animation:
    """A motion as it is seen.

    name    what it is called
    time    instants [s], increasing                                       (n,)
    at      number of an instant -> the markers that move, each of a namespace and id of its own
    still   markers that are seen at every instant
    """

    name: str
    time: Array
    at: Callable[[int], Sequence[Marker]]
    still: Sequence[Marker] = ()

    def frame(self, number: int) -> list[Marker]:
        """All markers that are seen at an instant."""
        return [*self.still, *self.at(number)]

    def instants(self, rate: float = RATE) -> Array:
        """Numbers of instants about 1 / rate [s] apart, the last one included."""
        return instants_of(self.time, rate)

    def settled(self) -> Animation:
        """The same with markers that never change among those that stand still: they are the same
        objects at the first instant and at the last."""
        first, last = list(self.at(0)), list(self.at(len(self.time) - 1))  # so that ids are unique
        same = {id(marker) for marker in first} & {id(marker) for marker in last}
        if not same:
            return self
        still = [marker for marker in first if id(marker) in same]

        def moving(number: int) -> list[Marker]:
            return [marker for marker in self.at(number) if id(marker) not in same]

        return replace(self, at=moving, still=[*self.still, *still])

    def span(self, count: int = 12) -> list[Marker]:
        """What moves, at `count` instants: what a camera should see."""
        last = len(self.time) - 1
        chosen = np.unique(np.linspace(0, last, count).round().astype(int))
        return [marker for k in chosen for marker in self.at(int(k))]


def instants_of(time: Array, rate: float) -> Array:
    """Numbers of those of the times (n,) [s] that are about 1 / rate apart, the last included."""
    wanted = np.arange(time[0], time[-1] + 1e-9, 1.0 / rate)
    return np.unique([*np.searchsorted(time, wanted - 1e-9), len(time) - 1])


@dataclass(frozen=True, eq=False)
class Additions:
    """What is drawn of a scene beside its bodies, where somebody else knows of it.

    still  markers that do not move, e.g. targets
    moving number of a recorded frame -> markers, e.g. of a robot arm that is not in the scene
    """

    still: Sequence[Marker] = ()
    moving: Callable[[int], Sequence[Marker]] | None = None


def scene_animation(
    scene: Any, rollout: Any, *, name: str = "", field: FieldColours | None = None,
    targets: Mapping[str, Any] | None = None, forces: bool = True, paths: bool = False,
    parts: Additions | None = None, wide: float = PLANE_MARGIN,
) -> Animation:  # fmt: skip
    """A rollout as it is seen.

    scene    scene.SceneModel;  rollout  _engine.Rollout, or anything with its time, position,
             orientation and contact arrays
    field    by which solids are coloured;  targets  name -> place [m]
    forces   draw contact forces;  paths  and the paths of the bodies' centres
    parts    what else is to be drawn;  wide  how far planes are drawn beyond the motion [m]
    """
    parts = parts or Additions()
    drawn = SceneFrames(scene, rollout, field=field, forces=forces, wide=wide)
    still = [*drawn.still(), *target_markers(targets or {}), *parts.still]
    if paths and len(drawn.time) > 1:
        for body, info in scene.bodies.items():
            if info.kind != "frame" and scene.parts.bodies[body].MOVES:
                track = centre_path(scene, drawn.position, body)
                still.append(path_marker(body, info.colour, track))
    title = name or str(scene.description.get("name") or "") or "motion"

    def at(number: int) -> list[Marker]:
        more = parts.moving(number) if parts.moving is not None else ()
        return [*drawn.at(number), *more]

    return Animation(title, np.asarray(drawn.time), at, still)


def centre_path(scene: Any, position: Array, body: str) -> Array:
    """Places (F, 3) of a body's centre in positions (F, nodes, 3); of a soft one that of mass."""
    first, count = scene.engine.nodes_of(body)
    mass = np.asarray(scene.engine.masses(scene.engine.values))[first : first + count]
    if not scene.parts.bodies[body].SOFT:
        return position[:, first]
    return np.einsum("n,fni->fi", mass / mass.sum(), position[:, first : first + count])


def path_marker(body: str, colour: Sequence[float], track: Array) -> Marker:
    """The path (n, 3) [m] of a body's centre."""
    return Marker(f"{PATH}{body}", 0, MarkerKind.LINE_STRIP, scale=(0.003, 0.0, 0.0),
                  colour=(*colour[:3], 0.8), points=track)  # fmt: skip


class SceneFrames:
    """Markers of a scene at a motion's recorded frames.

    wide  how far planes are drawn beyond the motion [m]
    Arrays are taken from the rollout once: each access to one copies it.
    """

    def __init__(
        self, scene: Any, rollout: Any, *, field: FieldColours | None = None, forces: bool = True,
        wide: float = PLANE_MARGIN,
    ) -> None:  # fmt: skip
        self.scene, self._field = scene, field
        names = ("time", "position", "orientation", "contact_point", "contact_force")
        for name in names:
            setattr(self, name, np.asarray(getattr(rollout, name)))
        self._forces = forces and self.contact_force.size > 0
        self._start = {
            name: body_markers(scene, self, name, [0], ids=[0])
            for name, info in scene.bodies.items()
            if info.kind not in ("soft", "frame")
        }
        self._surfaces = surroundings(scene, self, 0, wide)

    time: Array
    position: Array
    orientation: Array
    contact_point: Array
    contact_force: Array

    def still(self) -> list[Marker]:
        """Surfaces that no body carries."""
        return [m for m in self._surfaces if self.scene.sdfs[m.id].carrier is None]

    def at(self, frame: int) -> list[Marker]:
        """Bodies, what they carry, links and contact forces at a recorded frame."""
        found: list[Marker] = []
        for name in self.scene.bodies:
            if name in self._start:
                row = self.scene.engine.nodes_of(name)[0]
                pose = self.position[frame, row], self.orientation[frame, row]
                found += [marker.moved(*pose) for marker in self._start[name]]
            else:
                found += body_markers(self.scene, self, name, [frame], ids=[0], field=self._field)
        found += self._carried(frame) + link_markers(self.scene, self, frame)
        return [*found, *self._arrows(frame)]

    def _arrows(self, frame: int) -> list[Marker]:
        """Contact forces, but those that are small beside the largest."""
        if not self._forces:
            return []
        size = np.linalg.norm(self.contact_force[frame], axis=1)
        strong = np.flatnonzero(size > LEAST * size.max())
        arrows = [
            force_arrow(int(k), self.contact_point[frame, k], self.contact_force[frame, k])
            for k in strong
        ]
        return [arrow for arrow in arrows if arrow.action is Action.ADD]

    def _carried(self, frame: int) -> list[Marker]:
        """Surfaces of bodies where these are; markers of planes stand off their surface's pose."""
        found = []
        for marker in self._surfaces:
            sdf = self.scene.sdfs[marker.id]
            if sdf.carrier is None:
                continue
            start, now = (pose_at(self.scene, self, sdf, k) for k in (0, frame))
            offset = quat_matrix(start[1]).T @ (marker.position - start[0])
            turn = quat_multiply(now[1], quat_conjugate(start[1]))
            place = now[0] + quat_matrix(now[1]) @ offset
            found.append(marker.moved(place, quat_multiply(turn, marker.orientation)))
        return found
