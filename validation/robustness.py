"""Random drops: how many steps converge at the requested step.

Soft bodies and rigid ones fall on floors, boxes and spheres, on moving rigid bodies and on each
other, over five decades of stiffness, Poisson's ratio to 0.49 and steps to 1/60 s. A step counts
when Newton ends within 50 iterations without halving it (docs/explanation/engine.md's measure of
convergence). Nothing may be NaN, and nothing may hang.
"""

from __future__ import annotations

import time

import numpy as np

from diffsim_ros import _engine, meshes

from .common import binomial_bounds, share

DROPS, DURATION = 1000, 0.4  # [s]
ITERATIONS = 50
BLEND = 0.03  # of obstacles that meet [m]; a force jumps where they meet sharply
REQUIRED = 0.999
KINDS = ("soft on static", "soft on moving", "rigid pile", "mixed")
CORNERS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)


def _turn(rng) -> np.ndarray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def _rounded(half) -> _engine.Sdf:
    """A box whose edges are round: inside a sharp one the normal jumps from face to face."""
    radius = 0.4 * half.min()
    return _engine.Offset(_engine.Box(half - radius), radius)


def _law(rng, mass: float, step: float) -> dict:
    """Contact that lets a body sink 0.1 to 3 mm under ten times its weight."""
    k_n = 10 * mass * 9.81 / 10 ** rng.uniform(-4, -2.5)
    return {
        "k_n": k_n, "k_t": k_n * step * 10 ** rng.uniform(-0.5, 0.5), "c_f": rng.uniform(0, 1),
        "c_n": rng.uniform(0, 0.5), "friction": rng.choice(["linear", "tanh"]),
    }  # fmt: skip


def _add_soft(s, rng, name: str, position) -> float:
    """A ball or a box of tetrahedra; returns its mass."""
    if rng.random() < 0.5:
        vertices, tets = meshes.ball(2, 0.1)
    else:
        vertices, tets = meshes.box((0.2, 0.15, 0.12), (2, 2, 2))
        vertices = vertices - vertices.mean(axis=0)
    young, poisson = 10 ** rng.uniform(4, 9), rng.uniform(0.0, 0.49)
    density = rng.uniform(100, 2000)
    s.add_solid(name, vertices=vertices, tets=tets, density=density, young=young, poisson=poisson,
                viscosity=young * 10 ** rng.uniform(-5, -2), position=position,
                orientation=_turn(rng), velocity=rng.normal(0, 1, 3) - np.array([0, 0, 1.5]),
                angular_velocity=rng.normal(size=3) * 4)  # fmt: skip
    s.add_subset(f"{name}_skin", points=name, index=np.unique(meshes.surface(tets)).tolist())
    return density * meshes.lumped_masses(vertices, tets, 1.0).sum()


def _add_box(s, rng, name: str, position, size: float = 0.1) -> tuple[float, _engine.Sdf]:
    """A rigid box on eight corner spheres; returns its mass and its sdf (body frame)."""
    half = size * rng.uniform(0.5, 1, 3)
    mass = 8 * half.prod() * rng.uniform(200, 2000)
    a, b, c = half**2 * mass / 3
    s.add_rigid_body(name, mass=mass, inertia=[b + c, a + c, a + b, 0, 0, 0], position=position,
                     orientation=_turn(rng), velocity=rng.normal(size=3) * 0.5,
                     angular_velocity=rng.normal(size=3) * 3, radius=half.max())  # fmt: skip
    s.add_points(f"{name}_corners", bodies=[name] * 8, local=half * CORNERS, inset=-CORNERS,
                 radius=0.1 * half.min())  # fmt: skip
    return mass, _rounded(half)


def _ground(rng) -> _engine.Sdf:
    """A floor, tilted at most 20 degrees, alone or with a box or a sphere on it."""
    tilt = np.append(rng.uniform(-0.25, 0.25, 2), 1)
    parts = [_engine.Plane(tilt, 0.0)]
    if rng.random() < 0.3:
        box = _rounded(np.array([0.3, 0.3, 0.05]))
        parts.append(_engine.Transformed(box, [0.2, 0, 0.0]))
    if rng.random() < 0.3:
        parts.append(_engine.Transformed(_engine.Sphere(0.15), [-0.2, 0.1, 0.0]))
    return parts[0] if len(parts) == 1 else _engine.Union(parts, BLEND)


def drop(seed: int) -> tuple[_engine.Scene, float, str]:
    """Scene number `seed`, its step [s] and what it is."""
    rng = np.random.default_rng([77, seed])
    kind = KINDS[seed % len(KINDS)]
    step = 1 / rng.uniform(60, 480)
    s, ground = _engine.Scene(), _ground(rng)
    height = 0.35
    if kind != "rigid pile":
        mass = _add_soft(s, rng, "soft", [*rng.uniform(-0.05, 0.05, 2), 0.75])
        s.add_contact("soft_ground", points="soft_skin", sdf=ground, **_law(rng, mass, step))
    boxes = {"soft on static": 0, "soft on moving": 1, "rigid pile": 3, "mixed": 2}[kind]
    sdfs = []
    for i in range(boxes):
        name = f"box{i}"
        m, sdf = _add_box(s, rng, name, [*rng.uniform(-0.03, 0.03, 2), height + 0.25 * i * (i > 0)])
        law = _law(rng, m, step)
        s.add_contact(f"{name}_ground", points=f"{name}_corners", sdf=ground, **law)
        for j, other in enumerate(sdfs):
            s.add_contact_pair(f"{name}_box{j}", points_a=f"{name}_corners", sdf_a=sdf,
                               body_a=name, points_b=f"box{j}_corners", sdf_b=other,
                               body_b=f"box{j}", **law)  # fmt: skip
        sdfs.append(sdf)
        if kind != "rigid pile":
            s.add_contact(f"soft_{name}", points="soft_skin", sdf=sdf, carrier=name,
                          **_law(rng, mass, step))  # fmt: skip
    return s, step, kind


def run(seed: int) -> dict:
    """One drop: steps taken, steps that did not converge as asked, and how it ended."""
    s, step, kind = drop(seed)
    options = _engine.Options(step=step, order=2, max_iterations=ITERATIONS)
    steps = round(DURATION / step)
    start = time.process_time()
    r = _engine.rollout(s, s.values, steps, options)
    late = int(np.sum(r.iterations > ITERATIONS))  # a retry after a failed try counts as well
    failed = max(late, r.halvings) + (0 if r.ok else steps - len(r.time) + 1)
    return {
        "seed": seed, "kind": kind, "steps": steps, "failed": int(failed), "status": r.status,
        "finite": bool(np.isfinite(r.position).all() and np.isfinite(r.velocity).all()),
        "worst_iterations": int(np.max(r.iterations)), "rate": round(1 / step),
        "message": r.message, "touched": bool(np.any(r.contact_force)),
        "seconds": round(time.process_time() - start, 2),
    }  # fmt: skip


def study(fraction: float = 1.0, seed: int = 0) -> dict:
    """All drops; raises AssertionError naming the bar that is missed."""
    count = share(DROPS, fraction)
    runs = [run(seed * DROPS + i) for i in range(count)]
    steps, failed = sum(r["steps"] for r in runs), sum(r["failed"] for r in runs)
    least, _ = binomial_bounds(steps, REQUIRED, 1.0, fraction)
    worst = sorted(runs, key=lambda r: (-r["failed"], -r["worst_iterations"]))[:10]
    by_kind = {
        kind: {
            "drops": sum(r["kind"] == kind for r in runs),
            "steps": sum(r["steps"] for r in runs if r["kind"] == kind),
            "failed_steps": sum(r["failed"] for r in runs if r["kind"] == kind),
            "touched": sum(r["touched"] for r in runs if r["kind"] == kind),
        }
        for kind in KINDS
    }
    figures = {
        "drops": count, "steps": steps, "failed_steps": failed,
        "converged_share": 1 - failed / steps, "kinds": by_kind,
        "ended_early": sum(r["status"] != "converged" for r in runs), "worst": worst,
        "slowest_drop_s": max(r["seconds"] for r in runs),
    }  # fmt: skip
    assert all(r["finite"] for r in runs), "a recorded motion holds NaN or infinity"
    assert all(kind["touched"] > 0.9 * kind["drops"] for kind in by_kind.values()), by_kind
    assert steps - failed >= least, f"{failed} of {steps} steps did not converge: {worst}"
    return figures
