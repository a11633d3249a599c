"""Scenes of jointed links that several tests share, and what they check of each."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros import _engine

INERTIA = [0.011, 0.014, 0.017, 0.001, -0.002, 0.0015]
KINDS = ["ball", "hinge", "slider", "weld", "planar", "universal"]
AXES = {"axis": [0.2, -0.9, 0.4], "second_axis": [0.9, 0.2, 0.0]}


def axes(kind: str) -> dict:
    """The axes that a kind of joint takes."""
    names = {"ball": [], "weld": [], "universal": ["axis", "second_axis"]}.get(kind, ["axis"])
    return {name: AXES[name] for name in names}


def two_links(gravity=(0.3, -0.2, -9.81)):
    """Rigid bodies 'a' and 'b' with general inertias, and a particle 'c'."""
    s = _engine.Scene()
    s.set_gravity(gravity)
    s.add_rigid_body("a", mass=0.7, inertia=INERTIA, radius=0.2, position=[0.1, 0, 0.05],
                     orientation=[0.1, -0.3, 0.2, 0.8])  # fmt: skip
    s.add_rigid_body("b", mass=0.4, inertia=[0.6 * i for i in INERTIA], radius=0.1,
                     position=[0.3, 0.2, 0], orientation=[-0.2, 0.1, 0.4, 0.7])  # fmt: skip
    s.add_particle("c", mass=0.2, position=[0.2, 0.1, 0.3])
    return s


def net_wrench(r, c):
    """Net force and torque about the origin of a residual of two_links at centres c (3, 3)."""
    force = r[:3] + r[6:9] + r[12:15]
    torque = r[3:6] + r[9:12]
    for centre, f in zip(c, (r[:3], r[6:9], r[12:15]), strict=True):
        torque = torque + np.cross(centre, f)
    return force, torque


def check_gradient(scene, steps, options, names, body, rel=1e-6):
    """S of body's last and a middle place against lambda (1e-9) and central differences by `names`.

    The objective mixes positions and velocities; of differences with four steps the best counts.
    """
    p = scene.values
    active = [scene.index(name) for name in names]
    rng = np.random.default_rng(7)
    first, frames = scene.dof_offset(body), (steps // 2, steps)
    gx = np.zeros((steps + 1, scene.ndof))
    gv = gx.copy()
    for frame in frames:
        gx[frame, first : first + 3] = rng.normal(size=3)
        gv[frame, first : first + 3] = 0.1 * rng.normal(size=3)
    r = _engine.rollout(scene, p, steps, options, active=active, mode="sensitivity")
    assert r.ok, r.message
    exact = np.einsum("fd,fda->a", gx, r.dx) + np.einsum("fd,fda->a", gv, r.dv)
    scale = np.abs(exact).max()
    for mode in ("store", "checkpoint"):
        again = _engine.rollout(scene, p, steps, options, active=active, mode=mode)
        assert again.gradient(gx, gv) == pytest.approx(exact, rel=1e-9, abs=1e-9 * scale)
    node = scene.nodes_of(body)[0]

    def objective(q):
        m = _engine.rollout(scene, q, steps, options)
        assert m.ok, m.message
        part = slice(first, first + 3)
        return sum(gx[f, part] @ m.position[f, node] + gv[f, part] @ m.velocity[f, node]
                   for f in frames)  # fmt: skip

    for k, i in enumerate(active):
        unit = max(abs(p[i]), 0.05)
        d = unit * np.eye(len(p))[i]
        slopes = [(objective(p + e * d) - objective(p - e * d)) / (2 * e * unit)
                  for e in (1e-3, 1e-4, 1e-5, 1e-6)]  # fmt: skip
        off = min(abs(slope - exact[k]) for slope in slopes)
        assert off <= rel * max(abs(exact[k]), 1e-2 * scale), (names[k], exact[k], slopes)
    return r
