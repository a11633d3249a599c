"""What touches of a model's bodies: geoms, their contact points and surfaces, and the law of two.

A geom touches another one by points (spheres of a radius, fixed in its body) against the other's
surface.  Round ones, spheres and capsules, are all points; of two others each has points against
the other.  What lies between points is left out: the constants say how much.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .soft_constraint import GRAVITY, HUNT_CROSSLEY, stiffness_of

Array = np.ndarray
FLAT = ("plane", "height_field")
ROUND = ("sphere", "capsule")
CREEP = 1e-3
"""Speed [m/s] at which a body slides that its effective mass loads to Coulomb's limit."""
CAPSULE_SPACING = 0.5
"""Of spheres along a capsule against what is not flat, in radii: 3 % of it is left out between."""
RIM = 32
"""Points along a rim: 0.5 % of the radius is left out between."""
ELLIPSOID_POINTS, FEW_POINTS = 400, 100
"""On an ellipsoid against what is flat, at most 1 % of its extent is left out between; and against
others, 4 %."""
HULL_POINTS = 32
"""Most vertices of a mesh's convex hull, the farthest from each other; 60 facets at most."""
INSET, MESH_INSET = 0.05, 0.02
"""Radius of the spheres that stand for points of boxes and cylinders, and of meshes, in smallest
half extents: with their centres inside, equal boxes touch that lie edge to edge."""
EDGE_POINTS = 5
"""Along each edge of a box against what is not flat."""


@dataclass(frozen=True, eq=False)
class TouchingGeom:
    """A shape of a body.

    body      name of what carries it, None: the world;  pose (4, 4) in that body's frame
    kind      plane, sphere, capsule, cylinder, box, ellipsoid, mesh, height_field, or `spheres`:
              points and a surface that are given
    values    radius; length (between a capsule's centres) and height, along z; size (3,);
              half_axes (3,); vertices (n, 3); heights (nx, ny) and size (2,); [m]
    types, touches  bits: two touch if one's types meet the other's touches
    friction  sliding [1], spinning and rolling [m]; used of them are by `dimensions` 1, 3, 4, 6
    priority  the law of the higher one holds;  mix  its weight in the mean of two
    reference, impedance  as MuJoCo's solref and solimp
    margin    distance [m] at which force begins
    least_time  [s] of what `reference` asks for, twice MuJoCo's step
    mobility  1 / effective mass [1/kg], 0 of what stands
    """

    name: str
    body: str | None
    pose: Array
    kind: str
    values: Mapping[str, Any]
    types: int = 1
    touches: int = 1
    friction: tuple[float, float, float] = (1.0, 0.005, 0.0001)
    dimensions: int = 3
    priority: int = 0
    mix: float = 1.0
    reference: tuple[float, float] = (0.02, 1.0)
    impedance: tuple[float, float, float, float, float] = (0.9, 0.95, 0.001, 0.5, 2.0)
    margin: float = 0.0
    mobility: float = 0.0
    least_time: float = 0.0

    def carried(self, body: str | None, pose: Array, prefix: str = "") -> TouchingGeom:
        """By another body, in whose frame its own body has a pose (4, 4)."""
        return replace(self, name=prefix + self.name, body=body, pose=pose @ self.pose)


@dataclass(frozen=True)
class Law:
    """Of a contact at one point: keys of a scene's contact, and the distance at which it begins."""

    k_n: float
    k_t: float
    c_n: float
    c_f: float
    c_spin: float = 0.0
    c_roll: float = 0.0
    room: float = 0.0


def law_of(a: TouchingGeom, b: TouchingGeom) -> Law | None:
    """The law of two geoms, combined as MuJoCo does; None where neither can move.

    k_n and c_n are those of soft_constraint.py by the effective mass m, 1/m = 1/m_a + 1/m_b; with
    k_t a point that m g loads to Coulomb's limit creeps at CREEP.
    """
    mobility = a.mobility + b.mobility
    if not mobility:
        return None
    if a.priority != b.priority:
        one = a if a.priority > b.priority else b
        friction, dimensions = one.friction, one.dimensions
        reference, impedance = one.reference, one.impedance
    else:
        friction = tuple(map(max, a.friction, b.friction))
        dimensions = max(a.dimensions, b.dimensions)
        share = a.mix / (a.mix + b.mix) if a.mix + b.mix else 0.5
        pairs = zip(a.reference, b.reference, strict=True)
        if a.reference[0] > 0 and b.reference[0] > 0:
            reference = tuple(share * x + (1 - share) * y for x, y in pairs)
        else:
            reference = tuple(min(pair) for pair in pairs)
        impedance = tuple(
            share * x + (1 - share) * y for x, y in zip(a.impedance, b.impedance, strict=True)
        )
    time = max(a.least_time, b.least_time)
    return law(friction, dimensions, reference, impedance, 1 / mobility, a.margin + b.margin,
               time)  # fmt: skip


def law(
    friction: tuple[float, ...], dimensions: int, reference: tuple[float, ...],
    impedance: tuple[float, ...], mass: float, margin: float, least_time: float = 0.0,
) -> Law:  # fmt: skip
    """See law_of; mass [kg] is the effective one."""
    stiffness, ratio = stiffness_of(reference, impedance, least_time)
    slide, spin, roll = friction
    c_f = slide if dimensions > 1 else 0.0
    return Law(
        mass * stiffness, max(c_f, 1e-3) * mass * GRAVITY / CREEP, HUNT_CROSSLEY * ratio, c_f,
        spin if dimensions > 3 else 0.0, roll if dimensions > 4 else 0.0, margin,
    )  # fmt: skip


def meet(a: TouchingGeom, b: TouchingGeom) -> bool:
    """Whether their masks let them touch."""
    return bool(a.types & b.touches or b.types & a.touches)


def ways(a: TouchingGeom, b: TouchingGeom) -> list[tuple[TouchingGeom, TouchingGeom]]:
    """(points of, against the surface of): none of two flat ones."""
    if a.kind in FLAT and b.kind in FLAT:
        return []
    for one, other in ((a, b), (b, a)):
        if other.kind in FLAT:
            return [(one, other)]
    for kind in ROUND:
        for one, other in ((a, b), (b, a)):
            if one.kind == kind:
                return [(one, other)]
    return [(a, b), (b, a)]


def points(geom: TouchingGeom, flat: bool) -> list[tuple[float, Array]]:
    """(radius, centres (n, 3) in the body's frame) of its contact points, against what is flat or
    not."""
    values, kind = geom.values, geom.kind
    if kind == "spheres":
        return list(values["spheres"])
    radius = values["radius"] if kind in ROUND else _inset(geom)
    at = _POINTS[kind](values, flat, radius)
    return [(radius, at @ geom.pose[:3, :3].T + geom.pose[:3, 3])]


def _inset(geom: TouchingGeom) -> float:
    """Radius of the spheres of what is not round [m]."""
    values, kind = geom.values, geom.kind
    if kind == "box":
        return INSET * float(np.min(values["size"])) / 2
    if kind == "cylinder":
        return INSET * min(values["radius"], values["height"] / 2)
    if kind == "mesh" and "normals" in values:
        return MESH_INSET * float(np.ptp(values["vertices"], axis=0).min()) / 2
    if kind == "ellipsoid":  # within its sharpest end
        return 0.99 * float(np.min(values["half_axes"]) ** 2 / np.max(values["half_axes"]))
    return 0.0


def _capsule(values: Mapping[str, Any], flat: bool, inset: float) -> Array:
    length, radius = values["length"], values["radius"]
    count = 2 if flat else min(2 + math.ceil(length / (CAPSULE_SPACING * radius)), 24)
    return np.outer(np.linspace(-length / 2, length / 2, count), [0.0, 0.0, 1.0])


def _cylinder(values: Mapping[str, Any], flat: bool, inset: float) -> Array:
    radius, height = values["radius"] - inset, values["height"] - 2 * inset
    turn = 2 * math.pi * np.arange(RIM) / RIM
    rows = 2 if flat else min(2 + math.ceil(height / radius), 5)
    return np.concatenate([
        np.stack([radius * np.cos(turn), radius * np.sin(turn), np.full(RIM, z)], axis=1)
        for z in np.linspace(-height / 2, height / 2, rows)
    ])  # fmt: skip


def _box(values: Mapping[str, Any], flat: bool, inset: float) -> Array:
    ticks = np.linspace(-1, 1, 2 if flat else EDGE_POINTS)
    grid = np.stack(np.meshgrid(ticks, ticks, ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    edges = grid[np.count_nonzero(np.abs(grid) == 1, axis=1) >= 2]
    return edges * (np.asarray(values["size"]) / 2 - inset)


def _mesh(values: Mapping[str, Any], flat: bool, inset: float) -> Array:
    """Vertices, moved inside by the inset from the facets that meet there."""
    places = values["vertices"]
    if not inset:
        return places
    normals, offsets = values["normals"], values["offsets"]
    moved, near = [], 1e-6 * float(np.ptp(places, axis=0).max())
    for place in places:
        own = normals[np.abs(normals @ place - offsets) < near]
        moved.append(place - np.linalg.lstsq(own, np.full(len(own), inset), rcond=1e-3)[0])
    return np.array(moved)


def _ellipsoid(values: Mapping[str, Any], flat: bool, inset: float) -> Array:
    count = ELLIPSOID_POINTS if flat else FEW_POINTS
    k = np.arange(count) + 0.5
    z, turn = 1 - 2 * k / count, k * math.pi * (1 + 5**0.5)
    rim = np.sqrt(1 - z**2)
    ball = np.stack([rim * np.cos(turn), rim * np.sin(turn), z], axis=1)
    ball, half = np.concatenate([ball, np.eye(3), -np.eye(3)]), np.asarray(values["half_axes"])
    outward = ball / half
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    return ball * half - inset * outward


_POINTS = {
    "sphere": lambda values, flat, inset: np.zeros((1, 3)), "capsule": _capsule,
    "cylinder": _cylinder, "box": _box, "ellipsoid": _ellipsoid, "mesh": _mesh,
}  # fmt: skip


def surface(geom: TouchingGeom) -> dict[str, Any] | None:
    """Its surface in the body's frame as `sdfs` of a scene have it; None of a mesh that is flat."""
    values, kind = geom.values, geom.kind
    if kind == "spheres":
        return values["surface"]
    if kind == "mesh":
        if "normals" not in values:
            return None
        own = {"half_spaces": {k: values[k].tolist() for k in ("normals", "offsets")}}
    elif kind == "plane":
        normal = geom.pose[:3, 2]
        return {"plane": {"normal": normal.tolist(), "offset": float(normal @ geom.pose[:3, 3])}}
    else:
        words = {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}
        own = {kind: words}
    from scipy.spatial.transform import Rotation  # scenes without such contact are read sooner

    turn = Rotation.from_matrix(geom.pose[:3, :3]).as_quat()
    return {"transform": {"of": own, "position": geom.pose[:3, 3].tolist(),
                          "orientation": turn.tolist()}}  # fmt: skip


def reach(geom: TouchingGeom) -> float:
    """Radius [m] about its body's origin within which it is; infinite of flat ones."""
    if geom.kind in FLAT:
        return math.inf
    found = points(geom, True)
    return max(float(np.linalg.norm(at, axis=1).max(initial=0)) + r for r, at in found)


def hull(vertices: Array) -> dict[str, Array]:
    """Values of a mesh: vertices of its convex hull, at most HULL_POINTS, and the half-spaces of
    these: none where they are in one plane."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        kept = vertices[ConvexHull(vertices).vertices]
        kept = _spread(kept, HULL_POINTS)
        found = ConvexHull(kept)
    except (QhullError, ValueError):
        return {"vertices": _spread(vertices, HULL_POINTS)}
    planes = np.unique(np.round(found.equations, 9), axis=0)
    return {"vertices": kept[found.vertices], "normals": planes[:, :3], "offsets": -planes[:, 3]}


def _spread(places: Array, most: int) -> Array:
    """At most so many of them, each the farthest from those before."""
    if len(places) <= most:
        return places
    chosen = [int(np.argmax(np.linalg.norm(places - places.mean(axis=0), axis=1)))]
    away = np.linalg.norm(places - places[chosen[0]], axis=1)
    while len(chosen) < most:
        chosen.append(int(np.argmax(away)))
        away = np.minimum(away, np.linalg.norm(places - places[chosen[-1]], axis=1))
    return places[chosen]
