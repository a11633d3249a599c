"""What deformable bodies share: vertices, gluing and pinning, contact at their surface."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from diffsim_ros.errors import InputError, nearest
from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join, present
from diffsim_ros.scene.bodies.body import (
    COLOUR,
    MATERIAL_NAME,
    SPIN,
    START,
    VELOCITY,
    Body,
    BodyInfo,
    contact_spheres_name,
    material_and_pose,
)
from diffsim_ros.scene.bodies.regions import REGIONS, region, resolve_region
from diffsim_ros.scene.materials import Material
from diffsim_ros.scene.part import key, part, shared
from diffsim_ros.scene.parts import Parts
from diffsim_ros.scene.placing import absolute
from diffsim_ros.scene.shapes import ContactSpheres, spheres_at
from diffsim_ros.scene.targets import Entries, Target
from diffsim_ros.scene.tets import TetMesh, face_areas, vertex_areas

if TYPE_CHECKING:
    from diffsim_ros.scene.cloth import Web
    from diffsim_ros.scene.mesh_report import MeshReport

Array = np.ndarray
EDGE = Field("number", "instead: about this edge length", "m", minimum=0, strict=True)
FILE = Field("text", "file, relative to this one", default=REQUIRED)
UNIT = Field(
    "number",
    "what 1 in the file stands for, as `1 mm`; absent: 1 m, and odd sizes are refused",
    "m",
    minimum=0,
    strict=True,
)
GLUED: Section = {
    "to": Field("name", "rigid body or kinematic body that carries the vertices", default=REQUIRED),
    "where": Field(
        "any",
        "region of the body at its start, body frame, or a list of vertices",
        default=REQUIRED,
    ),
}
CONTACT_SPHERES: dict[str, Section] = {
    "surface": {
        "radius": Field("number", "radius of a sphere around each vertex", "m", 0.0, minimum=0)
    },
    "none": {},
}


@dataclass(frozen=True, eq=False)
class SoftShape:
    """A deformable body in its own frame, at rest.

    vertices   [m]  (n, 3); of a quadratic solid with the middles of its edges
    triangles  surface, outwards for a solid; both sides of cloth (k, 3)
    contact    vertices that may touch (c,)
    weights    their shares of the surface, sum 1 (c,)
    tets       of a solid (m, 4) or (m, 10), else None;  web  of cloth and strings, else None
    volume, area   [m^3], [m^2]
    report     figures of a solid's mesh
    digest     fingerprint of the tets, where they come from a file
    """

    vertices: Array
    triangles: Array
    contact: Array
    weights: Array
    tets: Array | None = None
    web: Web | None = None
    volume: float = 0.0
    area: float = 0.0
    report: MeshReport | None = None
    digest: str = ""


@part
class SoftBody(Body):
    """A deformable body.

    SHEET   pictures show both sides of its triangles
    ARGUMENTS  further keys on which its mesh depends
    """

    SOFT: ClassVar[bool] = True
    SHEET: ClassVar[bool] = False
    ARGUMENTS: ClassVar[tuple[str, ...]] = ()
    MORE: ClassVar = {
        ".glue[i]": GLUED,
        **{f".glue[i].where.{kind}, .pinned[i].{kind}": s for kind, s in REGIONS.items()},
        **{f".contact_spheres.{kind} (soft)": s for kind, s in CONTACT_SPHERES.items()},
    }
    shape: dict
    material: str | None = shared(MATERIAL_NAME)
    pose: dict = shared(START)
    velocity: list[float] = shared(VELOCITY)
    angular_velocity: list[float] = shared(SPIN)
    glue: list[dict] = key(
        "list", "vertices that a rigid body or kinematic body carries: {to, where}", default=[]
    )
    pinned: list[dict] = key("list", "regions whose vertices rest where they start", default=[])
    contact_spheres: dict = key(
        "any", "contact points: `surface`; absent: all of it, radius 0", formerly="proxies"
    )
    colour: list[float] = shared(COLOUR)

    @classmethod
    def check(cls, parts: Parts, values: dict, given: object, key: str) -> None:
        reader = parts.reader
        material = material_and_pose(parts, values, key)
        cls.check_own(reader, values, material, key)
        place = join(key, "contact_spheres")
        kind, found = reader.variant(CONTACT_SPHERES, values["contact_spheres"] or "surface", place)
        values["contact_spheres"] = {kind: found}
        shape = cls.shape_of(values, reader.place, join(key, "shape"))
        _glue(parts, values, shape.vertices, key)

    @classmethod
    def check_own(cls, reader: Reader, values: dict, material: Material, key: str) -> None:
        """A kind's own values, its `shape` among them."""
        raise NotImplementedError

    @classmethod
    def make(cls, kind: str, values: dict, arguments: dict, place: str, key: str) -> SoftShape:
        """The body of a shape {kind: values}; InputError for a mesh that cannot be used."""
        raise NotImplementedError

    @classmethod
    def read_shape(cls, reader: Reader, value: object, key: str) -> tuple[str, dict]:
        """Kind and values of its shape, a file's path made absolute."""
        kind, shape = reader.variant(cls.SHAPES, value, key)
        if kind == "mesh":
            shape = present({**shape, "file": absolute(reader, shape["file"])})
        return kind, shape

    @classmethod
    def shape_of(cls, values: dict, place: object = "scene", key: str = "shape") -> SoftShape:
        """Shape of a body's values; the last ones are kept, as long as files are unchanged.

        Raises InputError for a mesh that cannot be used.
        """
        ((kind, shape),) = values["shape"].items()
        stamp = ()
        if kind == "mesh" and Path(shape["file"]).is_file():
            status = Path(shape["file"]).stat()
            stamp = (status.st_mtime_ns, status.st_size)
        known = {name: value for name, value in shape.items() if name != "digest"}
        arguments = {name: values[name] for name in cls.ARGUMENTS}
        text = json.dumps([kind, known, arguments], sort_keys=True)
        found = _made(cls, text, stamp, str(place), key)
        if shape.get("digest") not in (None, found.digest):
            raise InputError(
                place,
                f"{key}.{kind}.digest",
                shape["digest"],
                f"the fingerprint of the tets, {found.digest}",
                "another mesh than then: the file has changed, or a surface was meshed again "
                "(fTetWild does not repeat itself): write its tets with `diffsim mesh` and name "
                "that file",
            )
        return found

    @property
    def mesh(self) -> SoftShape:
        """Its vertices, surface and contact points."""
        return self.shape_of(vars(self))

    def held_vertices(self) -> list[tuple[str, list[int]]]:
        """(carrier, its vertices) of every entry of `glue`; "", the world, of `pinned`."""
        held = [(entry["to"], entry["where"]) for entry in self.glue]
        held += [("", where) for where in self.pinned]
        vertices = self.mesh.vertices
        return [(carrier, region(where, vertices).tolist()) for carrier, where in held]

    def free(self) -> Array:
        """Whether each vertex is a node of its own (n,)."""
        found = np.ones(len(self.mesh.vertices), bool)
        for _, vertices in self.held_vertices():
            found[vertices] = False
        return found

    def rest_nodes(self) -> Array:
        """Free vertices (m, 3) in its own frame [m]."""
        return self.mesh.vertices[self.free()]

    def pinned_vertices(self) -> list[int]:
        """Vertices that the world holds."""
        return [v for carrier, some in self.held_vertices() for v in some if not carrier]

    def placed_vertices(self) -> Array:
        """Vertices (n, 3) at the start, world frame [m]."""
        position, rotation = self.start_pose()
        return position + self.mesh.vertices @ rotation.T

    def start(self) -> dict[str, Any]:
        """Arguments of the engine's builders: the start, and what holds it."""
        return {
            "position": self.pose["position"],
            "orientation": self.pose["orientation"],
            "velocity": self.velocity,
            "angular_velocity": self.angular_velocity,
            "glued": self.held_vertices(),
        }

    def add_contact_spheres(self, scene: Any) -> None:
        """Add the vertices that touch to the engine's scene."""
        if self.touches:
            scene.add_subset(
                contact_spheres_name(self.name),
                points=self.name,
                index=self.mesh.contact.tolist(),
                radius=self.contact_spheres["surface"]["radius"],
            )

    @property
    def touches(self) -> bool:
        return "surface" in self.contact_spheres

    def contact_spheres_at_start(self) -> ContactSpheres:
        shape = self.mesh
        return spheres_at(shape.vertices[shape.contact], self.contact_spheres["surface"]["radius"])

    def contact_weights(self) -> Array:
        return self.mesh.weights

    def outline(self):
        return "soft", np.ptp(self.mesh.vertices, axis=0)

    def info(self) -> BodyInfo:
        kind, size = self.outline()
        return BodyInfo(
            self.name, kind, tuple(size.tolist()), tuple(self.colour),
            triangles=self.mesh.triangles, lines=self.lines(), sheet=self.SHEET,
        )  # fmt: skip

    def loaded_areas(self, chosen: Array) -> Array:
        """Weights of a uniform traction on the faces whose vertices are all `chosen` [m^2] (n,)."""
        shape = self.mesh
        if shape.tets is not None:
            return face_areas(TetMesh(shape.vertices, shape.tets), chosen)
        faces = shape.triangles[np.isin(shape.triangles, chosen).all(axis=1)]
        return vertex_areas(shape.vertices, faces)

    def lines(self) -> Array:
        """Pairs of vertices (s, 2) that a picture draws."""
        return np.zeros((0, 2), int)

    def targets(self, entries: Entries) -> dict[str, Target]:
        return self.start_targets(entries) | self.contact_sphere_targets(entries)


@lru_cache(maxsize=16)
def _made(cls: type[SoftBody], text: str, stamp: tuple, place: str, key: str) -> SoftShape:
    kind, values, arguments = json.loads(text)
    return cls.make(kind, values, arguments, place, f"{key}.{kind}")


def check_cells(reader: Reader, shape: dict, count: int, key: str) -> None:
    """InputError unless `cells` has one number for each of the shape's edges."""
    if len(shape["cells"]) != count:
        rule = f"{count} whole numbers >= 1, one per edge"
        raise reader.error(join(key, "cells"), shape["cells"], rule)


def _glue(parts: Parts, values: dict, vertices: Array, key: str) -> None:
    """Read gluing and pinning; every vertex has one carrier at most, and one vertex is free."""
    reader, taken = parts.reader, {}
    glued, pinned = [], []
    for i, value in enumerate(values["glue"]):
        place = f"{key}.glue[{i}]"
        entry = reader.section(GLUED, value, place)
        _check_carrier(parts, entry["to"], join(place, "to"))
        where = resolve_region(reader, entry["where"], vertices, join(place, "where"))
        _take(reader, taken, where, vertices, entry["to"], join(place, "where"))
        glued.append({"to": entry["to"], "where": where})
    for i, value in enumerate(values["pinned"]):
        place = f"{key}.pinned[{i}]"
        pinned.append(resolve_region(reader, value, vertices, place))
        _take(reader, taken, pinned[-1], vertices, "pinned", place)
    if len(taken) == len(vertices):
        raise reader.error(
            join(key, "glue"),
            f"all {len(taken)} vertices",
            "at least one free vertex",
            "a body glued all over is a rigid one",
        )
    values["glue"], values["pinned"] = glued, pinned


def _check_carrier(parts: Parts, name: str, key: str) -> None:
    """The carrier has a frame; it may stand further down in the file."""
    bodies = parts.given_bodies
    if name not in bodies:
        raise parts.reader.error(key, name, "a name of `bodies`", nearest(name, bodies))
    word, kind = bodies[name]
    if kind is None or not kind.CARRIES:
        rule = "a rigid body or kinematic body"
        raise parts.reader.error(key, f"{name} of type {word}", rule)


def _take(
    reader: Reader, taken: dict, where: dict, vertices: Array, carrier: str, key: str
) -> None:
    chosen = region(where, vertices).tolist()
    if not chosen:
        low, high = vertices.min(axis=0), vertices.max(axis=0)
        extent = " to ".join(str([float(f"{x:.4g}") for x in corner]) for corner in (low, high))
        raise reader.error(
            key,
            where,
            "a region with at least one vertex of the body",
            f"its vertices lie within {extent}, body frame",
        )
    for vertex in chosen:
        if vertex in taken:
            raise reader.error(
                key,
                f"vertex {vertex}",
                "vertices that nothing else holds",
                f"{taken[vertex]} holds it already",
            )
        taken[vertex] = carrier
