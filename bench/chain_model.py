"""The chain of chain.py: its numbers, its scene, and the derivative of its objective."""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine

STEPS, STEP = 1000, 1 / 500
RADIUS, SPACING, HEIGHT, OFFSET = 0.05, 0.15, 0.3, 0.05
STIFFNESS, DAMPING, K_N, C_F = 1000.0, 1.0, 1e3, 0.5
WEIGHTS = np.array([1.0, 0.5, 0.25])
INERTIA = 0.4 * RADIUS**2


def velocities(n: int) -> np.ndarray:
    """(n, 6) start velocities [m/s, rad/s]."""
    return np.random.default_rng(0).normal(0, 0.3, (n, 6))


def chain(n: int, c_n: float = 0.0) -> _engine.Scene:
    """The engine's chain; c_n [s/m]: normal damping of the ground."""
    s, start = _engine.Scene(), velocities(n)
    for i in range(n):
        s.add_rigid_body(
            f"ball{i}", mass=1.0, inertia=[INERTIA] * 3 + [0] * 3, radius=RADIUS,
            position=[i * SPACING, 0, HEIGHT], velocity=start[i, :3],
            angular_velocity=start[i, 3:],
        )  # fmt: skip
    balls = [f"ball{i}" for i in range(n)]
    sides = np.array([[0, OFFSET, 0], [0, -OFFSET, 0]])
    s.add_points("centres", bodies=balls, local=np.zeros((n, 3)), radius=RADIUS)
    s.add_points("anchors", bodies=["", ""], local=sides + np.array([-SPACING, 0, HEIGHT]))
    s.add_points("sides", bodies=np.repeat(balls, 2).tolist(), local=np.tile(sides, (n, 1)))
    spring = {"stiffness": STIFFNESS, "damping": DAMPING, "rest_length": SPACING}
    s.add_springs(
        "first", points_a="anchors", index_a=[0, 1], points_b="sides", index_b=[0, 1], **spring
    )
    left = list(range(2 * n - 2))
    s.add_springs(
        "links", points_a="sides", index_a=left, points_b="sides", index_b=[i + 2 for i in left],
        **spring,
    )  # fmt: skip
    s.add_contact(
        "ground", points="centres", sdf=_engine.Plane([0, 0, 1], 0), weights=np.ones(n) / n,
        k_n=n * K_N, k_t=n * K_N * STEP, c_f=C_F, c_n=c_n,
    )  # fmt: skip
    return s


def active_of(scene: _engine.Scene, n: int) -> list[int]:
    """Indices of the 6n start velocities."""
    return [
        scene.index(f"ball{i}.{kind}.{axis}")
        for i in range(n)
        for kind in ("velocity", "angular_velocity")
        for axis in "xyz"
    ]


def seeds(scene, frames: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """dO/dx, dO/dv (frames, ndof) of the objective."""
    gx = np.zeros((frames, scene.ndof))
    for i in range(n):
        at = scene.dof_offset(f"ball{i}")
        gx[-1, at : at + 3] = WEIGHTS / n
    return gx, np.zeros_like(gx)
