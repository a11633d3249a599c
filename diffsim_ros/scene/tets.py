"""Tetrahedral meshes as plain arrays: primitives, boundary surfaces and their areas, P2 nodes.

Vertices are (n, 3) [m], tets (m, 4) with a positive volume det(b - a, c - a, d - a) / 6; quadratic
tets (m, 10) have the middles of the edges 01, 12, 02, 03, 13, 23 behind their corners.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

Array = np.ndarray

EDGES = np.array([(0, 1), (1, 2), (0, 2), (0, 3), (1, 3), (2, 3)])
"""Edges of a tet, in the order of its P2 nodes 4 ... 9."""
FACES = np.array([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)])
"""Faces opposite vertices 0 ... 3, counter-clockwise seen from outside."""
KUHN = np.array(
    [
        np.cumsum([(0, 0, 0), *np.eye(3, dtype=int)[list(p)]], axis=0)
        for p in itertools.permutations(range(3))
    ]
)
"""The six tets of the unit cube about its diagonal, as paths from corner to corner (6, 4, 3)."""


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
        faces = self.corners[:, FACES].reshape(-1, 3)
        _, first, count = np.unique(
            np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
        )
        faces = faces[np.sort(first[count == 1])]
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


def triangle_areas(vertices: Array, triangles: Array) -> Array:
    """Areas of triangles [m^2] (k,)."""
    a, b, c = (vertices[triangles[:, i]] for i in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2


def vertex_areas(vertices: Array, triangles: Array) -> Array:
    """Area of the surface that belongs to each vertex, a third of every triangle's [m^2] (n,)."""
    thirds = np.repeat(triangle_areas(vertices, triangles) / 3, 3)
    return np.bincount(triangles.ravel(), thirds, minlength=len(vertices))


def quadratic(mesh: TetMesh) -> TetMesh:
    """The mesh with a node in the middle of every edge, for P2 elements."""
    ends = np.sort(mesh.corners[:, EDGES], axis=2).reshape(-1, 2)
    edges, which = np.unique(ends, axis=0, return_inverse=True)
    middles = mesh.vertices[edges].mean(axis=1)
    nodes = len(mesh.vertices) + which.reshape(-1, 6)
    return TetMesh(np.concatenate([mesh.vertices, middles]), np.hstack([mesh.corners, nodes]))


def dihedral_angles(mesh: TetMesh) -> Array:
    """The six angles between the faces of every tet [deg] (m, 6)."""
    a, b, c = (mesh.vertices[mesh.corners[:, FACES[:, i]]] for i in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=2, keepdims=True)
    normal = normal / np.where(length > 0, length, 1.0)
    pairs = list(itertools.combinations(range(4), 2))
    cosine = np.stack([-np.einsum("mi,mi->m", normal[:, i], normal[:, j]) for i, j in pairs], 1)
    return np.degrees(np.arccos(np.clip(cosine, -1, 1)))


def box(size: Array, cells: Array) -> TetMesh:
    """A box about the origin, edges `size` [m] (3,), `cells` (3,) cubes of six tets each.

    Neighbouring cubes are mirrored, so that diagonals do not all lean the same way.
    """
    size, cells = np.asarray(size, float), np.asarray(cells, int)
    ticks = [np.linspace(-s / 2, s / 2, n + 1) for s, n in zip(size, cells, strict=True)]
    vertices = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    cube = np.stack(np.meshgrid(*(np.arange(n) for n in cells), indexing="ij"), -1).reshape(-1, 3)
    odd = (cube % 2)[:, None, None]
    corner = cube[:, None, None] + np.where(odd, 1 - KUHN[None], KUHN[None])
    stride = np.array([(cells[1] + 1) * (cells[2] + 1), cells[2] + 1, 1])
    return _positive(vertices, (corner @ stride).reshape(-1, 4))


def ball(radius: float, layers: int) -> TetMesh:
    """A ball about the origin: an icosahedron's 20 tets about the centre, each cut into layers^3.

    Every layer is pushed out onto its sphere, so the surface's vertices lie on the radius [m].
    """
    corners, faces = icosahedron()
    found, index, tets = [], {}, []
    lattice = [(a, b, c) for a in range(layers + 1) for b in range(a + 1) for c in range(b + 1)]
    for face in np.sort(faces, axis=1):  # one order of corners on both sides of every edge
        at = {}
        for a, b, c in lattice:
            shares = [(int(v), n) for v, n in zip(face, (a - b, b - c, c), strict=True) if n]
            at[a, b, c] = index.setdefault(tuple(shares), len(found))
            if at[a, b, c] == len(found):
                place = sum((n * corners[v] for v, n in shares), np.zeros(3))
                length = np.linalg.norm(place)
                found.append(place * (radius * a / layers / length if length else 0.0))
        for cell in itertools.product(range(layers), repeat=3):
            paths = [[tuple(corner) for corner in (tet + cell).tolist()] for tet in KUHN]
            inside = [path for path in paths if all(corner in at for corner in path)]
            tets += [[at[corner] for corner in path] for path in inside]
    return _positive(np.array(found), np.array(tets))


def cylinder(radius: float, height: float, rings: int, layers: int) -> TetMesh:
    """A cylinder about z and the origin: 6 rings^2 triangles [m] times `layers`, 3 tets a prism.

    Six sectors about the axis; prisms are cut by the order of their corners, alike on both sides.
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
    return _positive(vertices, np.concatenate(tets))


def icosahedron() -> tuple[Array, Array]:
    """Vertices (12, 3) on the unit sphere and faces (20, 3) of the icosahedron."""
    g = (1 + 5**0.5) / 2
    base = [(0.0, s, t * g) for s in (-1, 1) for t in (-1, 1)]
    corners = np.array([np.roll(p, k) for k in range(3) for p in base])
    edge = np.linalg.norm(corners[:, None] - corners[None], axis=2) < 2.1
    faces = [
        f
        for f in itertools.combinations(range(12), 3)
        if edge[f[0], f[1]] and edge[f[1], f[2]] and edge[f[0], f[2]]
    ]
    return corners / np.linalg.norm(corners[0]), np.array(faces)


def _positive(vertices: Array, tets: Array) -> TetMesh:
    """The mesh with the last two corners of negative tets exchanged."""
    tets = np.array(tets, dtype=np.int64)
    negative = signed_volumes(vertices, tets) < 0
    tets[negative] = tets[negative][:, [0, 1, 3, 2]]
    return TetMesh(np.asarray(vertices, float), tets)
