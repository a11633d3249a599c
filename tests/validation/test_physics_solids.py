"""The cantilever study's parts, on coarse bars."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros import meshes
from validation import physics_solids
from validation.physics_solids import Cantilever


@pytest.mark.parametrize("element", ["p1", "p2", "p2_p0"])
def test_loads_and_masses_add_up(element):
    bar = Cantilever(element, 0.45, (2, 2, 3), "consistent")
    assert bar.end_shares().sum() == pytest.approx(1, rel=1e-12)
    whole = physics_solids.DENSITY * physics_solids.WIDTH**2 * physics_solids.LENGTH
    everywhere = np.ones(bar.scene.ndof)
    assert 0.7 * whole < everywhere @ bar.mass() @ everywhere / 3 < whole


def test_quadratic_tetrahedra_are_near_the_reference_and_linear_ones_lock():
    fine = physics_solids.compared("p2", 0.499, (2, 2, 6), grading=4.0)
    errors = {**fine["tip_errors"], **fine["frequency_errors"]}
    assert max(map(abs, errors.values())) < 0.04, errors
    assert abs(fine["pair_apart"]) < 1e-6
    locked = Cantilever("p1", 0.499, (2, 2, 6)).frequencies()
    assert locked[0] > 1.25 * 7.28


@pytest.mark.parametrize(
    ("element", "poisson", "cells", "split", "least", "most"),
    [
        # On equal cells p1_fbar and p2 are too stiff; p2_p0 is not, by any split.
        ("p1_fbar", 0.45, (5, 5, 16), "six", -0.062, -0.055),
        ("p2", 0.45, (4, 4, 6), "six", -0.049, -0.041),
        *(("p2_p0", nu, (2, 2, 6), split, -0.03, 0.03)
          for nu in physics_solids.POISSON for split in meshes.SPLITS),
    ],
)  # fmt: skip
def test_sag_on_equal_cells(element, poisson, cells, split, least, most):
    assert least < physics_solids.sag_error(element, poisson, cells, split)[0] < most
