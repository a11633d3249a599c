"""Estimation from places at rest and natural frequencies by YAML, alone and beside recordings."""

import copy
import json
from functools import partial

import numpy as np
import pytest
import yaml

from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.real2sim.config import load_estimation
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import experiment_of
from diffsim_ros.real2sim.model_choice import compare_models
from diffsim_ros.real2sim.options import fields_of
from diffsim_ros.real2sim.sensors.marker.attach import carrier_of
from diffsim_ros.real2sim.sensors.statics.loads import LoadOptions, StaticsOptions
from diffsim_ros.scene.model import load_scene
from diffsim_ros.statics import equilibrium
from diffsim_ros.statics import measured as measured_at_rest
from diffsim_ros.statics.measured import AtRest
from diffsim_ros.yaml_file import read_yaml
from tests.pages import keys_of_kind
from tests.real2sim import synthetic, wrench_synthetic
from tests.real2sim.wrench_synthetic import ROOT

EXAMPLE = ROOT / "config" / "estimation" / "cantilever.yaml"
YOUNG, DENSITY, HUNG = 1.0e7, 1070.0, -0.4903
TIP = np.array([[0.15, 0.0, -0.02]])


def coarse_scene():
    """The shipped cantilever, stiffer and of few elements."""
    scene = read_yaml(ROOT / "config" / "scenes" / "cantilever.yaml")
    scene["bodies"]["beam"]["shape"] = {"box": {"size": [0.3, 0.03, 0.04], "cells": [3, 1, 1]}}
    scene["bodies"]["beam"]["young"] = YOUNG
    return scene


def measured(scene, sets=None):
    """Place of the tip (3,) [m] and the lowest three frequencies [Hz], without noise."""
    model = load_scene(scene)
    values = np.array(model.engine.values)
    for name, value in (sets or {}).items():
        values[model.engine.index(name)] = value
    rest = AtRest(equilibrium(model.engine, values))
    slot = body_slots(model.engine)["beam"]
    place = carrier_of(model, "beam", TIP).motion(rest, slot, np.zeros(1, int))[0][0, 0]
    return place, rest.modes(3).frequency


def example(**changes):
    """The shipped estimation with data of the coarse beam, noise in them."""
    content = read_yaml(EXAMPLE) | {"scene": coarse_scene()}
    content["parameters"]["young"] |= {"value": 8e6, "bounds": [1e6, 1e8]}
    content["statics"]["sigma_position"] = 2e-5
    noise, loads = np.random.default_rng(3), content["statics"]["loads"]
    for name, sets in (("level", {}), ("hung", {"hung.force[0].z": HUNG})):
        place, frequency = measured(content["scene"], sets)
        place = place + 2e-5 * noise.standard_normal(3)
        loads[name]["positions"] = {"tip": [float(place[0]), None, float(place[2])]}
        if name == "level":
            seen = frequency[:2] + 0.01 * noise.standard_normal(2)
            loads[name]["frequencies"] = seen.tolist()
    return content | changes


def test_stiffness_and_density_are_recovered_within_their_sigma(tmp_path):
    result = estimate(example(), out=tmp_path / "out")
    assert result.converged and result.predictions == ()
    young, density = result.parameters
    assert abs(young.value - YOUNG) < 2 * young.std_dev < 0.02 * YOUNG
    assert abs(density.value - DENSITY) < 2 * density.std_dev < 20
    level, hung = result.at_rest
    assert level.modes == (1, 2) and hung.modes == ()
    assert level.errors["rms_sigmas"] < 2 and hung.errors["position_rms_m"] < 5e-5
    written = yaml.safe_load((tmp_path / "out" / "result.yaml").read_text())
    assert written["kind"] == "statics" and written["scene"]["beam.young"] == young.value
    figures = json.loads((tmp_path / "out" / "metrics.json").read_text())
    assert figures["train"]["names"] == ["level", "hung"]
    assert figures["train"]["level"] == level.errors
    page = (tmp_path / "out" / "report.html").read_text()
    assert "At rest" in page and "mode 2 [Hz]" in page and "tip z [mm]" in page


def test_files_say_what_the_yaml_says(tmp_path):
    content = example()
    (tmp_path / "tip.csv").write_text("point,x,y,z,sigma\ntip,0.13,,-0.09,1e-4\n")
    (tmp_path / "tap.csv").write_text("frequency,sigma,mode\n2.3,0.02,2\n1.7,0.01,1\n")
    content["statics"]["loads"] = {"a": {"positions": "tip.csv", "frequencies": "tap.csv"}}
    (tmp_path / "e.yaml").write_text(yaml.safe_dump(content))
    (load,) = load_estimation(tmp_path / "e.yaml").statics.train
    np.testing.assert_array_equal(load.position, [[0.13, np.nan, -0.09]])
    assert load.points == ("tip",) and load.sigma.tolist() == [[1e-4]]
    assert load.frequency.tolist() == [2.3, 1.7] and load.modes == (2, 1)
    assert load.sigma_frequency.tolist() == [0.02, 0.01]
    assert load.source == str(tmp_path / "tip.csv")


def check_gradient(problem, z, eps):
    """S and lambda against each other and central differences of fourth order, to a share of
    |J| |r|."""
    found = problem.evaluate(z, want="equations")
    by_s, H = found.gradient[0], found.equations.eliminated()[1].sum(axis=0)
    size = np.sqrt(2 * found.value * np.diagonal(H))
    assert problem.evaluate(z, want="gradient").gradient[0] == pytest.approx(by_s, rel=1e-8)
    steps = np.diag(eps)
    near, far = (
        [problem.evaluate(z + k * s).value - problem.evaluate(z - k * s).value for s in steps]
        for k in (1, 2)
    )
    differences = (8 * np.array(near) - far) / (12 * np.array(eps))
    assert np.all(np.abs(differences - by_s) < 2e-6 * size)


def test_gradients_are_those_of_differences():
    experiment = experiment_of(load_estimation(example()))
    loads = experiment.read({}).train
    problem = experiment.model.problem(loads, None)
    assert problem.names == ("density", "young")
    check_gradient(problem, problem.start, (1e-2, 1e-4))  # density: in its prior's sigmas


def beside(tmp_path, *set):
    """A pressed foam block, and what it weighs itself down to."""
    press = wrench_synthetic.record(tmp_path / "press.csv", 2e4, 5, trials=1)
    content = read_yaml(ROOT / "config" / "estimation" / "pressed_block.yaml")
    content["scene"] = str(ROOT / "config" / "scenes" / "pressed_block.yaml")
    content["data"]["train"]["files"] = [str(press)]
    scene = load_scene(content["scene"])
    corner = scene.parts.bodies["block"].placed_vertices()[-1]
    lower = corner - [0, 0, 1e-3]
    content["statics"] = {
        "points": {"top": corner.tolist()},
        "loads": {
            "own_weight": {"positions": {"top": [None, None, float(lower[2])]}},
            "three_g": {
                "sets": {"gravity.z": -29.43},
                "positions": {"top": [None, None, float(lower[2] - 2e-3)]},
            },
        },
    }
    return load_estimation(content, set=set)


def test_beside_recordings_gradients_are_those_of_differences(tmp_path):
    experiment = experiment_of(beside(tmp_path))
    trials = experiment.read({}).train
    assert [trial.name for trial in trials] == ["press", "own_weight", "three_g"]
    problem = experiment.model.problem(trials, experiment.model.map.start)
    check_gradient(problem.exact(), experiment.model.map.start, (1e-4, 1e-4))
    parts = [problem.only([k]).evaluate(problem.start).value for k in range(3)]
    assert min(parts) > 0
    assert problem.evaluate(problem.start).value == pytest.approx(sum(parts), rel=1e-12)


def test_beside_recordings_both_are_fitted_and_shown(tmp_path):
    result = estimate(
        beside(tmp_path, "statics.validate=[three_g]", "fit.iterations=1"), out=tmp_path / "out"
    )
    assert [p.name for p in result.predictions] == ["press"]
    assert [(p.name, p.role) for p in result.at_rest] == [
        ("three_g", "validate"), ("own_weight", "train"),
    ]  # fmt: skip
    assert result.metrics["train"]["loads"] == ["own_weight"]
    assert set(result.metrics["train"]["statics"]) == {"own_weight"}
    assert set(result.metrics["validate"]["statics"]) == {"three_g"}
    assert result.provenance["data"][-1] == {"source": "estimation", "sha256": None}
    assert result.metrics["train"]["press"]["force_rms_N"] > 0
    page = (tmp_path / "out" / "report.html").read_text()
    assert "At rest" in page and "Root mean squares over all samples" in page


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"points": {"tip": [0.15, 0]}}, r"statics.points.tip: got \[0.15, 0\]; .*three finite"),
        ({"body": "bean"}, "statics.body: got 'bean'; .*a body of the scene.*beam"),
        ({"loads": {}}, "statics.loads: got {}; .*at least one load"),
        ({"validate": ["low"]}, r"statics.validate\[0\]: got 'low'; .*name of a load"),
        ({"validate": ["level"]}, r"statics.validate: got \['level'\]; .*a load less"),
        ({"level": {}}, "statics.loads.level: got .*positions, frequencies, or both"),
        ({"level": {"positions": {"top": [0, 0, 0]}}}, "positions.top: .*point of statics.points"),
        ({"level": {"positions": {"tip": [None] * 3}}}, "positions.tip: .*null where not measured"),
        ({"level": {"positions": {"tip": [0, "a", 0]}}}, "positions.tip: .*three finite numbers"),
        ({"level": {"frequencies": [1.7, -2]}}, r"frequencies\[1\]: got -2; .*number > 0 \[Hz\]"),
        ({"level": {"frequencies": 3}}, "frequencies: got 3; .*a list of numbers"),
        ({"level": {"frequencies": [1.0] * 11}}, "frequencies: got 11; .*at most 10"),
        ({"level": {"frequencies": [1], "modes": [0]}}, r"modes\[0\]: got 0"),
        ({"level": {"frequencies": [1], "modes": [1, 2]}}, "modes: .*1 different numbers"),
        ({"level": {"frequencies": [1], "modes": [11]}}, "modes: .*from 1 to 10"),
        ({"level": {"frequencies": [1], "shapes": []}}, "shapes: got 0; .*1, one for each"),
        (
            {"level": {"frequencies": [1], "shapes": [{"tip": [0, 0, 0]}]}},
            r"shapes\[0\]: .*not all zero",
        ),
        (
            {"level": {"frequencies": [1], "modes": [1], "shapes": [{"tip": [0, 0, 1]}]}},
            "shapes: .*modes.* or shapes",
        ),
        ({"level": {"frequencies": [1], "sets": {"hung.forse": 1}}}, "sets.hung.forse: .*scene"),
        ({"level": {"frequencies": [1], "sets": {"beam.young": 1}}}, "beam.young: .*not both"),
        ({"level": {"frequencies": [1], "sets": {"gravity.z": "a"}}}, "gravity.z: got 'a'"),
    ],
)  # fmt: skip
def test_what_cannot_be_used_is_named(change, message):
    content = read_yaml(EXAMPLE) | {"scene": coarse_scene()}
    del content["statics"]["loads"]["hung"]
    if "level" in change:
        change = {"loads": change}
    content["statics"] |= change
    with pytest.raises(InputError, match=message):
        experiment_of(load_estimation(content))


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("data", {"train": {"files": ["a.csv"]}}, "data: got .*none: all that .*is in `statics`"),
        ("statics", None, r"statics.loads: got None.*required"),
        ("kind", "poses", r"data.train: got None"),
        ("measurement", {"sigma": 1}, "measurement.sigma"),
    ],
)
def test_sections_that_do_not_fit_the_kind_are_named(key, value, message):
    with pytest.raises(InputError, match=message):
        load_estimation(read_yaml(EXAMPLE) | {key: value, "scene": coarse_scene()})


def test_a_sigma_of_frequencies_is_needed_and_files_are_checked(tmp_path):
    content = read_yaml(EXAMPLE) | {"scene": coarse_scene()}
    del content["statics"]["sigma_frequency"]
    with pytest.raises(InputError, match=r"sigma_frequency: got None; .*number > 0 \[Hz\]"):
        load_estimation(content)
    for text, message in (
        ("name,x,y,z\ntip,0,0,0\n", "header: got 'name,x,y,z'"),
        ("point,x,y,z\ntip,0,0,0\ntip,0,0,0\n", "line 3: got 'tip'; .*every point once"),
        ("point,x,y,z,sigma\ntip,0,0,0,-1\n", "sigma of tip: got -1"),
    ):
        (tmp_path / "a.csv").write_text(text)
        content["statics"]["loads"] = {"a": {"positions": str(tmp_path / "a.csv")}}
        with pytest.raises(InputError, match=message):
            load_estimation(content)
    with pytest.raises(InputError, match=r"--train: got \['a.csv'\]; .*none"):
        load_estimation(EXAMPLE, train=["a.csv"])


def test_what_does_not_rest_and_modes_that_are_not_there_are_named(monkeypatch):
    monkeypatch.setattr(measured_at_rest, "equilibrium", partial(equilibrium, most_steps=5))
    box = {"shape": {"box": {"size": [0.1, 0.1, 0.1]}}, "mass": 1.0, "type": "rigid"}
    content = {
        "kind": "statics", "body": "box",
        "scene": {"world": {"step": 0.01, "duration": 0.1}, "bodies": {"box": box}},
        "statics": {
            "points": {"top": [0, 0, 0.05]}, "sigma_frequency": 0.1,
            "loads": {"falls": {"positions": {"top": [0, 0, 0]}}},
        },
        "parameters": {"mass": {"value": 1, "bounds": [0.1, 9], "sets": {"box.mass": 1}}},
    }  # fmt: skip
    with pytest.raises(NotConverged, match=r"loads.falls: not at rest: .*'box' is pulled"):
        estimate(content)
    content["statics"]["loads"]["falls"] = {"frequencies": [1.0], "sets": {"gravity.z": 0}}
    with pytest.raises(InputError, match=r"frequency: got 1; .*at most 0, the vibrations among 10"):
        estimate(content)


def test_comparisons_hold_recordings_and_loads_out(tmp_path):
    """A toss whose start is fitted, and how deep the cube rests: a ground that is too soft is
    found out by both."""
    tosses = tmp_path / "tosses.npz"
    np.savez(tosses, **synthetic.recorded(1, seed=3, noise=(1e-3, 0.01), seconds=0.2))
    sunk = 0.4 * 9.81 / 4000
    statics = {
        "points": {"top": [0, 0, 0.1]}, "sigma_position": 1e-4,
        "loads": {
            name: {"sets": {"gravity.z": -9.81 * g},
                   "positions": {"top": [None, None, 0.1 - g * sunk]}}
            for name, g in (("own_weight", 1), ("two_g", 2))
        },
    }  # fmt: skip
    fit = {"initial_state": "nuisance", "iterations": 3, "horizons": [10]}
    right = synthetic.estimation(str(tosses), statics=statics, fit=fit,
                                 uncertainty={"method": "covariance"})  # fmt: skip
    right["scene"] = copy.deepcopy(synthetic.SCENE)
    right["scene"]["bodies"]["cube"]["pose"]["position"] = [0, 0, 0.05]
    soft = copy.deepcopy(right)
    soft["parameters"]["stiffness"] |= {"value": 1000.0, "fixed": True}
    models = {"right": load_estimation(right), "soft": load_estimation(soft)}
    found = compare_models(models)
    assert found.best == "right" and found.folds == 3
    for model in found.models:
        assert [h.name for h in model.held][1:] == ["own_weight", "two_g"]
        toss, own, two = (h.errors for h in model.held)
        assert "position_error_m" in toss and "rms_sigmas" not in toss
        assert 0 < own["rms_sigmas"] < two["rms_sigmas"] or model.name == "right"
    figures = found.metrics()["models"]["soft"]["held_out"]
    assert figures["trials"] == 3 and figures["rms_sigmas"] > 10 and figures["rms_residual"] > 1


def test_comparisons_are_of_the_same_loads(tmp_path):
    one = beside(tmp_path)
    for other in (beside(tmp_path, "statics.loads.three_g.sets.gravity.z=-20"),
                  beside(tmp_path, "statics=null")):  # fmt: skip
        with pytest.raises(InputError, match=r"statics.loads: .*the same loads and measurements"):
            compare_models({"a": one, "b": other})


@pytest.mark.parametrize("section", [StaticsOptions, LoadOptions])
def test_keys_are_documented(section):
    text = keys_of_kind("statics")
    for name in fields_of(section):
        assert f"| `{name}` |" in text, f"estimation_keys.md does not list {section}.{name}"
