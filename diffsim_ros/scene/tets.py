"""Meshes of solids: what diffsim_ros.meshes makes by formula, cylinders, surfaces and areas.

Vertices are (n, 3) [m], tets (m, 4) with a positive volume det(b - a, c - a, d - a) / 6; quadratic
tets (m, 10) have the middles of the edges 01, 12, 02, 03, 13, 23 behind their corners.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros import meshes

Array = np.ndarray

EDGES = np.array([(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)])
"""Edges of a tet, in the order of its P2 nodes 4 ... 9."""


@dataclass(frozen=True, eq=False)
class TetMesh:
    """A tetrahedral mesh: vertices (n, 3) [m] and tets (m, 4), or (m, 10) for quadratic ones."""

    vertices: Array
    tets: Array

    @property
    def corners(self) -> Array:
        """Corner vertices of the tets (m, 4)."""
        return self.tets[:, :4]

    def volumes(self) -> Array:
        """Signed volumes of the tets with straight edges [m^3] (m,)."""
        return signed_volumes(self.vertices, self.corners)

    def centroid(self) -> Array:
        """Centre of the volume [m] (3,)."""
        volume = self.volumes()
        return volume @ self.vertices[self.corners].mean(axis=1) / volume.sum()

    def boundary(self) -> Array:
        """Triangles (k, 3) of the surface, counter-clockwise seen from outside; of a quadratic
        mesh the four triangles between corners and middles of every face."""
        faces = meshes.surface(self.corners)
        return faces if self.tets.shape[1] == 4 else _halved(faces, self._middles())

    def _middles(self) -> dict[tuple[int, int], int]:
        ends = np.sort(self.corners[:, EDGES], axis=2).reshape(-1, 2).tolist()
        return dict(zip(map(tuple, ends), self.tets[:, 4:].ravel().tolist(), strict=True))


def _halved(faces: Array, middle: dict[tuple[int, int], int]) -> Array:
    """Each triangle as four, by the middles of its edges."""
    corner = faces.tolist()
    between = [
        [middle[min(f[i], f[j]), max(f[i], f[j])] for i, j in ((0, 1), (1, 2), (0, 2))]
        for f in corner
    ]
    found = [
        part
        for (a, b, c), (ab, bc, ca) in zip(corner, between, strict=True)
        for part in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))
    ]
    return np.array(found, dtype=np.int64)


def signed_volumes(vertices: Array, tets: Array) -> Array:
    """det(b - a, c - a, d - a) / 6 of every tet (a, b, c, d) [m^3] (m,)."""
    a, b, c, d = (vertices[tets[:, i]] for i in range(4))
    return np.einsum("ij,ij->i", b - a, np.cross(c - a, d - a)) / 6


def least_jacobians(rest: TetMesh, vertices: Array) -> Array:
    """Least volume ratio of each tet where its vertices are at `vertices` (n, 3), 1 at rest (m,).

    Of quadratic tets at their corners and at the four points of their quadrature.
    """
    volume = rest.volumes()
    if rest.tets.shape[1] == 4:
        return signed_volumes(vertices, rest.tets) / volume
    slope = np.array([[-1.0, -1, -1], [1, 0, 0], [0, 1, 0], [0, 0, 1]])  # of the four shares
    inner = np.full((4, 4), (5 - np.sqrt(5)) / 20) + np.eye(4) / np.sqrt(5)
    found = []
    for share in (*np.eye(4), *inner):
        middle = [4 * (share[i] * slope[j] + share[j] * slope[i]) for i, j in EDGES]
        gradients = np.concatenate([(4 * share - 1)[:, None] * slope, middle])
        edges = np.einsum("mni,nj->mij", vertices[rest.tets], gradients)
        found.append(np.linalg.det(edges) / (6 * volume))
    return np.min(found, axis=0)


def triangle_areas(vertices: Array, triangles: Array) -> Array:
    """Areas of triangles [m^2] (k,)."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


def vertex_areas(vertices: Array, triangles: Array) -> Array:
    """Area of the surface that belongs to each vertex, a third of every triangle's [m^2] (n,)."""
    thirds = np.repeat(triangle_areas(vertices, triangles) / 3, 3)
    return np.bincount(triangles.ravel(), thirds, minlength=len(vertices))


def face_areas(mesh: TetMesh, chosen: Array) -> Array:
    """Weights of a uniform traction on the faces whose vertices are all `chosen` [m^2] (n,).

    The work of the traction in its motion, by vertex: of a linear face a third of its area for each
    corner, of a quadratic one a third for each middle of an edge and nothing for corners.
    """
    faces = meshes.surface(mesh.corners)
    areas = triangle_areas(mesh.vertices, faces)
    loaded = np.isin(faces, chosen).all(axis=1)
    if mesh.tets.shape[1] == 10:
        middle = mesh._middles()
        ends = np.sort(faces[:, [[0, 1], [1, 2], [0, 2]]], axis=2).tolist()
        faces = np.array([[middle[a, b] for a, b in face] for face in ends])
        loaded &= np.isin(faces, chosen).all(axis=1)
    thirds = np.repeat(areas[loaded] / 3, 3)
    return np.bincount(faces[loaded].ravel(), thirds, minlength=len(mesh.vertices))


def quadratic(mesh: TetMesh) -> TetMesh:
    """The mesh with a node in the middle of every edge, for P2 elements."""
    ends = np.sort(mesh.corners[:, EDGES], axis=2).reshape(-1, 2)
    edges, which = np.unique(ends, axis=0, return_inverse=True)
    middles = mesh.vertices[edges].mean(axis=1)
    nodes = len(mesh.vertices) + which.reshape(-1, 6)
    return TetMesh(np.concatenate([mesh.vertices, middles]), np.hstack([mesh.corners, nodes]))


def refined(mesh: TetMesh) -> TetMesh:
    """The mesh with every tet cut into eight by the middles of its edges: four at its corners, and
    the octahedron between them along its shortest diagonal.

    Of a quadratic mesh the middles are its own, and those of the new tets lie halfway.
    """
    quadratic_mesh = mesh if mesh.tets.shape[1] == 10 else quadratic(mesh)
    x, t = quadratic_mesh.vertices, quadratic_mesh.tets
    corners = [(0, 4, 6, 7), (4, 1, 5, 8), (6, 5, 2, 9), (7, 8, 9, 3)]
    rings = {(6, 8): (4, 5, 9, 7), (4, 9): (5, 8, 7, 6), (5, 7): (8, 9, 6, 4)}
    lengths = [np.linalg.norm(x[t[:, a]] - x[t[:, b]], axis=1) for a, b in rings]
    shortest = np.argmin(np.round(lengths, 12), axis=0)
    parts = [t[:, one] for one in corners]
    inner = np.empty((4, len(t), 4), t.dtype)
    for k, ((a, b), ring) in enumerate(rings.items()):
        chosen = shortest == k
        for i in range(4):
            inner[i, chosen] = t[chosen][:, (a, b, ring[i], ring[(i + 1) % 4])]
    tets = np.stack([*parts, *inner], axis=1).reshape(-1, 4)
    found = TetMesh(x, meshes.positively_oriented(x, tets))
    return found if mesh.tets.shape[1] == 4 else quadratic(found)


def dihedral_angles(mesh: TetMesh) -> Array:
    """The six angles between the faces of every tet [deg] (m, 6)."""
    return meshes.dihedral_angles(mesh.vertices, mesh.corners)


def radius_ratios(mesh: TetMesh) -> Array:
    """Three times the radius of the inner sphere over the outer one's, 1 of a regular tet (m,)."""
    x = mesh.vertices[mesh.corners]
    edges = x[:, 1:] - x[:, :1]
    centre = np.linalg.solve(edges, (edges**2).sum(axis=2, keepdims=True) / 2)[..., 0]
    sides = sum(triangle_areas(mesh.vertices, np.delete(mesh.corners, i, axis=1)) for i in range(4))
    return 9 * np.abs(mesh.volumes()) / sides / np.linalg.norm(centre, axis=1)


def box(size: Array, cells: Array, split: str = "six", grading=(1.0, 1.0, 1.0)) -> TetMesh:
    """A box about the origin, edges `size` [m] (3,), `cells` (3,) bricks; see meshes.box."""
    return TetMesh(*meshes.box(size, cells, split, grading))


def ball(radius: float, layers: int) -> TetMesh:
    """A ball about the origin of 20 layers^3 tets, its surface's vertices on the radius [m]."""
    return TetMesh(*meshes.ball(layers, radius))


def cylinder(radius: float, height: float, rings: int, layers: int) -> TetMesh:
    """A cylinder about z and the origin: 6 rings^2 triangles [m] times `layers`, 3 tets a prism.

    Six sectors about the axis; prisms are cut by the order of their corners, equally on both sides.
    """
    found, index, triangles = [], {}, []
    for sector in range(6):
        ends = np.radians([60 * sector, 60 * (sector + 1)])
        at = {}
        for a in range(rings + 1):
            for b in range(a + 1):
                # the next sector's edge is this one's last: one name for both
                name = (a, (sector * a + b) % (6 * a)) if a else (0, 0)
                at[a, b] = index.setdefault(name, len(found))
                if at[a, b] == len(found):
                    angle = ends[0] + (ends[1] - ends[0]) * b / max(a, 1)
                    found.append(radius * a / rings * np.array([np.cos(angle), np.sin(angle)]))
        for a in range(rings):
            for b in range(a + 1):
                triangles.append((at[a, b], at[a + 1, b], at[a + 1, b + 1]))
                if b < a:
                    triangles.append((at[a, b], at[a + 1, b + 1], at[a, b + 1]))
    flat, z = np.array(found), np.linspace(-height / 2, height / 2, layers + 1)
    vertices = np.concatenate([np.column_stack([flat, np.full(len(flat), at_z)]) for at_z in z])
    v = np.sort(np.array(triangles), axis=1)
    w, tets = v + len(flat), []
    for k in range(layers):
        low, high = v + k * len(flat), w + k * len(flat)
        tets += [
            np.column_stack([low, high[:, 2]]),
            np.column_stack([low[:, :2], high[:, 1:]]),
            np.column_stack([low[:, :1], high]),
        ]
    return TetMesh(vertices, meshes.positively_oriented(vertices, np.concatenate(tets)))
