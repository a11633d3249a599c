"""Keys of the shapes of rigid and kinematic bodies, and of the contact spheres that go with them.

What is read of a `shape` is {kind: values}, or a compound's list of these with their poses;
scene/rigid_shape.py makes a shape of it.
"""

from __future__ import annotations

from collections.abc import Mapping

from diffsim_ros.fields import REQUIRED, Field, Reader, Section, join, present
from diffsim_ros.scene.bodies.soft import FILE, UNIT
from diffsim_ros.scene.materials import DENSITY
from diffsim_ros.scene.placing import absolute, box_size, orientation
from diffsim_ros.scene.rigid_shape import (
    RigidShape,
    drawn_triangles,
    outward_triangles,
    rigid_shape,
)

CORNER_SHARE = 0.05  # default corner radius as a share of the smallest half edge
SMALL_SHARE = 0.02  # likewise of the vertices of a mesh, which may have thin parts
SIZE = Field("vector3", "edge lengths along body x, y, z", "m", minimum=0, strict=True)
HALF = Field("vector3", "instead of size: half of it", "m", minimum=0, strict=True)
RADIUS = Field("number", "radius", "m", REQUIRED, minimum=0, strict=True)
HEIGHT = Field("number", "along body z, about its origin", "m", REQUIRED, minimum=0, strict=True)
LENGTH = Field("number", "between the centres of its ends, along body z", "m", REQUIRED,
               minimum=0, strict=True)  # fmt: skip
SCALE = Field("number", "factor on the nominal shape", "1", 1.0, minimum=0, strict=True)
VOXEL = Field("number", "of the level set that others touch; absent: a 64th of the longest extent",
              "m", minimum=0, strict=True)  # fmt: skip
CENTRE = Field(
    "vector3",
    "centre of mass, frame of the file, with an `inertia` in numbers; absent: of uniform density",
    "m",
)
PRIMITIVES: dict[str, Section] = {
    "box": {"size": SIZE, "half_extents": HALF},
    "sphere": {"radius": RADIUS},
    "cylinder": {"height": HEIGHT, "radius": RADIUS},
    "capsule": {"length": LENGTH, "radius": RADIUS},
    "mesh": {"file": FILE, "scale": UNIT, "voxel": VOXEL, "centre": CENTRE},
}
MEMBER: Section = {
    **{kind: Field("mapping", "its keys, as of a shape; one kind") for kind in PRIMITIVES},
    "position": Field("vector3", "of its origin, in the frame of the shape", "m", [0.0, 0.0, 0.0]),
    "orientation": Field("quaternion", "x, y, z, w; absent: identity", "1"),
    "rotation": Field("vector3", "instead of orientation: rotation vector", "rad"),
    "density": DENSITY,
}
WORDS = "one of `box`, `sphere`, `cylinder`, `capsule`, `mesh`, or a list of such (a compound)"
TABLES: dict[str, Section] = {
    **{f".shape.{kind}": section for kind, section in PRIMITIVES.items()},
    ".shape[i]": MEMBER,
}
COUNT = "points on each member that is a mesh, sphere, capsule or (on its rims) cylinder"
CONTACT_SPHERES: dict[str, Section] = {
    "corners": {
        "radius": Field(
            "number",
            "radius of the 8 inset spheres; absent: 5 % of the smallest half edge",
            "m",
            minimum=0,
        ),
        "scale": SCALE,
    },
    "face_grid": {
        "per_edge": Field("integer", "points along each edge", default=5, minimum=2),
        "radius": Field("number", "radius of the inset spheres", "m", 0.0, minimum=0),
        "scale": SCALE,
    },
    "sphere": {"radius": Field("number", "absent: the shape's radius", "m", minimum=0)},
    "rims": {
        "count": Field("integer", "spheres along either rim of a cylinder", default=32, minimum=3),
        "radius": Field(
            "number", "of the inset spheres; absent: 5 % of the smaller half extent", "m", minimum=0
        ),
        "scale": SCALE,
    },
    "axis": {
        "count": Field("integer", "spheres along the axis of a capsule", default=2, minimum=2),
        "radius": Field("number", "absent: the shape's radius", "m", minimum=0),
        "scale": SCALE,
    },
    "vertices": {
        "count": Field(
            "integer", "vertices of a mesh, the farthest from each other; or all", default=64,
            minimum=4,
        ),
        "radius": Field(
            "number", "of the inset spheres; absent: 2 % of the smallest half extent", "m",
            minimum=0,
        ),
        "scale": SCALE,
    },
    "members": {
        "count": Field("integer", COUNT, default=64, minimum=4),
        "radius": Field(
            "number",
            "of all spheres; absent: the members' own if they are round and alike, else 5 % of "
            "their smallest half extent, 2 % with a mesh",
            "m", minimum=0,
        ),
        "scale": SCALE,
    },
    "points": {
        "positions": Field("points", "points in the body frame", "m", REQUIRED),
        "radius": Field("number", "radius of a sphere around each", "m", 0.0, minimum=0),
        "scale": SCALE,
    },
    "point": {},
}  # fmt: skip
OF_SHAPE = {"corners": "box", "face_grid": "box", "rims": "cylinder", "axis": "capsule",
            "vertices": "mesh", "members": "compound"}  # fmt: skip
"""Contact spheres that a shape alone has."""
DEFAULTS = {"box": "corners", "sphere": "sphere", "cylinder": "rims", "capsule": "axis",
            "mesh": "vertices", "compound": "members"}  # fmt: skip
"""Contact spheres of a shape where none are given."""


def read_shape(reader: Reader, value: object, key: str) -> dict | list | None:
    """{kind: values} of a shape, a list of members of a compound, or None; InputError."""
    if value is None:
        return None
    if not isinstance(value, list):
        if isinstance(value, Mapping) and not set(value) & set(PRIMITIVES):
            near = "a compound is a list: `shape: [{box: {...}, position: ...}, ...]`"
            if set(value) & {"compound", "members", "union"}:
                raise reader.error(key, sorted(value), WORDS, near)
        kind, shape = reader.variant(PRIMITIVES, value, key)
        return {kind: _values(reader, kind, shape, join(key, kind))}
    if not value:
        raise reader.error(key, value, "at least one member")
    members = [_member(reader, one, f"{key}[{i}]") for i, one in enumerate(value)]
    with_density = [i for i, member in enumerate(members) if "density" in member]
    if with_density and len(with_density) < len(members):
        i = next(i for i in range(len(members)) if i not in with_density)
        rule = "a density of every member, or of none"
        raise reader.error(f"{key}[{i}].density", None, rule, f"member {with_density[0]} has one")
    return members


def read_picture(reader: Reader, value: object, key: str) -> list | None:
    """Members of a `picture`, as of a compound without densities; a mesh may be open."""
    if value is None:
        return None
    if not isinstance(value, list):
        raise reader.error(key, value, "a list of shapes, as of a compound; empty: nothing")
    return [_member(reader, one, f"{key}[{i}]", solid=False) for i, one in enumerate(value)]


def _member(reader: Reader, value: object, key: str, *, solid: bool = True) -> dict:
    read = reader.section(MEMBER, value, key)
    kinds = [kind for kind in PRIMITIVES if kind in reader.mapping(value, key)]
    if len(kinds) != 1:
        raise reader.error(key, kinds, "one of " + ", ".join(PRIMITIVES), "give exactly one")
    (kind,) = kinds
    shape = reader.section(PRIMITIVES[kind], read[kind], join(key, kind))
    if shape.get("centre") is not None:
        rule = "no centre of mass of a single member"
        where = join(join(key, kind), "centre")
        raise reader.error(where, shape["centre"], rule, "give the members densities")
    turn = orientation(reader, read, key)
    if not solid and read["density"] is not None:
        raise reader.error(join(key, "density"), read["density"], "none: a picture has no mass")
    placed = {"position": read["position"], "orientation": turn, "density": read["density"]}
    return present({kind: _values(reader, kind, shape, join(key, kind), solid=solid), **placed})


def _values(reader: Reader, kind: str, values: dict, key: str, *, solid: bool = True) -> dict:
    if kind == "box":
        return box_size(reader, values, key)
    if kind == "mesh":
        values["file"] = absolute(reader, values["file"])
        read = outward_triangles if solid else drawn_triangles
        read(values["file"], values["scale"], reader.place, join(key, "file"))
    return values


def read_contact_spheres(
    reader: Reader, given: object, shape: dict | list | None, key: str
) -> dict:
    """{kind: values} of `contact_spheres`, with their radius; InputError."""
    form = rigid_shape(shape, about_mass=True)
    kind, found = reader.variant(CONTACT_SPHERES, given, key)
    key = join(key, kind)
    own = form.kind if form else None
    if kind in OF_SHAPE and own != OF_SHAPE[kind]:
        raise reader.error(key, own or "no shape", f"a {OF_SHAPE[kind]} as shape")
    if kind == "sphere" and own != "sphere" and found["radius"] is None:
        rule = CONTACT_SPHERES[kind]["radius"].rule()
        raise reader.error(join(key, "radius"), None, rule)
    if form is None:
        return {kind: found}
    if "radius" in found and found["radius"] is None:
        found["radius"] = _radius(kind, form)
    half = float(min(min(piece.size) for piece in form.pieces)) / 2
    limit = found.get("scale", 1.0) * half
    if kind in OF_SHAPE and found["radius"] > limit:
        rule = f"at most the smallest half {'edge' if own == 'box' else 'extent'}, {limit:g} m"
        raise reader.error(join(key, "radius"), found["radius"], rule)
    return {kind: found}


def _radius(kind: str, form: RigidShape) -> float:
    """Of contact spheres where none is given [m]."""
    pieces = form.pieces
    half = float(min(min(piece.size) for piece in pieces)) / 2
    if kind in ("sphere", "axis"):
        return pieces[0].values["radius"]
    if kind == "members" and {piece.kind for piece in pieces} <= {"sphere", "capsule"}:
        radii = {piece.values["radius"] for piece in pieces}
        if len(radii) == 1:
            return radii.pop()
    share = SMALL_SHARE if any(piece.kind == "mesh" for piece in pieces) else CORNER_SHARE
    return share * half
