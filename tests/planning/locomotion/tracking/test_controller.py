"""Predictive control and the controller: on its reference, off it, and how long a push is felt."""

import numpy as np
import pytest

pytest.importorskip("diffsim_ros._engine", reason="the engine is not built")
pytest.importorskip("piqp")

from diffsim_ros.errors import InputError
from diffsim_ros.planning.locomotion import load_legged_robot
from diffsim_ros.planning.locomotion.tracking import (
    ControllerOptions,
    MotionLibrary,
    Mpc,
    MpcOptions,
    TrackingController,
)
from tests.planning.locomotion.tracking.motions import ROBOTS, library, rolling


def moving(motion, time):
    """q and qd, with wheels, of a motion."""
    of = motion.at(np.array([time]))
    return of.q[0], np.concatenate([of.qd[0], of.wheel_rates[0, motion.robot.spinning]])


def test_a_robot_on_its_reference_stays_on_it():
    own = library()
    motion = own.compose([("stand", 0.5), "steps", ("stand", 0.5)])
    mpc = Mpc(own.robot, motion)
    for time in (0.1, 0.9, 1.3):
        of = motion.at(np.array([time]))
        plan = mpc.tick(time, of.q[0], of.qd[0])
        shift, turn, joints, points = plan.deviation()
        assert np.abs(shift).max() < 4e-3
        assert np.abs(turn).max() < 0.02
        assert np.abs(joints).max() < 0.15
        assert np.abs(points[plan.reference.contact]).max() < 0.01
        assert plan.plan["q"][1] == pytest.approx(of.q[0], abs=1e-12)


def test_a_speed_that_is_off_goes_into_the_plan_and_dies_out_over_the_horizon():
    own = library()
    motion = own.compose([("stand", 3.0)])
    mpc = Mpc(own.robot, motion)
    of = motion.at(np.array([1.0]))
    qd = of.qd[0].copy()
    qd[1] = 0.3  # sideways [m/s]
    for _ in range(4):  # as ticks of the same state
        plan = mpc.tick(1.0, of.q[0], qd)
    h = mpc.options.step
    aside = plan.plan["x"][:, 1] - plan.reference.com[:, 1]
    assert (aside[1] - aside[0]) / h == pytest.approx(0.3, rel=0.05)
    assert aside.max() > 5e-3
    assert abs(aside[-1]) < 0.3 * aside.max()
    sideways = plan.plan["f"][1, :, 1].sum()
    assert sideways < -0.1  # in weights: the ground brakes at once
    assert plan.plan["e"][1:] == pytest.approx(
        np.broadcast_to(plan.plan["e"][1], plan.plan["e"][1:].shape), abs=2e-3
    )


def test_torques_at_rest_are_those_that_hold_the_robot():
    own = library()
    motion = own.compose([("stand", 1.0)])
    controller = TrackingController(own.robot, motion)
    of = motion.at(np.array([0.2]))
    torques = controller.torques(0.2, of.q[0], of.qd[0])
    at = controller.dynamics.dynamics(of.q[0], of.qd[0])
    held = (at["h"] - at["J"].T @ of.forces[0].ravel())[6:]
    assert torques == pytest.approx(held, abs=0.05)
    controller.torques(0.202, of.q[0], of.qd[0])
    assert len(controller.timing.mpc) == 1  # one tick in 20 ms
    controller.torques(0.221, of.q[0], of.qd[0])
    assert len(controller.timing.mpc) == 2
    assert controller.timing.unsolved == 0


@pytest.mark.parametrize("name", ["agilebot", "swizzlebot"])
def test_wheels_on_their_reference_roll_on_it(name):
    own, motion = rolling(name)
    controller = TrackingController(own.robot, motion)
    for time in (0.3, 0.6, 0.9):
        q, qd = moving(motion, time)
        plan = controller.mpc.tick(time, q, qd)
        assert np.abs(plan.deviation()[0]).max() < 2e-3
        spin, wanted = plan.plan["spin"], plan.reference.spin
        assert spin[1] == pytest.approx(wanted[1], abs=0.02 * np.abs(wanted).max() + 1e-9)
        assert np.abs(spin - wanted)[2:].max() < 0.1 * np.abs(wanted).max()
        torques = controller.torques(time, q, qd)
        assert torques.shape == (len(controller.joint_names),) == (len(qd) - 6,)
        free = [e.kind == "passive" for e in own.robot.end_effectors]
        assert not torques[-4:][free].any()
    assert controller.timing.unsolved == 0


def test_wheels_that_are_too_slow_are_sped_up():
    own, motion = rolling("agilebot")
    q, qd = moving(motion, 0.6)
    at_speed = TrackingController(own.robot, motion).torques(0.6, q, qd)[-4:]
    qd[-4:] -= 0.5
    qd[0] -= 0.5 * 0.04
    slow = TrackingController(own.robot, motion).torques(0.6, q, qd)[-4:]
    assert (slow > at_speed).all()


def test_joints_that_carry_little_are_held_less():
    robot = load_legged_robot(ROBOTS / "swizzlebot.yaml")
    motion = MotionLibrary(robot, {}).compose([("stand", 0.2)])
    own = TrackingController(robot, motion)
    held = dict(zip(own.joint_names, own._stiffness, strict=False))
    assert held["FL_ankle_yaw"] < 0.1 * held["FL_hip_roll"]
    strong = TrackingController(own.robot, motion, options=ControllerOptions(stiffness=20.0))
    assert dict(zip(own.joint_names, strong._stiffness, strict=False))["FL_ankle_yaw"] == (
        pytest.approx(held["FL_ankle_yaw"])
    )


def test_states_and_options_that_cannot_be_are_refused():
    own = library()
    motion = own.compose([("stand", 1.0)])
    controller = TrackingController(own.robot, motion)
    of = motion.at(np.array([0.2]))
    with pytest.raises(InputError, match="state estimate: q: "):
        controller.torques(0.2, of.q[0, :-1], of.qd[0])
    with pytest.raises(InputError, match="state estimate: qd: "):
        controller.torques(0.2, of.q[0], np.full(18, np.nan))
    with pytest.raises(InputError, match="tracking: time"):
        controller.torques(np.nan, of.q[0], of.qd[0])
    wheels, rolls = rolling("agilebot")
    q, qd = moving(rolls, 0.3)
    with pytest.raises(InputError, match=r"qd: .*26 finite numbers, the last 4 speeds of wheels"):
        TrackingController(wheels.robot, rolls).torques(0.3, q, qd[:-4])
    with pytest.raises(InputError, match="predictive control: step"):
        MpcOptions(step=0.5)
    with pytest.raises(InputError, match="iterations"):
        MpcOptions(iterations=0)
