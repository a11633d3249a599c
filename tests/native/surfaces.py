"""Triangle meshes of known shapes, and slow exact distances to them by other means."""

import numpy as np


def parametric(place, nu, nv, closed_u=True):
    """Triangles of a grid (u, v) -> point: closed in v; in u closed, or with a pole at each end."""
    u = np.arange(nu) / nu if closed_u else np.arange(1, nu) / nu
    grid = np.array([[place(a, b) for b in np.arange(nv) / nv] for a in u])
    rows = len(u)
    index = np.arange(rows * nv).reshape(rows, nv)
    right = np.roll(index, -1, axis=1)
    down, both = np.roll(index, -1, axis=0), np.roll(right, -1, axis=0)
    if not closed_u:
        index, right, down, both = index[:-1], right[:-1], down[:-1], both[:-1]
    faces = np.concatenate([np.stack(t, -1).reshape(-1, 3) for t in
                            ((index, down, both), (index, both, right))])  # fmt: skip
    points = grid.reshape(-1, 3)
    if not closed_u:
        first, last = len(points), len(points) + 1
        points = np.concatenate([points, [place(0, 0), place(1, 0)]])
        ring = np.arange(nv)
        top = np.stack([np.full(nv, first), ring, np.roll(ring, -1)], -1)
        end = ring + (rows - 1) * nv
        bottom = np.stack([np.full(nv, last), np.roll(end, -1), end], -1)
        faces = np.concatenate([faces, top, bottom])
    return points, faces


def sphere(radius=1.0, n=48):
    def place(u, v):
        a, b = np.pi * u, 2 * np.pi * v
        return radius * np.array([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)])

    return parametric(place, n, 2 * n, closed_u=False)


def torus(ring=1.0, tube=0.4, nu=96, nv=64):
    def place(u, v):
        a, b = 2 * np.pi * u, 2 * np.pi * v
        rho = ring + tube * np.cos(b)
        return np.array([rho * np.cos(a), rho * np.sin(a), tube * np.sin(b)])

    return parametric(place, nu, nv)


def box(half=(0.5, 0.4, 0.3)):
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * half
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return corners, np.array(faces)


def prism(outline, height=0.5):
    """Outline (n, 2), counter-clockwise, star-shaped about its first corner, times a height."""
    n = len(outline)
    low = np.column_stack([outline, np.full(n, -height / 2)])
    points = np.concatenate([low, low + np.array([0, 0, height])])
    faces = []
    for i in range(n):
        j = (i + 1) % n
        faces += [(i, j, n + j), (i, n + j, n + i)]
    for i in range(1, n - 1):
        faces += [(0, i + 1, i), (n, n + i, n + i + 1)]
    return points, np.array(faces)


def angle(height=0.5):
    """An L, with one concave edge; all others are visible from its first corner."""
    outline = np.array([[0, 0], [0, 0.6], [-0.4, 0.6], [-0.4, -0.4], [0.6, -0.4], [0.6, 0.0]])
    return prism(outline, height)


def turned(mesh):
    """The mesh at a general pose, so that nothing is aligned with a grid."""
    axis = np.array([0.3, -0.5, 0.8]) / np.linalg.norm([0.3, -0.5, 0.8])
    K = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
    R = np.eye(3) + np.sin(0.7) * K + (1 - np.cos(0.7)) * K @ K
    return mesh[0] @ R.T + [0.013, -0.027, 0.041], mesh[1]


def distance_to_segments(x, a, b):
    """Distances of points (n, 3) to segments (m, 3)-(m, 3): (n, m)."""
    d = b - a
    t = np.einsum("nmk,mk->nm", x[:, None] - a, d) / np.sum(d * d, axis=1)
    foot = a + np.clip(t, 0, 1)[..., None] * d
    return np.linalg.norm(x[:, None] - foot, axis=2)


def distance(mesh, x):
    """Unsigned distance by trying every triangle's plane and every edge  (n,)."""
    points, faces = mesh
    a, b, c = (points[faces[:, k]] for k in range(3))
    found = np.minimum.reduce([distance_to_segments(x, p, q).min(axis=1)
                               for p, q in ((a, b), (b, c), (c, a))])  # fmt: skip
    normal = np.cross(b - a, c - a)
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    height = np.einsum("nmk,mk->nm", x[:, None] - a, normal)
    foot = x[:, None] - height[..., None] * normal
    inside = np.ones(height.shape, bool)
    for p, q in ((a, b), (b, c), (c, a)):
        side = np.cross(q - p, foot - p)
        inside &= np.einsum("nmk,mk->nm", side, normal) >= 0
    return np.minimum(found, np.where(inside, np.abs(height), np.inf).min(axis=1))


def winding(mesh, x):
    """Winding number of a closed mesh about points: 1 inside, 0 outside [Van Oosterom 1983]."""
    points, faces = mesh
    a, b, c = (points[faces[:, k]] - x[:, None] for k in range(3))
    la, lb, lc = (np.linalg.norm(v, axis=2) for v in (a, b, c))
    top = np.einsum("nmk,nmk->nm", a, np.cross(b, c))
    bottom = la * lb * lc + np.sum(a * b, 2) * lc + np.sum(b * c, 2) * la + np.sum(c * a, 2) * lb
    return 2 * np.arctan2(top, bottom).sum(axis=1) / (4 * np.pi)


def creases(mesh, degrees=25.0):
    """Segments (m, 3), (m, 3) of edges at which the surface turns by more than `degrees`."""
    points, faces = mesh
    corner = points[faces]
    normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    owner = {(int(f[k]), int(f[(k + 1) % 3])): t for t, f in enumerate(faces) for k in range(3)}
    limit = np.cos(np.radians(degrees))
    sharp = [(i, j) for (i, j), t in owner.items()
             if i < j and normal[t] @ normal[owner[j, i]] < limit]  # fmt: skip
    pairs = np.array(sharp, int).reshape(-1, 2)
    return points[pairs[:, 0]], points[pairs[:, 1]]
