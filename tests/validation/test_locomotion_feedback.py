"""A part of the study of pushed motions; full: ./run validate locomotion_feedback."""

from functools import cache

import numpy as np
import pytest

pytest.importorskip("mujoco")
pytest.importorskip("piqp")


from validation import locomotion_feedback as study
from validation import tracking_engine, tracking_mujoco


@cache
def quadruped():
    return study.subject("quadruped")


def test_feedback_brings_a_pushed_robot_back_to_its_motion():
    """Small pushes, which it survives on any machine: 1 s later it is 8 to 10 times nearer.

    Which of larger pushes fells it depends on rounding: 3 m/s does here and does not there.
    """
    own = quadruped()
    motion = own.motion("trot")
    away = {True: [], False: []}
    for axis in study.AXES:
        for time in (1.6, study.PHASES[1]):
            world = study.pushed(study.WORLDS["nominal"], axis, 0.4, own.robot.mass, time)
            for feedback, found in away.items():
                found.append(study.ended(own, motion, world, feedback=feedback))
    assert np.mean(away[True]) < 0.01
    assert np.mean(away[True]) < 0.4 * np.mean(away[False])


def test_a_push_that_no_robot_stands_fells_it():
    own = quadruped()
    motion = own.motion("trot")
    world = study.pushed(study.WORLDS["nominal"], "sideways", 12.0, own.robot.mass, 1.6)
    assert [study.ended(own, motion, world, feedback=how) for how in (True, False)] == [None, None]


@pytest.mark.parametrize(
    ("feedback", "open_loop", "fewer"), [(0, 5, False), (0, 6, True), (4, 3, False), (9, 12, False)]
)
def test_one_push_more_or_less_is_chance(feedback, open_loop, fewer):
    drawn = {"feedback": {"alone": feedback}, "open_loop": {"alone": open_loop}}
    assert study.fewer_survive(drawn) == fewer


def test_a_loaded_robot_on_slippery_ground_stays_near_its_motion():
    own = quadruped()
    motion = own.motion("trot")
    world = tracking_mujoco.World(friction=0.56, payload=0.1)
    policy = study.controlled(own, motion).torques
    seen = tracking_mujoco.simulated(own.robot, motion, policy, world, foot=own.foot, until=1.5)
    found = study.figures_of(motion, seen)
    assert not found["fell"]
    assert found["rms"] < study.BAR
    assert seen.q[-1, 0] - seen.q[0, 0] > 0.1


def test_the_engines_own_simulation_of_a_duck():
    own = quadruped()
    motion = own.motion("duck")
    seen = tracking_engine.simulated(
        own.robot, motion, study.controlled(own, motion).torques, foot=own.foot, until=0.9
    )
    found = study.figures_of(motion, seen)
    assert not found["fell"]
    assert found["rms"] < 0.005
    assert seen.q[:, 2].min() < 0.8 * seen.q[0, 2]


def test_what_begins_as_the_motion_does_is_seen_alike_by_both_simulations():
    own = quadruped()
    motion = own.motion("duck")
    states = []

    def watch(time: float, q: np.ndarray, qd: np.ndarray) -> np.ndarray:
        states.append((q, qd))
        return np.zeros(len(own.robot.joint_names))

    for simulated in (tracking_mujoco.simulated, tracking_engine.simulated):
        states.clear()
        simulated(own.robot, motion, watch, foot=own.foot, until=0.012)
        assert states[0][0] == pytest.approx(motion.at(np.zeros(1)).q[0], abs=1e-9)
        assert not states[0][1].any()
        assert states[-1][1][2] < -1e-3  # without torques it sinks
