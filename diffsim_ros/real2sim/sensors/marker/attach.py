"""Places of markers: the rigid fit of tracker to world, and points fixed to a body's material."""

from __future__ import annotations

import numpy as np

from ....inverse.marker_track import Carrier, RigidPoints, SoftPoints
from ....scene.model import SceneModel


def rigid_fit(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rotation R (3, 3) and shift s (3,) with least sum |R a_i + s - b_i|^2 (Kabsch)."""
    mean_a, mean_b = a.mean(axis=0), b.mean(axis=0)
    left, _, right = np.linalg.svd((a - mean_a).T @ (b - mean_b))
    turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(left @ right))])
    R = (left @ turn @ right).T
    return R, mean_b - R @ mean_a


def carrier_of(scene: SceneModel, body: str, places: np.ndarray) -> Carrier:
    """Markers fixed to a body, at `places` (n, 3) [m, world] when the scene starts.

    On a solid they follow the tetrahedron that reaches them with the least extension: their
    barycentric coordinates in it at the start, below 0 or above 1 where they stand off.  Exact for
    affine motions, hence for rotations; differentiable.  Vertices that a kinematic body carries
    count as resting where they start, like pinned ones.  On cloth and strings they follow the
    nearest vertex that nothing holds, at a constant distance.
    """
    bodies = scene.parts.bodies
    if not bodies[body].SOFT:
        position, rotation = bodies[body].start_pose()
        return RigidPoints((places - position) @ rotation)
    vertices = bodies[body].placed_vertices()
    if bodies[body].mesh.tets is None:
        loose = vertices[bodies[body].free()]
        apart = np.linalg.norm(places[:, None] - loose, axis=2)
        nearest, node = np.unique(np.argmin(apart, axis=1), return_inverse=True)
        weights = np.eye(len(nearest))[node]
        return SoftPoints(nearest, weights, places - weights @ loose[nearest])
    free, pinned = np.ones(len(vertices), bool), np.zeros(len(vertices), bool)
    for carrier, glued in bodies[body].held_vertices():
        free[glued] = False
        pinned[glued] = not carrier or not bodies[carrier].MOVES
    corners = np.asarray(bodies[body].mesh.tets)[:, :4]
    corners = corners[(free | pinned)[corners].all(axis=1)]  # not those that move with other bodies
    origin = vertices[corners[:, 0]]
    edges = (vertices[corners[:, 1:]] - origin[:, None]).transpose(0, 2, 1)
    node = np.cumsum(free) - 1
    rows = np.zeros((len(places), len(vertices)))
    for row, place in zip(rows, places, strict=True):
        inner = np.linalg.solve(edges, (place - origin)[..., None])[..., 0]
        shares = np.concatenate([1.0 - inner.sum(axis=1, keepdims=True), inner], axis=1)
        best = int(np.argmin(np.max(-shares, axis=1)))
        row[corners[best]] = shares[best]
    used = np.flatnonzero(free & rows.any(axis=0))
    return SoftPoints(node[used], rows[:, used], rows[:, ~free] @ vertices[~free])
