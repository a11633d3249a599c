"""The simplest sensible model of a planar body that drops: rigid impacts at one point.

Constant restitution, Coulomb friction, impulses without time; between them a parabola.  It has two
numbers, e and mu.  State (K, 6): x z theta [m, rad], vx vz spin [m/s, rad/s], theta from x to z.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

SLOW = 0.05
"""Approach [m/s] below which an impact is plastic: rest has no bounces."""


@dataclass(frozen=True)
class PlanarBody:
    """Mass [kg], moment about its centre [kg m^2], and where it may touch.

    arms  theta (K,) -> places of the contact points from the centre, world axes (K, c, 2) [m]
    """

    mass: float
    moment: float
    arms: Callable[[np.ndarray], np.ndarray]


def planar(position, orientation, velocity, spin) -> np.ndarray:
    """State (6,) of a body whose motion is in the plane y = 0: rotations are about -y."""
    theta = -2.0 * np.arctan2(orientation[1], orientation[3])
    return np.array([position[0], position[2], theta, velocity[0], velocity[2], -spin[1]])


def poses(states: np.ndarray) -> np.ndarray:
    """Poses (n, 7) of states (n, 6): position, quaternion x, y, z, w."""
    found = np.zeros((len(states), 7))
    found[:, 0], found[:, 2] = states[:, 0], states[:, 1]
    found[:, 4], found[:, 6] = -np.sin(states[:, 2] / 2), np.cos(states[:, 2] / 2)
    return found


def polygon(corners: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Arms of a body's corners (c, 2) [m, body axes]."""

    def arms(theta: np.ndarray) -> np.ndarray:
        c, s = np.cos(theta)[:, None], np.sin(theta)[:, None]
        x, z = corners.T
        return np.stack([c * x - s * z, s * x + c * z], axis=2)

    return arms


def ellipse(a: float, b: float) -> Callable[[np.ndarray], np.ndarray]:
    """Arms of the lowest point of an ellipse with semi-axes a (body x) and b (body z) [m]."""

    def arms(theta: np.ndarray) -> np.ndarray:
        c, s = np.cos(theta), np.sin(theta)
        # the support point in the direction (0, -1): M d / sqrt(d M d), M = R diag(a^2, b^2) R^T
        depth = np.sqrt((a * s) ** 2 + (b * c) ** 2)
        across = (a * a - b * b) * s * c / depth
        return np.stack([-across, -depth], axis=1)[:, None]

    return arms


def struck(body: PlanarBody, v: np.ndarray, arm: np.ndarray, e: float, mu: float) -> np.ndarray:
    """Velocities (K, 3) after an impact at arms (K, 2), those that approach."""
    rx, rz = arm.T
    vt, vn = v[:, 0] - v[:, 2] * rz, v[:, 1] + v[:, 2] * rx
    e = np.where(vn < -SLOW, e, 0.0)
    nn = 1 / body.mass + rx**2 / body.moment
    tt = 1 / body.mass + rz**2 / body.moment
    tn = -rx * rz / body.moment
    # sticking: no tangential velocity afterwards
    goal = -(1 + e) * vn
    determinant = nn * tt - tn * tn
    jn, jt = (tt * goal + tn * vt) / determinant, (-nn * vt - tn * goal) / determinant
    slides = np.abs(jt) > mu * jn
    side = -np.sign(vt)
    sliding = goal / (nn + tn * side * mu)
    jn, jt = np.where(slides, sliding, jn), np.where(slides, side * mu * sliding, jt)
    jn, jt = np.where(vn < 0, jn, 0.0), np.where(vn < 0, jt, 0.0)
    change = [jt / body.mass, jn / body.mass, (rx * jn - rz * jt) / body.moment]
    return v + np.stack(change, axis=1)


def dropped(
    body: PlanarBody, state: np.ndarray, times: np.ndarray, e: float, mu: float, *,
    ground: float = 0.0, gravity: float = 9.81, step: float = 5e-4,
) -> np.ndarray:  # fmt: skip
    """States (n, K, 6) at `times` (n,) [s] since the start (K, 6), by small steps."""
    q, v = state[:, :3].copy(), state[:, 3:].copy()
    found, clock = [], 0.0
    for time in times:
        count = max(1, round((time - clock) / step)) if time > clock else 0
        h = (time - clock) / count if count else 0.0
        for _ in range(count):
            v[:, 1] -= gravity * h
            q += h * v
            v = _touched(body, q, v, e, mu, ground)
        clock = time
        found.append(np.concatenate([q, v], axis=1))
    return np.array(found)


def _touched(body, q, v, e, mu, ground) -> np.ndarray:
    """Impacts of all points at or below the ground that approach it, the deepest first."""
    arms = body.arms(q[:, 2])
    depth = ground - (q[:, 1:2] + arms[..., 1])
    inside = np.flatnonzero((depth > 0).any(axis=1))
    if not len(inside):
        return v
    order = np.argsort(-depth[inside], axis=1)
    for _ in range(2):
        for k in order[:, :2].T:
            deep = depth[inside, k] > 0
            rows = inside[deep]
            v[rows] = struck(body, v[rows], arms[rows, k[deep]], e, mu)
    # what is inside is lifted out; else resting bodies sink with every step
    q[inside, 1] += depth[inside].max(axis=1)
    return v
