"""The shape of a rigid or kinematic body: one primitive, a mesh, or a compound of these.

A shape has a frame of its own: that of the primitive, of the mesh's file, or the one in which a
compound's members are placed. The frame of a rigid body has the same axes, and its origin is the
shape's centre of mass; that of a kinematic body is the shape's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from diffsim_ros import meshes
from diffsim_ros.rotation import quat_matrix
from diffsim_ros.scene import shapes
from diffsim_ros.scene.mesh_files import read_surface
from diffsim_ros.scene.mesh_mass import check_outward, farthest, insets, moments, winding
from diffsim_ros.scene.mesh_report import check_surface
from diffsim_ros.scene.shapes import ContactSpheres, symmetric
from diffsim_ros.surfaces import without_walls

Array = np.ndarray
BALL = 4  # subdivisions of a sphere's picture
SAMPLES = 400  # points on a mesh that are looked at for crossings
GOLDEN = (0.7548776662466927, 0.5698402909980532)
"""Powers of the inverse plastic number: evenly spread fractions of 1, in two dimensions."""


@dataclass(frozen=True, eq=False)
class Piece:
    """A primitive or mesh at a pose in the frame of its shape.

    kind         box, sphere, cylinder, capsule (about z) or mesh;  values  its keys
    position     [m] (3,);  orientation  x, y, z, w (4,)
    density      [kg/m^3] of a compound's member; None: as of all the shape
    """

    kind: str
    values: Mapping[str, Any]
    position: Array
    orientation: Array
    density: float | None = None

    @cached_property
    def mesh(self) -> tuple[Array, Array]:
        """Vertices (n, 3) [m], own frame, and outward triangles (m, 3)."""
        if self.kind == "mesh":
            return outward_triangles(self.values["file"], self.values["scale"], "scene", "mesh")
        if self.kind in ("box", "sphere"):
            vertices, tets = (
                meshes.box(self.size, (1, 1, 1)) if self.kind == "box"
                else meshes.ball(BALL, self.size[0] / 2)
            )  # fmt: skip
            used, numbers = np.unique(meshes.surface(tets), return_inverse=True)
            return vertices[used], numbers.reshape(-1, 3)
        return shapes.surface_mesh(self.kind, self.size)

    @cached_property
    def size(self) -> Array:
        """Edges of the box about it, own axes [m]  (3,)."""
        if self.kind == "mesh":
            return np.ptp(self.mesh[0], axis=0)
        if self.kind == "box":
            return np.array(self.values["size"])
        across = 2 * self.values["radius"]
        along = {
            "cylinder": self.values.get("height"),
            "capsule": self.values.get("length", 0.0) + across,
        }
        return np.array([across, across, along.get(self.kind, across)])

    @cached_property
    def moments(self) -> tuple[float, Array, Array]:
        """Volume [m^3], centre (3,) [m] and inertia per mass about it (3, 3) [m^2], own axes."""
        if self.kind == "mesh":
            return moments(*self.mesh)
        inertia = symmetric(shapes.uniform_inertia(self.kind, self.size))
        return shapes.volume(self.kind, self.size), np.zeros(3), inertia

    @property
    def turn(self) -> Array:
        """Own axes in those of the shape (3, 3)."""
        return quat_matrix(self.orientation)

    def placed(self, x: Array) -> Array:
        """Points of its own frame in that of the shape  (n, 3)."""
        return x @ self.turn.T + self.position

    def surface(self) -> dict:
        """As `sdfs` of a file have it, own frame."""
        return {self.kind: {k: v for k, v in self.values.items() if k != "centre"}}

    def samples(self) -> Array:
        """Points on its surface, own frame [m]  (n, 3)."""
        if self.kind != "mesh":
            return shapes.samples(self.kind, self.size)
        vertices, triangles = self.mesh
        corners = vertices[triangles]
        sides = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
        area = np.cumsum(np.linalg.norm(np.cross(*sides), axis=1))
        k = np.arange(SAMPLES)
        of = np.searchsorted(area, (k + 0.5) / SAMPLES * area[-1])
        u, v = ((k * step) % 1 for step in GOLDEN)
        u, v = np.where(u + v > 1, 1 - u, u), np.where(u + v > 1, 1 - v, v)
        spread = corners[of, 0] + u[:, None] * sides[0][of] + v[:, None] * sides[1][of]
        return np.concatenate([vertices[farthest(vertices, SAMPLES // 4, np.zeros(3))], spread])

    def contact_spheres(self, radius: float, count: int) -> tuple[Array, Array]:
        """Places and insets (n, 3) of spheres of `radius` that touch as it does, own frame.

        Of what is round with this radius the centres of its ends.
        """
        if self.kind == "mesh":
            vertices, triangles = self.mesh
            chosen = farthest(vertices, count, self.moments[1])
            return vertices[chosen], insets(vertices, triangles, chosen)
        if self.kind in ("sphere", "capsule") and radius == self.size[0] / 2:
            ends = shapes.axis_contact_spheres(self.size, 2, radius, 1.0).local
            ends = ends if self.kind == "capsule" else np.zeros((1, 3))
            return ends, np.zeros_like(ends)
        if self.kind == "sphere":
            out = shapes.fibonacci_sphere(count)
            return out * self.size / 2, -out
        if self.kind == "capsule":
            local = self.mesh[0]
            local = local[farthest(local, count, np.zeros(3))]
            reach = (self.size[2] - self.size[0]) / 2
            axis = np.array([0.0, 0.0, 1.0]) * np.clip(local[:, 2:], -reach, reach)
            return local, -(local - axis) / (self.size[0] / 2)
        found = (
            shapes.corner_contact_spheres(self.size, radius, 1.0) if self.kind == "box"
            else shapes.rim_contact_spheres(self.size, max(count // 2, 3), radius, 1.0)
        )  # fmt: skip
        return found.local, found.inset


@dataclass(frozen=True, eq=False)
class RigidShape:
    """Pieces, and where in their frame the body's origin is (3,) [m]."""

    pieces: tuple[Piece, ...]
    about_mass: bool

    @property
    def kind(self) -> str:
        """box, sphere, cylinder, capsule, mesh or compound."""
        return self.pieces[0].kind if self.single else "compound"

    @property
    def single(self) -> bool:
        """Whether it is one piece without a pose."""
        return len(self.pieces) == 1 and not self.pieces[0].position.any() and self._upright

    @property
    def _upright(self) -> bool:
        return not self.pieces[0].orientation[:3].any()

    @cached_property
    def volume(self) -> float:
        """[m^3]; what members share counts for each."""
        return sum(piece.moments[0] for piece in self.pieces)

    @property
    def mass(self) -> float | None:
        """[kg] by the members' densities; None without."""
        if any(piece.density is None for piece in self.pieces):
            return None
        return sum(piece.density * piece.moments[0] for piece in self.pieces)

    @cached_property
    def _shares(self) -> Array:
        mass = np.array([piece.moments[0] * (piece.density or 1.0) for piece in self.pieces])
        return mass / mass.sum()

    @property
    def given_centre(self) -> Array | None:
        """Centre of mass that the file gives for a mesh, shape's frame [m]  (3,)."""
        given = self.pieces[0].values.get("centre") if self.single else None
        return None if given is None else np.array(given)

    @cached_property
    def centre(self) -> Array:
        """Centre of mass, shape's frame [m]  (3,)."""
        if self.given_centre is not None:
            return self.given_centre
        at = [piece.placed(piece.moments[1]) for piece in self.pieces]
        return self._shares @ np.array(at)

    @cached_property
    def origin(self) -> Array:
        """Of the body's frame, in the shape's [m]  (3,)."""
        return self.centre if self.about_mass else np.zeros(3)

    @cached_property
    def inertia(self) -> Array:
        """Per mass, about the centre of mass: xx, yy, zz, xy, xz, yz [m^2]  (6,)."""
        if self.single and self.kind != "mesh":
            return shapes.uniform_inertia(self.kind, self.pieces[0].size)
        total = np.zeros((3, 3))
        for share, piece in zip(self._shares, self.pieces, strict=True):
            _, centre, own = piece.moments
            arm = piece.placed(centre) - self.centre
            total += share * (piece.turn @ own @ piece.turn.T + arm @ arm * np.eye(3))
            total -= share * np.outer(arm, arm)
        return total[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]

    def principal(self) -> tuple[Array, Array]:
        """Moments per mass (3,) [m^2], ascending, and their axes as columns (3, 3), body frame."""
        moments_, axes = np.linalg.eigh(symmetric(self.inertia))
        axes = axes * np.sign(axes[np.abs(axes).argmax(axis=0), range(3)])
        return moments_, axes * np.array([1, 1, np.sign(np.linalg.det(axes))])

    @cached_property
    def mesh(self) -> tuple[Array, Array]:
        """Vertices (n, 3) [m], body frame, and outward triangles of all pieces."""
        vertices, triangles, count = [], [], 0
        for piece in self.pieces:
            x, faces = piece.mesh
            vertices.append(piece.placed(x) - self.origin)
            triangles.append(faces + count)
            count += len(x)
        return np.concatenate(vertices), np.concatenate(triangles)

    @cached_property
    def size(self) -> Array:
        """Edges of the box about it, body axes [m]  (3,)."""
        return self.pieces[0].size if self.single else np.ptp(self.mesh[0], axis=0)

    @property
    def reach(self) -> float:
        """Bounding radius about the body's origin [m]."""
        if self.single and self.kind != "mesh":
            return shapes.bounding_radius(self.kind, self.size)
        return float(np.linalg.norm(self.mesh[0], axis=1).max())

    def surface(self) -> dict:
        """As `sdfs` of a file have it, body frame; of a compound the union of its members."""
        if self.single and not self.origin.any():
            return self.pieces[0].surface()
        placed = [
            {
                "transform": {
                    "of": piece.surface(),
                    "position": (piece.position - self.origin).tolist(),
                    "orientation": piece.orientation.tolist(),
                }
            }
            for piece in self.pieces
        ]
        return placed[0] if len(placed) == 1 else {"union": {"of": placed}}

    def samples(self) -> Array:
        """Points on its surface, body frame [m]  (n, 3)."""
        return np.concatenate([p.placed(p.samples()) - self.origin for p in self.pieces])

    def spheres(self, radius: float, count: int, scale: float) -> tuple[ContactSpheres, Array]:
        """Contact spheres of all pieces, body frame, and to which piece each belongs (n,).

        Left out are those that lie inside another piece.
        """
        local, inset, of = [], [], []
        for number, piece in enumerate(self.pieces):
            places, inwards = piece.contact_spheres(radius, count)
            kept = ~self._inside(number, piece.placed(places + radius * inwards), radius)
            local.append(piece.placed(places[kept]) - self.origin)
            inset.append(inwards[kept] @ piece.turn.T)
            of.append(np.full(np.count_nonzero(kept), number))
        spheres = ContactSpheres(np.concatenate(local), np.concatenate(inset), radius, scale)
        return spheres, np.concatenate(of)

    def _inside(self, number: int, places: Array, radius: float) -> Array:
        """Whether spheres at places (n, 3), shape's frame, are wholly inside another piece (n,)."""
        found = np.zeros(len(places), bool)
        for other, piece in enumerate(self.pieces):
            if other != number:
                gap = gap_of(piece, (places - piece.position) @ piece.turn)
                found |= gap < -radius - 1e-9 * self.reach
        return found

    def figures(self) -> dict[str, Any]:
        """For result files: volume [m^3], centre of mass in the shape's frame [m], principal
        moments per mass [m^2] of uniform density and their axes (columns), triangles."""
        least, axes = (a.tolist() for a in self.principal())
        if self.given_centre is not None:  # then of no uniform body
            least, axes = None, None
        return {
            "kind": self.kind,
            "pieces": len(self.pieces),
            "triangles": sum(len(p.mesh[1]) for p in self.pieces if p.kind == "mesh"),
            "volume": self.volume,
            "centre_of_mass": self.centre.tolist(),
            "principal_inertia_per_mass": least,
            "principal_axes": axes,
        }


def rigid_shape(shape: dict | list | None, about_mass: bool) -> RigidShape | None:
    """Of a `shape` that was read (bodies/shape_keys.py).

    about_mass: whether the body's origin is the centre of mass.
    """
    if not shape:
        return None
    return RigidShape(_pieces(shape if isinstance(shape, list) else [shape]), about_mass)


def _pieces(members: list[dict]) -> tuple[Piece, ...]:
    pieces = []
    for member in members:
        kind = next(word for word in member if word not in PLACED)
        position = np.array(member.get("position", [0.0, 0.0, 0.0]))
        turn = np.array(member.get("orientation", [0.0, 0.0, 0.0, 1.0]))
        pieces.append(Piece(kind, member[kind], position, turn, member.get("density")))
    return tuple(pieces)


def picture_mesh(members: list[dict]) -> tuple[Array, Array]:
    """Vertices (n, 3) [m], body frame, and triangles (m, 3) of a `picture` that was read."""
    vertices, triangles, count = [np.zeros((0, 3))], [np.zeros((0, 3), int)], 0
    for member in members:
        (piece,) = _pieces([member])
        if piece.kind == "mesh":
            x, faces = drawn_triangles(piece.values["file"], piece.values["scale"], "scene", "mesh")
        else:
            x, faces = piece.mesh
        vertices.append(piece.placed(x))
        triangles.append(faces + count)
        count += len(x)
    return np.concatenate(vertices), np.concatenate(triangles)


PLACED = ("position", "orientation", "density")
"""Keys of a compound's member beside its kind."""


def gap_of(piece: Piece, x: Array) -> Array:
    """Signed distances of points in the piece's own frame  (n,); of a mesh the sign alone."""
    if piece.kind == "mesh":
        return np.array([-math.inf if winding(*piece.mesh, p) > 0.5 else math.inf for p in x])
    half = piece.size / 2
    if piece.kind == "box":
        beyond = np.abs(x) - half
        outside = np.linalg.norm(np.maximum(beyond, 0), axis=1)
        return outside + np.minimum(beyond.max(axis=1), 0)
    if piece.kind == "cylinder":
        across = np.hypot(x[:, 0], x[:, 1]) - half[0]
        beyond = np.stack([across, np.abs(x[:, 2]) - half[2]], axis=1)
        outside = np.linalg.norm(np.maximum(beyond, 0), axis=1)
        return outside + np.minimum(beyond.max(axis=1), 0)
    reach = half[2] - half[0]
    axis = np.clip(x[:, 2], -reach, reach) if piece.kind == "capsule" else 0.0 * x[:, 2]
    return np.linalg.norm(np.stack([x[:, 0], x[:, 1], x[:, 2] - axis], axis=1), axis=1) - half[0]


def outward_triangles(
    file: str, scale: float | None, place: object, key: str
) -> tuple[Array, Array]:
    """Vertices (n, 3) [m] and outward triangles of the closed surface in a file.

    InputError where it is open, turned inside out, or has parts within parts (mesh_mass.py).
    """
    return _read(file, scale, str(place), key, _mark(file), closed=True)


def drawn_triangles(file: str, scale: float | None, place: object, key: str) -> tuple[Array, Array]:
    """The same of a mesh that is drawn alone, which may be open."""
    return _read(file, scale, str(place), key, _mark(file), closed=False)


def _mark(file: str) -> tuple[int, int] | None:
    """By which a file that was changed is read again."""
    path = Path(file)
    return (path.stat().st_mtime_ns, path.stat().st_size) if path.is_file() else None


@lru_cache(maxsize=64)
def _read(
    file: str, scale: float | None, place: str, key: str, mark: tuple | None, *, closed: bool
) -> tuple[Array, Array]:
    read = read_surface(Path(file), scale, place, key, quiet=not closed)
    vertices, triangles = read.vertices, read.triangles
    if closed:
        check_surface(vertices, triangles, place, key)
        triangles = without_walls(triangles)
        check_outward(vertices, triangles, place, key)
    used, numbers = np.unique(triangles, return_inverse=True)
    vertices, triangles = vertices[used], numbers.reshape(-1, 3)
    for array in (vertices, triangles):
        array.flags.writeable = False
    return vertices, triangles
