"""Angles count whole turns: limits, motors and what is reported, in all coordinates of joints."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.gradients import check_gradients, check_outputs

COORDINATES = ({}, {"reduced": True}, {"constrained": True})
IDS = ("maximal", "reduced", "constrained")
OPTIONS = {"step": 5e-3, "tolerance": 1e-12}


def wheel(coordinates, start=0.0, rate=0.0, arm=0.0):
    """A wheel about y in the world, at an angle, that turns without friction.

    arm  [m] of its centre
    """
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("wheel", mass=1.0, inertia=[0.006, 0.01, 0.006, 0, 0, 0], radius=0.1,
                     position=[arm, 0, 0], velocity=[0, 0, -rate * arm],
                     angular_velocity=[0, rate, 0])  # fmt: skip
    s.add_joint("axle", kind="hinge", body_b="wheel", position=[0, 0, 0], axis=[0, 1, 0],
                coordinate=start, **coordinates)  # fmt: skip
    return s


def angles(s, steps):
    r = _engine.rollout(s, s.values, steps, _engine.Options(**OPTIONS), outputs=["axle.coordinate"])
    assert r.ok, r.message
    motion = s.joint_motion("axle", s.values, r)
    assert motion["coordinate"] == pytest.approx(r.outputs["axle.coordinate"], abs=1e-9)
    return r.outputs["axle.coordinate"], motion["rate"]


@pytest.mark.parametrize("coordinates", COORDINATES, ids=IDS)
@pytest.mark.parametrize(("limit", "start"), [("lower", 2.0), ("lower", 5.5), ("upper", -5.5)])
def test_a_limit_on_one_side_leaves_the_other_free(coordinates, limit, start):
    """Beyond half a turn past a quarter of one, and on through two more turns: no force."""
    s = wheel(coordinates, start, 8.0 * np.sign(start))
    s.add_joint_limit("stop", joint="axle", stiffness=50.0, **{limit: 0.0})
    angle, rate = angles(s, 400)
    assert angle == pytest.approx(start + 8 * np.sign(start) * 5e-3 * np.arange(401), abs=1e-6)
    assert rate == pytest.approx(8.0 * np.sign(start), abs=1e-6)  # no energy gained or lost


@pytest.mark.parametrize("coordinates", COORDINATES, ids=IDS)
def test_limits_may_be_turns_away(coordinates):
    """A stop at 9 rad, which is met after more than a turn, and one at -4: it goes to and fro."""
    s = wheel(coordinates, 0.0, 8.0)
    s.add_joint_limit("stop", joint="axle", lower=-4.0, upper=9.0, stiffness=50.0)
    angle, rate = angles(s, 800)
    assert 9.05 < angle.max() < 9.25 and -4.25 < angle.min() < -4.05
    assert rate[-1] > 7.0 and np.abs(np.abs(rate)).max() < 8.0 + 1e-6


@pytest.mark.parametrize("coordinates", COORDINATES, ids=IDS)
def test_a_motor_turns_as_far_as_its_target_says(coordinates):
    """4 rad forward, not 2.3 back; and back by two turns from where the start has it."""
    for start, target in ((0.0, 4.0), (4 * np.pi, 0.3)):
        s = wheel(coordinates, start)
        s.add_motor("servo", joint="axle", keys=target, stiffness=2.0, damping=0.2)
        angle, _ = angles(s, 800)
        assert angle[0] == pytest.approx(start, abs=1e-9)
        assert angle[-1] == pytest.approx(target, abs=1e-6)
        assert np.diff(angle).min() * np.sign(target - start) > -0.05


@pytest.mark.parametrize("coordinates", COORDINATES, ids=IDS)
@pytest.mark.parametrize("order", [1, 2])
def test_derivatives_past_whole_turns(coordinates, order):
    """Through a stop at 7 rad with a motor that pulls to 9, against differences and the adjoint."""
    s = wheel(coordinates, 5.9, 6.0, arm=0.05)
    s.add_joint_limit("stop", joint="axle", upper=7.0, stiffness=8.0, damping=0.1)
    s.add_motor("servo", joint="axle", keys=[6.0, 9.0], interval=0.3, stiffness=0.3, damping=0.01)
    names = ["stop.upper", "stop.stiffness", "stop.damping", "servo.target[0]", "servo.target[1]",
             "servo.stiffness", "servo.damping", "wheel.angular_velocity.y"]  # fmt: skip
    options = _engine.Options(step=1 / 240, order=order, stagnate=True, record_modes=True)
    r = check_gradients(s, 110, options, names, 1e-5)
    assert (r.modes[:, 0] > 0).any() and (r.modes[:, 0] == 0).any()
    check_outputs(s, 110, options, names, ["axle.coordinate", "axle.rate", "stop.torque"], 1e-5)


def test_steps_from_a_snapshot_go_on_counting():
    s = wheel({}, 0.0, 8.0)
    s.add_joint_limit("stop", joint="axle", upper=20.0, stiffness=50.0)
    whole = _engine.rollout(s, s.values, 600, _engine.Options(**OPTIONS))
    at = s.snapshot(s.values)
    options = _engine.Options(**OPTIONS)
    for _ in range(6):
        segment = _engine.Segment(
            s, [at], s.values[None], 100, options, threads=1, outputs=["axle.coordinate"]
        )
        at = segment.ends[0]
    turned = s.joint_motion("axle", s.values, whole)["coordinate"][-1]
    assert abs(turned) > 2 * np.pi
    assert segment.outputs[0] == pytest.approx([turned], abs=1e-6)
