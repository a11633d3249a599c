"""A part of validation/mesh_numbers.py: one ball, on a coarse mesh."""

import pytest

from validation import mesh_numbers


def test_a_ball_whose_truth_has_another_element(tmp_path):
    pytest.importorskip("open3d")
    row = mesh_numbers.one((0.0, {"layers": 1}), 0, None)
    found = mesh_numbers.summary([row], 0.1)
    assert found["bodies"] == 1 and set(row["parameters"]) == {"young", "viscosity", "friction"}
