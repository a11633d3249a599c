"""A part of validation/physics_bob.py."""

import numpy as np
import pytest

from diffsim_ros import meshes
from validation import physics_bob


def test_p1_locks_on_bob_and_p2_p0_does_not():
    """On the coarse mesh, the reference too."""
    figures = physics_bob.study(fraction=0.1)
    assert figures["p1_1467_0.499"]["error"] < -0.6
    assert abs(figures["p2_p0_1467_0.499"]["error"]) < 0.03


def test_divided_tetrahedra_fill_the_same_volume():
    vertices, tets, held = physics_bob.bob(0)
    finer, children = physics_bob.divided(vertices, tets)

    def volumes(x, t):
        return np.linalg.det(x[t[:, 1:]] - x[t[:, :1]]) / 6

    parts = volumes(finer, children).reshape(-1, 8)
    assert parts == pytest.approx(np.repeat(volumes(vertices, tets)[:, None] / 8, 8, axis=1))
    assert 0 < held.sum() < len(tets) / 5
    assert meshes.surface(tets).shape[0] * 4 == meshes.surface(children).shape[0]
