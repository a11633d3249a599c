"""Poses on level ground: x, y [m] and yaw [rad], arrays (..., 3) [SE(2)]."""

from __future__ import annotations

import numpy as np

from diffsim_ros.rotation import quat_yaw


def planar(poses: np.ndarray) -> np.ndarray:
    """Of poses (..., 7): position [m], quaternion (x, y, z, w)."""
    poses = np.asarray(poses, float)
    return np.concatenate([poses[..., :2], quat_yaw(poses[..., 3:])[..., None]], axis=-1)


def composed(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Poses `second`, given in the axes of `first`, in those that `first` is given in."""
    first, second = np.broadcast_arrays(np.asarray(first, float), np.asarray(second, float))
    c, s = np.cos(first[..., 2]), np.sin(first[..., 2])
    x, y = second[..., 0], second[..., 1]
    return first + np.stack([c * x - s * y, s * x + c * y, second[..., 2]], axis=-1)


def inverse(pose: np.ndarray) -> np.ndarray:
    """The pose of the outer axes in those of `pose`."""
    pose = np.asarray(pose, float)
    c, s = np.cos(pose[..., 2]), np.sin(pose[..., 2])
    x, y = pose[..., 0], pose[..., 1]
    return np.stack([-c * x - s * y, s * x - c * y, -pose[..., 2]], axis=-1)


def relative(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """`second` in the axes of `first`, both given in the same; turned by -pi to pi."""
    found = composed(inverse(first), second)
    found[..., 2] = wrapped(found[..., 2])
    return found


def wrapped(angle: np.ndarray | float) -> np.ndarray:
    """Angles (...) [rad] in -pi to pi."""
    return np.asarray(np.mod(np.asarray(angle) + np.pi, 2.0 * np.pi) - np.pi)
