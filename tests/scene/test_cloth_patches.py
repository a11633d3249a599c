"""Cloth whose mass per area differs from patch to patch: masses, motion, derivatives, bad input."""

import numpy as np
import pytest

from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from tests.native.gradients import check_gradients

LEFT = {"box": {"centre": [-0.1, 0, 0], "size": [0.2, 0.2, 0.1]}}


def cloth(*patches, **more):
    """A sheet of 4 by 2 cells of 0.1 m, held at its left edge."""
    sheet = {
        "type": "cloth", "shape": {"rectangle": {"size": [0.4, 0.2], "cells": [4, 2]}},
        "stretch": {"stiffness": 300, "damping": 0.1}, "shear": {"stiffness": 100},
        "patches": list(patches),
        "pinned": [{"plane": {"normal": [1, 0, 0], "offset": -0.2}}],
        **({"mass_per_area": 0.5} | more),
    }  # fmt: skip
    return {"world": {"step": 0.005, "duration": 0.05}, "bodies": {"sheet": sheet}}


def masses(scene):
    """Of every vertex (5, 3), held ones 0."""
    model = load_scene(scene)
    body, found = model.parts.bodies["sheet"], np.zeros(15)
    found[body.free()] = model.engine.masses(model.engine.values)
    return found.reshape(5, 3), body.total_mass()


def test_vertices_have_their_parts_of_the_faces_around_them():
    """Cells weigh 0.5 * 0.01 kg, those of the patch three times as much, a quarter a corner."""
    found, total = masses(cloth({"where": LEFT, "factor": 3}))
    cell = np.repeat([3, 3, 1, 1], 2).reshape(4, 2) * 0.5 * 0.01
    wanted = np.zeros((5, 3))
    for i, j in np.ndindex(2, 2):
        wanted[i : i + 4, j : j + 2] += cell / 4
    wanted[0] = 0
    assert found == pytest.approx(wanted, rel=1e-12)
    assert total == pytest.approx(cell.sum())
    given, total = masses(cloth({"where": LEFT, "factor": 3}, mass_per_area=None, mass=0.1))
    assert total == 0.1
    assert given == pytest.approx(wanted * 0.1 / cell.sum(), rel=1e-12)


def test_patches_add_up_and_none_changes_nothing():
    twice = masses(cloth({"where": LEFT, "factor": 2}, {"where": LEFT, "factor": 2}))[0]
    assert twice == pytest.approx(masses(cloth({"where": LEFT, "factor": 3}))[0])
    same = masses(cloth({"where": "all", "factor": 1}))[0]
    assert same == pytest.approx(masses(cloth())[0], rel=1e-14)


def test_derivatives_by_the_mass_are_exact_and_the_patch_scales_along():
    scene = cloth({"where": LEFT, "factor": 3})
    scene["parameters"] = {"bodies.sheet.mass_per_area": {"bounds": [0.1, 2]}}
    model = load_scene(scene)
    (parameter,) = model.parameters
    assert parameter.value == 0.5
    ((name, (factor, power)),) = parameter.sets.items()
    assert name == "sheet.mass"
    assert factor * 0.5**power == pytest.approx(0.5 * (0.04 * 3 + 0.04))
    check_gradients(model.engine, 10, model.options, ["sheet.mass"])


@pytest.mark.parametrize(
    ("patches", "message"),
    [
        ([{"where": LEFT}], r"patches\[0\].factor: .*required"),
        ([{"where": LEFT, "factor": 0}], r"patches\[0\].factor: got 0.*> 0"),
        ([{"where": {"sphere": {"radius": 0.01}}, "factor": 2}], r"where: .*lies whole"),
        ([{"where": [0, 99], "factor": 2}], r"numbers: got 99; .*0 to 14"),
        ([{"where": "all", "factor": 0.4}] * 2, "patches: .*do not overlap"),
        ([{"where": "all", "factor": 2, "mass": 1}], r"patches\[0\].mass"),
    ],
)
def test_bad_patches_are_named(patches, message):
    with pytest.raises(InputError, match=message):
        load_scene(cloth(*patches))
