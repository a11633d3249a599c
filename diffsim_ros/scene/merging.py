"""Vertices in one place: files double them where normals, pictures, materials or volumes meet.

Surfaces are merged before their topology is judged, tets where loose volumes share an interface.
Vertices that differ in the last bit alone are in one place; where that leaves a surface open, so
are those on its open edges within `NEAR` of the extent: single precision, as .stl has it, rounds to
6e-8 of a coordinate.  Sheets closer than that stay apart, as their edges are not open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros import meshes
from diffsim_ros.scene.tets import EDGES, TetMesh

Array = np.ndarray
NEAR = 1e-7  # of the longest extent
SHARE = 0.01  # of the shortest edge, above which NEAR is no rounding of the mesh


def first_in_place(vertices: Array) -> Array:
    """Of every vertex (n, 3) the number of the first one that is exactly in its place (n,)."""
    _, first, which = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    return first[which.ravel()]


def merge_surface(vertices: Array, triangles: Array) -> tuple[Array, Array]:
    """Vertices (n, 3) that triangles (k, 3) use, each place once, in their order, and triangles."""
    triangles = first_in_place(vertices)[triangles]
    rim = np.unique(_open(triangles))
    if len(rim):
        triangles = _near(vertices, triangles, rim)[triangles]
    used, numbers = np.unique(triangles, return_inverse=True)
    return vertices[used], numbers.reshape(-1, 3)


def _near(vertices: Array, triangles: Array, rim: Array) -> Array:
    """Of every vertex its representative (n,): the first of those vertices `rim` within `NEAR`.

    A group that has two corners of one triangle is left as it is.
    """
    extent = float(np.ptp(vertices[np.unique(triangles)], axis=0).max())
    first = np.arange(len(vertices))
    first[rim] = rim[_groups(vertices[rim], NEAR * extent)]
    corners = first[triangles]
    equal = [(corners[:, i] == corners[:, j]) & (triangles[:, i] != triangles[:, j])
             for i, j in ((0, 1), (1, 2), (2, 0))]  # fmt: skip
    folded = np.unique(np.concatenate([corners[of, i] for i, of in enumerate(equal)]))
    return np.where(np.isin(first, folded), np.arange(len(vertices)), first)


def _groups(places: Array, distance: float) -> Array:
    """Of every place (n, 3) the first of those it is joined with, by pairs within `distance`."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components
    from scipy.spatial import cKDTree

    pairs = cKDTree(places).query_pairs(distance, output_type="ndarray")
    links = coo_matrix((np.ones(len(pairs)), pairs.T), shape=(len(places),) * 2)
    label = connected_components(links, directed=False)[1]
    _, first = np.unique(label, return_index=True)
    return first[label]


def _open(triangles: Array) -> Array:
    """Edges (e, 2) of one triangle alone."""
    edges = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    ends, count = np.unique(edges, axis=0, return_counts=True)
    return ends[count == 1]


def without_walls(triangles: Array) -> Array:
    """Triangles (k, 3) but those two that lie on each other with opposite normals.

    Such a wall parts two closed surfaces that touch; without it they are one, of the same volume.
    Where the others have open edges without them they are no walls, and stay.
    """
    corners, which = np.unique(np.sort(triangles, axis=1), axis=0, return_inverse=True)
    turned = np.sign(_parity(triangles))
    count = np.bincount(which.ravel(), minlength=len(corners))
    total = np.bincount(which.ravel(), turned, minlength=len(corners))
    kept = triangles[~((count == 2) & (total == 0))[which.ravel()]]
    return triangles if len(_open(kept)) else kept


def _parity(triangles: Array) -> Array:
    """Of the order of three different numbers (k, 3): > 0 of an even permutation (k,)."""
    a, b, c = triangles.T
    return np.sign(b - a) * np.sign(c - b) * np.sign(c - a)


def doubled(triangles: Array) -> int:
    """How many triangles (k, 3) have the corners of an earlier one."""
    return len(triangles) - len(np.unique(np.sort(triangles, axis=1), axis=0))


@dataclass(frozen=True)
class Joined:
    """A mesh whose loose volumes were joined: how many vertices were merged, volumes left, and
    vertices in which volumes touch."""

    mesh: TetMesh
    merged: int
    parts: int
    touching: int


def join_volumes(mesh: TetMesh, part: Array) -> Joined:
    """Merge vertices in one place that are of different loose parts, `part` of a vertex (n,).

    Two of one part stay apart: that is a slit.  Parts that touch in no face count as loose.
    """
    ends = mesh.vertices[mesh.corners[:, EDGES]]
    shortest = float(np.linalg.norm(ends[:, :, 1] - ends[:, :, 0], axis=2).min())
    extent = float(np.ptp(mesh.vertices, axis=0).max())
    first = _groups(mesh.vertices, min(NEAR * extent, SHARE * shortest))
    members = np.bincount(first, minlength=len(first))
    kinds = np.unique(np.stack([first, part], axis=1), axis=0)[:, 0]
    slit = members != np.bincount(kinds, minlength=len(first))
    first = np.where(slit[first], np.arange(len(first)), first)
    touching = len(np.unique(first[members[first] > 1]))
    used, numbers = np.unique(first[mesh.tets], return_inverse=True)
    found = TetMesh(mesh.vertices[used], numbers.reshape(mesh.tets.shape))
    merged = len(mesh.vertices) - len(used)
    return Joined(found, merged, _parts_by_faces(found, part[mesh.tets[:, 0]]), touching)


def _parts_by_faces(mesh: TetMesh, part: Array) -> int:
    """Number of loose parts where `part` of every tet (m,) is joined by common faces."""
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    faces = np.sort(mesh.corners[:, meshes.FACES], axis=2).reshape(-1, 3)
    _, which = np.unique(faces, axis=0, return_inverse=True)
    order = np.argsort(which.ravel(), kind="stable")
    same = np.flatnonzero(np.diff(which.ravel()[order]) == 0)
    ends = part[np.stack([order[same], order[same + 1]]) // 4]
    links = coo_matrix((np.ones(len(same)), ends), shape=(part.max() + 1,) * 2)
    return len(np.unique(connected_components(links, directed=False)[1][np.unique(part)]))
