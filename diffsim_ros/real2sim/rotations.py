"""Uses of quaternions (x, y, z, w) by recordings, beside diffsim_ros.inverse.rotation."""

from __future__ import annotations

import numpy as np

from ..inverse.rotation import quat_conjugate as conjugate
from ..inverse.rotation import quat_exp as exponential
from ..inverse.rotation import quat_log as logarithm
from ..inverse.rotation import quat_multiply as multiply

__all__ = ["angle", "conjugate", "exponential", "logarithm", "multiply", "rotate"]


def rotate(q: np.ndarray, v: np.ndarray) -> np.ndarray:
    """R(q) v for unit quaternions (..., 4) and vectors (..., 3)."""
    u, w = q[..., :3], q[..., 3:]
    t = 2.0 * np.cross(u, v)
    return v + w * t + np.cross(u, t)


def angle(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Angle [rad] between the rotations a and b (..., 4), in [0, pi]."""
    r = multiply(conjugate(a), b)
    return 2.0 * np.arctan2(np.linalg.norm(r[..., :3], axis=-1), np.abs(r[..., 3]))
