"""The centre of an ensemble of motions, how far it spreads, and how well it predicted.

A motion that small causes change much has no one prediction: members of an ensemble say where it
may go.  The one motion in their middle has, at every time by itself, the least mean of
d + s d^2 over the members, d their distance [m] and angle [rad] to it: the geometric median where
they are close together, and more and more the mean as they spread.
"""

from __future__ import annotations

import numpy as np

from ..rotation import quat_angle, quat_conjugate, quat_exp, quat_log, quat_multiply

Array = np.ndarray
ITERATIONS = 20
"""Of Weiszfeld's algorithm; its error falls by about half with each."""
LEAST = 1e-9
"""Distance at which a member's weight stops to grow [m], [rad]."""


def centre(poses: Array, square: float = 1.0) -> Array:
    """Poses (..., 7), position and quaternion, in the middle of members (n, ..., 7).

    square  s [1/m], [1/rad]; 0: the median, infinite: the mean
    """
    members = np.moveaxis(poses, 0, -2)
    position = centre_of_positions(members[..., :3], square)
    orientation = centre_of_orientations(members[..., 3:], square)
    return np.concatenate([position, orientation], axis=-1)


def centre_of_positions(x: Array, square: float = 1.0) -> Array:
    """Points (..., 3) with the least mean of d + s d^2 to members x (..., n, 3)."""
    c = x.mean(axis=-2)
    for _ in range(ITERATIONS if np.isfinite(square) else 0):
        w = _weights(np.linalg.norm(x - c[..., None, :], axis=-1), square)
        c = np.einsum("...n,...ni->...i", w, x)
    return c


def centre_of_orientations(q: Array, square: float = 1.0) -> Array:
    """Quaternions (..., 4) with the least mean of d + s d^2 to members q (..., n, 4).

    Begins at the member that has the least: members about several orientations, as the faces that
    a cube may come to rest on, have a minimum near each of them.
    """
    d = 2 * np.arccos(np.minimum(np.abs(q @ np.swapaxes(q, -1, -2)), 1.0))
    loss = d + square * d**2 if np.isfinite(square) else d**2
    best = loss.sum(axis=-1).argmin(axis=-1)
    c = np.take_along_axis(q, best[..., None, None], axis=-2)[..., 0, :]
    for _ in range(ITERATIONS):
        turn = quat_log(quat_multiply(q, quat_conjugate(c)[..., None, :]))
        w = _weights(np.linalg.norm(turn, axis=-1), square)
        c = quat_multiply(quat_exp(np.einsum("...n,...ni->...i", w, turn)), c)
    return c


def _weights(d: Array, square: float) -> Array:
    """Weights (..., n), of sum 1, with which the weighted mean is the next iterate."""
    w = 1 / np.maximum(d, LEAST) + 2 * square if np.isfinite(square) else np.ones_like(d)
    return w / w.sum(axis=-1, keepdims=True)


def distances(poses: Array, to: Array) -> tuple[Array, Array]:
    """Distance [m] and angle [rad] (n, ...) of members (n, ..., 7) to poses (..., 7)."""
    away = np.linalg.norm(poses[..., :3] - to[..., :3], axis=-1)
    return away, quat_angle(np.broadcast_to(to[..., 3:], poses[..., 3:].shape), poses[..., 3:])


def energy_score(poses: Array, measured: Array) -> tuple[Array, Array]:
    """Energy scores (...) of positions [m] and orientations [rad], members (n, ..., 7).

    E d(X, y) - E d(X, X') / 2: its mean is least for members as scattered as what they predict
    (Gneiting and Raftery 2007).  Pairs are of neighbours in the order of the members.
    """
    own, between = distances(poses, measured), distances(poses, np.roll(poses, 1, axis=0))
    return tuple(a.mean(axis=0) - 0.5 * b.mean(axis=0) for a, b in zip(own, between, strict=True))
