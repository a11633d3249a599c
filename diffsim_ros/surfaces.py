"""Surfaces of triangles whose vertices in one place are one, before their topology is judged.

Files double vertices where normals, pictures, materials or volumes meet.  Those that differ in the
last bit alone are in one place; where that leaves a surface open, so are those on its open edges
within `NEAR` of the extent: single precision, as .stl has it, rounds to 6e-8 of a coordinate.
Sheets closer than that stay apart, as their edges are not open.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
NEAR = 1e-7
"""Of the longest extent."""


@dataclass(frozen=True)
class Merged:
    """Vertices (n, 3) that triangles (k, 3) use, each place once, in their order.

    same   vertices that were left out, as they are in the place of an earlier one
    near   vertices on open edges that were left out for one beside them
    apart  how far at most from it, in units of the vertices
    """

    vertices: Array
    triangles: Array
    same: int
    near: int
    apart: float


def first_in_place(vertices: Array) -> Array:
    """Of every vertex (n, 3) the number of the first one that is exactly in its place (n,)."""
    _, first, which = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    return first[which.ravel()]


def merge_surface(vertices: Array, triangles: Array) -> Merged:
    """Merge vertices (n, 3) that triangles (k, 3) use."""
    given = len(np.unique(triangles))
    triangles = first_in_place(vertices)[triangles]
    places, apart = len(np.unique(triangles)), 0.0
    rim = np.unique(_open(triangles))
    if len(rim):
        first = _near(vertices, triangles, rim)
        apart = float(np.linalg.norm(vertices[first[rim]] - vertices[rim], axis=1).max())
        triangles = first[triangles]
    used, numbers = np.unique(triangles, return_inverse=True)
    left = vertices[used], numbers.reshape(-1, 3)
    return Merged(*left, given - places, places - len(used), apart)


def _near(vertices: Array, triangles: Array, rim: Array) -> Array:
    """Of every vertex its representative (n,): the first of those vertices `rim` within `NEAR`.

    A group that has two corners of one triangle is left as it is.
    """
    extent = float(np.ptp(vertices[np.unique(triangles)], axis=0).max())
    first = np.arange(len(vertices))
    first[rim] = rim[groups_within(vertices[rim], NEAR * extent)]
    corners = first[triangles]
    equal = [(corners[:, i] == corners[:, j]) & (triangles[:, i] != triangles[:, j])
             for i, j in ((0, 1), (1, 2), (2, 0))]  # fmt: skip
    folded = np.unique(np.concatenate([corners[of, i] for i, of in enumerate(equal)]))
    return np.where(np.isin(first, folded), np.arange(len(vertices)), first)


def groups_within(places: Array, distance: float) -> Array:
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
