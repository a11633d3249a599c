"""What every kind of link has: its name, its place in the engine, its paths; and ends of links."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from diffsim_ros.fields import REQUIRED, Field, Section, join, present
from diffsim_ros.scene.bodies.body import Body
from diffsim_ros.scene.part import Part, key, part
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.targets import AXES, Entries, Target

Array = np.ndarray
INTERVAL = Field("number", "between keys, where there are several", "s", minimum=0, strict=True)
FRAME = Field("choice", "axes of the keys", default="world", choices=("world", "body"))


@part
class SceneLink(Part):
    """A link by its numbers.

    CHOSEN  keys that the engine chooses where they are absent
    VALUES  keys that are parameters NAME.key of the engine
    MORE    further tables of keys: what follows links[i] -> section
    """

    CHOSEN: ClassVar[tuple[str, ...]] = ()
    VALUES: ClassVar[tuple[str, ...]] = ()
    MORE: ClassVar[dict[str, Section]] = {}

    name: str = key("name", "name of the link", default=REQUIRED)
    type: str = key("choice", "kind of link, see the tables of each", default="spring")

    @classmethod
    def section_for(cls, parts: Parts, given: dict) -> Section:
        """Its table with the units that the link given has."""
        return cls.section()

    @classmethod
    def check(cls, parts: Parts, values: dict, key: str) -> None:
        """Complete the values of a section, or raise InputError."""

    def add(self, scene: Any, parts: Parts) -> None:
        """Add it to the engine's scene."""
        raise NotImplementedError

    def targets(self, entries: Entries, parts: Parts) -> dict[str, Target]:
        """Paths behind its name that can be parameters."""
        return entries.all_of(self.name, self.VALUES)

    def lines(self) -> list[tuple[End, End]]:
        """Pairs of ends between which a picture draws a line."""
        return []

    def given(self, *names: str) -> dict[str, Any]:
        """Those of these keys that are not absent."""
        return present({name: getattr(self, name) for name in names})

    def keys_over_time(self, name: str) -> dict[str, Any]:
        """Arguments of the engine's builders for keys (n, 3) or (n,) `interval` apart."""
        keys = np.array(getattr(self, name))
        known = [word for word in ("interval", "frame") if word in self.section()]
        return {name: keys[0] if len(keys) == 1 else keys} | self.given(*known)


@part
class End(Part):
    """An end of a link: a point of a body, a vertex of a soft one, or a point of the world."""

    body: str | None = key("name", "body to which the end is attached")
    point: list[float] | None = key("vector3", "where, body frame; absent: its centre of mass", "m")
    vertex: int | None = key("integer", "of a solid, cloth or string, in cables only", minimum=0)
    world: list[float] | None = key(
        "vector3", "instead of body and point: a fixed point of the world", "m"
    )

    @property
    def local(self) -> list[float]:
        """Where it is in its body's frame, or in the world [m]."""
        return self.point if self.world is None else self.world

    def place(self, parts: Parts) -> Array:
        """Position at the start, world frame [m]  (3,)."""
        if self.world is not None:
            return np.array(self.world)
        body = parts.bodies[self.body]
        position, rotation = body.start_pose()
        local = np.array(self.point) if self.vertex is None else body.mesh.vertices[self.vertex]
        return position + rotation @ local


def read_end(parts: Parts, value: object, key: str) -> End:
    """An end with its defaults; raises InputError."""
    reader = parts.reader
    end = reader.section(End.section(), value, key)
    if end["world"] is not None:
        if end["body"] is not None or end["point"] is not None or end["vertex"] is not None:
            raise reader.error(key, present(end), "either world, or body and point", "remove one")
        return End(**end)
    if end["body"] is None:
        raise reader.error(key, present(end), "body (and point), or world")
    body = parts.body(end["body"], join(key, "body"))
    if body.SOFT:
        count = len(body.mesh.vertices)
        if end["vertex"] is None or end["point"] is not None or end["vertex"] >= count:
            rule = f"a vertex from 0 to {count - 1}, and no point, on a {body.type}"
            raise reader.error(key, present(end), rule)
        return End(**end)
    if end["vertex"] is not None:
        rule = f"a point, not a vertex, on a {body.type}"
        raise reader.error(join(key, "vertex"), end["vertex"], rule)
    point = read_point(parts, body, end["point"], join(key, "point"))
    return End(**end | {"point": point})


def read_point(parts: Parts, body: Body, point: list | None, key: str) -> list[float]:
    """A point of a body that has no vertices."""
    point = point or [0.0, 0.0, 0.0]
    if not body.TURNS and any(point):
        raise parts.reader.error(key, point, f"no point on a {body.type}", "use type: rigid")
    return point


def add_ends(scene: Any, name: str, ends: list[End]) -> None:
    """A point set of ends that are no vertices."""
    scene.add_points(
        name,
        bodies=[end.body or "" for end in ends],
        local=np.array([end.local for end in ends]),
    )


def soft_body(parts: Parts, name: str, key: str) -> Body:
    """The body of this name; InputError unless it has vertices."""
    body = parts.body(name, key)
    if not body.SOFT:
        rule = "a solid, cloth or string"
        raise parts.reader.error(key, f"{name} of type {body.type}", rule)
    return body


def rigid_body(parts: Parts, name: str, key: str) -> Body:
    """The body of this name; InputError unless it is rigid and free."""
    body = parts.body(name, key)
    if not (body.CARRIES and body.MOVES):
        raise parts.reader.error(key, f"{name} of type {body.type}", "a rigid body")
    return body


def check_interval(parts: Parts, values: dict, name: str, key: str) -> None:
    """InputError where there are several keys and no `interval`."""
    if len(values[name]) > 1 and values["interval"] is None:
        remedy = f"there are {len(values[name])} keys"
        raise parts.reader.error(join(key, "interval"), None, INTERVAL.rule(), remedy)


def key_targets(entries: Entries, owner: str, word: str, count: int) -> dict[str, Target]:
    """Paths word[k].x ... of keys (count, 3)."""
    words = tuple(f"{word}[{k}].{axis}" for k in range(count) for axis in AXES)
    return entries.all_of(owner, words)


def free_vertices(body: Body, chosen: Array) -> list[int]:
    """Vertices that a force or bundle acts on; pinned ones are left out."""
    return np.setdiff1d(chosen, body.pinned_vertices()).tolist()
