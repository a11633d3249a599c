"""Bodies that are inside each other, or inside a standing surface, and what should keep them out.

Points on a body's surface are looked at in the shapes of all other bodies and in the standing
surfaces that contacts name, frame by frame. Of two without a contact the depth of points counts;
of two that touch, whether a point goes through (passage.py). Contact lets all points in a little,
and what surrounds a thing has its middle inside it. Left out are pairs that joints connect,
directly or over other bodies, and soft bodies inside each other.
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
from diffsim_ros.scene.passage import SHALLOW, Passage, passage
from diffsim_ros.scene.placement import vertices_at
from diffsim_ros.scene.sdfs import resolve_surface, surface_of

Array = np.ndarray
DEEP = 0.02
"""Depth that is reported where nothing touches, as a share of the smaller extent of the two."""
MOST_FRAMES = 600
"""Frames of a motion that are looked at, evenly."""
MOST_PLACES = 1_000_000
"""Of them times the vertices of the largest soft body."""
SOFT_SINKS = 2.0
"""Times the depth that a contact's own stiffness lets a body in."""


@dataclass(frozen=True)
class Crossing:
    """`body` is `depth` [m] inside `other`, a body or a surface, at first at `time` [s].

    touches  there is a contact between the two
    stands   `other` is a surface that stands
    why      what of their contact lets it through
    """

    body: str
    other: str
    depth: float
    time: float
    touches: bool
    stands: bool
    why: str = ""

    def __str__(self) -> str:
        pair = f"`pairs: [[{self.body}, {self.other}]]`"
        if self.stands:
            pair = f"`{{points: {self.body}, against: {self.other}}}`"
        if self.touches:
            text = f"{self.body} goes through {self.other} at {self.time:.3g} s"
            return f"{text}, in spite of their contact: {self.why}"
        text = f"{self.body} is {self.depth:.3g} m inside {self.other} at {self.time:.3g} s"
        return f"{text}: nothing keeps it out; `contact` has no {pair}"


@dataclass(frozen=True, eq=False)
class _Pair:
    """A body beside a solid: its sdf, the smaller extent of the two [m], contacts between them."""

    body: str
    other: str
    sdf: Any
    extent: float
    contacts: tuple[Any, ...]

    @property
    def touches(self) -> bool:
        """Whether the points that touch are the body's."""
        return any(contact.points == self.body for contact in self.contacts)


class _Frames:
    """Where bodies are in the frames that are looked at; world frame."""

    def __init__(self, parts: Parts, engine: Any, time: Array, at: Array, turn: Array) -> None:
        self.parts, self.time = parts, time
        self._engine, self._at, self._turn = engine, at, turn
        self._points: dict[str, Array] = {}
        self.poses = {
            name: (at[:, node], quat_matrix(turn[:, node]))
            for name, body in parts.bodies.items()
            for node in [engine.nodes_of(name)[0]]
            if not body.SOFT
        }

    def points(self, name: str) -> Array:
        """Points (F, n, 3) [m] on a body's surface; of a sheet those between its vertices too."""
        if name not in self._points:
            body = self.parts.bodies[name]
            if body.SOFT:
                found = vertices_at(self.parts, self._engine, self._at, self._turn, name)
                between = _between_vertices(body.mesh)
                found = np.concatenate([found, *(found[:, k].mean(axis=2) for k in between)], 1)
            else:
                where, by = self.poses[name]
                found = np.einsum("fij,nj->fni", by, body.samples()) + where[:, None]
            self._points[name] = found
        return self._points[name]

    def spheres(self, contact: Any) -> tuple[Array, float]:
        """Centres (F, n, 3) [m] of a contact's spheres, and their radius [m]."""
        body = self.parts.bodies[contact.points]
        spheres = contact.spheres_at_start(self.parts)
        if body.SOFT:
            found = vertices_at(self.parts, self._engine, self._at, self._turn, body.name)
            return found[:, body.mesh.contact], spheres.radius
        where, by = self.poses[body.name]
        centres = spheres.centres()
        return np.einsum("fij,nj->fni", by, centres) + where[:, None], spheres.radius

    def seen_from(self, x: Array, other: str) -> Array:
        """Places (F, n, 3) in the frame of a body; of a surface that stands themselves."""
        if other not in self.poses:
            return x
        where, turn = self.poses[other]
        return np.einsum("fni,fij->fnj", x - where[:, None], turn)


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
    most = max((len(body.mesh.vertices) for body in parts.bodies.values() if body.SOFT), default=1)
    count = min(len(time), MOST_FRAMES, max(MOST_PLACES // most, 2))
    chosen = sorted({int(k) for k in np.linspace(0, len(time) - 1, count)})
    frames = _Frames(parts, engine, time[chosen], position[chosen], orientation[chosen])
    found: dict[frozenset[str], tuple[tuple[bool, float], Crossing]] = {}
    for pair in _pairs(parts, surfaces):
        at = frames.points(pair.body)
        if not at.shape[1]:
            continue
        stands = pair.other not in frames.poses
        at = frames.seen_from(at, pair.other)
        if not stands:
            near = _near(at, parts.bodies[pair.other].form.reach)
            if near is None:
                continue
            at, first = at[near], near.start
        else:
            first = 0
        one = (_through if pair.contacts else _inside)(frames, pair, at, first, stands)
        key = frozenset((pair.body, "" if stands else pair.other))  # of surfaces the deepest
        rank = pair.touches, one.depth if one else 0.0
        if one and (key not in found or found[key][0] < rank):
            found[key] = rank, one
    return [one for _, one in found.values()]


def _between_vertices(mesh: Any) -> list[Array]:
    """Vertices (m, k) whose middles are looked at: edges and triangles of a sheet;
    none of a volume or a line."""
    if mesh.tets is not None or not len(mesh.triangles):
        return []
    edges = np.sort(mesh.triangles[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return [np.unique(edges, axis=0), mesh.triangles]


def _near(at: Array, reach: float) -> slice | None:
    """Frames in which a point of (F, n, 3) may come within `reach` of the origin [m]."""
    far = np.linalg.norm(at, axis=2).min(axis=1)
    moved = np.zeros(len(at))
    if len(at) > 1:
        steps = np.linalg.norm(np.diff(at, axis=0), axis=2).max(axis=1)
        moved = np.maximum(np.append(steps, 0.0), np.insert(steps, 0, 0.0))
    near = np.flatnonzero(far < reach + moved)
    if not len(near):
        return None
    return slice(max(int(near[0]) - 2, 0), int(near[-1]) + 2)


def _inside(frames: _Frames, pair: _Pair, at: Array, first: int, stands: bool) -> Crossing | None:
    """A body that nothing keeps out, by its deepest point."""
    depth = -pair.sdf.evaluate(at.reshape(-1, 3))[0].reshape(at.shape[:2]).min(axis=1)
    if not depth.max() > pair.extent * DEEP:
        return None
    when = float(frames.time[first + int(np.argmax(depth > pair.extent * DEEP))])
    return Crossing(pair.body, pair.other, float(depth.max()), when, False, stands)


def _through(frames: _Frames, pair: _Pair, at: Array, first: int, stands: bool) -> Crossing | None:
    """A body that goes through in spite of contact, by the paths of its points."""
    thickness = float(pair.sdf.thickness)
    least = min(pair.extent, thickness)
    if not math.isfinite(least):
        return None
    allowed = min(_let_in(frames, pair), pair.extent)
    seen = passage(at, lambda x: pair.sdf.evaluate(x)[:2], thickness, max(SHALLOW * least, allowed))
    if seen is None:
        return None
    k = first + seen.frame
    why = _why(frames, pair, seen, thickness, k)
    when = float(frames.time[k])
    return Crossing(pair.body, pair.other, seen.depth, when, True, stands, why)


def _let_in(frames: _Frames, pair: _Pair) -> float:
    """How deep its stiffness lets the body in [m] where one of its points carries it: at rest, and
    from its greatest speed."""
    body = frames.parts.bodies[pair.body]
    mover = body if body.MOVES else frames.parts.bodies[pair.other]
    if mover.SOFT or frames.parts.world["stepper"] != "implicit":
        return 0.0
    mass, gravity = mover.total_mass(), float(np.linalg.norm(frames.parts.world["gravity"]))
    where = frames.poses[mover.name][0]
    gone = np.linalg.norm(np.diff(where, axis=0), axis=1) / np.diff(frames.time)
    speed = float(gone.max()) if len(gone) else 0.0
    k_n = max(  # of one point
        contact.k_n / len(contact.spheres_at_start(frames.parts).local) for contact in pair.contacts
    )
    return SOFT_SINKS * (mass * gravity / k_n + speed * math.sqrt(mass / k_n))


def _why(frames: _Frames, pair: _Pair, seen: Passage, thickness: float, k: int) -> str:
    """What of their contact let a body through, and what helps."""
    step = frames.parts.world["step"]
    span = float(frames.time[k] - frames.time[k - 1]) if k else step
    moved = _moved(frames, pair, k) * min(step / span, 1.0) if span > 0 else 0.0
    if moved > thickness / 2:
        better = float(f"{step * thickness / 4 / moved:.2g}")
        return (
            f"a step takes it {moved:.2g} m, and {pair.other} is {thickness:.2g} m thick; "
            f"world.step: {better:g}"
        )
    if not pair.touches:
        both = f"`pairs: [[{pair.body}, {pair.other}]]`"
        return f"{pair.body} has no contact points that touch it; {both}"
    if not _touched(frames, pair, k):
        body = frames.parts.bodies[pair.body]
        finer = "a finer mesh" if body.SOFT else "more contact_spheres (of a box: face_grid)"
        return f"it passes between the contact points of {pair.body}; {finer}"
    k_n = sum(contact.k_n for contact in pair.contacts)
    if frames.parts.world["stepper"] == "velocity":
        return "a smaller step, or a thicker shape"
    thin = ""
    if seen.opposite and math.isfinite(thickness):
        thin = f" through {pair.other}, {thickness:.2g} m thick"
    return f"k_n = {k_n:.3g} N/m is too soft to keep it from being pushed{thin}; a larger k_n"


def _moved(frames: _Frames, pair: _Pair, k: int) -> float:
    """How far the body's fastest point goes beside the other before frame k [m]."""
    if not k:
        return 0.0
    at = frames.seen_from(frames.points(pair.body), pair.other)
    return float(np.linalg.norm(at[k] - at[k - 1], axis=1).max())


def _touched(frames: _Frames, pair: _Pair, k: int) -> bool:
    """Whether contact spheres of the body touched the other one up to frame k."""
    for contact in pair.contacts:
        if contact.points != pair.body:
            continue
        centres, radius = frames.spheres(contact)
        centres = frames.seen_from(centres, pair.other)[: k + 1]
        if (pair.sdf.evaluate(centres.reshape(-1, 3))[0] < radius).any():
            return True
    return False


def texts_of(parts: Parts, surfaces: dict[str, Any], engine: Any, rollout: Any) -> list[str]:
    """What a motion has inside what, in words, of a scene that is `strict` too."""
    frames = (np.asarray(a) for a in (rollout.time, rollout.position, rollout.orientation))
    return [str(one) for one in crossings(parts, surfaces, engine, *frames)]


def report(parts: Parts, found: Iterable[Crossing]) -> list[str]:
    """What was found in words; InputError for a scene that is `strict`."""
    texts = [str(crossing) for crossing in found]
    if texts and parts.strict:
        rule = "bodies that keep out of each other, because the scene is strict"
        raise InputError(parts.reader.place, "bodies", texts[0].partition(":")[0], rule, texts[0])
    return texts


def warn_of_start(parts: Parts, surfaces: dict[str, Any], engine: Any) -> None:
    """Warn of what starts inside something that it does not touch; InputError if `strict`.

    A body that touches one standing surface may start inside another, as one that is for others.
    """
    position, orientation, _ = engine.start_pose(engine.values, [])
    start = np.zeros(1), position[None], orientation[None]
    found = crossings(parts, surfaces, engine, *start)
    standing = {contact.points for contact in parts.contacts if contact.carrier is None}
    bare = (one for one in found if not one.touches and not (one.stands and one.body in standing))
    for text in report(parts, bare):
        warnings.warn(f"{parts.reader.place}: {text}", UserWarning, stacklevel=3)


def _pairs(parts: Parts, surfaces: dict[str, Any]) -> Iterator[_Pair]:
    """Every body beside every solid that it could be in."""
    bodies, group = parts.bodies, _groups(parts)
    between: dict[frozenset[str | None], list[Any]] = {}
    for contact in parts.contacts:
        between.setdefault(frozenset((contact.points, contact.carrier)), []).append(contact)
    for other, carrier in bodies.items():
        if carrier.surface() is None:
            continue
        surface = resolve_surface(parts.reader, {}, carrier.surface(), f"bodies.{other}.shape")
        sdf = surface_of(surface, {}).engine({})
        for name, body in bodies.items():
            if group[name] != group[other] and (body.MOVES or carrier.MOVES):
                extent = min(_extent(body), _extent(carrier))
                contacts = tuple(between.get(frozenset((name, other)), ()))
                yield _Pair(name, other, sdf, extent, contacts)
    standing: dict[str, tuple[str, Any, list[Any]]] = {}  # equal ones are one surface
    for contact in parts.contacts:
        if contact.carrier is None:
            name = contact.against if isinstance(contact.against, str) else contact.name
            content = repr(surface_of(contact.against, parts.sdfs).plain())
            standing.setdefault(content, (name, surfaces[contact.name], []))[2].append(contact)
    for name, body in bodies.items():
        if body.MOVES and _extent(body) < math.inf:
            for surface, sdf, touching in standing.values():
                contacts = tuple(contact for contact in touching if contact.points == name)
                yield _Pair(name, surface, sdf, _extent(body), contacts)


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
