"""Gaits refined through the dynamics: splines, tables, the search on coarse feet, files, errors."""

import copy
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.commands.plan_compliant import FILES, summary, write_all
from diffsim_ros.errors import InputError
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.output import write_yaml
from diffsim_ros.planning import plan_kind
from diffsim_ros.planning.locomotion import generate, load_locomotion
from diffsim_ros.planning.locomotion.compliant import figures, problem_of, refine
from diffsim_ros.planning.locomotion.compliant_config import load_compliant
from diffsim_ros.planning.locomotion.compliant_results import walking_scene
from diffsim_ros.planning.locomotion.nominal import (
    NominalMotion,
    nominal_of,
    periodic_splines,
    read_nominal,
)
from diffsim_ros.scene import load_scene
from diffsim_ros.yaml_file import read_yaml
from validation.compliant import PLAN, layered, plan
from validation.compliant_gait import trot

QUICK = {"cycles": 1, "knots": 4}


@pytest.fixture(scope="module")
def config():
    return plan(layered(1), compliant=QUICK, search={"iterations": 8})


@pytest.fixture(scope="module")
def refined(config):
    return refine(config)


def test_splines_are_periodic_and_smooth():
    W = periodic_splines(24, 8)
    np.testing.assert_allclose(W.sum(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(np.roll(W, 3, axis=0), np.roll(W, -1, axis=1), atol=1e-12)
    np.testing.assert_allclose(W[0, [7, 0, 1]], [1 / 6, 2 / 3, 1 / 6], atol=1e-12)


def test_lead_in_comes_from_standing_smoothly(config):
    nominal, standing = config.nominal, config.standing
    keys = nominal.over(2, 1, standing)
    np.testing.assert_array_equal(keys[0], standing)
    np.testing.assert_allclose(keys[12], 0.5 * (standing + nominal.targets[12]))
    np.testing.assert_array_equal(keys[24:48], nominal.targets)
    np.testing.assert_array_equal(keys[48:72], nominal.targets)


def test_plan_of_the_repository_is_the_trot():
    assert plan_kind(PLAN) == "compliant"
    content = read_yaml(PLAN)
    nominal = read_nominal(PLAN.parent / content["compliant"]["nominal"], 0.4)
    made = trot(content["compliant"]["speed"])
    assert nominal.joints == made.joints
    np.testing.assert_allclose(nominal.targets, made.targets, atol=1e-6)


def test_generated_motion_is_a_nominal_one(tmp_path):
    made = generate(load_locomotion(PLAN.with_name("soft_foot_trot_generated.yaml")))
    made.save(tmp_path / "motion.npz")
    nominal = read_nominal(tmp_path / "motion.npz", None)
    assert nominal.period == pytest.approx(0.4)
    np.testing.assert_array_equal(nominal.targets, made.positions)
    one = plan(layered(1), compliant={**QUICK, "nominal": str(tmp_path / "motion.npz")})
    assert one.nominal.joints == made.joints and one.scene.steps == 96
    with pytest.raises(InputError, match="periodic footfall"):
        nominal_of(replace(made, periodic=False))


def test_gradient_is_that_of_the_motion(config):
    one = replace(config, height=0.2)
    report = check_problem(problem_of(one), directions=1, seed=3)
    assert report.passed and report.worst < 1e-6, report.summary()


def test_refined_targets_reach_the_speed(config, refined):
    assert abs(refined.before.missed) > 0.2
    assert refined.status == "reached" and abs(refined.after.missed) < 0.02
    assert refined.objective < 1e-3 * refined.objective_first
    assert refined.after.tilt < 0.1 and refined.after.drift < 0.05
    change = refined.targets - config.nominal.targets
    assert 0.01 < np.abs(change).max() <= 0.5


def test_files_replay(refined, tmp_path):
    write_all(tmp_path, refined)
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(FILES)
    model = load_scene(tmp_path / "scene.yaml")
    run = _engine.rollout(model.engine, model.engine.values, model.steps, model.options)
    assert figures(refined.config, run).speed == pytest.approx(refined.after.speed, rel=1e-9)
    again = read_nominal(tmp_path / "targets.csv", 0.4)
    np.testing.assert_allclose(again.targets, refined.targets, rtol=1e-8)
    assert "reached" in summary(refined)


def test_cancelled_keeps_the_best(config):
    token = _engine.CancelToken()
    found = refine(config, progress=lambda *_: token.cancel(), cancel=token)
    assert found.status == "cancelled" and found.solution.iterations <= 2
    assert walking_scene(found)["name"] == config.name


def test_estimates_of_several_results(tmp_path):
    foot, ground = tmp_path / "foot.yaml", tmp_path / "ground.yaml"
    write_yaml(foot, {"scene": {"foot.young": 1.5e5}})
    write_yaml(ground, {"scene": {"FL_ground.c_f": 0.6}})
    given = [{"file": str(foot), "sets": {"RR_foot.young": "foot.young"}}, str(ground)]
    engine = plan(layered(1), compliant=QUICK, estimated=given).scene.engine
    values = dict(zip([i.name for i in engine.parameters], engine.values, strict=True))
    assert values["RR_foot.young"] == 1.5e5 and values["FL_ground.c_f"] == 0.6
    assert values["FL_foot.young"] == 2e5
    bad = [{"file": str(foot), "sets": {"RR_foot.yung": "foot.young"}}]
    with pytest.raises(InputError, match=r"RR_foot\.young"):
        plan(layered(1), estimated=bad)
    with pytest.raises(InputError, match="a parameter that"):
        plan(layered(1), estimated=[{"file": str(foot), "sets": {"RR_foot.young": "young"}}])


def test_robust_speeds(config):
    spread = {"FL_foot.young": 0.2, "FL_knee_drive.stiffness": 0.2}
    robust = {"samples": 2, "fresh": 3, "spread": spread}
    search = {"iterations": 1, "robust": robust}
    found = refine(plan(layered(1), compliant=QUICK, search=search))
    before, after = found.robust
    assert before.shape == after.shape == (3,) and np.ptp(before) > 0


@pytest.mark.parametrize(
    "changes, match",
    [
        ({"body": "trnk"}, "trunk"),
        ({"knots": 30}, "at most 24"),
        ({"direction": [0, 0, 1]}, "along the ground"),
        ({"speed": 0}, "another number than 0"),
        ({"lead": 1}, "lead_in"),
    ],
)
def test_bad_plans(changes, match):
    with pytest.raises(InputError, match=match):
        plan(layered(1), compliant=changes)


def test_a_step_that_does_not_fit():
    def change(scene):
        scene["world"]["step"] = 1 / 130

    with pytest.raises(InputError, match=r"world\.step.*whole number of steps"):
        plan(change)


def test_joints_without_a_motor():
    nominal = trot(0.3)
    odd = NominalMotion(("knee", *nominal.joints[1:]), nominal.times, nominal.targets, 0.4)
    content = copy.deepcopy(read_yaml(PLAN))
    with pytest.raises(InputError, match="a motor of kind position drives"):
        load_compliant(content, base=PLAN, nominal=odd)


@pytest.mark.parametrize(
    "text, match",
    [
        ("time,a\n0,1\n", "two rows or more"),
        ("t,a\n0,1\n0.1,2\n", "columns `time`"),
        ("time,a\n0,1\n0.1,\n", "a is missing"),
        ("time,a\n0,1\n0.1,2\n0.3,2\n", "equal intervals"),
    ],
)
def test_bad_tables(tmp_path, text, match):
    path = Path(tmp_path / "nominal.csv")
    path.write_text(text)
    with pytest.raises(InputError, match=match):
        read_nominal(path, None)
