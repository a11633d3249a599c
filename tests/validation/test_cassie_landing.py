"""A small part of validation/cassie_landing.py, and what its landings are made of."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros.inverse.simulation_problem import body_slots
from diffsim_ros.robots.urdf import load_robot
from diffsim_ros.rotation import quat_matrix
from validation.cassie import EVERY, ROD, ROD_ENDS, SIGMA, STEPS, URDF, landings, problem_of
from validation.cassie_landing import PARAMETERS, _kept, study


@pytest.fixture(scope="module")
def recorded():
    return landings()


def test_a_few_landings_predict_others_better_than_a_rigid_robot():
    figures = study(fraction=0.1, seed=3)
    assert figures["landings"] == 20 and figures["predicted"] == 2
    score = {name: one["all"] for name, one in figures["score"].items()}
    assert score["fitted"] < 0.7 * score["rigid"]
    assert score["fitted"] < score["before_fit"] < score["rigid"] < score["motion_kept"]
    low, high = 800, 1500  # N m/rad: softer than published, by what each fold says
    assert low < figures["parameters"]["fitted"]["knee_k"][0] < high


def test_starts_are_closed_and_near_what_was_measured(recorded):
    for landing in recorded:
        assert len(landing.t) == STEPS + 1 and landing.t[-1] == pytest.approx(0.047)
        for joint, angle in landing.start_q.items():
            assert abs(angle - landing.q[joint][0]) < 5e-3, (landing.name, joint)
    # the heel's angle of the recording closes the rod as well: one robot, one frame
    heel = "ankle_spring_joint_left"
    assert max(abs(one.start_q[heel] - one.q[heel][0]) for one in recorded) < 2e-3


def test_every_landing_of_one_problem_moves_as_by_itself(recorded):
    """Starts and torques go into one scene's parameters: nothing of the first landing is left."""
    both = problem_of(recorded[3:5], PARAMETERS)
    alone = problem_of(recorded[4:5], PARAMETERS)
    one, other = both.rollouts(both.start)[1], alone.rollouts(alone.start)[0]
    np.testing.assert_allclose(one.position, other.position, atol=1e-9)
    np.testing.assert_allclose(one.velocity, other.velocity, atol=1e-6)


def test_rods_keep_their_length(recorded):
    problem = problem_of(recorded[:1], PARAMETERS)
    (run,) = problem.rollouts(problem.start)
    ends, slots = [], body_slots(problem.scene)
    centres = {j.body: j.inertial.centre for j in load_robot(URDF).joints}
    for body, point in zip(("thigh_left", "heel_spring_left"), ROD_ENDS, strict=True):
        slot = slots[body].index
        arm = np.array(point) - centres[body]
        ends.append(run.position[:, slot] + quat_matrix(run.orientation[:, slot]) @ arm)
    length = np.linalg.norm(ends[1] - ends[0], axis=1)
    assert np.max(np.abs(length - ROD)) < 3e-4  # 10 MN/m under 3 kN


def test_derivatives_of_a_landing_against_differences(recorded):
    problem = problem_of(recorded[8:9], PARAMETERS).exact()
    z = problem.start.copy()
    direction = np.random.default_rng(1).normal(size=len(z))
    direction /= np.linalg.norm(direction)
    equations = problem.evaluate(z, want="equations").equations
    slope = equations.gradient_z @ direction
    found = []
    for eps in (1e-5, 1e-6):
        up, down = (problem.evaluate(z + s * eps * direction).value for s in (1, -1))
        found.append((up - down) / (2 * eps))
    assert min(abs(one - slope) for one in found) < 1e-5 * abs(slope)


def test_a_motion_that_is_kept_is_right_at_first(recorded):
    row = _kept(recorded[0])
    assert row.shape == (STEPS // EVERY, 40)
    assert np.abs(row[0, :3]).max() * SIGMA["place"] < 1e-3
