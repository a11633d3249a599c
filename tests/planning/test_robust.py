"""Plans that hold over samples, and plans made again for a target that has moved."""

import copy
from pathlib import Path

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.executors import InProcess, executor_of
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.inverse.wide import Widened
from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.plan import _problem
from diffsim_ros.planning.release import DELAY, SHIFT
from diffsim_ros.planning.replan import replan, retargeted
from diffsim_ros.planning.samples import PlanSamples

ROOT = Path(__file__).parents[2]
THROW = yaml.safe_load((ROOT / "config" / "planning" / "ur5_throw.yaml").read_text())
THROW["robot"]["arm"] = str(ROOT / "config" / "robots" / "ur5.yaml")
# A ball bounces to its goal: thrown down or up, so that what is not known of the floor matters.
BOUNCE = yaml.safe_load(
    """
scene:
  world: {step: 1/1000, duration: 0.8, record_every: 20}
  bodies:
    ball:
      shape: {sphere: {radius: 0.05}}
      mass: 0.1
      pose: {position: [0, 0, 0.3]}
  contact:
    - {name: floor, points: ball, against: {plane: {}}, k_n: 400, c_n: 0.1, c_f: 0.3, k_t: 5}
controls:
  vx: {value: 1, bounds: [-3, 3], sets: {ball.velocity.x: 1}}
  vz: {value: 0.5, bounds: [-3, 3], sets: {ball.velocity.z: 1}}
goals:
  - {body: ball, at: 0.8, position: [0.8, 0, 0.2], tolerance: 0.05}
search:
  enough: 1.0e-5
  robust: {samples: 8, fresh: 40, spread: {floor.c_n: 0.5}}
"""
)


def changed(raw, **robust):
    raw = copy.deepcopy(raw)
    raw["search"]["robust"] = {**raw["search"].get("robust", {}), **robust}
    return raw


def test_the_mean_over_samples_is_what_goes_down():
    config = load_plan(BOUNCE)
    result = plan(BOUNCE)
    assert result.status == "reached"
    robust, objectives = config.robust, config.goals
    trials = robust.trials(config.scene, objectives, robust.samples, robust.seed)
    problem = _problem(config, trials)
    nominal = plan({**BOUNCE, "search": {"enough": 1e-5}})
    before, after = (
        problem.evaluate(config.map.scaled(found.best.controls)).value
        for found in (nominal, result)
    )
    assert after < 0.8 * before
    spread = result.spread.figures()["goals"]["ball"]
    assert spread["after"]["mean"] < 0.8 * spread["before"]["mean"]
    assert spread["after"]["p95"] < 0.6 * spread["before"]["p95"]
    assert len(result.spread.after["ball"]) == 40


def test_slopes_over_a_width_are_the_exact_ones_where_nothing_touches():
    raw = copy.deepcopy(BOUNCE)
    raw["goals"] = [{"body": "ball", "at": 0.2, "position": [0.5, 0, 0.4]}]
    config = load_plan(raw)
    objectives = config.goals
    trials = config.robust.trials(config.scene, objectives, 4, 0)
    exact = _problem(config, trials)
    wide, z = Widened(exact, 0.05), np.array([0.3, 0.4])
    one, other = (p.evaluate(z, want="equations") for p in (exact, wide))
    assert other.value == pytest.approx(one.value, rel=1e-12)
    assert one.value == pytest.approx(exact.evaluate(z).value, rel=1e-12)
    np.testing.assert_allclose(other.gradient[0], one.gradient[0], rtol=1e-8)
    np.testing.assert_allclose(other.equations.Hzz, one.equations.Hzz, rtol=1e-8)
    at_bound = np.array([exact.upper[0], 0.4])  # the upper side is cut off
    rows = [p.evaluate(at_bound, want="equations").gradient[0] for p in (exact, wide)]
    np.testing.assert_allclose(*rows, rtol=1e-8)


def test_samples_fill_what_is_uncertain_and_nothing_else():
    raw = changed(THROW, spread={"table.c_f": 0.2}, placement=0.01)
    config = load_plan(raw)
    trials = config.robust.trials(config.scene, config.goals, 64, 3)
    shares = np.array([t.parameters["table.c_f"] / 0.4 - 1 for t in trials])
    assert np.abs(shares).max() <= 0.2 and np.ptp(shares) > 0.35 and abs(shares.mean()) < 0.02
    held = np.array([[t.held[name] for name in (*SHIFT, DELAY)] for t in trials])
    assert np.abs(held[:, :3]).max() <= 0.01 and np.ptp(held[:, :3], axis=0).min() > 0.018
    assert held[:, 3].std() == pytest.approx(0.004, rel=0.1)
    assert sum(t.weight for t in trials) == pytest.approx(1.0)
    assert set(trials[0].parameters) == {"table.c_f"}


def test_the_gradient_over_samples_is_that_of_differences():
    raw = changed(THROW, spread={"table.c_f": 0.2}, placement=0.01)
    raw["scene"]["world"] |= {"step": 1e-3, "record_every": 10}
    config = load_plan(raw)
    trials = config.robust.trials(config.scene, config.goals, 3, 0)
    report = check_problem(_problem(config, trials), directions=3, seed=4)
    assert report.passed, report


def test_samples_of_an_estimation_have_its_covariance(tmp_path):
    found = {
        "scene": {"floor.c_f": 0.3, "floor.k_n": 400.0},
        "parameters": {"friction": {"value": 0.3, "std_dev": 0.03},
                       "stiffness": {"value": 400.0, "std_dev": 40.0}},
        "correlation": {"friction": {"friction": 1.0, "stiffness": 0.8},
                        "stiffness": {"friction": 0.8, "stiffness": 1.0}},
        "config": {"parameters": {
            "friction": {"sets": {"floor.c_f": 1}},
            "stiffness": {"scale": "log", "sets": {"floor.k_n": {"power": 1}}},
        }},
    }  # fmt: skip
    (tmp_path / "result.yaml").write_text(yaml.safe_dump(found))
    raw = {**BOUNCE, "estimated": str(tmp_path / "result.yaml")}
    config = load_plan(changed(raw, spread={}, estimated=True))
    trials = config.robust.trials(config.scene, config.goals, 256, 0)
    drawn = [t.parameters for t in trials]
    rows = np.array([[p["floor.c_f"], np.log(p["floor.k_n"])] for p in drawn])
    np.testing.assert_allclose(rows.mean(axis=0), [0.3, np.log(400)], rtol=0.01)
    np.testing.assert_allclose(rows.std(axis=0), [0.03, 0.1], rtol=0.05)
    assert np.corrcoef(rows.T)[0, 1] == pytest.approx(0.8, abs=0.05)
    del found["correlation"]
    (tmp_path / "bad.yaml").write_text(yaml.safe_dump(found))
    raw["estimated"] = str(tmp_path / "bad.yaml")
    with pytest.raises(InputError, match="correlation"):
        load_plan(changed(raw, spread={}, estimated=True))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"spread": {"floor.cf": 0.1}}, "spread.floor.cf.*floor.c_f"),
        ({"spread": {"ball.velocity.x": 0.1}}, "no parameter that the plan chooses"),
        ({"spread": {"floor.c_f": 2}}, "a share between 0 and 1"),
        ({"spread": {"ball.velocity.y": 0.1}}, "another value than 0"),
        ({"placement": 0.01}, "0 where no arm throws"),
        ({"spread": {}}, "something uncertain"),
        ({"estimated": True}, "no `estimated`"),
    ],
)
def test_what_cannot_be_sampled_is_refused(change, words):
    raw = copy.deepcopy(BOUNCE)
    raw["search"]["robust"] = {"spread": {"floor.c_f": 0.1}, **change}
    with pytest.raises(InputError, match=words):
        load_plan(raw)


def test_a_target_that_moved_takes_few_rollouts():
    first = plan(THROW)
    target = np.array([-1.05, -0.15, 0.23])
    again = replan(first, target)
    assert again.status == "reached" and again.carried is not None
    assert again.best.rollouts <= 14 and again.starts == 1
    motion = np.asarray(again.best.motion.position)[:, 0]
    assert np.linalg.norm(motion[300] - target) < 0.003
    np.testing.assert_array_equal(again.targets["target"], target)
    np.testing.assert_array_equal(replan(first, None).targets["target"], first.targets["target"])


@pytest.mark.parametrize("point", [False, True])
def test_goals_of_centres_and_points_take_another_target(point):
    """Of a soft body its centre of mass, of a rigid one a `point`."""
    if point:
        raw = copy.deepcopy(BOUNCE)
        raw["goals"][0]["point"] = [0.01, 0.0, 0.0]
        config = load_plan(raw)
    else:
        config = load_plan(ROOT / "config" / "planning" / "throw_soft_ball.yaml")
    moved = retargeted(config, [0.1, 0.2, 0.3]).goals[0]
    np.testing.assert_array_equal(moved.target, [[0.1, 0.2, 0.3]])
    assert moved.points is config.goals[0].points and moved.frames is not None


def test_targets_that_cannot_be_are_refused():
    config = load_plan(THROW)
    with pytest.raises(InputError, match="x, y, z in m"):
        retargeted(config, [1.0, np.nan, 0.0])
    with pytest.raises(InputError, match="'target'"):
        retargeted(config, [1.0, 0.0, 0.0], "tarhet")


def found_of(result):
    """All that a robust plan found, but the time that it took."""
    spread = [{name: d.tolist() for name, d in one.items()}
              for one in (result.spread.before, result.spread.after)]  # fmt: skip
    candidates = [{k: v for k, v in one.plain().items() if k != "seconds"}
                  for one in result.candidates]  # fmt: skip
    return repr([candidates, spread, result.rounds, result.status])


def test_samples_by_an_executor_or_from_a_folder_give_the_same_plan(tmp_path, monkeypatch):
    raw = changed(BOUNCE, samples=3, fresh=5)
    expected = found_of(plan(raw))
    executor = InProcess(2)
    assert found_of(plan(raw, executor=executor)) == expected  # motions of a moment stay here
    monkeypatch.setattr("diffsim_ros.planning.samples.SENDING", 0.0)
    assert found_of(plan(raw, executor=executor, folder=tmp_path)) == expected
    kept = {one.name.split("-")[0].rpartition(".")[2]: len(one.read_text().splitlines()) - 1
            for one in tmp_path.iterdir()}  # fmt: skip
    assert kept["one_start"] == 1 and kept["some_distances"] == 2 * 5
    assert kept["some_residuals"] % (4 * 3) == 0  # points x samples of each iteration
    assert kept["some_residuals"] > 0
    ran = []
    run = PlanSamples.distances
    monkeypatch.setattr(PlanSamples, "distances", lambda *given: ran.append(given) or run(*given))
    assert found_of(plan(raw, executor=executor, folder=tmp_path)) == expected
    assert not ran


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_samples_on_ray_give_the_same_plan(monkeypatch):
    monkeypatch.setattr("diffsim_ros.planning.samples.SENDING", 0.0)
    pytest.importorskip("ray")
    raw = changed(BOUNCE, samples=3, fresh=5)
    expected = found_of(plan(raw))
    with executor_of("local", 2) as executor:
        assert found_of(plan(raw, executor=executor)) == expected
