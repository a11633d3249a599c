"""The square sheets of sheet.py: their numbers and scenes, the same for every simulator.

n x n vertices of equal mass; along every edge of the triangulation, diagonals alternating, a spring
of one stiffness and damping. In the limit of many vertices that is the isotropic membrane with
Young's modulus times thickness 4/3 of the stiffness and Poisson's ratio 1/3, and damping over
stiffness as its relaxation time, so that a membrane can be held against it.

    hang    starts flat and level, two corners of one side held, and swings down
    drop    starts flat and level, falls on a sphere below its middle
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diffsim_ros import meshes

SIZE, AREA_DENSITY = 0.5, 0.2  # m, kg/m^2
STIFFNESS, RELAXATION = 200.0, 5e-4  # N/m, s
# m: of the vertices, of the sphere, start height above the centre of the sphere
RADIUS, SPHERE, DROP = 1e-3, 0.1, 0.15
C_F, DURATION = 0.3, 0.5  # -, s
SCENES = ("hang", "drop")


@dataclass(frozen=True)
class Sheet:
    """vertices (n^2, 3) [m] at the start, triangles, edges (k, 2), held vertex indices."""

    scene: str
    vertices: np.ndarray
    triangles: np.ndarray
    edges: np.ndarray
    held: tuple

    @classmethod
    def of(cls, n: int, scene: str) -> Sheet:
        """Sheet of n x n vertices."""
        vertices, triangles = meshes.sheet(n, SIZE)
        if scene == "drop":
            vertices = vertices + np.array([0, 0, DROP])
        held = (0, n - 1) if scene == "hang" else ()
        return cls(scene, vertices, triangles, meshes.edges(triangles), held)

    @property
    def mass(self) -> float:
        """Of one vertex [kg]."""
        return AREA_DENSITY * SIZE**2 / len(self.vertices)

    @property
    def lengths(self) -> np.ndarray:
        """(k,) of the edges [m]."""
        a, b = self.edges.T
        return np.linalg.norm(self.vertices[b] - self.vertices[a], axis=1)


@dataclass(frozen=True)
class Fall:
    """Vertices (n^2, 3) at the end [m], CPU seconds per step, steps that ended unconverged."""

    final: np.ndarray
    cpu_per_step: float
    unconverged: int = 0

    @property
    def ok(self) -> bool:
        """Whether the motion stayed finite and near."""
        return bool(np.all(np.isfinite(self.final)) and np.abs(self.final).max() < 10)


def error_mm(fall: Fall, limit: Fall) -> float:
    """Distance of the centres at the end [mm]."""
    return float(np.linalg.norm(fall.final.mean(axis=0) - limit.final.mean(axis=0))) * 1e3
