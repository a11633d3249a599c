"""A fit's verdict: good where the model is right, less where it is wrong though it converged."""

from __future__ import annotations

import copy
import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
import yaml

from diffsim_ros.inverse.adequacy import Adequacy
from diffsim_ros.inverse.discretisation_shift import Shift
from diffsim_ros.inverse.score_test import Score
from diffsim_ros.real2sim import verdict
from diffsim_ros.real2sim.discretisation import Check, Finer
from diffsim_ros.real2sim.estimate import estimate
from diffsim_ros.real2sim.experiment import Experiment
from diffsim_ros.real2sim.results import write_results
from diffsim_ros.real2sim.verdict import against_parabolas
from tests.real2sim.synthetic import SCENE, TRUTH, estimation, recorded

NOISE = (1e-3, math.radians(0.5))


def fitted(folder, change=None, tosses=6, seed=1, **sections):
    """Result of an estimation by SCENE of tosses of a thing that `change` makes another."""
    truth = copy.deepcopy(SCENE)
    if change is not None:
        change(truth)
    path = folder / "tosses.npz"
    np.savez(path, **recorded(tosses, seed=seed, noise=NOISE, scene=truth))
    fit = {"initial_state": "nuisance", "iterations": 30, "horizons": [12, 25, 0]}
    given = {"fit": fit, "uncertainty": {"method": "auto"}, **sections}
    return estimate(estimation(str(path), None, **given))


@pytest.fixture(scope="module")
def right(tmp_path_factory):
    return fitted(tmp_path_factory.mktemp("right"))


def test_a_right_model_is_good(right):
    assert right.converged and right.verdict.grade == "good", str(right.verdict)
    figures = right.metrics["verdict"]
    assert figures["level"] == pytest.approx(1.0, abs=0.1) and figures["probability"] > 0.01
    assert right.metrics["halves"]["rms"] < 1.5 and not right.metrics["halves"]["apart"]
    assert any("covariance from the sensor's noise, which is what" in n for n in right.notes)
    document = right.document()
    assert list(document)[:4] == ["command", "name", "kind", "verdict"]
    assert document["verdict"]["grade"] == "good"


def test_held_numbers_are_tried_over_what_was_fitted_alone(tmp_path):
    """Fitted are frames around the first impact. Beyond them the slopes of a right model are not
    0: by them an inertia that is right was contradicted by 3.4 sigma, a box's gravity by 7."""
    fit = {"initial_state": "nuisance", "iterations": 30, "horizons": [12]}
    found = fitted(tmp_path, fit=fit, uncertainty={"method": "auto", "halves": False})
    assert max(found.metrics["verdict"]["held"].values()) < 9.0, found.metrics["verdict"]
    assert found.verdict.grade == "good", str(found.verdict)


def _heavier_corners(scene):
    scene["bodies"]["cube"]["inertia"] *= 1.3


def _larger(scene):
    scene["bodies"]["cube"]["shape"]["box"]["size"] = [0.103] * 3


def _sticky(scene):
    scene["contact"][0]["k_t"] *= 0.25


def _sloping(scene):
    slope = math.radians(1.0)
    scene["sdfs"]["table"] = {"plane": {"normal": [math.sin(slope), 0.0, math.cos(slope)]}}


@pytest.mark.parametrize("change", [_heavier_corners, _larger, _sticky, _sloping])
def test_a_wrong_model_is_not_good_though_it_converged(change, tmp_path):
    result = fitted(tmp_path, change, uncertainty={"method": "covariance", "halves": False})
    shift = max(abs(p.value - TRUTH[p.name]) / p.std_dev for p in result.parameters)
    assert shift > 2.0, "it matters"
    assert result.verdict.grade != "good" and result.verdict.advice, str(result.verdict)
    assert result.metrics["verdict"]["slow_over_fast"] > 2.0
    assert "may come from" not in result.verdict.reason, "half the step changes next to nothing"
    write_results(result, tmp_path / "out", report=False)
    written = json.loads((tmp_path / "out" / "metrics.json").read_text())["verdict"]
    assert written["grade"] == result.verdict.grade and written["reason"] == result.verdict.reason
    content = yaml.safe_load((tmp_path / "out" / "result.yaml").read_text())
    assert content["verdict"] == result.verdict.document()


@pytest.mark.parametrize(("tosses", "method"), [(4, "correlated"), (9, "sandwich")])
def test_standard_deviations_admit_that_the_model_is_wrong(tosses, method, tmp_path):
    """By the sensor's noise alone friction would be 7 to 13 sigma off."""
    found = fitted(tmp_path, _sloping, tosses=tosses)
    (note,) = [n for n in found.notes if n.startswith("std_dev")]
    assert "not the sensor's noise" in note
    assert ("over time" if method == "correlated" else "sandwich over 9") in note
    for p in found.parameters:
        assert abs(p.value - TRUTH[p.name]) < 5.0 * p.std_dev, (p, note)


def test_what_was_held_wrongly_is_named(tmp_path):
    """A stiffness along the ground that is held at a quarter of the truth."""
    held = copy.deepcopy(SCENE)
    held["contact"][0]["k_t"] *= 0.25
    found = fitted(tmp_path, scene=held, uncertainty={"halves": False})
    assert found.verdict.grade != "good"
    assert any("table.k_t" in one for one in found.verdict.advice), str(found.verdict)


def _rolling(scene):
    scene["contact"][0]["c_roll"] = 0.004


def test_rolling_friction_that_the_scene_lacks_is_found(tmp_path):
    """Damping in the normal imitates it, and no other number that is held has a part in it."""
    found = fitted(tmp_path, _rolling)
    assert found.verdict.grade != "good", str(found.verdict)
    assert found.metrics["verdict"]["held"]["table.c_roll"] > 12.0
    assert found.verdict.advice[0] == (
        "free one of these, the first explains most: table.c_roll "
        "(first write c_roll: 0 into contact table)"
    )


def test_what_the_advice_on_rolling_friction_leads_to_is_good(tmp_path):
    """Its value is open above: the slope k_roll limits these torques, and c_roll does not."""
    scene, parameters = copy.deepcopy(SCENE), estimation("x")["parameters"]
    scene["contact"][0]["c_roll"] = 0.0
    parameters["rolling"] = {
        "value": 0.0, "unit": "m", "bounds": [0.0, 0.02], "sets": {"table.c_roll": 1},
    }  # fmt: skip
    found = fitted(tmp_path, _rolling, scene=scene, parameters=parameters)
    assert found.verdict.grade == "good", str(found.verdict)
    values = {p.name: p for p in found.parameters}
    for name, truth in TRUTH.items():
        assert abs(values[name].value - truth) < 3.0 * values[name].std_dev
    bound = values["rolling"].bound
    assert bound.side == "lower" and 0.001 < bound.value < 0.02


def test_a_quantity_with_two_names_is_named_once(monkeypatch):
    """A plane's offset and what its contact adds to it."""
    scores = (Score("a", 99.0, 50.0, 1.0), Score("same", 99.0 + 1e-9, 50.0, 1.0),
              Score("b", 40.0, 20.0, 2.0))  # fmt: skip
    monkeypatch.setattr(verdict, "held_scores", lambda *_: (scores, 60.0))
    model = SimpleNamespace(scene=SimpleNamespace(parts=SimpleNamespace(contacts=[])))
    evidence = SimpleNamespace(
        experiment=SimpleNamespace(model=model), fit=SimpleNamespace(kept=[1]), figures={},
        advice=[], doubts=[], unexplained=0.0,
    )  # fmt: skip
    verdict._Evidence.try_held(evidence, None, None)
    assert evidence.figures["free"] == {"a": 1.0, "b": 2.0}
    assert evidence.advice == ["free one of these, the first explains most: a, b"]


def test_a_bound_and_an_optimum_that_was_not_found_are_no_good_fit(tmp_path):
    parameters = estimation("x")["parameters"]
    parameters["friction"] |= {"value": 0.1, "bounds": [0.05, 0.2]}
    found = fitted(tmp_path, tosses=3, parameters=parameters)
    assert "friction stopped at its upper bound" in found.verdict.reason
    # the data push beyond the bound: no side is open
    assert all(p.bound is None for p in found.parameters)
    hurried = fitted(tmp_path, tosses=3, fit={"initial_state": "nuisance", "iterations": 1})
    assert "the optimum was not found" in hurried.verdict.reason
    assert {found.verdict.grade, hurried.verdict.grade} <= {"usable", "misleading"}


def test_parabolas_describe_a_flight_but_no_swing():
    t, noise = np.linspace(0.0, 1.0, 200), np.random.default_rng(0).normal(size=(200, 2))
    flight = np.stack([2.0 * t, 3.0 * t - 4.9 * t**2], axis=1) + 1e-3 * noise
    swing = np.stack([np.sin(20.0 * t), np.cos(20.0 * t)], axis=1) + 1e-3 * noise
    gone = swing.copy()
    gone[50:90, 0] = np.nan

    def of(measured, simulated):
        prediction = SimpleNamespace(t=t, measured=measured, simulated=simulated)
        return against_parabolas(Experiment.__new__(Experiment), [prediction])

    assert of(flight, flight + 0.01) == {}, "there is nothing to predict"
    for measured in (swing, gone):
        ours, theirs = of(measured, swing + 0.1)["position"]
        assert ours == pytest.approx(0.1, rel=0.01) and theirs == pytest.approx(0.7, rel=0.1)


@pytest.mark.parametrize(("unexplained", "left", "says"), [
    (0.0, 0.3, ""),  # another doubt: a bound that was reached
    (90.0, 0.01, ""),  # waves a hundred times as large as the step's error
    (90.0, 0.3, "leaves residuals of 0.3 sigma, which the following may come from"),
])  # fmt: skip
def test_steps_are_blamed_for_what_their_error_can_explain_alone(unexplained, left, says):
    evidence = verdict._Evidence.__new__(verdict._Evidence)
    evidence.__dict__.update(
        doubts=["waves"], poor=[], advice=["free one of these, the first explains most: a"],
        uncertainty=None, unexplained=unexplained, figures={}, discretised=False, remarks=[],
        only_discretised=False, blamed=0,
        experiment=SimpleNamespace(model=SimpleNamespace(
            config=SimpleNamespace(simulation=SimpleNamespace(steps_per_frame=4)),
            scene=SimpleNamespace(description={}),
        )),
    )  # fmt: skip
    doubt = "the time step of 0.001 s is too long"
    half = Finer("step", "time step: half of 0.001 s", "half of it", doubt, {"seconds": 0.001})
    evidence.blame(Check(half, Shift({}, {}, 1.0, left, 1000), {}, 0.1))
    found = evidence.verdict()
    assert says in found.reason and ("time step" in found.reason) == bool(says)
    assert found.advice[0].startswith("set simulation.steps_per_frame: 8" if says else "free one")


@pytest.mark.parametrize(("level", "kind", "says"), [
    (3.0, "correlated", "3 times the stated sigma, and too few instants"),
    (3.0, "gauss_newton", "3 times the stated sigma, and std_dev counts that alone"),
    (1.1, "correlated", ""),
])  # fmt: skip
def test_what_is_too_short_to_look_like_noise_is_judged_by_its_size(level, kind, says):
    """A throw of 13 clouds: nothing tells what the model lacks from noise."""
    evidence = SimpleNamespace(
        figures={}, doubts=[], advice=[], uncertainty=SimpleNamespace(kind=kind), unexplained=0.0
    )
    short = Adequacy(level, math.nan, math.nan, math.nan, math.nan, 900.0, "", np.ones(1))
    verdict._Evidence.hold_against_noise(evidence, short)
    assert len(evidence.doubts) == len(evidence.advice) == bool(says)
    assert says in "".join(evidence.doubts)
