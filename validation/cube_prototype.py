"""One cube on a table, many starts at once, under laws of contact that the engine has not.

A trial of laws before one is built: explicit steps in NumPy, eight corner spheres, lengths as the
tracker stores them (data/cube_toss/README.md).  Per corner, at depth d [m],

  f_n = k_n (d / 1 mm)^(exponent - 1) d + k_d d' d / (d + d_0) + x >= 0,   x' = a k_n d' - x / tau

x is the force of a Maxwell element (a spring a k_n behind a dashpot a k_n tau): stiffness that
depends on the rate, and remembers.  It begins at 0 with every contact.
Friction is min(k_t |v_t|, mu f_n) with mu = c_f + (c_s - c_f) exp(-f_n / f_0), as the engine's.
With a = 0 and exponent 1 this is the engine's `ramped` law.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros.rotation import quat_matrix

MASS, HALF, SCALE, GRAVITY, D_0 = 0.37, 0.0524, 1.02, 9.81, 2e-4
"""[kg], half edge as stored [m], true length / stored length, [m/s^2], [m]."""
RATE = 148.0
"""Frames per second."""
SIGNS = np.array([[1 if i & 1 << k else -1 for i in range(8)] for k in range(3)], float)
"""Corners (3, 8) in half edges."""
LEAST_RATE = 0.3
"""Slowest touch that is disturbed [m/s]."""


@dataclass(frozen=True)
class Law:
    """Numbers of the law; stiffness is that of eight corners together.

    friction c_f, friction_unloaded c_s [-], unload f_0 [N], stiffness k_n [N/m], damping_ratio
    k_d / (2 sqrt(k_n m)), tangential_time k_t / k_n [s], radius of the corners [m], inertia
    [kg m^2], height of the table [m], exponent [-], relaxing a [-], relaxation tau [s]
    """

    friction: float = 0.1656
    friction_unloaded: float = 0.2191
    unload: float = 3.0
    stiffness: float = 97600.0
    damping_ratio: float = 1.693
    tangential_time: float = 0.001885
    radius: float = 0.00062
    inertia: float = 0.001094
    height: float = 0.0
    exponent: float = 1.0
    relaxing: float = 0.0
    relaxation: float = 0.002


@dataclass
class _Moving:
    """State of n cubes: x, v, w (n, 3), q (n, 4) xyzw; of their corners (n, 8)."""

    x: np.ndarray
    q: np.ndarray
    v: np.ndarray
    w: np.ndarray
    force: np.ndarray  # x of the Maxwell element [N]
    touching: np.ndarray


def simulate(
    law: Law,
    start: np.ndarray,
    frames: int,
    *,
    substeps: int = 32,
    kick: float = 0.0,
    seed: int = 0,
) -> np.ndarray:
    """Poses (n, frames, 7), position and quaternion xyzw, of cubes that start at `start` (n, 13).

    start  position, quaternion xyzw, velocity, angular velocity, world frame
    kick   standard deviation of what each touch adds to the two horizontal components of the
           angular velocity, per speed of approach [rad/s by m/s]: what no law explains
    """
    start = np.asarray(start, float)
    n, rng = len(start), np.random.default_rng(seed)
    s = _Moving(*(start[:, a:b].copy() for a, b in ((0, 3), (3, 7), (7, 10), (10, 13))),
                np.zeros((n, 8)), np.zeros((n, 8), bool))  # fmt: skip
    radius, h = law.radius / SCALE, 1 / (RATE * substeps)
    corners = SIGNS * (HALF / SCALE - radius)
    reach = np.sqrt(3.0) * HALF / SCALE + law.height
    g = np.array([0, 0, GRAVITY / SCALE])
    out = np.empty((n, frames, 7))
    for frame in range(frames):
        out[:, frame] = np.concatenate([s.x, s.q], axis=1)
        for _ in range(substeps if frame < frames - 1 else 0):
            near = np.flatnonzero(s.x[:, 2] < reach)
            free = np.ones((n, 1))
            if len(near):
                force, torque, hit = _touch(law, s, near, corners, radius, h)
                free[near, 0] = ~force.any(axis=1)
                s.v[near] += h / MASS * force
                s.w[near] += h / law.inertia * torque
                if kick:
                    noise = rng.standard_normal((len(near), 2))
                    s.w[near, :2] += kick * hit[:, None] * noise
            s.v -= h * g
            s.x += h * s.v + 0.5 * h * h * g * free
            s.q = _turned(s.q, 0.5 * h * s.w)
    return out


def _turned(q: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) after small turns by 2 `half` [rad], unit again."""
    x, y, z, w = q.T
    a, b, c = half.T
    q = np.stack([
        x + a * w + b * z - c * y, y + b * w + c * x - a * z,
        z + c * w + a * y - b * x, w - a * x - b * y - c * z,
    ], axis=1)  # fmt: skip
    return q / np.sqrt(np.einsum("ij,ij->i", q, q))[:, None]


def _touch(law: Law, s: _Moving, near: np.ndarray, corners: np.ndarray, radius: float, h: float):
    """Force and torque (m, 3) on the cubes `near`, and the speed of new touches (m,) [m/s]."""
    k_n = law.stiffness / 8
    k_d = 2 * law.damping_ratio * np.sqrt(law.stiffness * MASS) / 8
    arm = quat_matrix(s.q[near]) @ corners
    d = radius - (s.x[near, 2, None] - law.height + arm[:, 2])
    touching = d > 0
    hit = np.zeros(len(near))
    if not touching.any():
        s.force[near], s.touching[near] = 0, False
        return np.zeros((len(near), 3)), np.zeros((len(near), 3)), hit
    d = np.maximum(d, 0)
    arm[:, 2] -= radius
    w, v = s.w[near, :, None], s.v[near, :, None]
    speed = v + np.stack([
        w[:, 1] * arm[:, 2] - w[:, 2] * arm[:, 1],
        w[:, 2] * arm[:, 0] - w[:, 0] * arm[:, 2],
        w[:, 0] * arm[:, 1] - w[:, 1] * arm[:, 0],
    ], axis=1)  # fmt: skip
    rate = -speed[:, 2]
    elastic = k_n * d if law.exponent == 1 else k_n * d * (1e3 * d) ** (law.exponent - 1)
    memory = s.force[near]
    if law.relaxing:
        memory = memory + h * (law.relaxing * k_n * rate - memory / law.relaxation)
    f = elastic + k_d * rate * d / (d + D_0) + memory
    f = np.where(touching, np.maximum(f, 0), 0)
    s.force[near] = np.where(touching, memory, 0)
    fresh = touching & ~s.touching[near] & (rate > LEAST_RATE)
    hit = np.where(fresh, rate, 0).max(axis=1)
    s.touching[near] = touching
    slip = np.hypot(speed[:, 0], speed[:, 1])
    load = np.exp(-f / law.unload)
    limit = (law.friction + (law.friction_unloaded - law.friction) * load) * f
    slope = np.minimum(law.tangential_time * k_n, limit / np.maximum(slip, 1e-9))
    slope = np.where(touching, slope, 0)
    on = np.stack([-slope * speed[:, 0], -slope * speed[:, 1], f], axis=1)
    torque = np.stack([
        arm[:, 1] * on[:, 2] - arm[:, 2] * on[:, 1],
        arm[:, 2] * on[:, 0] - arm[:, 0] * on[:, 2],
        arm[:, 0] * on[:, 1] - arm[:, 1] * on[:, 0],
    ], axis=1)  # fmt: skip
    return on.sum(axis=2), torque.sum(axis=2), hit
