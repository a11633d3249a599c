"""Volume, centre and second moments of what a closed surface of triangles encloses.

Exact integrals over the tets from a point to every triangle, with signed volumes:

    V = sum v,   c = sum v (a + b + d)/4 / V,
    C = sum v/20 (s s^T + a a^T + b b^T + d d^T),   s = a + b + d,   I = tr(C) 1 - C,

a, b, d the corners from that point, which for C is c itself.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros.errors import InputError
from diffsim_ros.scene.mesh_report import enclosed_volume

Array = np.ndarray
MOST_PARTS = 64
"""Loose parts of a surface that are looked at; more is rubble, not a body."""


def moments(vertices: Array, triangles: Array) -> tuple[float, Array, Array]:
    """Volume [m^3], centre (3,) [m] and inertia per mass about it (3, 3) [m^2], uniform density.

    vertices (n, 3) [m], triangles (m, 3) counter-clockwise seen from outside, closed.
    """
    middle = (vertices.min(axis=0) + vertices.max(axis=0)) / 2
    share, corners = _tets(vertices - middle, triangles)
    volume = float(share.sum())
    offset = share @ corners.sum(axis=1) / (4 * volume)
    share, corners = _tets(vertices - middle - offset, triangles)
    total = corners.sum(axis=1)
    second = np.einsum("m,mi,mj->ij", share, total, total)
    second += np.einsum("m,mki,mkj->ij", share, corners, corners)
    second /= 20 * share.sum()
    return volume, middle + offset, np.trace(second) * np.eye(3) - second


def _tets(vertices: Array, triangles: Array) -> tuple[Array, Array]:
    """Signed volumes (m,) of the tets from the origin, and their corners (m, 3, 3)."""
    corners = vertices[triangles]
    across = np.cross(corners[:, 1], corners[:, 2])
    return np.einsum("mi,mi->m", corners[:, 0], across) / 6, corners


def check_outward(vertices: Array, triangles: Array, place: object, key: str) -> None:
    """Refuse a closed surface that has no mass of its own: normals inwards, parts within parts.

    A loose part with normals inwards is a cavity where another one is around it.
    """
    if enclosed_volume(vertices, triangles) <= 0:
        raise InputError(
            place, key, f"a volume of {enclosed_volume(vertices, triangles):.3g} m^3",
            "a surface whose normals point outwards",
            "flip all triangles (MeshLab: Invert Faces Orientation; Blender: Recalculate Outside)",
        )  # fmt: skip
    from scipy.sparse import coo_matrix
    from scipy.sparse.csgraph import connected_components

    ends = triangles[:, [[0, 1], [1, 2]]].reshape(-1, 2)
    links = coo_matrix((np.ones(len(ends)), ends.T), shape=(len(vertices),) * 2)
    of_vertex = connected_components(links, directed=False)[1]
    of = of_vertex[triangles[:, 0]]
    parts = np.unique(of)
    if len(parts) > MOST_PARTS:
        rule = f"a surface of at most {MOST_PARTS} loose parts"
        raise InputError(place, key, f"{len(parts)} loose parts", rule, "join them")
    for number in parts if len(parts) > 1 else ():
        own = triangles[of == number]
        around = round(winding(vertices, triangles[of != number], vertices[own[0, 0]]))
        if around != (0 if enclosed_volume(vertices, own) > 0 else 1):
            where = "within another" if around else "by itself"
            turned = "outwards" if enclosed_volume(vertices, own) > 0 else "inwards"
            raise InputError(
                place, key, f"a loose part of {len(own)} triangles {where} with normals {turned}",
                "parts with normals outwards that are apart, or cavities with normals inwards",
                "join the parts (boolean union), flip that one, or make a compound of them",
            )  # fmt: skip


def winding(vertices: Array, triangles: Array, point: Array) -> float:
    """How often the triangles go around a point: 1 inside a closed surface, 0 outside."""
    corners = vertices[triangles] - point
    length = np.linalg.norm(corners, axis=2)
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    top = np.einsum("mi,mi->m", a, np.cross(b, c))
    below = length.prod(axis=1)
    for (i, j), k in (((0, 1), 2), ((1, 2), 0), ((2, 0), 1)):
        below = below + np.einsum("mi,mi->m", corners[:, i], corners[:, j]) * length[:, k]
    return float(np.arctan2(top, below).sum() / (2 * np.pi))


def farthest(points: Array, count: int, centre: Array) -> Array:
    """Numbers of at most `count` points (n, 3), each as far as can be from those before it.

    The first is the one farthest from `centre`; equal distances: the lowest number.
    """
    if len(points) <= count:
        return np.arange(len(points))
    found = [int(np.argmax(np.linalg.norm(points - centre, axis=1)))]
    apart = np.full(len(points), np.inf)
    while len(found) < count:
        apart = np.minimum(apart, np.linalg.norm(points - points[found[-1]], axis=1))
        found.append(int(np.argmax(apart)))
    return np.array(found)


FLAT = 0.02
"""Eigenvalue of the normals at a vertex, over the largest, from which on they span an axis."""


def insets(vertices: Array, triangles: Array, chosen: Array) -> Array:
    """By how much a sphere of radius 1 at the chosen vertices (k,) is moved inwards  (k, 3).

    So that it touches the planes of the triangles there: n . inset = -1, least squares weighted
    with the triangles' angles; at a box's corner (1, 1, 1) inwards, on a smooth surface -n.
    """
    corners = vertices[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    square, mean = np.zeros((len(vertices), 3, 3)), np.zeros((len(vertices), 3))
    for k in range(3):
        one, other = (corners[:, (k + i) % 3] - corners[:, k] for i in (1, 2))
        angle = np.arctan2(
            np.linalg.norm(np.cross(one, other), axis=1), np.einsum("mi,mi->m", one, other)
        )
        np.add.at(mean, triangles[:, k], angle[:, None] * normal)
        outer = angle[:, None, None] * normal[:, :, None] * normal[:, None, :]
        np.add.at(square, triangles[:, k], outer)
    value, axes = np.linalg.eigh(square[chosen])
    along = np.einsum("kij,ki->kj", axes, mean[chosen])
    kept = value > FLAT * value[:, -1:]
    return -np.einsum("kij,kj->ki", axes, np.where(kept, along / np.where(kept, value, 1), 0))
