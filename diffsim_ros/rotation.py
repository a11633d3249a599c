"""Rotations: quaternions, rotation vectors, matrices, exponential map and its Jacobians.

All functions broadcast over leading axes.  Quaternions are (x, y, z, w), unit, body to world.
The tangent of a rotation is a world rotation vector: dR = [dphi]_x R  [G A.1].

SciPy's Rotation is for lists of rotations: before 1.17 it has no further axes, and it normalises
every quaternion again, which changes last bits of the engine's.
"""

from __future__ import annotations

import numpy as np

SERIES_BELOW = 0.3  # rad; below it a Taylor series replaces the closed form (error < 1e-16)


def skew(v):
    """Cross-product matrix [v]_x (..., 3, 3) of v (..., 3)."""
    v = np.asarray(v, float)
    out = np.zeros((*v.shape, 3))
    out[..., 0, 1], out[..., 0, 2], out[..., 1, 2] = -v[..., 2], v[..., 1], -v[..., 0]
    out[..., 1, 0], out[..., 2, 0], out[..., 2, 1] = v[..., 2], -v[..., 1], v[..., 0]
    return out


def quat_multiply(a, b):
    """Hamilton product a*b (..., 4) of quaternions (x, y, z, w)."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    av, aw, bv, bw = a[..., :3], a[..., 3:], b[..., :3], b[..., 3:]
    vector = aw * bv + bw * av + np.cross(av, bv)
    scalar = aw * bw - np.sum(av * bv, axis=-1, keepdims=True)
    return np.concatenate([vector, scalar], axis=-1)


def quat_conjugate(q):
    """Inverse of unit quaternions (..., 4)."""
    return np.asarray(q, float) * np.array([-1.0, -1.0, -1.0, 1.0])


def quat_exp(theta):
    """Quaternion (..., 4) of rotation vectors theta (..., 3) [rad]."""
    theta = np.asarray(theta, float)
    half = 0.5 * np.linalg.norm(theta, axis=-1, keepdims=True)
    return np.concatenate([0.5 * theta * np.sinc(half / np.pi), np.cos(half)], axis=-1)


def quat_log(q):
    """Rotation vector (..., 3) [rad], angle in [0, pi], of unit quaternions (..., 4)."""
    q = np.asarray(q, float)
    q = np.where(q[..., 3:] < 0, -q, q)
    sine = np.linalg.norm(q[..., :3], axis=-1, keepdims=True)
    angle = 2.0 * np.arctan2(sine, q[..., 3:])
    small = sine < 1e-8
    factor = np.where(small, 2.0, angle / np.where(small, 1.0, sine))
    return factor * q[..., :3]


def quat_matrix(q):
    """Rotation matrix (..., 3, 3), body to world, of unit quaternions (..., 4)."""
    q = np.asarray(q, float)
    v = skew(q[..., :3])
    return np.eye(3) + 2.0 * q[..., 3, None, None] * v + 2.0 * (v @ v)


def quat_from_matrix(matrix):
    """Unit quaternions (..., 4), w >= 0, of rotation matrices (..., 3, 3)."""
    from scipy.spatial.transform import Rotation

    R = np.asarray(matrix, float)
    q = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat(canonical=True)
    return q.reshape(*R.shape[:-2], 4)


def matrix_angle(matrix):
    """Angle (...) [rad] of rotation matrices (..., 3, 3), in [0, pi]."""
    R = np.asarray(matrix, float)
    sines = [R[..., i, j] - R[..., j, i] for i, j in ((2, 1), (0, 2), (1, 0))]
    sine = np.linalg.norm(np.stack(sines, axis=-1), axis=-1)
    return np.arctan2(sine, np.trace(R, axis1=-2, axis2=-1) - 1.0)


def quat_yaw(q):
    """Yaw (...) [rad] of unit quaternions (..., 4): where the body's x axis heads, from above."""
    x, y, z, w = np.moveaxis(np.asarray(q, float), -1, 0)
    return np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z))


def quat_between(a, b):
    """Shortest rotation (4,) from the direction of unit vector a (3,) to that of b (3,)."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    if a @ b < -1 + 1e-12:
        axis = np.cross(a, np.eye(3)[np.argmin(np.abs(a))])
        return np.append(axis / np.linalg.norm(axis), 0.0)
    q = np.append(np.cross(a, b), 1 + a @ b)
    return q / np.linalg.norm(q)


def quat_rotate(q, v):
    """R(q) v (..., 3) of unit quaternions (..., 4) and vectors (..., 3)."""
    u, w = q[..., :3], q[..., 3:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def quat_angle(a, b):
    """Angle [rad] between the rotations a and b (..., 4), in [0, pi]."""
    r = quat_multiply(quat_conjugate(a), b)
    return 2.0 * np.arctan2(np.linalg.norm(r[..., :3], axis=-1), np.abs(r[..., 3]))


def left_jacobian(theta):
    """J_l(theta) (..., 3, 3): world rotation dphi = J_l dtheta of R = exp([theta]_x)."""
    theta = np.asarray(theta, float)
    t2, series, safe = _angle(theta)
    half = 0.5 * np.sinc(0.5 * np.sqrt(t2) / np.pi) ** 2  # (1 - cos t) / t^2, exact at 0
    closed = (safe - np.sin(safe)) / safe**3
    terms = 1 - t2 / 42 * (1 - t2 / 72 * (1 - t2 / 110 * (1 - t2 / 156)))
    taylor = (1 - t2 / 20 * terms) / 6
    return _polynomial(theta, half, np.where(series, taylor, closed))


def left_jacobian_inverse(theta):
    """J_l(theta)^-1 (..., 3, 3), |theta| < 2 pi, with cot(theta/2), exact at theta = pi."""
    theta = np.asarray(theta, float)
    t2, series, safe = _angle(theta)
    closed = (1.0 - 0.5 * safe / np.tan(0.5 * safe)) / safe**2
    taylor = 1 / 12 + t2 * (1 / 720 + t2 * (1 / 30240 + t2 * (1 / 1209600 + t2 / 47900160)))
    return _polynomial(theta, np.full_like(t2, -0.5), np.where(series, taylor, closed))


def _angle(theta):
    """|theta|^2 (...), where the series is used, and |theta| or 1 there (no division by 0)."""
    t2 = np.sum(theta * theta, axis=-1)
    t = np.sqrt(t2)
    series = t < SERIES_BELOW
    return t2, series, np.where(series, 1.0, t)


def _polynomial(theta, a, b):
    """1 + a [theta]_x + b [theta]_x^2 (..., 3, 3)."""
    k = skew(theta)
    return np.eye(3) + a[..., None, None] * k + b[..., None, None] * (k @ k)
