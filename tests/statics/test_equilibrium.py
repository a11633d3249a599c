"""Scenes at rest against closed forms, and how they move with parameters."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.meshes import box, quadratic
from diffsim_ros.rotation import quat_conjugate, quat_log, quat_multiply
from diffsim_ros.statics import equilibrium
from tests.statics.scenes import (
    GRAVITY,
    cantilever,
    cube_on_plane,
    jointed_arm,
    on_spring,
    stretched_string,
)


def test_mass_on_a_spring_hangs_where_hooke_says():
    s = on_spring()
    found = equilibrium(s)
    assert found.position[0] == pytest.approx([0, 0, -(0.1 + 0.3 * GRAVITY / 120)], abs=1e-12)
    assert found.stable
    names = ["bob.mass", "spring.stiffness", "spring.rest_length", "gravity.z"]
    by = found.derivatives(names)[2]
    assert by == pytest.approx([-GRAVITY / 120, 0.3 * GRAVITY / 120**2, -1, 0.3 / 120], rel=1e-9)


def test_block_rests_on_a_table_as_deep_as_its_weight_presses():
    s = cube_on_plane()
    found = equilibrium(s)
    # four of eight corners carry, each with an eighth of k_n
    depth = 0.5 * GRAVITY / (2e4 / 2)
    assert found.position[0, 2] == pytest.approx(0.05 - depth, abs=1e-12)
    assert found.residual < 1e-9
    assert found.inverse.N.shape[1] == 3  # along the table and about the vertical
    by = found.derivatives(["floor.k_n", "cube.mass", "floor.c_f", "cube.position.x"])
    assert by[2] == pytest.approx([depth / 2e4, -depth / 0.5, 0, 0], rel=1e-7, abs=1e-15)
    assert by[[0, 1, 3, 4, 5]] == pytest.approx(0, abs=1e-9)


def test_what_pushes_along_a_free_direction_has_no_derivative_and_is_named():
    found = equilibrium(cube_on_plane())
    assert {"gravity.x", "gravity.y"} <= set(found.undefined)
    assert "gravity.z" not in found.undefined
    with pytest.raises(InputError, match=r"gravity\.x.*free direction"):
        found.derivatives(["gravity.z", "gravity.x"])


def test_a_cantilever_sags_as_timoshenko_says():
    # no Poisson's ratio: a clamp that keeps the section's width would be stiffer than in the theory
    length, height, young, poisson, density = 1.0, 0.1, 2e8, 0.0, 1000.0
    s, rest = cantilever(length, height, young=young, poisson=poisson, density=density)
    found = equilibrium(s)
    axis = np.flatnonzero((rest[:, 0] > length - 1e-9) & (np.abs(rest[:, 1:]) < 1e-9).all(axis=1))
    sag = rest[axis[0], 2] - found.position[axis[0], 2]
    bend = 12 * density * GRAVITY * length**4 / (8 * young * height**2)
    shear_factor = 10 * (1 + poisson) / (12 + 11 * poisson)
    shear = density * GRAVITY * length**2 * (1 + poisson) / (young * shear_factor)
    assert sag == pytest.approx(bend + shear, rel=2e-3)


def shifted(s, name, factor=1.0, by=0.0):
    p = s.values
    p[s.index(name)] = p[s.index(name)] * factor + by
    return p


def apart(a, b, scene):
    """(ndof,) from pose b to pose a: displacements and world rotation vectors."""
    found = np.zeros(scene.ndof)
    first = np.array(scene.node_dofs)
    for node, dof in enumerate(first[:-1]):
        found[dof : dof + 3] = a.position[node] - b.position[node]
        if first[node + 1] - dof == 6:
            turn = quat_multiply(a.orientation[node], quat_conjugate(b.orientation[node]))
            found[dof + 3 : dof + 6] = quat_log(turn)
    return found


SOFT = {"cells": (4, 1, 1), "height": 0.1, "width": 0.1, "young": 2e5}
CASES = [
    (lambda: cantilever(**SOFT)[0],
     ["beam.young", "beam.poisson", "beam.density", "gravity.z", "gravity.y"]),
    (jointed_arm, ["upper.mass", "lower.mass", "stays.stiffness", "stays.rest_length",
                   "elbow.stiffness", "gravity.x", "gravity.z"]),
    (stretched_string, ["string.stiffness", "string.rest_length", "gravity.y"]),
]  # fmt: skip


@pytest.mark.parametrize(("make", "names"), CASES, ids=["beam", "arm", "string"])
def test_derivatives_are_those_of_differences(make, names):
    s = make()
    found = equilibrium(s)
    by = found.derivatives(names)
    for j, name in enumerate(names):
        value = s.values[s.index(name)]
        eps = 1e-4 * (abs(value) or 1.0)
        high, low = (equilibrium(s, shifted(s, name, by=side * eps)) for side in (1, -1))
        difference = apart(high, low, s) / (2 * eps)
        largest = max(np.abs(difference).max(), 1e-9)
        assert by[:, j] == pytest.approx(difference, rel=1e-5, abs=2e-6 * largest)


@pytest.mark.parametrize("make", [lambda: cantilever(**SOFT)[0], jointed_arm], ids=["beam", "arm"])
def test_a_motion_that_loses_its_energy_ends_there(make):
    s = make()
    # BDF1 with long steps damps by itself
    options = _engine.Options(step=0.2, order=1, tolerance=1e-12, record_every=600)
    motion = _engine.rollout(s, s.values, 600, options)
    assert motion.ok
    found = equilibrium(s)
    assert found.position == pytest.approx(motion.position[-1], abs=1e-8)
    assert np.abs(found.position - motion.position[0]).max() > 1e-2


def test_gradient_is_the_adjoint_of_the_derivatives():
    s = jointed_arm()
    found = equilibrium(s)
    dx = np.random.default_rng(3).normal(size=s.ndof)
    names = [n for n in found.scene.names if n not in found.undefined]
    assert found.gradient(dx, names) == pytest.approx(dx @ found.derivatives(names), rel=1e-9)


def test_a_kinematic_body_carries_what_hangs_on_it():
    s = _engine.Scene()
    s.add_kinematic_body("hand", interval=1.0, position=[[0.1, 0, 1], [5, 5, 5]],
                         rotation=[[0, 0, 0], [0, 0, 1]], radius=0.1)  # fmt: skip
    s.add_particle("bob", mass=0.3, position=[0.15, 0, 0.8])
    s.add_points("ends", bodies=["hand", "bob"], local=[[0.05, 0, 0], [0, 0, 0]])
    s.add_springs("spring", points_a="ends", index_a=[0], points_b="ends", index_b=[1],
                  stiffness=120.0, rest_length=0.1)  # fmt: skip
    found = equilibrium(s)
    bob = s.nodes_of("bob")[0]
    where = [0.15, 0, 1 - 0.1 - 0.3 * GRAVITY / 120]
    assert found.position[bob] == pytest.approx(where, abs=1e-10)
    names = [n for n in found.scene.names if n.startswith("hand.")]
    by = found.derivatives(names)
    dof = s.dof_offset("bob")
    for j, name in enumerate(names):
        eps = 1e-5
        high, low = (equilibrium(s, shifted(s, name, by=side * eps)) for side in (1, -1))
        difference = apart(high, low, s) / (2 * eps)
        assert by[dof : dof + 3, j] == pytest.approx(difference[dof : dof + 3], abs=1e-7)
    dx = np.random.default_rng(0).normal(size=s.ndof)
    assert found.gradient(dx, names) == pytest.approx(dx @ by, abs=1e-12)


def test_an_upright_chain_falls_off_its_balance():
    """A bob straight above its anchor on a compressed spring is in balance there, and leaves it."""
    s = on_spring(rest_length=0.5)
    p = s.values
    p[s.index("bob.position.z")] = 0.4
    found = equilibrium(s, p)
    assert found.stable
    assert found.position[0] == pytest.approx([0, 0, -(0.5 + 0.3 * GRAVITY / 120)], abs=1e-9)


@pytest.mark.parametrize("load", [0.9, 1.1])
def test_a_column_buckles_under_its_weight_where_greenhill_says(load):
    length, width, young, density = 0.4, 0.02, 4e5, 1000.0
    # critical weight per length: 7.8373 E I/L^3
    critical = 7.8373 * young * width**2 / 12 / (density * length**3)
    vertices, tets = quadratic(*box((width, width, length), (1, 1, 8)))
    s = _engine.Scene()
    s.set_gravity([0, 0, -load * critical])
    clamped = np.flatnonzero(vertices[:, 2] < -length / 2 + 1e-9)
    s.add_solid("column", vertices=vertices, tets=tets, density=density, young=young, poisson=0.0,
                element="p2", mass="consistent", glued=[("", clamped)])  # fmt: skip
    found = equilibrium(s)
    aside = np.abs(found.position - found.scene.start.position)[:, :2].max()
    assert found.stable
    if load < 1:
        assert aside < 1e-3 * length and found.steps < 20
    else:
        assert aside > 0.2 * length


def test_what_slides_has_no_equilibrium_and_is_named():
    with pytest.raises(NotConverged, match=r"does not come to rest.*'cube'"):
        equilibrium(cube_on_plane(normal=(0.3, 0, 1)), most_steps=60)


def test_hybrid_friction_is_refused():
    with pytest.raises(InputError, match=r"floor.*friction.*hybrid"):
        equilibrium(cube_on_plane(friction="hybrid"))


def test_unusable_values_are_refused():
    s = on_spring()
    with pytest.raises(InputError, match="shape"):
        equilibrium(s, [1.0])
    with pytest.raises(InputError, match=r"spring\.stifness.*spring\.stiffness"):
        equilibrium(s).derivatives(["spring.stifness"])
