"""A part of validation/mesh_numbers.py: one ball, fitted on a coarse mesh of linear tets."""

import pytest

from validation import mesh_numbers


def test_a_ball_whose_truth_has_another_element():
    pytest.importorskip("open3d")
    found = mesh_numbers.study(0.1)
    assert found["bodies"] == 1 and found["silently_off"] == 0
    (row,) = found["rows"]
    assert set(row["parameters"]) == {"young", "viscosity", "friction"}
    assert row["element"] == "p1" and "element p1 of body is too stiff" in row["reason"]
