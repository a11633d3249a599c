"""A part of validation/physics_blocks.py."""

from __future__ import annotations

import pytest

from validation import physics_blocks, reference_blocks


def test_the_reference_is_the_published_one():
    corner = reference_blocks.Membrane(8, 1 / 3, young=1.0).compliance()["corner"]
    # E = 70 MPa, 6.25 MPa over an end of 16, plane strain: 32.27 by CalculiX (CoFEA)
    assert 100 / 70 * corner * reference_blocks.THICK == pytest.approx(32.27, rel=0.01)


def test_cooks_membrane_and_a_pressed_block():
    figures = physics_blocks.study(fraction=0.1)
    assert list(figures["membrane"]) == ["p2_p0_six_0.499"]
    assert abs(figures["published"]["p2_p0_six"]) < 0.005


def test_locking_shows_in_the_derivative_by_poissons_ratio_first():
    found = physics_blocks.compared("membrane", "p1_fbar", 0.499, (8, 8, 1), "five", fine=False)
    assert -0.15 < found["mean"] < -0.05 and found["by_poisson"] > 1, found
