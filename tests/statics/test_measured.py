"""Estimation from places at rest and natural frequencies."""

import dataclasses
import functools

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    Parameter,
    ParameterMap,
    PoseTrack,
    Trial,
    gauss_newton_covariance,
    levenberg_marquardt,
)
from diffsim_ros.inverse.marker_track import RigidPoints, SoftPoints
from diffsim_ros.inverse.objectives import LinearFunctional
from diffsim_ros.inverse.simulation_problem import SimulationProblem
from diffsim_ros.inverse.trial import InitialState
from diffsim_ros.statics import (
    Frequencies,
    PlacesAtRest,
    equilibrium,
    measured,
    modes,
    rest_problem,
)
from diffsim_ros.statics.measured import at_rest_beside
from tests.statics.scenes import GRAVITY, cantilever, cube_on_plane, jointed_arm, on_spring

MASS, STIFFNESS, LENGTH = 0.3, 120.0, 0.1


def bob(place, sigma):
    """The bob of `on_spring` at a place."""
    here = SoftPoints(np.zeros(1, int), np.ones((1, 1)), np.zeros((1, 3)))
    return PlacesAtRest("bob", here, np.array([place]), sigma)


def stiffness(value=200.0):
    return Parameter("spring.stiffness", "N/m", value, lower=10, upper=1000, scale="log")


@pytest.mark.parametrize("data", ["place", "frequency", "both"])
def test_a_springs_stiffness_and_its_sigma_are_those_of_the_closed_form(data):
    scene = on_spring()
    sag, bounce = LENGTH + MASS * GRAVITY / STIFFNESS, np.sqrt(STIFFNESS / MASS) / (2 * np.pi)
    place = bob([np.nan, np.nan, -sag], 1e-4)
    # the third mode: the two below it swing
    frequency = Frequencies("bob", [bounce], 0.01, number=(3,))
    seen = {"place": (place,), "frequency": (frequency,), "both": (place, frequency)}[data]
    problem = rest_problem(scene, ParameterMap([stiffness()], scene), [Trial("a", 0, seen)])
    solution = levenberg_marquardt(problem)
    assert solution.converged and solution.parameters["spring.stiffness"] == pytest.approx(
        STIFFNESS, rel=1e-6
    )
    precision = {
        "place": (1e-4 * STIFFNESS**2 / (MASS * GRAVITY)) ** -2,
        "frequency": (2 * 0.01 * STIFFNESS / bounce) ** -2,
    }
    precision["both"] = sum(precision.values())
    found = gauss_newton_covariance(problem, solution)
    assert found.std_dev == pytest.approx([precision[data] ** -0.5], rel=1e-5)


def free_end(rest):
    """Two corners of the free end of `cantilever` as points."""
    nodes = np.argsort(-rest[:, 0] - 1e-3 * rest[:, 2] - 1e-4 * rest[:, 1])[:2]
    return SoftPoints(nodes, np.eye(2), np.zeros((2, 3))), rest[nodes]


SOFT = {"cells": (3, 1, 1), "height": 0.1, "width": 0.08, "young": 3e5}
UP = np.array([[[0, 0, 1.0]] * 2, [[0, 1.0, 0]] * 2])


def beam_problem(**changes):
    """A rubber beam under two gravities: its end, two bending modes by their shapes."""
    scene, rest = cantilever(**SOFT)
    points, places = free_end(rest)
    parameters = ParameterMap(
        [
            Parameter("beam.young", "Pa", 2.5e5, lower=1e5, upper=1e6, scale="log"),
            Parameter("beam.poisson", "1", 0.35, lower=0.1, upper=0.45, prior_mean=0.3,
                      prior_sigma=0.1),
            Parameter("density", "kg/m^3", 1100.0, lower=500, upper=2000, scale="log",
                      sets={"beam.density": (1.0, 1.0)}),
        ],
        scene,
    )  # fmt: skip
    places = PlacesAtRest("beam", points, places - [[0.02, 0, 0.15], [0.02, 0, np.nan]], 1e-3)
    seen = Frequencies("beam", [1.5, 1.2], [0.02, 0.01], carrier=points, shape=UP)
    seen = dataclasses.replace(seen, **changes)
    trials = [
        Trial("upright", 0, (places, seen)),
        Trial("light", 0, (places,), parameters={"gravity.z": -5.0}),
    ]
    return scene, rest_problem(scene, parameters, trials)


def check_derivatives(problem, z, eps=1e-4):
    """S, and lambda, against differences of fourth order along every parameter."""
    forward = problem.evaluate(z, want="equations")
    backward = problem.evaluate(z, want="gradient")
    assert backward.gradient[0] == pytest.approx(forward.gradient[0], rel=1e-9)
    shifts = np.array([1, -1, 2, -2])[:, None, None] * eps * np.eye(len(z))
    around = problem.evaluate_many((z + shifts).reshape(-1, len(z)), [None] * 4 * len(z))
    assert {e.signature for e in around} == {forward.signature}
    near, far = np.reshape([e.value for e in around], (2, 2, -1))
    differences = (8 * (near[0] - near[1]) - (far[0] - far[1])) / (12 * eps)
    assert forward.gradient[0] == pytest.approx(differences, rel=1e-6)


def test_gradients_are_those_of_differences():
    _, problem = beam_problem()
    check_derivatives(problem, problem.start)


def test_beside_a_motion_whose_start_is_fitted_the_gradient_is_that_of_differences():
    """Nuisance variables are of the motion; those of what is at rest are read by nothing."""
    scene, sag = on_spring(), LENGTH + MASS * GRAVITY / STIFFNESS
    begin = InitialState("bob", [0, 0, -sag], None, [0, 0, 0.1], covariance=1e-4 * np.eye(6))
    swing = Trial("swing", 20, (LinearFunctional("bob", position=(3.0, -2.0, 40.0)),), (begin,))
    options = _engine.Options(step=0.005, stagnate=True)
    parameters = ParameterMap([stiffness(130.0)], scene)
    moving = SimulationProblem(scene, options, parameters, [swing], nuisance=True)
    rest = Trial("rest", 0, (bob([np.nan, np.nan, -sag], 1e-3),))
    problem = at_rest_beside(moving, [rest])
    z, y = problem.start, np.random.default_rng(0).standard_normal((2, 6))
    value = problem.evaluate(z, y, want="gradient")
    by_z, by_y = value.gradient
    assert by_y[1] == pytest.approx(y[1])
    alone = moving.evaluate(z, y[:1]).value, rest_problem(scene, parameters, [rest])
    parts = alone[0] + alone[1].evaluate(z).value + 0.5 * np.sum(y[1] ** 2)
    assert value.value == pytest.approx(parts, rel=1e-12)

    def along(step, shift):
        ends = (problem.evaluate(z + k * step, y + k * shift).value for k in (1, -1))
        return np.subtract(*ends) / 2e-5

    assert along(np.array([1e-5]), 0) == pytest.approx(by_z[0], rel=1e-6)
    shift = 1e-5 * np.eye(12)[2].reshape(2, 6)
    assert along(0, shift) == pytest.approx(by_y[0, 2], rel=1e-6)
    with pytest.raises(InputError, match="steps"):
        at_rest_beside(moving, [swing])


def test_rigid_bodies_at_rest_are_measured_by_points_and_poses():
    scene = jointed_arm()
    rest = equilibrium(scene)
    slot = scene.nodes_of("lower")[0]
    points = RigidPoints(np.array([[0.2, 0, 0], [0, 0.05, 0.02]]))
    places = PlacesAtRest("lower", points, rest.position[[slot, slot]] + 0.1, 0.01)
    pose = PoseTrack("lower", [0], rest.position[[slot]], rest.orientation[[slot]])
    names = ["stays.stiffness", "stays.rest_length", "lower.mass", "gravity.x"]
    parameters = ParameterMap.of_scene(scene, names, {"gravity.x": 1.0})
    seen = Frequencies("lower", [2.0, 3.0, 7.0], 0.1)
    problem = rest_problem(scene, parameters, [Trial("arm", 0, (places, pose, seen))])
    z = problem.start * 1.05
    assert problem.evaluate(z).value > 1
    check_derivatives(problem, z)


def test_modes_are_chosen_by_shape_frequency_or_number():
    scene, problem = beam_problem()
    problem.start[0] = np.log(3e6)  # it sags little
    found = modes(scene, problem.map.engine(problem.start, scene.values), count=4)
    trial = problem.trials[0]
    run, slot = problem.rollouts(problem.start)[0], problem._slots["beam"]
    seen = trial.objectives[1]
    by_shape = seen.chosen(found, run, slot)
    tip = [np.argmax(np.abs(found.shape[i][np.argmax(np.abs(found.shape[i]).sum(1))]))
           for i in by_shape]  # fmt: skip
    assert tip == [2, 1] and by_shape == [1, 0]  # up and down is the stiffer way
    near = Frequencies("beam", found.frequency[[2, 0]] * 1.05, 0.1)
    assert near.chosen(found, run, slot) == [2, 0]
    # two measured near one mode are of two
    twice = Frequencies("beam", found.frequency[[1, 1]] * [1.0, 1.01], 0.1)
    assert sorted(twice.chosen(found, run, slot)) in ([0, 1], [1, 2])
    assert Frequencies("beam", [1.0], 0.1, number=(3,)).chosen(found, run, slot) == [2]


def test_a_cube_on_a_table_says_what_cannot_be_estimated():
    scene = cube_on_plane()
    where = PlacesAtRest("cube", RigidPoints(np.zeros((1, 3))), np.zeros((1, 3)))
    for name in ("gravity.x", "floor.k_n"):
        parameters = ParameterMap.of_scene(scene, [name], {"gravity.x": 1.0})
        problem = rest_problem(scene, parameters, [Trial("cube", 0, (where,))])
        if name == "gravity.x":
            with pytest.raises(InputError, match=r"gravity\.x.*free direction"):
                problem.evaluate(problem.start, want="equations")
        else:
            assert problem.evaluate(problem.start, want="equations").ok
    seen = Frequencies("cube", [5.0], 0.1, number=(2,))
    problem = rest_problem(scene, parameters, [Trial("cube", 0, (seen,))])
    with pytest.raises(InputError, match=r"number.*2, which is rigid"):
        problem.evaluate(problem.start)


def test_a_load_without_equilibrium_is_a_failed_evaluation(monkeypatch):
    monkeypatch.setattr(measured, "equilibrium", functools.partial(equilibrium, most_steps=20))
    scene = on_spring()
    for name, value, why in (("spring.stiffness", 0.0, "does not come to rest"),
                             ("bob.mass", -1.0, "mass")):  # fmt: skip
        trials = [Trial("cut", 0, (bob([0, 0, -0.1], 1e-3),), parameters={name: value})]
        parameters = ParameterMap.of_scene(scene, ["spring.rest_length"])
        found = rest_problem(scene, parameters, trials).evaluate([1.0])
        assert not found.ok and found.failures[0].startswith("cut: ") and why in found.failures[0]


def test_bad_input_is_named():
    scene, rest = cantilever(**SOFT)
    points, places = free_end(rest)
    parameters = ParameterMap.of_scene(scene, ["beam.young"])
    with pytest.raises(InputError, match=r"trial a.*steps: got 5"):
        rest_problem(scene, parameters, [Trial("a", 5, ())])
    with pytest.raises(InputError, match=r"position.*\(3, 3\)"):
        PlacesAtRest("beam", points, np.zeros((3, 3)))
    with pytest.raises(InputError, match=r"sigma.*> 0"):
        PlacesAtRest("beam", points, places, 0.0)
    with pytest.raises(InputError, match=r"number.*different"):
        Frequencies("beam", [1.0, 2.0], 0.1, number=(1, 1))
    with pytest.raises(InputError, match=r"frequency.*> 0"):
        Frequencies("beam", [np.nan], 0.1)
    with pytest.raises(InputError, match="a carrier and a shape"):
        Frequencies("beam", [1.0], 0.1, carrier=points)
    with pytest.raises(InputError, match="no motion"):
        Frequencies("beam", [1.0], 0.1, carrier=points, shape=np.zeros((1, 2, 3)))
    with pytest.raises(InputError, match=r"frequency.*at most 3"):
        _, problem = beam_problem(carrier=None, shape=None, frequency=[1, 2, 3, 4], sigma=0.1,
                                  count=3)  # fmt: skip
        problem.evaluate(problem.start)
    hybrid = cube_on_plane(friction="hybrid")
    with pytest.raises(InputError, match="hybrid"):
        rest_problem(hybrid, ParameterMap.of_scene(hybrid, ["floor.k_n"]), [])
