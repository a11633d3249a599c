"""Cloth whose mass per area differs from patch to patch: masses, motion, derivatives, bad input."""

import numpy as np
import pytest

from diffsim_ros._engine import InvalidInput
from diffsim_ros.errors import InputError
from diffsim_ros.scene import load_scene
from diffsim_ros.statics import equilibrium
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


def with_parameters(scene, *paths):
    scene["parameters"] = {f"bodies.sheet.{path}": {"bounds": [0.1, 9]} for path in paths}
    return load_scene(scene)


def test_derivatives_by_mass_and_factors_are_exact():
    """Of patches that overlap, on a sheet that hangs on a falling rod by vertices of both."""
    right = {"box": {"centre": [0.1, 0, 0], "size": [0.4, 0.2, 0.1]}}
    scene = cloth({"where": LEFT, "factor": 3}, {"where": right, "factor": 0.6}, pinned=[],
                  glue=[{"to": "rod", "where": {"plane": {"normal": [1, 0, 0], "offset": -0.1}}}],
                  velocity=[0, 0.3, 0])  # fmt: skip
    scene["bodies"]["rod"] = {
        "shape": {"box": {"size": [0.1, 0.3, 0.1]}},
        "mass": 0.3,
        "pose": {"position": [-0.2, 0, 0]},
        "angular_velocity": [1, 3, 2],
    }
    model = with_parameters(scene, "mass_per_area", "patches[0].factor", "patches[1].factor")
    found = {p.name.split("sheet.")[1]: p for p in model.parameters}
    assert [p.value for p in found.values()] == [0.5, 3, 0.6]
    ((name, (factor, power)),) = found["mass_per_area"].sets.items()
    assert (name, factor * 0.5**power) == ("sheet.mass", pytest.approx(0.5 * 0.08))
    names = ["sheet.mass", "sheet.patches[0].factor", "sheet.patches[1].factor"]
    check_gradients(model.engine, 10, model.options, names)


def test_a_factor_as_a_parameter_means_what_the_file_means():
    model = with_parameters(cloth({"where": LEFT, "factor": 3}), "patches[0].factor")
    values = model.engine.values
    values[model.engine.index("sheet.patches[0].factor")] = 1.7
    other = load_scene(cloth({"where": LEFT, "factor": 1.7})).engine
    assert values.tobytes() == other.values.tobytes()
    assert model.engine.masses(values).tobytes() == other.masses(values).tobytes()


def test_what_a_sheet_pulls_follows_each_factor():
    """A sheet hangs by its edge on a plate on a spring: the plate sinks by the weight over k, so by
    0.5 kg/m^2 times a patch's area, glued vertices too, times g/k per unit of its factor."""
    upper = {"box": {"centre": [-0.15, 0, 0], "size": [0.1, 0.2, 0.1]}}
    lower = {"box": {"centre": [0.1, 0, 0], "size": [0.2, 0.2, 0.1]}}
    edge = {"plane": {"normal": [1, 0, 0], "offset": -0.2}}
    scene = cloth({"where": upper, "factor": 3}, {"where": lower, "factor": 0.5}, pinned=[],
                  pose={"rotation": [0, np.pi / 2, 0]},
                  glue=[{"to": "plate", "where": edge}])  # fmt: skip
    scene["bodies"]["plate"] = {
        "shape": {"box": {"size": [0.1, 0.3, 0.02]}},
        "mass": 0.2,
        "pose": {"position": [0, 0, 0.21]},
    }
    scene["links"] = [
        {"name": "guide", "type": "joint", "kind": "slider", "body_b": "plate",
         "position": [0, 0, 0.21]},
        {"name": "spring", "type": "motor", "joint": "guide", "keys": 0, "stiffness": 200},
    ]  # fmt: skip
    model = load_scene(scene)
    rest = equilibrium(model.engine)
    plate = model.engine.nodes_of("plate")[0]
    weight = 9.81 * (0.2 + 0.5 * (0.08 + 2 * 0.02 - 0.5 * 0.04))
    assert rest.position[plate, 2] == pytest.approx(0.21 - weight / 200, abs=1e-8)
    names = [f"sheet.patches[{k}].factor" for k in (0, 1)]
    down = rest.derivatives(names)[model.engine.dof_offset("plate") + 2]
    assert down == pytest.approx([-9.81 * 0.5 * 0.02 / 200, -9.81 * 0.5 * 0.04 / 200], rel=1e-7)


def test_factors_that_leave_no_mass_are_refused():
    whole = {"where": "all", "factor": 0.7}
    engine = with_parameters(cloth(whole, whole), "patches[0].factor").engine
    values = engine.values
    values[engine.index("sheet.patches[0].factor")] = 0.2
    with pytest.raises(InvalidInput, match=r"factors of patches.*a mass > 0"):
        engine.check(values)
    with pytest.raises(InputError, match=r"patches\[0\].factor.*mass"):
        with_parameters(cloth(whole, mass=0.1, mass_per_area=None), "patches[0].factor")


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
