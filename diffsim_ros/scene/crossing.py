"""Bodies that are inside each other, or inside a standing surface, and what should keep them out.

Points on a body's surface are looked at in the shapes of all other bodies and in the standing
surfaces that contacts name, frame by frame; of two that
touch, which contact lets into each other, the bodies' centres alone.  Left out are pairs that
joints connect, directly or over other bodies, and soft bodies inside each other.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene.links.joint import JointLink
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placement import vertices_at
from diffsim_ros.scene.sdfs import resolve_surface, surface_of

Array = np.ndarray
DEEP = 0.02
"""Depth that is reported, as a share of the smaller extent of the two."""
MOST_FRAMES = 300
"""Frames of a motion that are looked at, evenly."""


@dataclass(frozen=True)
class Crossing:
    """`body` is `depth` [m] inside `other`, a body or a surface, at first at `time` [s].

    touches  there is a contact between the two
    stands   `other` is a surface that stands
    """

    body: str
    other: str
    depth: float
    time: float
    touches: bool
    stands: bool

    def __str__(self) -> str:
        pair = f"`pairs: [[{self.body}, {self.other}]]`"
        if self.stands:
            pair = f"`{{points: {self.body}, against: {self.other}}}`"
        why = f"nothing keeps it out; `contact` has no {pair}"
        if self.touches:
            more = "more contact_spheres (boxes: face_grid)"
            why = f"in spite of their contact; a larger k_n, {more} or a smaller step"
        text = f"{self.body} is {self.depth:.3g} m inside {self.other} at {self.time:.3g} s"
        return f"{text}: {why}"


def crossings(
    parts: Parts,
    surfaces: dict[str, Any],
    engine: Any,
    time: Array,
    position: Array,
    orientation: Array,
) -> list[Crossing]:
    """What is inside what in frames (F,), (F, nodes, 3), (F, nodes, 4), each pair once.

    surfaces  contact -> its surface in the engine
    """
    frames = sorted({int(k) for k in np.linspace(0, len(time) - 1, min(len(time), MOST_FRAMES))})
    time, position, orientation = time[frames], position[frames], orientation[frames]
    poses = {
        name: (position[:, node], quat_matrix(orientation[:, node]))
        for name, body in parts.bodies.items()
        for node in [engine.nodes_of(name)[0]]
        if not body.SOFT
    }
    points = {
        name: vertices_at(parts, engine, position, orientation, name) if body.SOFT
        else np.einsum("fij,nj->fni", poses[name][1], body.samples()) + poses[name][0][:, None]
        for name, body in parts.bodies.items()
    }  # fmt: skip
    found: dict[frozenset[str], Crossing] = {}
    for body, other, sdf, extent, touches in _pairs(parts, surfaces):
        at = points[body]
        if not at.shape[1]:
            continue
        at = at.mean(axis=1, keepdims=True) if touches else at
        if other in poses:
            where, turn = poses[other]
            at = np.einsum("fni,fij->fnj", at - where[:, None], turn)
        reach = parts.bodies[other].form.reach if other in poses else np.inf
        near = np.flatnonzero(np.linalg.norm(at, axis=2).min(axis=1) < reach)
        if not len(near):
            continue
        gap = sdf.evaluate(at[near].reshape(-1, 3))[0].reshape(len(near), -1)
        depth, limit = -gap.min(axis=1), extent * DEEP
        pair = frozenset((body, other if other in poses else ""))  # of surfaces the deepest
        if depth.max() > limit and (pair not in found or found[pair].depth < depth.max()):
            first = float(time[near[np.argmax(depth > limit)]])
            found[pair] = Crossing(
                body, other, float(depth.max()), first, touches, other not in poses
            )
    return list(found.values())


def report(parts: Parts, found: Iterable[Crossing]) -> list[str]:
    """What was found in words; InputError for a scene that is `strict`."""
    texts = [str(crossing) for crossing in found]
    if texts and parts.strict:
        rule = "bodies that keep out of each other, because the scene is strict"
        raise InputError(parts.reader.place, "bodies", texts[0].partition(":")[0], rule, texts[0])
    return texts


def warn_of_start(parts: Parts, surfaces: dict[str, Any], engine: Any) -> None:
    """Warn of what starts inside something that it does not touch; InputError if `strict`."""
    position, orientation, _ = engine.start_pose(engine.values, [])
    start = np.zeros(1), position[None], orientation[None]
    found = crossings(parts, surfaces, engine, *start)
    for text in report(parts, (one for one in found if not one.touches)):
        warnings.warn(f"{parts.reader.place}: {text}", UserWarning, stacklevel=3)


def _pairs(parts: Parts, surfaces: dict[str, Any]) -> Iterator[tuple[str, str, Any, float, bool]]:
    """(body, other, surface of the other, smaller extent [m], whether they touch)."""
    bodies, group = parts.bodies, _groups(parts)
    touching = {(c.points, c.carrier) for c in parts.contacts}
    touching |= {(b, a) for a, b in touching}
    for other, carrier in bodies.items():
        if carrier.surface() is None:
            continue
        surface = resolve_surface(parts.reader, {}, carrier.surface(), f"bodies.{other}.shape")
        sdf = surface_of(surface, {}).engine({})
        for name, body in bodies.items():
            if group[name] != group[other] and (body.MOVES or carrier.MOVES):
                extent = min(_extent(body), _extent(carrier))
                yield name, other, sdf, extent, (name, other) in touching
    standing = {c.against if isinstance(c.against, str) else c.name: surfaces[c.name]
                for c in parts.contacts if c.carrier is None}  # fmt: skip
    for name, body in bodies.items():
        if body.MOVES and _extent(body) < math.inf:
            for surface, sdf in standing.items():
                yield name, surface, sdf, _extent(body), (name, None) in touching


def _groups(parts: Parts) -> dict[str, str]:
    """Body -> one of those that joints and glue connect with it, the same for all of them."""
    first = {name: name for name in parts.bodies}
    ties = [(link.body_a, link.body_b) for link in parts.links if isinstance(link, JointLink)]
    soft = [body for body in parts.bodies.values() if body.SOFT]
    ties += [(carrier, body.name) for body in soft for carrier, _ in body.held_vertices()]
    for a, b in ties:
        if a and b:
            old, new = first[a], first[b]
            first = {name: new if one == old else one for name, one in first.items()}
    return first


def _extent(body: Any) -> float:
    """Smallest extent [m]; inf of a point."""
    return min((float(x) for x in body.outline()[1] if x > 0), default=math.inf)
