"""The zero set of a signed distance function as triangles, by marching tetrahedra on a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from diffsim_ros.viz.motion import corners

Array = np.ndarray
CELLS = 16  # along the longest edge of the box; four times the triangles at twice as many
TETS = np.array(
    [(0, 1, 3, 7), (0, 3, 2, 7), (0, 2, 6, 7), (0, 6, 4, 7), (0, 4, 5, 7), (0, 5, 1, 7)]
)
"""Six tets of a cube whose corner i has bit b of i as its coordinate b."""


def zero_set(
    evaluate: Callable[[Array], Sequence[Array]], size: Sequence[float], cells: int = CELLS
) -> Array:
    """Triangles (k, 3, 3) of g = 0 within a box `size` [m] about the origin, normals outwards.

    evaluate   x (n, 3) -> g (n,), ...: e.g. an _engine SDF's
    """
    size = 1.02 * np.asarray(size, float) + 1e-9
    count = np.maximum(2, np.ceil(cells * size / size.max())).astype(int)
    ticks = [np.linspace(-s / 2, s / 2, n + 1) for s, n in zip(size, count, strict=True)]
    x = np.stack(np.meshgrid(*ticks, indexing="ij"), axis=-1).reshape(-1, 3)
    g = np.asarray(evaluate(x)[0])
    g = np.where(np.abs(g) < 1e-12, 1e-12, g)
    stride = np.array([(count[1] + 1) * (count[2] + 1), count[2] + 1, 1])
    cell = np.stack(np.meshgrid(*(np.arange(n) for n in count), indexing="ij"), -1).reshape(-1, 3)
    corner = (corners((1.0, 1.0, 1.0)) + 0.5).astype(int)
    cube = (cell[:, None] + corner) @ stride
    tets = cube[:, TETS].reshape(-1, 4)
    inside = (g[tets] < 0).sum(axis=1)
    tets = tets[(inside > 0) & (inside < 4)]
    order = np.argsort(g[tets], axis=1, kind="stable")
    tets = np.take_along_axis(tets, order, axis=1)  # inner corners first
    return _outwards(_triangles(x, g, tets), evaluate, float(size.max()))


def _triangles(x: Array, g: Array, tets: Array) -> Array:
    """Where the edges of each tet cross zero: one triangle, or two where two corners are inside."""
    inside = (g[tets] < 0).sum(axis=1)

    def cut(which: Array, i: int, j: int) -> Array:
        a, b = tets[which, i], tets[which, j]
        share = (g[a] / (g[a] - g[b]))[:, None]
        return x[a] + share * (x[b] - x[a])

    one, two, three = (np.flatnonzero(inside == n) for n in (1, 2, 3))
    ring = [cut(two, 0, 2), cut(two, 0, 3), cut(two, 1, 3), cut(two, 1, 2)]
    return np.concatenate(
        [
            np.stack([cut(one, 0, j) for j in (1, 2, 3)], axis=1),
            np.stack([cut(three, j, 3) for j in (0, 1, 2)], axis=1),
            np.stack([ring[0], ring[1], ring[2]], axis=1),
            np.stack([ring[0], ring[2], ring[3]], axis=1),
        ]
    )


def _outwards(faces: Array, evaluate: Callable, size: float) -> Array:
    """Turn faces whose normal points into the solid."""
    if not len(faces):
        return faces
    normal = np.cross(faces[:, 1] - faces[:, 0], faces[:, 2] - faces[:, 0])
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    keep = length[:, 0] > 1e-18
    faces, normal = faces[keep], normal[keep] / length[keep]
    middle, reach = faces.mean(axis=1), 1e-3 * size
    outer, inner = evaluate(middle + reach * normal)[0], evaluate(middle - reach * normal)[0]
    wrong = np.asarray(outer) < np.asarray(inner)
    faces[wrong] = faces[wrong][:, ::-1]
    return faces
