"""The sheets in this engine: one particle per vertex, the same springs."""

from __future__ import annotations

import time

import numpy as np

from diffsim_ros import _engine

from .sheet_scene import C_F, DURATION, RADIUS, RELAXATION, SPHERE, STIFFNESS, Fall, Sheet

# Totals over all vertices: falling on (1.4 m/s) presses the vertices about 1 mm deep. Constant
# for all sheets and steps.
K_N, K_T = 1e5, 200.0  # N/m, N s/m
SPRINGS = ("straight", "diagonal")


class Cloth:
    """One sheet at one step."""

    def __init__(self, sheet: Sheet, dt: float, **options):
        self.sheet, self.dt, self.options = sheet, dt, options
        s = self.scene = _engine.Scene()
        names = [f"v{i}" if i not in sheet.held else "" for i in range(len(sheet.vertices))]
        for name, x in zip(names, sheet.vertices, strict=True):
            if name:
                s.add_particle(name, mass=sheet.mass, position=x)
        at = np.where(np.array([not name for name in names])[:, None], sheet.vertices, 0.0)
        s.add_points("vertices", bodies=names, local=at, radius=RADIUS)
        shortest = sheet.lengths.min()
        straight = sheet.lengths < 1.2 * shortest
        for name, chosen in zip(SPRINGS, (straight, ~straight), strict=True):
            a, b = sheet.edges[chosen].T.tolist()
            s.add_springs(
                name, points_a="vertices", index_a=a, points_b="vertices", index_b=b,
                stiffness=STIFFNESS, damping=STIFFNESS * RELAXATION,
                rest_length=float(sheet.lengths[chosen].mean()),
            )  # fmt: skip
        if sheet.scene == "drop":
            s.add_contact(
                "sphere", points="vertices", sdf=_engine.Sphere(SPHERE), k_n=K_N, k_t=K_T, c_f=C_F
            )
        self.active = [s.index(f"{name}.stiffness") for name in SPRINGS]

    def _rollout(self, duration, **how):
        """(rollout, CPU seconds, steps); raises where it did not converge."""
        steps = round(duration / self.dt)
        options = _engine.Options(step=self.dt, order=2, record_every=steps, **self.options)
        begin = time.process_time()
        r = _engine.rollout(self.scene, self.scene.values, steps, options, **how)
        cpu = time.process_time() - begin
        if not r.ok:
            raise RuntimeError(f"engine at dt = 1/{1 / self.dt:.0f} s: {r.status}: {r.message}")
        return r, cpu, steps

    def fall(self, duration: float = DURATION) -> Fall:
        """One fall."""
        r, cpu, steps = self._rollout(duration)
        final = self.sheet.vertices.copy()
        final[[i for i in range(len(final)) if i not in self.sheet.held]] = r.position[-1]
        return Fall(final, cpu / steps)

    def gradient(self, mode: str = "checkpoint", duration: float = DURATION) -> tuple:
        """d(height of the centre)/d(stiffnesses) (2,), CPU seconds per step of both passes."""
        r, ahead, steps = self._rollout(duration, active=self.active, mode=mode)
        gx = np.zeros((len(r.time), self.scene.ndof))
        gx[-1, 2::3] = 1 / len(self.sheet.vertices)
        begin = time.process_time()
        slopes = r.gradient(gx, np.zeros_like(gx))
        return np.asarray(slopes), (ahead + time.process_time() - begin) / steps
