"""The cantilever study's parts, on coarse bars."""

from __future__ import annotations

import numpy as np
import pytest

from validation import physics_solids
from validation.physics_solids import Cantilever


@pytest.mark.parametrize("element", ["p1", "p2"])
def test_loads_and_masses_add_up(element):
    bar = Cantilever(element, 0.45, (2, 2, 3), "consistent")
    assert bar.end_shares().sum() == pytest.approx(1, rel=1e-12)
    whole = physics_solids.DENSITY * physics_solids.WIDTH**2 * physics_solids.LENGTH
    everywhere = np.ones(bar.scene.ndof)
    assert 0.7 * whole < everywhere @ bar.mass() @ everywhere / 3 < whole


def test_quadratic_tetrahedra_are_near_the_reference_and_linear_ones_lock():
    fine = physics_solids.compared("p2", 0.499, (2, 2, 6))
    errors = {**fine["tip_errors"], **fine["frequency_errors"]}
    assert max(map(abs, errors.values())) < 0.04, errors
    assert abs(fine["pair_apart"]) < 1e-6
    locked = Cantilever("p1", 0.499, (2, 2, 6)).frequencies()
    assert locked[0] > 1.3 * 7.28
