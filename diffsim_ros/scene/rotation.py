"""Rotations of scene files: quaternions x, y, z, w (body to world), vectors axis * angle."""

from __future__ import annotations

import numpy as np


def quaternion_from_vector(vector: object) -> np.ndarray:
    """Unit quaternion (4,) of a rotation vector [rad] (3,)."""
    vector = np.asarray(vector, float)
    half = np.linalg.norm(vector) / 2
    return np.append(np.sinc(half / np.pi) / 2 * vector, np.cos(half))


def vector_from_quaternion(quaternion: object) -> np.ndarray:
    """Rotation vector [rad] (3,) of a unit quaternion (4,), angle from 0 to pi."""
    q = np.asarray(quaternion, float)
    q = q if q[3] >= 0 else -q
    sine = np.linalg.norm(q[:3])
    return q[:3] * (2.0 if sine == 0 else 2 * np.arctan2(sine, q[3]) / sine)


def matrix_from_quaternion(quaternion: object) -> np.ndarray:
    """Rotation matrix (..., 3, 3) of unit quaternions (..., 4)."""
    q = np.asarray(quaternion, float)
    x, y, z, w = (q[..., i] for i in range(4))
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)


def quaternion_between(a: object, b: object) -> np.ndarray:
    """Shortest rotation (4,) that turns unit vector a (3,) into unit vector b (3,)."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a @ b < -1 + 1e-12:
        axis = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        return np.append(axis / np.linalg.norm(axis), 0.0)
    q = np.append(np.cross(a, b), 1 + a @ b)
    return q / np.linalg.norm(q)


def multiply(a: object, b: object) -> np.ndarray:
    """Quaternion product a b (4,): first b, then a."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    vector = a[3] * b[:3] + b[3] * a[:3] + np.cross(a[:3], b[:3])
    return np.append(vector, a[3] * b[3] - a[:3] @ b[:3])


def quaternion_from_matrix(matrix: object) -> np.ndarray:
    """Unit quaternion (4,), w >= 0, of a rotation matrix (3, 3)."""
    R = np.asarray(matrix, float)
    # four times the products of the components: the column of the largest one is the safest
    m = R.trace()
    Q = np.zeros((4, 4))
    Q[:3, :3] = R + R.T + (1 - m) * np.eye(3)
    Q[:3, 3] = Q[3, :3] = R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]
    Q[3, 3] = 1 + m
    q = Q[:, np.argmax(np.diagonal(Q))]
    return q / np.linalg.norm(q) * (1 if q[3] >= 0 else -1)
