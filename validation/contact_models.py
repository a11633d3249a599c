"""A soft puck on an incline: penalty and hybrid contact beside inequalities [G Fig. 4.1].

One lattice of mass points and springs, dropped sliding onto a slope of tan = 0.6 c_f, BDF1 with the
same step: by the engine under three friction models, and by sqp_reference.py, which knows no
penalties. Penalties must come near where inequalities stop it; hybrid friction alone may stand
still.
"""

from __future__ import annotations

import numpy as np

from diffsim_ros import _engine

from .sqp_reference import G, Puck, puck, simulate

C_F, STEP, STEPS = 0.5, 0.005, 200
SLOPE = np.arctan(0.6 * C_F)
GRAVITY = np.array([G * np.sin(SLOPE), 0.0, -G * np.cos(SLOPE)])  # the incline's own axes
START, VELOCITY = [0.0, 0.0, 0.002], [0.3, 0.1, 0.0]
STIFF, DAMPED = 400.0, 100.0  # k_n per point [N/m] (sinks 0.2 mm), k_t per point [N s/m]


def scene(body: Puck, friction: str) -> _engine.Scene:
    """The reference's puck with penalty contact at every point."""
    n = len(body.vertices)
    s = _engine.Scene()
    s.set_gravity(GRAVITY)
    s.add_mass_points("puck", vertices=body.vertices, mass=body.mass, position=START,
                      velocity=VELOCITY)  # fmt: skip
    a, b = body.springs.T
    s.add_springs("lattice", points_a="puck", index_a=a, points_b="puck", index_b=b,
                  stiffness=body.stiffness, damping=body.damping,
                  rest_length=body.lengths)  # fmt: skip
    s.add_contact("ground", points="puck", sdf=_engine.Plane([0, 0, 1], 0), k_n=n * STIFF,
                  k_t=n * DAMPED, c_f=C_F, friction=friction)  # fmt: skip
    return s


def compare(steps: int = STEPS) -> dict:
    """Displacement, last speed and distance from the reference's speed over time, per model."""
    body = puck()
    x, u, forces = simulate(body, START, VELOCITY, steps, STEP, GRAVITY, C_F)
    speed = u[:, :, :2].mean(axis=1)
    path = x[-1, :, :2].mean(axis=0) - x[0, :, :2].mean(axis=0)
    cone = np.hypot(forces[..., 0], forces[..., 1]) - C_F * forces[..., 2]
    feet = np.linalg.norm(u[-1][forces[-1, :, 2] > 0, :2], axis=1)
    figures = {"sqp": {
        "way": path.tolist(), "last_speed_of_feet": float(feet.max()),
        "deepest": float(-x[..., 2].min()), "beyond_cone": float(cone.max()),
    }}  # fmt: skip
    for friction in ("linear", "tanh", "hybrid"):
        s = scene(body, friction)
        r = _engine.rollout(s, s.values, steps, _engine.Options(step=STEP, order=1))
        assert r.ok, r.message
        moved = (r.position[-1] - r.position[0]).mean(axis=0)[:2]
        low = r.contact_force[-1, :, 2] > 0
        apart = r.velocity[:, :, :2].mean(axis=1) - speed
        figures[friction] = {
            "way": moved.tolist(),
            "way_error": float(np.linalg.norm(moved - path) / np.linalg.norm(path)),
            "last_speed_of_feet": float(
                np.linalg.norm(r.velocity[-1][low, :2], axis=1).max()
            ),
            "speed_error": float(np.abs(apart).max()),
            "iterations": float(np.mean(r.iterations)),
        }  # fmt: skip
    return figures


def study(steps: int = STEPS) -> dict:
    """Run the comparison and assert its bars."""
    figures = compare(steps)
    exact, hybrid = figures["sqp"], figures["hybrid"]
    assert exact["deepest"] < 1e-12
    assert exact["beyond_cone"] < 1e-9
    assert exact["last_speed_of_feet"] < 1e-9
    assert hybrid["last_speed_of_feet"] < 3e-8  # its creep at Coulomb's limit
    assert hybrid["way_error"] < 0.03
    for friction in ("linear", "tanh"):
        assert figures[friction]["last_speed_of_feet"] > 1e-4  # a penalty creeps
    return figures
