"""Contact of whole models: `contact: from the file` of robots as single contacts of the scene.

Every pair of geoms that may touch (robots/geoms.py) is one or two contacts: points of one against
the surface of the other.  Points of one body with one radius, one surface and one law are one
contact.  What the world has of a file touches by its surface, and by points of a kinematic body.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from diffsim_ros.fields import join
from diffsim_ros.robots.geoms import FLAT, Law, TouchingGeom, law_of, meet, points, surface, ways
from diffsim_ros.scene.bodies import read_bodies
from diffsim_ros.scene.materials import NO_MATERIAL
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.robot_pieces import OneRobot
from diffsim_ros.scene.sdfs import resolve_surface

MOST = 600
"""Contacts between links of one robot that are made; of more, those nearest at the start."""
UPRIGHT = {"position": [0.0, 0.0, 0.0]}


@dataclass(frozen=True)
class _Meeting:
    """Two geoms, how they touch, and whether both are links of one robot."""

    a: TouchingGeom
    b: TouchingGeom
    law: Law
    own: bool


def model_contacts(
    parts: Parts, robots: Mapping[str, OneRobot], contact: Sequence[Any]
) -> list[dict]:
    """Entries of `contact` of the robots whose contact is that of their file.

    contact  entries of the file: two that it names are left to it
    """
    if all(one.touching is None for one in robots.values()):
        return []
    return _Contacts(parts, robots, contact).entries()


class _Contacts:
    def __init__(
        self, parts: Parts, robots: Mapping[str, OneRobot], contact: Sequence[Any]
    ) -> None:
        self.parts, self.robots = parts, robots
        self.written = set(_written(contact))
        self.surfaces: dict[int, Any] = {}
        self.lost: set[str] = set()

    def entries(self) -> list[dict]:
        """One a body, radius, surface and law."""
        found: dict[tuple, dict] = {}
        for one in self._kept(list(self._meetings())):
            for point, other in ways(one.a, one.b):
                self._add(found, point, other, one.law)
        if self.lost:
            text = f"{self.parts.reader.place}: not used of robots' contact: "
            warnings.warn(text + "; ".join(sorted(self.lost)), UserWarning, stacklevel=2)
        return _named(found.values())

    def _meetings(self) -> Iterator[_Meeting]:
        groups = [one.touching for one in self.robots.values() if one.touching is not None]
        for group in groups:
            for g, h, own in group.pairs:
                yield _Meeting(group.geoms[g], group.geoms[h], own, True)
        for one, other in combinations(groups, 2):
            yield from self._across(one.geoms.values(), other.geoms.values())
        links = {body for one in self.robots.values() for body in one.bodies}
        others = [*self._shaped(links), *self._standing()]
        for group in groups:
            yield from self._across(group.geoms.values(), others)

    def _across(self, some: Any, others: Any) -> Iterator[_Meeting]:
        for a in some:
            for b in others:
                if a.body != b.body and meet(a, b) and (own := law_of(a, b)):
                    yield _Meeting(a, b, own, False)

    def _shaped(self, links: set[str]) -> Iterator[TouchingGeom]:
        """The scene's own bodies with a shape, by their contact spheres and surface."""
        for name, body in self.parts.bodies.items():
            if name in links or not body.CARRIES or body.surface() is None:
                continue
            spheres = []
            if body.touches:
                own = body.contact_spheres_at_start()
                spheres = [(own.radius, own.centres())]
            mobility = 1 / body.total_mass() if body.MOVES else 0.0
            values = {"spheres": spheres, "surface": body.surface()}
            yield TouchingGeom(name, name, np.eye(4), "spheres", values, mobility=mobility,
                       friction=self._friction(body))  # fmt: skip

    def _friction(self, body: Any) -> tuple[float, float, float]:
        material = self.parts.materials.get(getattr(body, "material", None), NO_MATERIAL)
        return (1.0 if material.c_f is None else material.c_f, 0.0, 0.0)

    def _standing(self) -> Iterator[TouchingGeom]:
        """The scene's `sdfs` that no other one is made of; the robot's friction holds."""
        named = self.parts.sdfs
        inner = {name for one in named.values() for name in _members(one)}
        of_files = {name for one in self.robots.values() for name in one.sdfs}
        for name in named:
            if name not in inner and name not in of_files:
                values = {"spheres": [], "surface": name}
                yield TouchingGeom(
                    name, None, np.eye(4), "spheres", values, friction=(0.0, 0.0, 0.0)
                )

    def _kept(self, found: list[_Meeting]) -> list[_Meeting]:
        """Without those that the file's `contact` has, and the farthest of too many."""
        found = [one for one in found if frozenset((one.a.body, one.b.body)) not in self.written]
        own = [one for one in found if one.own and one.a.body and one.b.body]
        if len(own) <= MOST:
            return found
        own.sort(key=self._gap)
        left = {id(one) for one in own[MOST:]}
        self.lost.add(
            f"{len(left)} of {len(own)} pairs of geoms on links of robots, at least "
            f"{self._gap(own[MOST]):.3g} m apart at the start"
        )
        return [one for one in found if id(one) not in left]

    def _gap(self, one: _Meeting) -> float:
        """Distance of the balls about two geoms at the start [m]."""
        (a, r), (b, s) = (self._ball(geom) for geom in (one.a, one.b))
        return float(np.linalg.norm(a - b) - r - s)

    def _ball(self, geom: TouchingGeom) -> tuple[np.ndarray, float]:
        at, turn = self.parts.bodies[geom.body].start_pose()
        if geom.kind in FLAT:
            return at, np.inf
        own = points(geom, True)
        centre = np.concatenate([places for _, places in own]).mean(axis=0)
        far = max(np.linalg.norm(places - centre, axis=1).max() + r for r, places in own)
        return at + turn @ centre, float(far)

    def _add(
        self, found: dict[tuple, dict], point: TouchingGeom, other: TouchingGeom, own: Law
    ) -> None:
        against = self._surface(other)
        if against is None:
            self.lost.add(f"the surface of {other.name}, a mesh in one plane")
            return
        body = point.body if point.body is not None else self._world()
        flat = other.kind in FLAT
        for radius, places in points(point, flat):
            if not len(places):
                continue
            rolls = (own.c_spin or own.c_roll) and self.parts.world["stepper"] == "implicit"
            rolls = rolls and radius + own.room > 0
            if (own.c_spin or own.c_roll) and not rolls:
                self.lost.add("rolling and spinning friction of points and of hard contact")
            key = (body, radius + own.room, other.body, id(against), own)
            entry = found.setdefault(
                key,
                {"points": body, "surface": other.name, "against": against, "carrier": other.body,
                 "radius": radius + own.room, "positions": [], "law": own, "rolls": rolls},
            )  # fmt: skip
            entry["positions"] += places.tolist()

    def _surface(self, geom: TouchingGeom) -> Any:
        """Read once: contacts share it."""
        if id(geom) not in self.surfaces:
            given = surface(geom)
            if given is not None and geom.body is None and geom.kind != "spheres":
                given = self._standing_name(geom, given)
            read = given and resolve_surface(
                self.parts.reader, self.parts.sdfs, given, join("sdfs", geom.name)
            )
            self.surfaces[id(geom)] = read
        return self.surfaces[id(geom)]

    def _standing_name(self, geom: TouchingGeom, given: dict) -> str:
        """Of a surface of the world, which joins `sdfs`."""
        named, name = self.parts.sdfs, geom.name
        if geom.kind == "plane" and name in named:
            return name
        while name in named:
            name += "_"
        named[name] = resolve_surface(self.parts.reader, named, given, join("sdfs", name))
        return name

    def _world(self) -> str:
        """The kinematic body that carries points of the world."""
        name = "world_points"
        if name not in self.parts.bodies:
            read_bodies(self.parts, {name: {"type": "kinematic", "pose": UPRIGHT}})
        return name


def _members(one: Any) -> set[str]:
    if isinstance(one, str):
        return {one}
    return {name for member in one.members() for name in _members(member)}


def _written(contact: Sequence[Any]) -> Iterator[frozenset]:
    """Bodies, None for the world, of the contacts that a file has itself."""
    for one in contact:
        if isinstance(one, Mapping) and "points" in one:
            yield frozenset((one["points"], one.get("carrier")))
        pairs = one.get("pairs") if isinstance(one, Mapping) else None
        if isinstance(pairs, list):
            yield from (frozenset(pair) for pair in pairs if isinstance(pair, list))


def _named(found: Any) -> list[dict]:
    """Entries of `contact` with names of their own."""
    counts: dict[str, int] = {}
    entries = []
    for one in found:
        name = f"{one['points']}_on_{one['surface']}"
        counts[name] = counts.get(name, 0) + 1
        name += f"_{counts[name]}" if counts[name] > 1 else ""
        own, count = one["law"], len(one["positions"])
        entry = {
            "name": name, "points": one["points"], "against": one["against"],
            "carrier": one["carrier"],
            "spheres": {"radius": one["radius"], "positions": one["positions"]},
            "k_n": own.k_n * count, "k_t": own.k_t * count, "c_n": own.c_n, "c_f": own.c_f,
        }  # fmt: skip
        if one["rolls"]:
            entry |= {"c_spin": own.c_spin, "c_roll": own.c_roll}
        entries.append({k: v for k, v in entry.items() if v is not None})
    return entries
