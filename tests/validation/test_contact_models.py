"""The reference with inequalities obeys its laws, and the engine's models come near it."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.gradients import check_gradients
from validation.contact_models import scene, study
from validation.sqp_reference import contact_forces, puck, spring_forces


def test_derivatives_of_the_reference_springs():
    body, rng = puck(), np.random.default_rng(0)
    x = body.vertices + 0.002 * rng.normal(size=body.vertices.shape)
    u, d = rng.normal(size=(2, *x.shape))
    _, K, B = spring_forces(body, x, u)
    for matrix, dx, du in ((K, d, 0 * d), (B, 0 * d, d)):
        ends = [spring_forces(body, x + s * 1e-6 * dx, u + s * 1e-6 * du)[0] for s in (1, -1)]
        exact = -matrix @ d.ravel()
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(exact, abs=1e-5 * np.abs(exact).max())


def test_contact_forces_of_one_particle():
    """Stick, slip and open: closed forms of a mass m stopped within a step h."""
    h_over_m, free = 0.1, np.array([0.3, 0.0, -1.0])
    for c_f, stuck in ((0.5, True), (0.2, False)):
        lam = contact_forces(h_over_m * np.eye(3), free, np.zeros(1), c_f, np.zeros((1, 3)))
        after = free + h_over_m * lam[0]
        assert after[2] == pytest.approx(0, abs=1e-12)
        assert after[0] == pytest.approx(0 if stuck else 0.3 - 0.2 * 1.0, abs=1e-12)
    lam = contact_forces(h_over_m * np.eye(3), -free, np.zeros(1), 0.5, np.ones((1, 3)))
    assert lam == pytest.approx(0, abs=1e-12)


def test_models_come_near_inequalities():
    figures = study(120)
    assert figures["hybrid"]["way_error"] < figures["linear"]["way_error"]


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_of_a_soft_puck_that_slides_and_is_held(order):
    names = ["puck.velocity.x", "puck.velocity.z", "puck.mass", "lattice.stiffness",
             "lattice.damping", "ground.k_n", "ground.c_f", "ground.k_t", "gravity.x"]  # fmt: skip
    options = _engine.Options(step=0.005, order=order, stagnate=True, record_modes=True)
    r = check_gradients(scene(puck(), "hybrid"), 80, options, names)
    assert {0, 2, 3} == set(np.unique(r.modes & 3))  # no point creeps in a penalty's range
