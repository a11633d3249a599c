"""A part of validation/physics_blocks.py."""

from __future__ import annotations

import numpy as np
import pytest

from validation import physics_blocks, reference_blocks, reference_fem


def test_the_reference_is_the_published_one():
    body = reference_blocks.Membrane(8, 1 / 3, young=1.0)
    _, load, free, force = body.problem()
    u = reference_fem.equilibrium(body, load, free, reference_blocks.ROUNDING).reshape(-1, 3)
    corner = np.argmin(
        np.linalg.norm(
            body.x[:, :2] - [reference_blocks.SPAN, reference_blocks.RISE + 0.16], axis=1
        )
    )
    # E = 70 MPa, 6.25 MPa over an end of 16, plane strain: 32.27 by CalculiX (CoFEA)
    found = 100 / 70 * u[corner, 1] / force * reference_blocks.THICK
    assert found == pytest.approx(32.27, rel=0.01)


@pytest.mark.parametrize("kind", [reference_blocks.Membrane, reference_blocks.Block,
                                  reference_blocks.Cantilever])  # fmt: skip
def test_derivatives_of_the_references_are_those_of_their_displacements(kind):
    def mean(young, poisson):
        return reference_blocks.slopes(kind(1, poisson, young=young))["mean"]

    young, nu = physics_blocks.YOUNG, 0.45
    found = reference_blocks.slopes(kind(1, nu, young=young))
    by_young = (mean(1.001 * young, nu) - mean(0.999 * young, nu)) / (0.002 * young)
    by_poisson = (mean(young, nu + 1e-4) - mean(young, nu - 1e-4)) / 2e-4
    assert found["by_young"] == pytest.approx(by_young, rel=1e-4)
    assert found["by_poisson"] == pytest.approx(by_poisson, rel=1e-4)


def test_cooks_membrane_and_a_pressed_block():
    figures = physics_blocks.study(fraction=0.1)
    assert list(figures["membrane"]) == ["p2_p0_six_0.499"]
    assert abs(figures["published"]["p2_p0_six"]) < 0.005
    (membrane,), (block,) = figures["membrane"].values(), figures["block"].values()
    assert abs(membrane["mean"]) < 0.01 and abs(membrane["by_young"]) < 0.01, membrane
    assert abs(membrane["by_poisson"]) < 0.04, membrane
    assert abs(block["mean"]) < 0.04 and abs(block["by_poisson"]) < 0.09, block


def test_locking_shows_in_the_derivative_by_poissons_ratio_first():
    found = physics_blocks.compared("membrane", "p1_fbar", 0.499, (8, 8, 1), "five", fine=False)
    assert -0.15 < found["mean"] < -0.05 and found["by_poisson"] > 1, found
