"""The thrown soft ball in this engine: forward, and the exact gradient by the adjoint."""

from __future__ import annotations

import time

import numpy as np

from diffsim_ros import _engine, meshes

from .ball_scene import (
    C_F,
    DENSITY,
    DURATION,
    HEIGHT,
    POISSON,
    SPIN,
    VELOCITY,
    WEIGHTS,
    YOUNG,
    Mesh,
    Throw,
)

SHEAR = YOUNG / (2 * (1 + POISSON))
MODES = ("store", "checkpoint")
# Totals over the whole surface: 1 mm of penetration carries 4 kPa, a fifth of Young's modulus;
# friction reaches the Coulomb limit at about 1 cm/s. Constant for all meshes and steps.
K_N, K_T = 5e5, 8e3  # N/m, N s/m


def surface_weights(mesh: Mesh) -> tuple[np.ndarray, np.ndarray]:
    """Surface vertices and each one's share of the surface (a third of its triangles)."""
    skin = meshes.surface(mesh.tets)
    a, b, c = (mesh.vertices[skin[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    share = np.bincount(skin.ravel(), np.repeat(area, 3), minlength=len(mesh.vertices))
    indices = np.flatnonzero(share)
    return indices, share[indices] / share.sum()


class Ball:
    """One mesh at one step, with gradients by start velocity and spin.

    relaxation   viscosity over the shear modulus [s]
    materials    gradients by Young's moduli of that many tetrahedra instead
    """

    def __init__(self, mesh: Mesh, dt: float, relaxation=0.01, materials=0, **options):
        self.mesh, self.dt, self.relaxation, self.options = mesh, dt, relaxation, options
        s = self.scene = _engine.Scene()
        s.add_solid(
            "ball", vertices=mesh.vertices, tets=mesh.tets, density=DENSITY, young=YOUNG,
            poisson=POISSON, viscosity=relaxation * SHEAR, model="neo_hookean",
            position=[0, 0, HEIGHT], velocity=list(VELOCITY), angular_velocity=list(SPIN),
            fields=["young"] if materials else [],
        )  # fmt: skip
        indices, weights = surface_weights(mesh)
        s.add_subset("skin", points="ball", index=indices.tolist())
        s.add_contact(
            "ground", points="skin", sdf=_engine.Plane([0, 0, 1], 0), weights=weights, k_n=K_N,
            k_t=K_T, c_f=C_F,
        )  # fmt: skip
        start = [s.index(f"ball.{k}.{a}") for k in ("velocity", "angular_velocity") for a in "xyz"]
        self.start = start
        self.active = [s.index(f"ball.young[{i}]") for i in range(materials)] or start

    def rollout(self, duration, v, w, every, **how):
        """(rollout, CPU seconds); raises where it did not converge."""
        steps = round(duration / self.dt)
        options = _engine.Options(
            step=self.dt, order=2, record_every=every or steps, **self.options
        )
        p = self.scene.values
        p[self.start] = [*v, *w]
        begin = time.process_time()
        r = _engine.rollout(self.scene, p, steps, options, **how)
        cpu = time.process_time() - begin
        if not r.ok:
            raise RuntimeError(f"engine at dt = 1/{1 / self.dt:.0f} s: {r.status}: {r.message}")
        return r, cpu

    def with_materials(self, count: int) -> Ball:
        """The same ball with gradients by Young's moduli of (at most) that many tetrahedra."""
        count = min(count, len(self.mesh.tets))
        return Ball(self.mesh, self.dt, self.relaxation, count, **self.options)

    def parts(self) -> dict[str, float]:
        """Wall ms per step of the parts of a throw with its checkpoint gradient."""
        ball = Ball(self.mesh, self.dt, self.relaxation, profile=True, **self.options)
        r, _ = ball.rollout(DURATION, VELOCITY, SPIN, 0, active=ball.active, mode="checkpoint")
        gx = np.zeros((len(r.time), ball.scene.ndof))
        gx[-1] = 1
        r.gradient(gx, 0 * gx)
        steps = len(r.iterations)
        found = {name: seconds / steps * 1e3 for name, (seconds, _) in r.timing.items()}
        found["rest"] = 2 * found["total"] - sum(found.values())
        return found | {"jacobians_per_step": r.timing["jacobian"][1] / steps}

    def throw(self, duration: float = DURATION, v=VELOCITY, w=SPIN) -> Throw:
        """Start velocity v [m/s] and spin w [rad/s]."""
        r, cpu = self.rollout(duration, v, w, 1)
        first, count = self.scene.nodes_of("ball")
        centre = self.mesh.centre(r.position[:, first : first + count])
        return Throw.of(centre, self.dt, cpu)

    def gradient(self, mode: str, duration: float = DURATION) -> tuple[np.ndarray, float]:
        """dO/d(active), and CPU seconds per step of forward and backward together."""
        r, ahead = self.rollout(duration, VELOCITY, SPIN, 0, active=self.active, mode=mode)
        gx = np.zeros((len(r.time), self.scene.ndof))
        first = self.scene.dof_offset("ball")
        share = self.mesh.masses / self.mesh.masses.sum()
        gx[-1, first : first + 3 * len(share)] = np.outer(share, WEIGHTS).ravel()
        begin = time.process_time()
        slopes = r.gradient(gx, np.zeros_like(gx))
        back = time.process_time() - begin
        return np.asarray(slopes), (ahead + back) / round(duration / self.dt)
