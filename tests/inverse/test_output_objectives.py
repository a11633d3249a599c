"""Objectives of outputs: gradients end to end, what they compare, what they refuse."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.inverse import (
    OutputCost,
    OutputGoal,
    OutputTrack,
    Parameter,
    ParameterMap,
    SimulationProblem,
    Trial,
    check_problem,
    levenberg_marquardt,
)
from diffsim_ros.inverse.clock import Clock, NamedNumbers
from diffsim_ros.inverse.resampled import Refined
from diffsim_ros.output_value import OutputValue
from diffsim_ros.scene import load_scene
from diffsim_ros.statics.measured import rest_problem

SCENE = {
    "world": {"step": 0.002, "duration": 0.08, "record_every": 2},
    "bodies": {
        "ball": {
            "shape": {"sphere": {"radius": 0.05}},
            "mass": 0.4,
            "pose": {"position": [0, 0, 0.055]},
            "velocity": [0.6, 0.1, -0.3],
        },
        "dot": {"type": "particle", "mass": 0.1, "pose": {"position": [0.2, 0, 0.5]}},
        "foam": {
            "type": "solid",
            "shape": {"box": {"size": [0.1, 0.1, 0.05], "cells": [1, 1, 1]}},
            "density": 100,
            "young": 2.0e4,
            "poisson": 0.3,
            "viscosity": 20,
            "pose": {"position": [1, 0, 0.024]},
        },
    },
    "contact": [
        {"name": "floor", "points": "ball", "against": {"plane": {}}, "k_n": 2.0e3, "k_t": 20,
         "c_n": 0.5, "c_f": 0.4},
        {"name": "rest", "points": "foam", "against": {"plane": {}}, "k_n": 2.0e3,
         "c_n": 0, "c_f": 0.4},
    ],
    "links": [
        {"type": "spring", "name": "rope", "stiffness": 60, "rest_length": 0.2,
         "pairs": [{"a": {"body": "dot"}, "b": {"world": [0, 0, 0.6]}}]},
    ],
}  # fmt: skip
PARAMETERS = {
    "k_n": ("N/m", 2e3, "floor.k_n"), "c_f": ("1", 0.4, "floor.c_f"),
    "young": ("Pa", 2e4, "foam.young"), "stiffness": ("N/m", 60.0, "rope.stiffness"),
}  # fmt: skip
GAUGE = [
    Parameter("late", "s", 0.0013, -0.01, 0.01), Parameter("gain", "1", 1.2, 0.5, 2.0),
    Parameter("tare", "N", 0.1, -5.0, 5.0),
]  # fmt: skip
FRAMES = np.arange(1, 21)


@pytest.fixture(scope="module")
def model():
    return load_scene(SCENE)


def problem_of(model, *objectives, gauge=(), **settings):
    known = [
        Parameter(n, unit, v, 0.2 * v, 5 * v, "log", sets={target: (1, 1)})
        for n, (unit, v, target) in PARAMETERS.items()
    ]
    trial = Trial("trial", model.steps, objectives)
    parameters = ParameterMap([*known, *gauge], model.engine)
    return SimulationProblem(model.engine, model.options, parameters, [trial], **settings)


def track(model, output, **further):
    t = 0.0035 * np.arange(1, 21)
    defaults = {"t": t, "interval": 0.004, "measured": np.zeros(20), "sigma": 0.5}
    return OutputTrack(scene=model.engine, output=output, **{**defaults, **further})


def test_tracks_have_the_gradient_of_differences(model):
    """Of a magnitude, a part, a spring and a tetrahedron; clock and gauge are estimated too."""
    gauge = NamedNumbers((1.0, 0.0), ("gain", "tare"))
    tracks = [
        track(model, "floor.force", clock=Clock(0.0, 0.0, "late"), gauge=gauge, name="cell"),
        track(model, "floor.force.x", name="shear"),
        track(model, "rope.tension[0]", name="wire", measured=np.full(20, 2.0)),
        track(model, "foam.strain[3].zz", sigma=1e-4, name="strain"),
    ]
    problem = problem_of(model, *tracks, gauge=GAUGE)
    report = check_problem(problem, problem.start + 0.05, directions=2, seed=1)
    assert report.passed, report.summary()


@pytest.mark.parametrize(
    "objective",
    [
        lambda model: OutputGoal(frames=FRAMES, scene=model.engine, output="floor.force.z",
                                 near=3.0, sigma=0.5),
        lambda model: OutputGoal(frames=FRAMES, scene=model.engine, output="foam.von_mises",
                                 at_most=5.0, at_least=0.1, sigma=2.0),
        lambda model: OutputCost(frames=FRAMES, scene=model.engine, output="floor.normal_force",
                                 interval=0.004),
        lambda model: OutputCost(frames=FRAMES, scene=model.engine, output="rope.tension",
                                 softness=0.2, weight=3.0),
    ],
)  # fmt: skip
def test_goals_and_costs_have_the_gradient_of_differences(model, objective):
    problem = problem_of(model, objective(model))
    report = check_problem(problem, problem.start - 0.03, directions=2, seed=2)
    assert report.passed, report.summary()


def test_what_a_cost_is(model):
    """The integral of a force is an impulse; a peak is at least the largest value."""
    run = problem_of(model, track(model, "floor.force.z")).rollouts(np.zeros(4))[0]
    rows, y = np.arange(21), run.outputs["floor.force"][:, 2]
    whole = {"frames": rows, "scene": model.engine, "output": "floor.force.z"}
    impulse = OutputCost(**whole, interval=0.004).term(run, None, {}).residual.sum()
    assert impulse == pytest.approx(np.trapezoid(y, run.time), rel=1e-12)
    momentum = 0.4 * (run.velocity[-1, 0, 2] - run.velocity[0, 0, 2] + 9.81 * 0.08)
    assert impulse == pytest.approx(momentum, rel=0.05)
    peak = OutputCost(**whole, softness=0.1).term(run, None, {}).residual.sum()
    assert y.max() <= peak <= y.max() + 0.1 * np.log(len(rows))
    held = OutputGoal(**whole, at_most=y.max() - 0.7, sigma=1.0)
    assert held.reached(run, None) == pytest.approx(0.7)


def test_parameters_come_back_from_a_gauge(model):
    """Stiffness of a wire and gain and tare of its gauge, by a tension with missing samples."""
    gauge = NamedNumbers((1.0, 0.0), ("gain", "tare"))
    known = {"stiffness": 60.0, "gain": 1.2, "tare": 0.1}
    clean = track(model, "rope.tension[0]", gauge=gauge)
    base = problem_of(model, clean, gauge=GAUGE[1:])
    measured = clean.predicted(base.rollouts(base.start)[0], known)
    measured[3] = np.nan
    problem = problem_of(model, track(model, "rope.tension[0]", gauge=gauge, measured=measured),
                         gauge=GAUGE[1:])  # fmt: skip
    first = problem.start + np.array([0, 0, 0, 0.3, -0.2, 0.01])[: len(problem.start)]
    found = levenberg_marquardt(problem, z=first).parameters
    for name, value in known.items():
        assert found[name] == pytest.approx(value, rel=1e-4), name


def test_other_steps_read_outputs_at_the_same_times(model):
    """Of steps of h/2, and of another phase: nearly the same residuals and Jacobians."""
    problem = problem_of(model, track(model, "rope.tension[0]"))
    base = problem.evaluate(problem.start, want="equations")
    for factor in (2.0, 1.1):
        other = problem.simulated_by(Refined(factor)).evaluate(problem.start, want="equations")
        assert other.value == pytest.approx(base.value, rel=3e-3)
        np.testing.assert_allclose(
            other.equations.Hzz[0][3, 3], base.equations.Hzz[0][3, 3], rtol=0.01
        )


def test_shortened_tracks_stop_earlier(model):
    short = problem_of(model, track(model, "rope.tension[0]")).shortened(5)
    assert len(short.trials[0].objectives[0].t) == 5
    assert short.evaluate(short.start).ok


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("flor.force", "got 'flor.force'; .*an output of the scene.*floor.force"),
        ("floor.force.w", "a part of floor.force: x, y, z"),
        ("foam.stress[0]", r"a part of foam.stress: foam.stress.xx"),
        ("rope.tension[1]", "an item from 0 to 0"),
        ("floor.force[0]", "floor.force, no item"),
        ("foam.von_mises", r"one of them: foam.von_mises\[0\]"),
        ("energy", "a part of energy: energy.kinetic"),
    ],
)
def test_names_of_outputs_are_checked(model, output, message):
    with pytest.raises(InputError, match=message):
        track(model, output)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"sigma": 0.0}, "sigma: got 0.0"),
        ({"measured": np.full(20, np.inf)}, "measured: got 'non-finite"),
        ({"measured": np.zeros(3)}, r"measured: got \(3,\)"),
        ({"interval": float("nan")}, "interval: got nan"),
    ],
)
def test_measurements_are_checked(model, given, message):
    with pytest.raises(InputError, match=message):
        track(model, "rope.tension[0]", **given)


@pytest.mark.parametrize(
    ("kind", "given", "message"),
    [
        (OutputGoal, {"sigma": 1.0}, r"near: got \[\]"),
        (OutputGoal, {"sigma": 1.0, "near": 1.0, "at_most": 2.0}, "near, or at_most"),
        (OutputGoal, {"sigma": 1.0, "at_least": 3.0, "at_most": 2.0}, "at_least: got 3.0"),
        (OutputCost, {}, "exactly one of them"),
        (OutputCost, {"softness": 0.0}, "got 0.0"),
    ],
)
def test_goals_and_costs_are_checked(model, kind, given, message):
    with pytest.raises(InputError, match=message):
        kind(frames=FRAMES, scene=model.engine, output="floor.force.z", **given)


def test_one_number_of_all(model):
    every = OutputValue.of(model.engine, "foam.von_mises", "here")
    one = OutputValue.of(model.engine, "foam.strain[2].xy", "here")
    assert every.count == len(every.columns) > 2 and every.unit == "Pa"
    assert one.columns.tolist() == [[15]]


def test_a_scene_at_rest_has_no_outputs(model):
    trial = Trial("rest", 0, (track(model, "rope.tension[0]"),))
    parameters = ParameterMap([Parameter("k", "N/m", 60.0, sets={"rope.stiffness": (1, 1)})],
                              model.engine)  # fmt: skip
    with pytest.raises(InputError, match="outputs: got 1"):
        rest_problem(model.engine, parameters, [trial])
