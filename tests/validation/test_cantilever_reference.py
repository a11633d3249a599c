"""The scikit-fem oracle: forces, stiffness, and its coarsest level against the recorded limits."""

from __future__ import annotations

import json

import numpy as np
import pytest

from validation import cantilever_reference, closed_forms
from validation.common import RESULTS

fem = pytest.importorskip("validation.reference_fem", exc_type=ImportError)


@pytest.mark.parametrize("pressure", (True, False))
def test_patch_of_uniform_strain_carries_the_closed_form_stress(pressure):
    bar = fem.Bar(1, 0.45, pressure=pressure)
    rng = np.random.default_rng(0)
    F = np.eye(3) + 0.1 * rng.normal(size=(3, 3))
    force = bar.force(bar.state((bar.x @ (F - np.eye(3)).T).ravel())).reshape(-1, 3)
    P = closed_forms.first_piola(F, fem.YOUNG, 0.45)
    area = fem.WIDTH**2 / 2
    end = np.isclose(bar.x[:, 2], fem.LENGTH)
    assert np.allclose(force[end].sum(axis=0), P[:, 2] * area, rtol=1e-9, atol=1e-9)
    inside = ~(
        end | np.isclose(bar.x[:, 2], 0) | np.isclose(bar.x[:, 0], 0)
        | np.isclose(np.abs(bar.x[:, :2]), fem.WIDTH / 2).any(axis=1)
    )  # fmt: skip
    assert inside.any() and np.abs(force[inside]).max() < 1e-12 * np.abs(P).max()


@pytest.mark.parametrize("pressure", (True, False))
@pytest.mark.parametrize("poisson", (0.45, 0.499))
def test_stiffness_is_the_derivative_of_the_force(poisson, pressure):
    bar = fem.Bar(1, poisson, quarter=True, pressure=pressure)
    rng = np.random.default_rng(1)
    u, along = 2e-4 * rng.normal(size=(2, bar.ndof))
    state, e = bar.state(u), 1e-4
    K = bar.stiffness(state, bar.pressed(state[2]))
    slope = (bar.force(bar.state(u + e * along)) - bar.force(bar.state(u - e * along))) / (2 * e)
    assert np.allclose(K @ along, slope, atol=1e-6 * np.abs(slope).max())
    assert abs(K - K.T).max() < 1e-12 * abs(K).max()


def test_masses_and_loads_add_up():
    bar = fem.Bar(1, 0.45)
    half = fem.WIDTH**2 * fem.LENGTH / 2
    unit = np.tile([0, 1.0, 0], bar.ndof // 3)
    assert unit @ bar.mass() @ unit == pytest.approx(fem.DENSITY * half)
    assert bar.nodal(np.array([0, 2.0, 0])) @ unit == pytest.approx(2 * half)
    pull = bar.nodal(np.array([0, 1.0, 0]), end_only=True)
    assert pull @ unit == pytest.approx(fem.WIDTH**2 / 2)
    assert np.abs(pull.reshape(-1, 3)[bar.x[:, 2] < 0.99 * fem.LENGTH]).max() < 1e-18


def test_bricks_without_projection_lock_no_more_than_they_should():
    """A slender check by beam theory: bending and shear of the tip load, Poisson 0."""
    deflection = fem.tip_deflections(2, 0.0)["tip_load_tip_m"]
    inertia, area = fem.WIDTH**4 / 12, fem.WIDTH**2
    bending = fem.TIP_LOAD * fem.LENGTH**3 / (3 * fem.YOUNG * inertia)
    shear = fem.TIP_LOAD * fem.LENGTH / (5 / 6 * area * fem.YOUNG / 2)
    assert deflection == pytest.approx(bending + shear, rel=0.02)  # large deflections: 1 % less


@pytest.mark.parametrize("poisson", cantilever_reference.POISSON)
def test_coarsest_level_is_near_the_recorded_reference(poisson):
    recorded = json.loads((RESULTS / "cantilever_reference.json").read_text())
    recorded = recorded[f"poisson_{poisson}"]
    for name, value in fem.tip_deflections(1, poisson).items():
        row = recorded["deflections"][name]
        assert value == pytest.approx(row["levels"]["n_1"], rel=1e-6)
        assert value == pytest.approx(row["value"], rel=0.02)
    found = cantilever_reference.flattened(fem.frequencies(1, poisson))
    for name in ("bending_1_hz", "torsion_1_hz", "axial_1_hz", "bending_2_hz"):
        row = recorded["vibrations"][name]
        assert found[name] == pytest.approx(row["levels"]["n_1"], rel=1e-6)
        assert found[name] == pytest.approx(row["value"], rel=0.02)
    assert [m["mode"] for m in recorded["first_modes"]] == [
        "bending_1", "bending_1", "torsion_1", "bending_2", "bending_2",
    ]  # fmt: skip


def test_extrapolation_finds_limit_and_order_and_refuses_noise():
    levels = (2, 3, 5)
    found = cantilever_reference.extrapolated(levels, [3 + 0.7 * n**-2.5 for n in levels])
    assert found["value"] == pytest.approx(3, rel=1e-12)
    assert found["order"] == pytest.approx(2.5, rel=1e-9)
    with pytest.raises(AssertionError, match="no order"):
        cantilever_reference.extrapolated(levels, [1.0, 2.0, 1.0])
