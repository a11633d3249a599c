"""A goal for an output: a ball dropped so that the floor's force peaks at a wanted value."""

import copy

import numpy as np
import pytest
import yaml

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")

from diffsim_ros.errors import InputError
from diffsim_ros.inverse.gradient_check import check_problem
from diffsim_ros.planning import load_plan, plan
from diffsim_ros.planning.executed import distances
from diffsim_ros.planning.plan import _problem

PLAN = yaml.safe_load(
    """
scene:
  world: {step: 1/1000, duration: 0.2, record_every: 2}
  bodies:
    ball:
      shape: {sphere: {radius: 0.04}}
      mass: 0.06
      pose: {position: [0, 0, 0.1]}
      velocity: [0.5, 0, -1]
  contact:
    - {name: floor, points: ball, against: {plane: {}}, k_n: 1.0e+3, k_t: 20, c_n: 0.1, c_f: 0.5}
controls:
  speed: {value: -1.5, unit: m/s, bounds: [-3, 0], sets: {ball.velocity.z: 1}, weight: 0}
  across: {value: 0.5, unit: m/s, bounds: [0, 2], sets: {ball.velocity.x: 1}}
goals:
  - {name: place, body: ball, at: 0.2, position: [0.15, 0, 0], line: [0, 0, 1], tolerance: 1.0e-3}
  - {body: ball, during: [0, 0.2], output: floor.force, at_most: 12, tolerance: 0.01}
"""
)


def changed(**goal):
    raw = copy.deepcopy(PLAN)
    raw["goals"][1].update(goal)
    return raw


@pytest.mark.parametrize("limit", [{"at_most": 8}, {"at_most": None, "near": 2.0}])
def test_the_gradient_is_that_of_differences(limit):
    problem = _problem(load_plan(changed(**limit, tolerance=2)))
    report = check_problem(problem, problem.start + 0.02, directions=2, seed=2)
    assert report.passed, report.summary()


def test_a_ball_arrives_without_pressing_harder_than_wanted():
    raw = changed()
    before = load_plan(raw)
    result = plan(before)
    assert result.status == "reached", result.best.distances
    first = _problem(before).rollouts(_problem(before).start)[0]
    force = [
        np.linalg.norm(run.outputs["floor.force"], axis=1) for run in (first, result.best.motion)
    ]
    assert force[0].max() > 13 and force[1].max() < 12.01
    excess = max(0.0, force[1].max() - 12)
    assert result.best.distances["floor.force"] == pytest.approx(excess, abs=1e-12)
    assert result.best.distances["place"] < 1e-3


def test_what_was_executed_is_judged_without_it():
    """Nothing measures the output of a real motion, or a twin's."""
    config = load_plan(PLAN)
    time = np.array([0.0, 1.0])
    place = np.array([[0.15, 0.0, 0.1]] * 2)
    truth = {
        "time": time, "ball.position": place, "ball.velocity": 0 * place, "ball.spin": 0 * place,
        "ball.orientation": np.array([[0, 0, 0, 1.0]] * 2),
    }  # fmt: skip
    found, reached = distances(config, truth, 0.0)
    assert found == {"place": pytest.approx(0.0)} and reached


@pytest.mark.parametrize(
    ("goal", "message"),
    [
        ({"output": "flor.force"}, r"goals\[1\].output: got 'flor.force'.*floor.force"),
        ({"output": None}, "at_most: got 12.*together with `output`|at least one of"),
        ({"at_most": None}, r"goals\[1\].near: got \[\]; .*at_most, at_least"),
        ({"near": 3}, "near, or at_most"),
        ({"softness": 0.1}, "softness"),
    ],
)
def test_what_is_wrong_is_named(goal, message):
    with pytest.raises(InputError, match=message):
        load_plan(changed(**goal))
