"""Cloth and strings as masses and springs: vertices, and which pairs each kind of spring joins.

A rectangle's springs are those of [G 4.5.4]'s sheets: stretch along rows and columns, shear along
both diagonals of every cell, bend between every second vertex of a row or column.  A triangle mesh
has stretch springs along its edges and bend springs across them, between the two corners that
face each other; its shear is in its edges.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from diffsim_ros.scene.tets import vertex_areas

Array = np.ndarray
KINDS = ("stretch", "shear", "bend")


@dataclass(frozen=True, eq=False)
class Web:
    """Masses joined by springs, in the body's frame.

    vertices    [m]  (n, 3)
    triangles   for pictures and areas (k, 3); empty for a string
    shares      of the mass, sum 1  (n,)
    pairs       kind of spring -> vertices joined (s, 2)
    """

    vertices: Array
    triangles: Array
    shares: Array
    pairs: dict[str, Array] = field(default_factory=dict)

    def lengths(self, kind: str) -> Array:
        """Distances between the joined vertices [m] (s,)."""
        ends = self.vertices[self.pairs[kind]]
        return np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1)


def rectangle(size: Array, cells: Array) -> Web:
    """A sheet in the body's x-y plane about its origin, edges `size` [m] (2,), `cells` (2,)."""
    (nx, ny), (x, y) = (int(c) for c in cells), size
    grid = np.arange((nx + 1) * (ny + 1)).reshape(nx + 1, ny + 1)
    along = np.meshgrid(
        np.linspace(-x / 2, x / 2, nx + 1), np.linspace(-y / 2, y / 2, ny + 1), indexing="ij"
    )
    vertices = np.stack([*along, np.zeros_like(along[0])], axis=-1).reshape(-1, 3)
    a, b, c, d = grid[:-1, :-1], grid[1:, :-1], grid[1:, 1:], grid[:-1, 1:]
    odd = (np.add.outer(np.arange(nx), np.arange(ny)) % 2)[..., None, None]
    even_cell = np.stack([np.stack([a, b, c], -1), np.stack([a, c, d], -1)], axis=2)
    odd_cell = np.stack([np.stack([a, b, d], -1), np.stack([b, c, d], -1)], axis=2)
    triangles = np.where(odd, odd_cell, even_cell).reshape(-1, 3)
    pairs = {
        "stretch": _joined((grid[:-1], grid[1:]), (grid[:, :-1], grid[:, 1:])),
        "shear": _joined((a, c), (b, d)),
        "bend": _joined((grid[:-2], grid[2:]), (grid[:, :-2], grid[:, 2:])),
    }
    weights = np.zeros((nx + 1, ny + 1))  # a vertex has a quarter of each cell around it
    for i, j in ((0, 0), (0, 1), (1, 0), (1, 1)):
        weights[i : i + nx, j : j + ny] += 1.0
    return Web(vertices, triangles, (weights / weights.sum()).ravel(), pairs)


def sheet_of_triangles(vertices: Array, triangles: Array) -> Web:
    """A sheet of triangles: springs along edges, and across the edges that two triangles share."""
    directed = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    facing = triangles[:, [2, 0, 1]].ravel()
    edges, which = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True)
    order = np.argsort(which, kind="stable")
    inner = np.flatnonzero(np.diff(which[order]) == 0)
    across = np.stack([facing[order[inner]], facing[order[inner + 1]]], axis=1)
    areas = vertex_areas(vertices, triangles)
    return Web(vertices, triangles, areas / areas.sum(), {"stretch": edges, "bend": across})


def line(length: float, masses: int) -> Web:
    """A string of equal masses along body x about its origin, `length` [m] from end to end."""
    vertices = np.zeros((masses, 3))
    vertices[:, 0] = np.linspace(-length / 2, length / 2, masses)
    index = np.arange(masses)
    pairs = {"stretch": _joined((index[:-1], index[1:])), "bend": _joined((index[:-2], index[2:]))}
    return Web(vertices, np.zeros((0, 3), int), np.full(masses, 1 / masses), pairs)


def _joined(*pairs: tuple[Array, Array]) -> Array:
    return np.concatenate([np.stack([a.ravel(), b.ravel()], axis=1) for a, b in pairs])
