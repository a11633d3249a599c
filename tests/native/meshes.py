"""Tetrahedral meshes for tests: boxes of cells split in six (Kuhn), and balls made of them."""

from itertools import permutations

import numpy as np


def box(cells, size):
    """Vertices (n, 3) about the box's centre and positively oriented tets (m, 4)."""
    counts = np.array(cells)
    axes = [np.linspace(-s / 2, s / 2, c + 1) for s, c in zip(size, counts, strict=True)]
    vertices = np.stack(np.meshgrid(*axes, indexing="ij"), -1).reshape(-1, 3)
    stride = np.array([(counts[1] + 1) * (counts[2] + 1), counts[2] + 1, 1])
    corner = np.stack(np.meshgrid(*[np.arange(c) for c in counts], indexing="ij"), -1)
    first = corner.reshape(-1, 3) @ stride
    tets = []
    for path in permutations(range(3)):
        steps = np.cumsum([0, *stride[list(path)]])
        odd = np.linalg.det(np.eye(3)[list(path)]) < 0
        tets.append(first[:, None] + (steps[[0, 2, 1, 3]] if odd else steps))
    return vertices, np.stack(tets, 1).reshape(-1, 4)


def ball(cells: int, radius: float):
    """A box of cells^3 pulled to a ball; no tetrahedron is flat."""
    v, tets = box([cells] * 3, [2.0] * 3)
    square = v**2
    x, y, z = square.T
    stretch = np.stack([
        np.sqrt(1 - y / 2 - z / 2 + y * z / 3),
        np.sqrt(1 - z / 2 - x / 2 + z * x / 3),
        np.sqrt(1 - x / 2 - y / 2 + x * y / 3),
    ], 1)  # fmt: skip
    return radius * v * stretch, tets
