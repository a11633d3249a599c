"""Motors with limits of torque or force: closed forms, batteries, derivatives in both steppers."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.links import DRIVEN, jointed, net_wrench

LIMITS = {"effort_lower": -2.0, "effort_upper": 1.2}
KEYS = {"keys": [0.3, -0.4, 0.8], "interval": 0.1}
INERTIA = 0.01


@pytest.mark.parametrize("kind", DRIVEN)
@pytest.mark.parametrize("word", ["position", "applied"])
@pytest.mark.parametrize("limits", [LIMITS, {"effort_upper": 0.2}, {"effort_lower": -0.1}])
def test_battery_within_and_beyond_limits(kind, word, limits):
    rng = np.random.default_rng(3)
    s = jointed(kind)
    applied = {"kind": "force" if kind == "slider" else "torque",
               "keys": np.array([2.61, -4.5, 0.1]), "interval": 0.1}  # fmt: skip
    how = applied if word == "applied" else {"stiffness": 5.0, "damping": 0.4, **KEYS}
    s.add_motor("motor", joint="joint", **how, **limits)
    codes = set()
    for t in np.linspace(0.01, 0.29, 50):
        instants = random_instants(rng, 3, 1)
        out = check_element(s, "motor", s.values, instants, rng, frames=[0, 1], t=t)
        force, torque = net_wrench(out["r"], instants[0][0])
        assert np.abs(np.hstack([force, torque])).max() <= 1e-12 * (1 + np.abs(out["r"]).max())
        codes |= {int(code) for code in out["modes"]}
    beyond = {"effort_upper": 1, "effort_lower": 2}
    assert codes == {0} | {beyond[word] for word in limits}


def wheel(coordinates, off=0.0, **motor):
    """A wheel about y on an axle in the world, its centre `off` beside it, and its motor."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("wheel", mass=1.0, inertia=[0.006, INERTIA, 0.006, 0, 0, 0], radius=0.1,
                     position=[off, 0, 0])  # fmt: skip
    s.add_joint("axle", kind="hinge", body_b="wheel", position=[0, 0, 0], axis=[0, 1, 0],
                reduced=coordinates == "reduced")  # fmt: skip
    s.add_motor("motor", joint="axle", **motor)
    return s


def options(stepper, step=1e-3):
    own = {"stepper": "velocity"} if stepper == "velocity" else {"tolerance": 1e-12}
    return _engine.Options(step=step, **own)


@pytest.mark.parametrize("stepper", ["implicit", "velocity"])
@pytest.mark.parametrize("limit", [0.5, -0.7])
def test_a_servo_far_from_its_target_speeds_up_as_its_limit_allows(stepper, limit):
    """Constant acceleration at the limit, until the law asks for less; the output is what acts."""
    s = wheel("reduced", keys=3.0 * np.sign(limit), stiffness=20.0, damping=4.0,
              effort_lower=-abs(limit), effort_upper=abs(limit))  # fmt: skip
    r = _engine.rollout(s, s.values, 100, options(stepper), outputs=["motor.torque"])
    motion = s.joint_motion("axle", s.values, r)
    assert motion["rate"][1:] == pytest.approx(limit / INERTIA * r.time[1:], rel=1e-3)
    assert r.outputs["motor.torque"][1:] == pytest.approx(limit, rel=1e-12)
    r = _engine.rollout(s, s.values, 3000, options(stepper))
    assert s.joint_motion("axle", s.values, r)["rate"][-1] == pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("stepper", ["implicit", "velocity"])
def test_at_its_limit_only_the_limit_counts_and_within_it_only_the_law(stepper):
    s = wheel("reduced", keys=3.0, stiffness=20.0, damping=0.8, effort_upper=0.5)
    names = ["motor.effort_upper", "motor.stiffness", "motor.target[0]", "motor.damping"]
    r = _engine.rollout(s, s.values, 100, options(stepper), outputs=["axle.rate"],
                        active=[s.index(n) for n in names], mode="sensitivity")  # fmt: skip
    wanted = [0.1 / INERTIA, 0, 0, 0]
    assert r.outputs_dp["axle.rate"][-1] == pytest.approx(wanted, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("coordinates", ["maximal", "reduced"])
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_through_the_end_of_a_saturation(coordinates, order):
    """It leaves the limit, brakes at the other one and settles: S, adjoint and differences."""
    s = wheel(coordinates, 0.1, keys=[0.3, -0.4, 0.8], interval=0.15, stiffness=8.0, damping=0.15,
              effort_lower=-0.6, effort_upper=0.5)  # fmt: skip
    names = [f"motor.{w}" for w in ("effort_lower", "effort_upper", "stiffness", "damping",
                                    "target[0]", "target[1]", "target[2]")]  # fmt: skip
    own = _engine.Options(step=2e-3, order=order, tolerance=1e-13, record_modes=True)
    r = _engine.rollout(s, s.values, 160, own)
    assert {0, 1, 2} <= set(np.unique(r.modes))
    check_gradients(s, 160, own, names)


def test_limits_that_leave_nothing_between_them_are_refused():
    with pytest.raises(ValueError, match="effort_lower must be below effort_upper"):
        wheel("maximal", kind="torque", keys=1.0, effort_lower=2.0, effort_upper=1.0)
