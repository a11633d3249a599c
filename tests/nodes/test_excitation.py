"""The planner serves excitations, and joint states carry a twin's efforts."""

from pathlib import Path

import numpy as np
from diffsim_interfaces.action import Plan

from diffsim_ros.nodes import planner
from diffsim_ros.nodes.convert_motion import joint_state_message

PLAN = Path(__file__).resolve().parents[2] / "config" / "planning" / "ur5_excitation.yaml"
QUICK = ["excitation.harmonics=2", "search={starts: 1, iterations: 2}"]


def test_the_planner_designs_an_excitation(tmp_path):
    seen = []
    goal = Plan.Goal(task=str(PLAN), set=QUICK, out=str(tmp_path / "out"))
    answer = planner.solve(goal, planner.Last(), lambda *step: seen.append(step), None)
    assert answer.code == "SUCCESS", answer.message
    assert answer.trajectory.duration == 10.0 and answer.trajectory.release is None
    assert seen[-1][:2] == (0, 1) and np.isfinite(answer.objective)
    assert answer.metrics["sigma"]["elbow_joint.viscous"] > 0
    assert (tmp_path / "out" / "trajectory.yaml").is_file()
    assert not len(answer.poses)


def test_a_target_of_an_excitation_is_refused():
    goal = Plan.Goal(task=str(PLAN), set=QUICK, target=[0.0, 0.0, 1.0])
    answer = planner.solve(goal, planner.Last(), None, None)
    assert answer.code == "INVALID_CONFIGURATION" and "target" in answer.message


def test_joint_states_carry_efforts_where_there_are_some():
    rows = np.zeros(2), np.ones(2)
    assert not len(joint_state_message(("a", "b"), *rows, 5).effort)
    assert list(joint_state_message(("a", "b"), *rows, 5, np.array([3.0, 4.0])).effort) == [3, 4]
