"""Step matrices of an elastic ball on the ground, in the engine's layout of node blocks."""

from itertools import permutations

import numpy as np

# Cubes per edge of a grid mapped to a ball, six tets in each: 480, 2688 and 10368 tets.
BALLS = {480: (4, 4, 5), 2688: (7, 8, 8), 10368: (12, 12, 12)}


def ball(cubes, radius=0.1):
    """(positions, tets) of a cubic grid bent into a ball, six tets per cube."""
    counts = np.array(cubes) + 1
    grid = np.stack(np.meshgrid(*(np.linspace(-1, 1, c) for c in counts), indexing="ij"), -1)
    x = grid.reshape(-1, 3)
    y, z = np.roll(x, -1, 1) ** 2, np.roll(x, -2, 1) ** 2
    positions = radius * x * np.sqrt(1 - y / 2 - z / 2 + y * z / 3)
    number = np.arange(len(x)).reshape(counts)
    tets = []
    for axes in permutations(range(3)):  # Kuhn: one tet per path from corner to corner
        corner, path = np.zeros(3, int), []
        for step in (None, *axes):
            if step is not None:
                corner[step] = 1
            low, high = corner, corner + np.array(cubes)
            path.append(number[tuple(map(slice, low, high))].ravel())
        tets.append(np.stack(path, -1))
    return positions, np.concatenate(tets)


def stiffness_blocks(positions, tets, young, poisson):
    """(gradients' volume, blocks): 3x3 stiffness (tets, 4, 4, 3, 3) of linear elasticity."""
    edges = positions[tets[:, 1:]] - positions[tets[:, :1]]
    volume = np.abs(np.linalg.det(edges)) / 6
    inner = np.linalg.inv(edges).transpose(0, 2, 1)
    g = np.concatenate([-inner.sum(1, keepdims=True), inner], 1)
    mu, lam = young / (2 + 2 * poisson), young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    outer = np.einsum("tai,tbj->tabij", g, g)
    blocks = lam * outer + mu * outer.transpose(0, 1, 2, 4, 3)
    blocks += mu * np.einsum("tabkk->tab", outer)[..., None, None] * np.eye(3)
    return volume, volume[:, None, None, None, None] * blocks


def elastic_ball(tets, step=1 / 240, poisson=0.4, contact=True, k_n=2e3, c_f=0.4, seed=0):
    """(sizes, pairs, values, symmetric) of dr/du for BDF2: 3 M/(2 h) + (2 h/3) K, and friction.

    Touching nodes get k_n n n^T, sticking ones k_t (1 - n n^T), sliding ones the column
    c_f k_n t n^T that makes the matrix nonsymmetric.
    """
    positions, cells = ball(BALLS[tets])
    volume, elastic = stiffness_blocks(positions, cells, 2e4, poisson)
    alpha, n = 2 * step / 3, len(positions)
    mass = np.bincount(cells.ravel(), np.repeat(150 * volume / 4, 4), n)
    blocks = {}
    for i, m in enumerate(mass):
        blocks[i, i] = np.eye(3) * m * 1.5 / step
    for cell, local in zip(cells.tolist(), alpha * elastic, strict=True):
        for a, i in enumerate(cell):
            for b, j in enumerate(cell):
                blocks[i, j] = blocks.get((i, j), 0) + local[a, b]
    if contact:
        rng = np.random.default_rng(seed)
        normal = np.array([0, 0, 1.0])
        for i in np.flatnonzero(positions[:, 2] < -0.085):
            blocks[i, i] = blocks[i, i] + alpha * k_n * np.outer(normal, normal)
            direction = np.append(rng.normal(size=2), 0)
            direction /= np.linalg.norm(direction)
            if rng.random() < 0.5:
                blocks[i, i] += alpha * k_n * (np.eye(3) - np.outer(normal, normal))
            else:
                blocks[i, i] += alpha * k_n * c_f * np.outer(direction, normal)
    return (*pack([3] * n, blocks), not contact)


def pack(sizes, blocks):
    """Blocks by node pair in the order of the engine's BlockPattern: (sizes, pairs, values)."""
    pairs = sorted((i, j) for i, j in blocks if i < j)
    order = [(i, i) for i in range(len(sizes))]
    for i, j in pairs:
        order += [(i, j), (j, i)]
    values = np.concatenate([blocks[key].T.ravel() for key in order])
    return list(sizes), pairs, values
