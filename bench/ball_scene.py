"""The thrown soft ball of ball.py: its numbers, and when and where it lands.

One scenario. Every simulator gets the same vertices and tetrahedra and the same
start velocities v + omega x r of the vertices, and answers with the same `Throw`.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from diffsim_ros import meshes

RADIUS, HEIGHT, DURATION = 0.1, 0.2, 0.5  # m, m (centre above the plane z = 0), s
YOUNG, POISSON, DENSITY, C_F = 2e4, 0.4, 150.0, 0.4
VELOCITY, SPIN = (1.0, 0.3, -2.0), (2.0, 5.0, 1.0)  # m/s, rad/s
WEIGHTS = np.array([1.0, 0.5, 0.25])  # objective: WEIGHTS . final centre
GRAVITY = 9.81


@dataclass(frozen=True)
class Mesh:
    """A ball about the origin: vertices (n, 3) [m], tets (m, 4), lumped masses (n,) [kg]."""

    vertices: np.ndarray
    tets: np.ndarray
    masses: np.ndarray

    @classmethod
    def of(cls, subdivisions: int) -> Mesh:
        """The ball of 20 n^3 tetrahedra."""
        vertices, tets = meshes.ball(subdivisions, RADIUS)
        return cls(vertices, tets, meshes.lumped_masses(vertices, tets, DENSITY))

    def start(self, v=VELOCITY, w=SPIN) -> np.ndarray:
        """(n, 3) start velocities [m/s] of a ball that turns with w about its moving centre."""
        return np.asarray(v) + np.cross(w, self.vertices)

    def centre(self, positions: np.ndarray) -> np.ndarray:
        """(..., 3) centre of mass of positions (..., n, 3)."""
        return np.einsum("n,...nk->...k", self.masses / self.masses.sum(), positions)


@dataclass(frozen=True)
class Throw:
    """What a simulator answers: centre at all steps (steps + 1, 3), and CPU seconds per step."""

    centre: np.ndarray
    landing_time: float | None
    landing_place: np.ndarray | None
    cpu_per_step: float

    @classmethod
    def of(cls, centre: np.ndarray, dt: float, cpu: float) -> Throw:
        """From the motion of the centre and the CPU seconds of all steps."""
        when, where = landing(centre, dt)
        return cls(centre, when, where, cpu / (len(centre) - 1))

    @property
    def final(self) -> np.ndarray:
        """(3,) centre at the end [m]."""
        return self.centre[-1]

    @property
    def objective(self) -> float:
        """WEIGHTS . final centre."""
        return float(WEIGHTS @ self.final)


def landing(centre: np.ndarray, dt: float) -> tuple[float | None, np.ndarray | None]:
    """Time and place (3,) at which the centre, after its bounce, falls back through z = radius.

    Between two steps, and beyond the last one, the centre flies on its parabola. (None, None) for
    a ball that never rises above that height again.
    """
    z = centre[:, 2]
    down = np.flatnonzero(z < RADIUS)
    if not len(down):
        return None, None
    up = down[0] + np.flatnonzero(z[down[0] :] > RADIUS)
    if not len(up):
        return None, None
    again = up[0] + np.flatnonzero(z[up[0] :] <= RADIUS)
    k = again[0] - 1 if len(again) else len(z) - 2
    speed = (centre[k + 1] - centre[k]) / dt
    climb = speed[2] + GRAVITY * dt / 2  # vertical speed at step k of the parabola through both
    later = (climb + np.sqrt(climb**2 + 2 * GRAVITY * (z[k] - RADIUS))) / GRAVITY
    place = centre[k] + later * speed
    place[2] = RADIUS
    return float(k * dt + later), place


def timed(steps: int, step: Callable[[int], None], record: Callable[[int], None]) -> float:
    """CPU seconds of `step` over all steps; what `record` does is not counted."""
    total = 0.0
    gc.disable()  # a collection would be counted to whichever step it falls into
    try:
        for k in range(steps):
            begin = time.process_time()
            step(k)
            total += time.process_time() - begin
            record(k + 1)
    finally:
        gc.enable()
    return total
