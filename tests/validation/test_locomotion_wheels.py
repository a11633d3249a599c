"""A part of the study of robots on wheels; full: ./run validate locomotion_wheels."""

from functools import cache

import pytest

pytest.importorskip("mujoco")
pytest.importorskip("piqp")

from diffsim_ros.planning.locomotion import load_legged_robot
from validation import locomotion_feedback, locomotion_wheels, tracking_mujoco
from validation import locomotion_simulator as simulator


@cache
def driving(name):
    own = locomotion_wheels.subject(name, steps=False)
    return own, locomotion_wheels.composed(own, ["drive"])


@pytest.mark.parametrize("name", ["agilebot", "swizzlebot"])
def test_a_loaded_robot_on_slippery_ground_drives_beside_its_motion(name):
    """Wheels with motors and wheels that turn freely, in MuJoCo."""
    own, motion = driving(name)
    world = tracking_mujoco.World(friction=0.56, payload=0.1)
    policy = locomotion_feedback.controlled(own, motion).torques
    seen = tracking_mujoco.simulated(own.robot, motion, policy, world, foot=own.foot, until=1.0)
    found = locomotion_feedback.figures_of(motion, seen)
    assert not found["fell"]
    assert found["rms"] < 0.004
    assert seen.q[-1, 0] - seen.q[0, 0] > 0.02


def test_a_driving_robot_that_is_pushed_comes_back_to_its_motion():
    own, motion = driving("agilebot")
    world = locomotion_feedback.pushed(
        locomotion_feedback.WORLDS["nominal"], "forward", 0.5, own.robot.mass, 0.8
    )
    assert locomotion_feedback.ended(own, motion, world, feedback=True) < 0.02


@pytest.mark.filterwarnings("ignore:.*no body has the principal moments")
def test_a_wheel_that_its_file_does_not_have_turns_in_mujoco():
    robot = load_legged_robot(locomotion_wheels.ROBOTS / "anymal_wheels.yaml")
    model = simulator.model_of(robot)
    names = [model.joint(k).name for k in range(model.njnt)]
    assert {"LF", "RF", "LH", "RH"} <= set(names)
    assert model.body_mass.sum() == pytest.approx(robot.mass, rel=1e-3)
    assert model.actuator("LF").gainprm[0] > 0.0
