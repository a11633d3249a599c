"""Meshes made by formula: tetrahedral balls and boxes, triangulated sheets, and their quality.

Vertices are (n, 3) in metres, elements (m, 4) or (m, 3) indices. Tetrahedra are positively
oriented: det(x1 - x0, x2 - x0, x3 - x0) > 0. Same arguments, same mesh.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations, permutations, product

import numpy as np

from .errors import InputError


@dataclass(frozen=True)
class MeshQuality:
    """Figures of a tetrahedral mesh: dihedral angles [degrees], determinants, volume [m^3].

    min_det is the smallest determinant over their mean size: 1 where all tetrahedra are of one
    volume, <= 0 where one is inverted or flat.
    """

    min_dihedral: float
    max_dihedral: float
    min_det: float
    volume: float


def ball(subdivisions: int = 3, radius: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """Ball about the origin: 20 n^3 tetrahedra, dihedral angles of 39 to 130 degrees for any n.

    The icosahedron's 20 tetrahedra (centre and face) are cut into n^3 each; shell k of the lattice
    is then put on the sphere of radius k/n. Point-symmetric about the origin.
    """
    n = _count("ball", "subdivisions", subdivisions)
    _positive("ball", "radius", radius)
    corners, faces = _icosahedron()
    lattice, tets = _divided_tetrahedron(n)
    shell = lattice[:, 1:].sum(axis=1)  # 0 at the centre, n on the sphere
    pieces = []
    for face in faces:
        flat = lattice[:, 1:] @ corners[face]
        length = np.linalg.norm(flat, axis=1, keepdims=True)
        pieces.append(flat / np.where(length > 0, length, 1) * shell[:, None])
    offsets = len(lattice) * np.arange(len(faces))
    vertices, tets = _welded(
        np.concatenate(pieces), (tets + offsets[:, None, None]).reshape(-1, 4), 1e-6
    )
    return vertices * (radius / n), positively_oriented(vertices, tets)


def box(size, cells, split: str = "six", grading=(1.0, 1.0, 1.0)) -> tuple[np.ndarray, np.ndarray]:
    """Box about the origin, edges `size` (3,) [m], cut into `cells` (3,) bricks.

    split: "six" tetrahedra round a diagonal of each brick, mirrored from brick to brick, or "five"
    (one regular in the middle of a cube), mirrored too: with even cell counts and no grading both
    meshes are symmetric about the three mid-planes, so that they bend equally in both directions.
    "six_parallel" cuts all bricks alike; it is skew, and twists a little where it is bent.
    grading: length of the last brick over the first one's along x, y, z; geometric in between.
    """
    nx, ny, nz = (_count("box", "cells", c) for c in cells)
    for length in size:
        _positive("box", "size", length)
    if split not in SPLITS:
        raise InputError("box", "split", split, " | ".join(SPLITS))
    axes = [_graded(*axis) for axis in zip(size, (nx, ny, nz), grading, strict=True)]
    vertices = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    cell = np.stack(np.meshgrid(*map(np.arange, (nx, ny, nz)), indexing="ij"), axis=-1)
    cell = cell.reshape(-1, 1, 1, 3)
    corner = SPLITS[split]()[None]  # (1, tets of a brick, 4, 3) of 0 and 1
    if split != "six_parallel":
        corner = np.where(cell % 2 == 1, 1 - corner, corner)  # every second one, per axis
    at = cell + corner
    tets = (at[..., 0] * (ny + 1) + at[..., 1]) * (nz + 1) + at[..., 2]
    return vertices, positively_oriented(vertices, tets.reshape(-1, 4))


def quadratic(vertices: np.ndarray, tets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(vertices, tets (m, 10)) with the middles of the edges 01 12 02 03 13 23, VTK's order."""
    ends = np.sort(tets[:, [[0, 1], [1, 2], [0, 2], [0, 3], [1, 3], [2, 3]]], axis=-1)
    edges, where = np.unique(ends.reshape(-1, 2), axis=0, return_inverse=True)
    middles = vertices[edges].mean(axis=1)
    return (
        np.concatenate([vertices, middles]),
        np.concatenate([tets, len(vertices) + where.reshape(-1, 6)], axis=1),
    )


def sheet(n: int, size: float = 1.0, m: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Square (or n x m) sheet of vertices, plane z = 0 about the origin: (vertices, triangles).

    `size` is the length along x [m]; vertex i m + j stands in row i along x and column j along y.
    Diagonals alternate, normals point up.
    """
    m = n if m is None else m
    for key, value in (("n", n), ("m", m)):
        if _count("sheet", key, value) < 2:
            raise InputError("sheet", key, value, "at least 2 vertices")
    _positive("sheet", "size", size)
    step = size / (n - 1)
    i, j = np.meshgrid(np.arange(n), np.arange(m), indexing="ij")
    vertices = np.stack(
        [(i - (n - 1) / 2) * step, (j - (m - 1) / 2) * step, np.zeros((n, m))], axis=-1
    ).reshape(-1, 3)
    i, j = (a[:-1, :-1].ravel() for a in (i, j))
    a, b, c, d = i * m + j, (i + 1) * m + j, (i + 1) * m + j + 1, i * m + j + 1
    even = ((i + j) % 2 == 0)[:, None, None]
    one = np.stack([np.stack([a, b, c], 1), np.stack([a, c, d], 1)], axis=1)
    other = np.stack([np.stack([a, b, d], 1), np.stack([b, c, d], 1)], axis=1)
    return vertices, np.where(even, one, other).reshape(-1, 3)


def edges(elements: np.ndarray) -> np.ndarray:
    """(k, 2) different edges of triangles or tetrahedra, sorted."""
    pairs = [elements[:, pair] for pair in combinations(range(elements.shape[1]), 2)]
    return np.unique(np.sort(np.concatenate(pairs), axis=1), axis=0)


FACES = np.array([(1, 2, 3), (0, 3, 2), (0, 1, 3), (0, 2, 1)])
"""Of a positive tetrahedron, normals outward."""


def surface(tets: np.ndarray) -> np.ndarray:
    """(k, 3) triangles that belong to one tetrahedron only, normals outward."""
    faces = np.concatenate([tets[:, f] for f in FACES])
    _, first, count = np.unique(
        np.sort(faces, axis=1), axis=0, return_index=True, return_counts=True
    )
    return faces[np.sort(first[count == 1])]


def determinants(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """(m,) six times the signed volume of each tetrahedron [m^3]."""
    x = vertices[tets]
    return np.linalg.det(x[:, 1:] - x[:, :1])


def positively_oriented(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """The tetrahedra with two corners swapped where the determinant is negative."""
    tets, negative = tets.copy(), determinants(vertices, tets) < 0
    tets[negative] = tets[negative][:, [0, 1, 3, 2]]
    return tets


def dihedral_angles(vertices: np.ndarray, tets: np.ndarray) -> np.ndarray:
    """(m, 6) angles between the faces of each tetrahedron [degrees]."""
    x, angles = vertices[tets], []
    for a, b in combinations(range(4), 2):
        c, d = (k for k in range(4) if k not in (a, b))
        along = x[:, b] - x[:, a]
        normals = [np.cross(along, x[:, k] - x[:, a]) for k in (c, d)]
        cosine = np.einsum("ij,ij->i", *normals) / np.prod(
            [np.linalg.norm(n, axis=1) for n in normals], axis=0
        )
        angles.append(np.degrees(np.arccos(np.clip(cosine, -1, 1))))
    return np.stack(angles, axis=1)


def quality(vertices: np.ndarray, tets: np.ndarray) -> MeshQuality:
    """Figures of a tetrahedral mesh."""
    angles, dets = dihedral_angles(vertices, tets), determinants(vertices, tets)
    return MeshQuality(
        float(angles.min()), float(angles.max()), float(dets.min() / np.abs(dets).mean()),
        float(dets.sum() / 6),
    )  # fmt: skip


def lumped_masses(vertices: np.ndarray, tets: np.ndarray, density: float) -> np.ndarray:
    """(n,) masses [kg]: a quarter of each tetrahedron's to its corners."""
    quarter = density * determinants(vertices, tets) / 24
    return np.bincount(tets.ravel(), np.repeat(quarter, 4), minlength=len(vertices))


def _icosahedron() -> tuple[np.ndarray, np.ndarray]:
    """12 unit corners, 20 faces; the corners of opposite faces come in the same order of axes."""
    golden = (1 + 5**0.5) / 2
    axes = [(0, 1, golden), (0, 1, -golden), (1, golden, 0), (1, -golden, 0), (golden, 0, 1),
            (golden, 0, -1)]  # fmt: skip
    corners = np.concatenate([axes, -np.array(axes)]) / (1 + golden**2) ** 0.5
    distance = np.linalg.norm(corners[:, None] - corners[None], axis=2)
    near = distance < 1.1  # edges are 1.05 long, the next distance is 1.70
    faces = [
        sorted(face, key=lambda k: k % 6)
        for face in combinations(range(12), 3)
        if all(near[a, b] for a, b in combinations(face, 2))
    ]
    return corners, np.array(faces)


def _divided_tetrahedron(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Lattice points (k, 4) of a tetrahedron in n-th parts, and the n^3 tetrahedra between them.

    Freudenthal's division of n >= x >= y >= z >= 0, of which x - y, y - z, z are the lattice.
    """
    points = [
        (n - i - j - k, i, j, k)
        for i in range(n + 1) for j in range(n + 1 - i) for k in range(n + 1 - i - j)
    ]  # fmt: skip
    index = {point[1:]: at for at, point in enumerate(points)}
    tets = []
    for base, order in product(product(range(n), repeat=3), permutations(range(3))):
        corners = [np.array(base)]
        for axis in order:
            corners.append(corners[-1] + np.eye(3, dtype=int)[axis])
        if all(x >= y >= z for x, y, z in corners):
            tets.append([index[x - y, y - z, z] for x, y, z in corners])
    return np.array(points), np.array(tets)


def _welded(points: np.ndarray, tets: np.ndarray, tolerance: float) -> tuple:
    """Points nearer than about `tolerance` become one."""
    _, first, where = np.unique(
        np.round(points / tolerance).astype(np.int64), axis=0, return_index=True,
        return_inverse=True,
    )  # fmt: skip
    return points[first], where.reshape(-1)[tets]


def _six() -> np.ndarray:
    """(6, 4, 3) corners of Kuhn's tetrahedra of the unit cube."""
    steps = [np.eye(3, dtype=int)[list(order)] for order in permutations(range(3))]
    return np.array([np.concatenate([[[0, 0, 0]], np.cumsum(s, axis=0)]) for s in steps])


def _five() -> np.ndarray:
    """(5, 4, 3) corners: one regular tetrahedron and four at the cube's other corners."""
    middle = [(0, 0, 0), (1, 1, 0), (1, 0, 1), (0, 1, 1)]
    others = [
        [corner, *(np.bitwise_xor(corner, unit) for unit in np.eye(3, dtype=int))]
        for corner in ((1, 0, 0), (0, 1, 0), (0, 0, 1), (1, 1, 1))
    ]
    return np.array([middle, *others])


SPLITS = {"six": _six, "five": _five, "six_parallel": _six}
"""How `box` cuts a brick into tetrahedra."""
STEEPEST = 1000.0  # grading


def _graded(length: float, cells: int, ratio: float) -> np.ndarray:
    """(cells + 1,) places from -length/2 to length/2."""
    if not 1 / STEEPEST <= ratio <= STEEPEST:
        raise InputError("box", "grading", ratio, f"a ratio from {1 / STEEPEST} to {STEEPEST:g}")
    if ratio == 1:
        return np.linspace(-length / 2, length / 2, cells + 1)
    if cells == 1:
        raise InputError("box", "grading", ratio, "1 along an axis of one cell")
    ends = np.cumsum([0.0, *np.geomspace(1, ratio, cells)])
    return length * (ends / ends[-1] - 0.5)


def _count(place: str, key: str, value) -> int:
    if int(value) != value or value < 1:
        raise InputError(place, key, value, "a whole number >= 1")
    return int(value)


def _positive(place: str, key: str, value) -> None:
    if not (np.isfinite(value) and value > 0):
        raise InputError(place, key, value, "a number > 0 [m]")
