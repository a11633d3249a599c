"""S against lambda with the linear solves as they are by default, over many steps."""

import numpy as np
import pytest

from bench.ball_engine import Ball
from bench.ball_scene import Mesh
from bench.sheet_engine import Cloth
from bench.sheet_scene import Sheet
from diffsim_ros import _engine, meshes

STEP = 1 / 240


def ball(young: float):
    """A stiff ball that turns: soft right-hand sides on a stiff matrix."""
    vertices, tets = meshes.ball(3, 0.1)
    s = _engine.Scene()
    s.add_solid("ball", vertices=vertices, tets=tets, density=1000.0, young=young, poisson=0.3,
                angular_velocity=[0, 0, 2])  # fmt: skip
    return s, [s.index("ball.velocity.x"), s.index("ball.angular_velocity.z")]


def scene(name: str):
    """(scene, active parameters)."""
    if name.startswith("stiff"):
        return ball(2e9 if name == "stiff" else 2e11)
    if name == "soft ball":
        made = Ball(Mesh.of(3), STEP)
    else:
        made = Cloth(Sheet.of(10, name), STEP)  # hang: 98 nodes that move
    return made.scene, made.active


@pytest.mark.parametrize(
    ("name", "steps", "most"),
    [("hang", 120, 1e-9), ("drop", 120, 1e-9), ("soft ball", 120, 1e-9), ("stiff", 24, 1e-9),
     ("stiffer", 24, 1e-7)],
)  # fmt: skip
def test_s_against_lambda_by_default(name, steps, most):
    s, active = scene(name)
    options = _engine.Options(step=STEP)
    forward = _engine.rollout(s, s.values, steps, options, active=active, mode="sensitivity")
    assert forward.ok, forward.message
    g = np.random.default_rng(0).normal(size=(2, len(forward.time), s.ndof))
    by_s = np.einsum("ti,tij->j", g[0], forward.dx) + np.einsum("ti,tij->j", g[1], forward.dv)
    for mode in ("store", "checkpoint"):
        backward = _engine.rollout(s, s.values, steps, options, active=active, mode=mode)
        by_lambda = np.asarray(backward.gradient(g[0], g[1]))
        assert np.linalg.norm(by_lambda - by_s) < most * np.linalg.norm(by_s)


def test_motion_is_the_same_in_all_modes():
    s, active = scene("soft ball")
    options = _engine.Options(step=STEP)
    plain = _engine.rollout(s, s.values, 60, options)
    for mode in ("sensitivity", "store", "checkpoint"):
        other = _engine.rollout(s, s.values, 60, options, active=active, mode=mode)
        np.testing.assert_array_equal(other.position, plain.position, err_msg=mode)


def test_flight_takes_one_iteration_a_step():
    # Rates go on by a polynomial, so steps of a ball that turns begin close to where they end.
    s, _ = scene("soft ball")
    r = _engine.rollout(s, s.values, 120, _engine.Options(step=STEP))
    assert r.ok, r.message
    assert np.sum(np.asarray(r.iterations) == 1) > 30


def test_quick_steps_find_what_safe_ones_find():
    # stagnate: no polynomial of high degree, all blocks made anew, solved exactly.
    s, _ = scene("soft ball")
    quick, safe = (
        _engine.rollout(s, s.values, 40, _engine.Options(step=STEP, stagnate=stagnate))
        for stagnate in (False, True)
    )
    assert quick.ok, quick.message
    assert safe.ok, safe.message
    np.testing.assert_allclose(quick.position, safe.position, rtol=0, atol=1e-8)
