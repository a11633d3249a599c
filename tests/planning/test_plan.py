"""Plans: closed-form throws, bounces, passages, soft bodies; what cannot be is refused."""

import copy
import dataclasses
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros import _engine
from diffsim_ros.cli import main
from diffsim_ros.commands.plan import summary
from diffsim_ros.errors import InputError
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.inverse.optimizers import levenberg_marquardt
from diffsim_ros.inverse.solution import Iteration
from diffsim_ros.planning import load_plan, plan, plan_kind, results, schema
from diffsim_ros.planning.plan import _problem, _report
from diffsim_ros.scene import load_scene

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(
    file
    for file in (ROOT / "config" / "planning").glob("*.yaml")
    # test_excitation.py, locomotion/, test_compliant.py
    if plan_kind(file) == "goals"
)
PLAN = yaml.safe_load(
    """
scene:
  world: {step: 1/2000, duration: 0.6, record_every: 10}
  bodies:
    ball: {shape: {sphere: {radius: 0.05}}, mass: 0.1, pose: {position: [0, 0, 1]}}
    cube: {shape: {box: {size: [0.1, 0.1, 0.1]}}, mass: 0.1, pose: {position: [1, 0, 1]},
           angular_velocity: [0, 0, 1]}
  contact:
    - {name: floor, points: ball, against: {plane: {}}, k_n: 800, c_n: 0.05, c_f: 0.3, k_t: 10}
controls:
  vx: {value: 1, bounds: [-5, 5], sets: {ball.velocity.x: 1}}
  vz: {value: 1, bounds: [-5, 5], sets: {ball.velocity.z: 1}}
goals:
  - {body: ball, at: 0.4, position: [0.8, 0, 1.2]}
"""
)


def changed(**sections):
    raw = copy.deepcopy(PLAN)
    for key, value in sections.items():
        raw[key] = {**raw.get(key, {}), **value} if isinstance(value, dict) else value
    return raw


def test_a_throw_in_the_air_is_the_parabola():
    result = plan(PLAN)
    t = 0.4
    assert result.status == "reached" and result.best.pattern == ()
    assert result.best.controls["vx"] == pytest.approx(0.8 / t, rel=1e-9)
    assert result.best.controls["vz"] == pytest.approx(0.2 / t + 0.5 * 9.81 * t, rel=1e-3)
    assert result.best.rollouts < 12


def test_whoever_watches_a_search_sees_accepted_controls_alone():
    seen, entries = [], []
    result = plan(PLAN, watch=seen.append, progress=lambda *entry: entries.append(entry))
    assert 1 < len(seen) <= len(entries)
    assert seen[-1] == pytest.approx(result.best.controls, rel=1e-6)
    refused = Iteration(3, 10, 2.0, 0.1, 0.1, 1.0, False, {"vx": 9.0})
    _report(None, seen.append, 0, 1, refused)
    assert seen[-1] != refused.parameters


def test_a_bounce_is_found_and_its_scene_replays_it(tmp_path):
    raw = changed(
        goals=[{"name": "basket", "body": "ball", "at": 0.6, "position": [0.9, 0, 0.5],
                "tolerance": 1e-3}],
        controls={"vz": {"value": -3, "bounds": [-5, 5], "sets": {"ball.velocity.z": 1}}},
    )  # fmt: skip
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(raw))
    out = tmp_path / "out"
    assert main(["plan", str(tmp_path / "plan.yaml"), "--out", str(out)]) == 0
    result = yaml.safe_load((out / "result.yaml").read_text())
    assert result["candidates"][0]["pattern"] == ["floor"]
    model = load_scene(out / "scene.yaml")
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert np.linalg.norm(run.position[-1, 0] - [0.9, 0, 0.5]) < 1e-6
    # and by the other method: the result's values in the first scene
    again = load_scene(raw["scene"], base=tmp_path, estimated=out / "result.yaml")
    np.testing.assert_array_equal(again.engine.values, model.engine.values)
    page = (out / "report.html").read_text()
    assert "basket" in page and (out / "motion.mcap").stat().st_size > 1000


@pytest.mark.parametrize(("status", "then"), [("kink", "reached"), ("objective", "not_reached")])
def test_a_search_that_stops_at_a_kink_goes_on_along_it(monkeypatch, status, then):
    def stops_early(*given, options, **hooks):
        few = dataclasses.replace(options, max_iterations=1)
        return dataclasses.replace(levenberg_marquardt(*given, options=few, **hooks), status=status)

    module = sys.modules["diffsim_ros.planning.plan"]  # the package has a function of that name
    monkeypatch.setattr(module, "levenberg_marquardt", stops_early)
    goal = {"body": "ball", "at": 0.4, "position": [0.8, 0, 1.2], "tolerance": 1e-6}
    result = plan(changed(goals=[goal], search={"check_settling": False}))
    assert result.status == then
    assert (len(result.best.history) > 1) == (then == "reached")


def test_the_nearest_passage_counts_whenever_it_is():
    goal = {"body": "ball", "during": [0.1, 0.5], "softness": 0.05, "position": [0.5, 0, 1.1],
            "tolerance": 5e-3}  # fmt: skip
    result = plan(changed(goals=[goal]))
    path = np.asarray(result.best.motion.position)[:, 0]
    rows = slice(20, 101)
    assert result.status == "reached"
    assert np.linalg.norm(path[rows] - [0.5, 0, 1.1], axis=1).min() < 0.02  # rows are 5 ms apart


def test_orientation_velocity_and_points_of_a_turning_cube():
    controls = {
        f"w{a}": {"value": v, "bounds": [-20, 20], "sets": {f"cube.angular_velocity.{a}": 1}}
        for a, v in zip("xyz", (0.1, 0.2, 1.0), strict=True)
    }
    controls["uz"] = {"value": 0, "bounds": [-9, 9], "sets": {"cube.velocity.z": 1}}
    s = np.sin(0.4)
    goals = [
        {"name": "turned", "body": "cube", "at": 0.5, "orientation": [s, 0, 0, np.cos(0.4)],
         "velocity": [0, 0, 0]},
    ]  # fmt: skip
    raw = {**copy.deepcopy(PLAN), "controls": controls, "goals": goals}
    result = plan(raw)
    assert result.status == "reached"
    assert result.best.controls["wx"] == pytest.approx(0.8 / 0.5, rel=1e-3)
    assert result.best.controls["uz"] == pytest.approx(9.81 * 0.5, rel=1e-3)


def test_a_soft_ball_is_thrown_by_its_centre_of_mass():
    raw = yaml.safe_load((ROOT / "config" / "scenes" / "soft_ball.yaml").read_text())
    raw.pop("parameters")
    raw["bodies"]["ball"]["shape"] = {"ball": {"radius": 0.1, "layers": 2}}
    raw["world"]["duration"] = 0.3
    content = {
        "scene": raw,
        "controls": {
            f"v{a}": {"value": v, "bounds": [-5, 5], "sets": {f"ball.velocity.{a}": 1}}
            for a, v in zip("xyz", (1, 0.3, -2), strict=True)
        },
        "goals": [{"body": "ball", "at": 0.3, "position": [0.4, 0.05, 0.25], "tolerance": 1e-4}],
    }
    result = plan(content)
    assert result.status == "reached" and result.best.pattern == ("ground",)


@pytest.mark.parametrize("softness", [None, 0.1])
def test_the_gradient_of_a_plan_is_that_of_differences(softness):
    goals = [
        {"body": "ball", "during": [0.3, 0.6], "position": [0.5, 0, 0.4], "softness": softness},
        {"body": "cube", "at": 0.5, "position": [1.1, 0, 0.9], "point": [0.05, 0.02, 0]},
    ]
    controls = {
        "vz": {"value": -2.1, "bounds": [-5, 5], "sets": {"ball.velocity.z": 1}},
        "wx": {"value": 2, "bounds": [-9, 9], "sets": {"cube.angular_velocity.x": 1}},
    }
    config = load_plan(changed(goals=goals, controls=controls))
    report = check_problem(_problem(config), directions=4, seed=3)
    assert report.passed, report


def test_ends_that_are_the_same_plan_are_listed_once():
    goal = {"body": "ball", "at": 0.6, "position": [0.9, 0, 0.5], "tolerance": 1e-3}
    result = plan({**changed(goals=[goal]), "search": {"starts": 9}})
    assert result.starts == 9
    reached = [c for c in result.candidates if c.reached]
    patterns = [c.pattern for c in reached]
    assert patterns.count(()) == 1, "the direct throw is one plan"
    assert ("floor",) in patterns
    assert [c.reached for c in result.candidates] == sorted(
        (c.reached for c in result.candidates), reverse=True
    )


def test_continuation_leads_past_discontinuities():
    """Of a normal force that is sampled; an integrated one needs no continuation here."""
    raw = yaml.safe_load((ROOT / "config" / "planning" / "throw_one_bounce.yaml").read_text())
    raw["scene"]["world"] |= {"step": 1e-3, "record_every": 5}
    contact = raw["scene"]["contact"][0]
    contact["k_n"] = 3e3  # a touch of few steps
    assert plan(raw).status == "reached"
    contact["onset"] = "sampled"
    plain = plan(raw)
    assert plain.status == "not_reached"
    raw["search"] = {"continuation": ["floor.k_n", "floor.k_t"], "factors": [0.1, 0.3]}
    assert plan(raw).best.objective < 0.1 * plain.best.objective


def dragging(**control):
    raw = yaml.safe_load((ROOT / "config" / "planning" / "drag_cube.yaml").read_text())
    raw["controls"]["hand"].update(control)
    return raw


def test_a_cube_is_dragged_by_a_string_and_left_at_rest():
    result = plan(dragging())
    assert result.status == "reached" and result.best.pattern == ("table",)
    path = np.asarray(result.best.motion.position)[:, 1]
    assert np.linalg.norm(path[-1, :2] - [0.11, 0.03]) < 1e-3
    keys = np.array([result.best.controls[f"hand[{k}].x"] for k in range(1, 9)])
    assert np.abs(np.diff(keys)).max() < 0.1
    text = summary(result)
    assert (
        f"hand: {len(result.best.controls)} numbers of its keys" in text and "hand[1]" not in text
    )


def test_the_gradient_by_keys_is_that_of_differences():
    problem = _problem(load_plan(dragging()))
    # away from the start, where the string is just taut: a kink
    z = problem.start + 0.1 * np.random.default_rng(0).normal(size=problem.start.shape)
    report = check_problem(problem, z, directions=4, seed=1)
    assert report.passed, report


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ({"body": "hnd"}, "kinematic body with keys or waypoints: hand"),
        ({"axes": ["x", "w"]}, "x, y or z"),
        ({"first": 9}, "keys 1 to 8"),
        ({"last": 9}, "keys 1 to 8"),
    ],
)
def test_keys_that_are_not_there_are_refused(control, words):
    with pytest.raises(InputError, match=words):
        load_plan(dragging(**control))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"goals": []}, "at least one goal"),
        ({"goals": [{"body": "bal", "at": 0.1, "position": [0, 0, 0]}]}, "goals.0..body.*ball"),
        ({"goals": [{"body": "ball", "at": 0.7, "position": [0, 0, 0]}]}, "duration, 0.6 s"),
        ({"goals": [{"body": "ball", "position": [0, 0, 0]}]}, "exactly one"),
        ({"goals": [{"body": "ball", "at": 0.1}]}, "at least one of position, positions"),
        ({"controls": {"vx": {"value": 9, "bounds": [0, 5], "sets": {"ball.velocity.x": 1}}}},
         "within the bounds"),
        ({"controls": {"vx": {"value": 1, "bounds": [0, 5], "sets": {"ball.velocity.u": 1}}}},
         "a parameter of the scene"),
        ({"search": {"continuation": ["floor.kn"]}}, "search.continuation.0..*floor.k_n"),
        ({"search": {"factors": [0]}}, "greater than 0"),
    ],
)  # fmt: skip
def test_what_cannot_be_planned_is_refused(change, words):
    raw = copy.deepcopy(PLAN)
    raw.update(change)
    with pytest.raises(InputError, match=words):
        load_plan(raw)


def test_a_goal_out_of_reach_is_said_so(tmp_path, capsys):
    raw = changed(goals=[{"body": "ball", "at": 0.4, "position": [9, 0, 1]}])
    (tmp_path / "plan.yaml").write_text(yaml.safe_dump(raw))
    assert main(["plan", str(tmp_path / "plan.yaml"), "--out", str(tmp_path / "o")]) == 3
    shown = capsys.readouterr().out
    assert "not reached: ball" in shown and "control vx ended at its upper bound" in shown


def test_the_gradient_of_a_soft_body_on_the_floor_is_that_of_differences():
    raw = yaml.safe_load((ROOT / "config" / "planning" / "throw_stiff_cube.yaml").read_text())
    raw["scene"]["contact"][0]["k_n"] = 1e3  # of its stages one whose touches have many steps
    raw["scene"]["world"]["duration"] = raw["goals"][0]["at"] = 0.3
    report = check_problem(_problem(load_plan(raw)), directions=1, seed=1)
    assert report.passed, report


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda p: p.stem)
def test_examples_load(path):
    assert load_plan(path).goals


def test_keys_of_plans_are_documented():
    assert schema.markdown() in (ROOT / "docs" / "reference" / "planning_keys.md").read_text()


def test_a_plan_notes_derivatives_that_are_not_settled():
    """A bounce of three steps; the note names control, contact and time, and can be left out."""
    raw = changed(goals=[{"body": "ball", "at": 0.6, "position": [0.9, 0, 0.5]}])
    raw["controls"] = {"vx": raw["controls"]["vx"], "vz": {**raw["controls"]["vz"], "value": -2}}
    raw["scene"]["world"] |= {"step": 1 / 100, "record_every": 1}
    raw["scene"]["contact"][0] |= {"onset": "sampled", "k_n": 3000}
    found, off = plan(raw), plan({**raw, "search": {"check_settling": False}})
    assert found.best.controls == off.best.controls and off.unsettled is None
    assert found.unsettled.cause.element == "floor"
    assert any("not settled" in note and "floor" in note for note in results.notes(found))
