"""Motors and joint limits: batteries, keys, gradients, refusals."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.links import DRIVEN, jointed, net_wrench, two_links

KEYS = {"keys": [0.3, -0.4, 0.8], "interval": 0.1}


@pytest.mark.parametrize("kind", DRIVEN)
@pytest.mark.parametrize("t", [0.0, 0.05, 0.1, 0.17, 0.3])
def test_battery_of_motor(kind, t):
    """Following targets and applying torques, before, on, between and after keys; internal."""
    rng = np.random.default_rng(1)
    s = jointed(kind)
    for joint in ("joint", "base"):
        s.add_motor(f"servo_{joint}", joint=joint, stiffness=5.0, damping=0.4, **KEYS)
        s.add_motor(f"drive_{joint}", joint=joint, kind="force" if kind == "slider" else "torque",
                    **KEYS)  # fmt: skip
    for _ in range(2):
        instants = random_instants(rng, 3, 1)
        for name in ("servo_joint", "drive_joint", "servo_base", "drive_base"):
            out = check_element(s, name, s.values, instants, rng, frames=[0, 1], t=t)
            if name.endswith("joint"):
                force, torque = net_wrench(out["r"], instants[0][0])
                assert np.abs(force).max() <= 1e-12
                assert np.abs(torque).max() <= 1e-12 * (1 + np.abs(out["r"]).max())


@pytest.mark.parametrize("kind", DRIVEN)
@pytest.mark.parametrize("depth", [None, 0.3])
@pytest.mark.parametrize(("lower", "upper"), [(-0.4, 0.3), (None, -0.2), (0.1, None)])
def test_battery_of_joint_limit(kind, lower, upper, depth):
    """Free, beyond either limit, and clamped where it is left fast; forces are internal."""
    rng = np.random.default_rng(2)
    s = jointed(kind)
    s.add_joint_limit("stop", joint="joint", lower=lower, upper=upper, stiffness=20.0,
                      damping=0.7 if depth is None else 2.0, damping_depth=depth)  # fmt: skip
    codes = set()
    for _ in range(25):
        instants = random_instants(rng, 3, 1)
        out = check_element(s, "stop", s.values, instants, rng, frames=[0, 1])
        force, torque = net_wrench(out["r"], instants[0][0])
        assert np.abs(np.hstack([force, torque])).max() <= 1e-12 * (1 + np.abs(out["r"]).max())
        codes |= {int(code) & 7 for code in out["modes"]}
    beyond = ({1, 5} if upper is not None else set()) | ({2, 6} if lower is not None else set())
    assert codes == {0} | beyond


def wheel(**start):
    """A wheel about y in the world."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("wheel", mass=1.0, inertia=[0.006, 0.01, 0.006, 0, 0, 0], radius=0.1, **start)
    s.add_joint("axle", kind="hinge", body_b="wheel", position=[0, 0, 0], axis=[0, 1, 0])
    return s


def test_an_angle_is_counted_about_the_axis_and_a_displacement_along_it():
    s = wheel(angular_velocity=[0, 2.0, 0])
    r = _engine.rollout(s, s.values, 100, _engine.Options(step=0.01))
    motion = s.joint_motion("axle", s.values, r)
    assert motion["coordinate"] == pytest.approx(2.0 * r.time, abs=1e-9)
    assert motion["rate"] == pytest.approx(2.0, abs=1e-9)
    s = _engine.Scene()
    s.add_rigid_body("cart", mass=1.0, inertia=[0.01] * 3 + [0] * 3, velocity=[0.6, 0, 0.8],
                     radius=0.1)  # fmt: skip
    s.set_gravity([0, 0, 0])
    s.add_joint("rail", kind="slider", body_b="cart", position=[0, 0, 0], axis=[3, 0, 4])
    r = _engine.rollout(s, s.values, 50, _engine.Options(step=0.01))
    motion = s.joint_motion("rail", s.values, r)
    assert motion["coordinate"] == pytest.approx(r.time, abs=1e-9)
    assert motion["opening"].max() < 1e-12


def test_a_motor_follows_a_target_through_many_turns():
    """Three turns in 1.5 s: the target passes +-pi again and again; the lag stays a servo's."""
    s = wheel()
    turns = 6 * np.pi
    s.add_motor("servo", joint="axle", keys=[0, turns], interval=1.5, stiffness=50.0, damping=2.0)
    r = _engine.rollout(s, s.values, 600, _engine.Options(step=0.005))
    assert r.ok
    motion = s.joint_motion("axle", s.values, r)
    angle = np.unwrap(motion["coordinate"])
    wanted = turns * np.minimum(r.time / 1.5, 1)
    assert np.abs(angle - wanted)[20:].max() < 0.15
    assert angle[-1] == pytest.approx(turns, abs=1e-5)
    assert motion["rate"][250] == pytest.approx(turns / 1.5, rel=1e-6)


def test_a_motor_is_a_spring_and_damper_on_the_angle():
    """Free oscillation about the target against the closed form (first 0.2 s, order 2)."""
    s = wheel()
    s.add_motor("servo", joint="axle", keys=0.7, stiffness=4.0, damping=0.06)
    r = _engine.rollout(s, s.values, 400, _engine.Options(step=5e-4))
    decay, rate = 0.06 / 0.02, np.sqrt(4.0 / 0.01 - (0.06 / 0.02) ** 2)
    wave = np.cos(rate * r.time) + decay / rate * np.sin(rate * r.time)
    wanted = 0.7 * (1 - np.exp(-decay * r.time) * wave)
    assert s.joint_motion("axle", s.values, r)["coordinate"] == pytest.approx(wanted, abs=1e-4)


def test_a_torque_motor_turns_with_its_keys_and_pushes_back_on_its_base():
    """Total angular momentum stays zero while the motor speeds both bodies up."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    for name in "ab":
        s.add_rigid_body(name, mass=1.0, inertia=[0.01, 0.01 + 0.01 * (name == "b"), 0.01, 0, 0, 0],
                         radius=0.1)  # fmt: skip
    s.add_joint("axle", kind="hinge", body_a="a", body_b="b", position=[0, 0, 0], axis=[0, 1, 0])
    s.add_motor("drive", joint="axle", kind="torque", keys=[0.0, 0.3, 0.0], interval=0.1)
    r = _engine.rollout(s, s.values, 300, _engine.Options(step=1e-3, order=1, tolerance=1e-12))
    w = r.angular_velocity[-1, :, 1]
    assert w[1] * 0.02 == pytest.approx(0.5 * 0.2 * 0.3, rel=1e-2)
    assert abs(w[0] * 0.01 + w[1] * 0.02) < 1e-10


@pytest.mark.parametrize("limit", [3.0, 2.0, -0.5])
def test_a_limit_stops_a_spinning_wheel_near_half_a_turn(limit):
    """Also at 3.0 rad, where pressing 0.3 rad beyond passes +-pi: the force must not vanish."""
    s = wheel(angular_velocity=[0, 4.0 * np.sign(limit), 0])
    bounds = {"lower": -1.0, "upper": limit} if limit > 0 else {"lower": limit, "upper": 3.0}
    s.add_joint_limit("stop", joint="axle", stiffness=2.0, damping=0.3, **bounds)
    r = _engine.rollout(s, s.values, 1000, _engine.Options(step=2e-3, record_modes=True))
    angle = np.unwrap(s.joint_motion("axle", s.values, r)["coordinate"])
    beyond = np.max(np.sign(limit) * (angle - limit))
    assert 0.1 < beyond < 0.3
    assert np.sign(limit) * r.angular_velocity[-1, 0, 1] < 0  # it came back
    side = 1 if limit > 0 else 2
    assert {0, side} <= set(np.unique(r.modes))


def arm(kind="position"):
    """A driven shoulder and elbow, a stop on the elbow that is hit, a cart on a rail below."""
    s = _engine.Scene()
    s.add_rigid_body("cart", mass=2.0, inertia=[0.02] * 3 + [0] * 3, radius=0.1)
    for i, name in enumerate(("upper", "lower")):
        s.add_rigid_body(name, mass=0.5, inertia=[0.004, 0.004, 0.0004, 0, 0, 0], radius=0.15,
                         position=[0, 0, -0.15 - 0.3 * i])  # fmt: skip
    s.add_joint("rail", kind="slider", body_b="cart", position=[0, 0, 0], axis=[1, 0, 0],
                friction_damping=0.2)  # fmt: skip
    s.add_joint("shoulder", kind="hinge", body_a="cart", body_b="upper", position=[0, 0, 0],
                axis=[0, 1, 0])  # fmt: skip
    s.add_joint("elbow", kind="hinge", body_a="upper", body_b="lower", position=[0, 0, -0.3],
                axis=[0, 1, 0], friction_damping=0.002)  # fmt: skip
    if kind == "position":
        s.add_motor("m", joint="shoulder", keys=[0.0, 1.5, -1.0], interval=0.15, stiffness=20.0,
                    damping=0.5)  # fmt: skip
    else:
        s.add_motor("m", joint="shoulder", kind="torque", keys=[1.5, 2.5, -3.0], interval=0.15)
    s.add_motor("push", joint="rail", kind="force", keys=[4.0, -6.0], interval=0.3)
    s.add_joint_limit("stop", joint="elbow", lower=-0.6, upper=0.5, stiffness=8.0, damping=0.1)
    return s


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", ["position", "torque"])
def test_gradients_by_motors_and_limits(kind, order):
    s = arm(kind)
    keys = [f"m.{'target' if kind == 'position' else 'torque'}[{k}]" for k in range(3)]
    names = [*keys, "push.force[0]", "push.force[1]", "stop.stiffness", "stop.damping",
             "stop.lower", "stop.upper", "rail.friction_damping", "elbow.friction_damping",
             "lower.mass", "cart.velocity.x", "lower.angular_velocity.y"]  # fmt: skip
    if kind == "position":
        names += ["m.stiffness", "m.damping"]
    options = _engine.Options(step=1 / 240, order=order, stagnate=True, record_modes=True)
    r = check_gradients(s, 110, options, names, 1e-5)
    assert np.any(r.modes[:, -1] > 0), "the stop was never reached"
    late = [k for k, name in enumerate(names) if name in (keys[2], "push.force[1]")]
    assert s.parameters[s.index(keys[2])].begin == pytest.approx(0.15)
    assert np.all(r.dx[:36][:, :, late[:1]] == 0)


BAD_MOTORS = [
    ({"joint": "knee"}, r"must be one of \[hinge, rail, ball\], got 'knee'"),
    ({"joint": "ball"}, "must be a hinge, planar joint or slider, got ball"),
    ({"kind": "force"}, "must be 'position' or 'torque' on a hinge"),
    ({"joint": "rail", "kind": "torque"}, "must be 'position' or 'force' on a slider"),
    ({"kind": "torque", "stiffness": 1.0}, "are for kind 'position'"),
    ({"stiffness": -1.0}, "m.stiffness"),
    ({"damping": -1.0}, "m.damping"),
    ({"keys": []}, "at least one key"),
    ({"keys": [0.0, 1.0]}, "interval: must be > 0"),
    ({"keys": [float("nan")]}, "must be finite"),
    ({"keys": [[0.0], [1.0]]}, r"must be a number or \(n,\) keys"),
]
BAD_LIMITS = [
    ({"lower": 1.0, "upper": 0.5}, "lower must be below upper, got -0.5; swap them"),
    ({}, "needs lower or upper"),
    ({"upper": 1.0, "stiffness": -1.0}, "stop.stiffness"),
    ({"upper": 1.0, "damping": -1.0}, "stop.damping"),
    ({"upper": 1.0, "damping_depth": 0.0}, "damping_depth must be positive, got 0"),
    ({"upper": 1.0, "joint": "ball"}, "must be a hinge"),
]


def three_joints():
    s = two_links()
    for name, kind in {"hinge": "hinge", "rail": "slider", "ball": "ball"}.items():
        s.add_joint(name, kind=kind, body_b="a", position=[0, 0, 0])
    return s


@pytest.mark.parametrize(("change", "text"), BAD_MOTORS)
def test_bad_motors_are_refused(change, text):
    with pytest.raises(_engine.InvalidInput, match=text):
        three_joints().add_motor("m", **({"joint": "hinge", "keys": 0.0} | change))


@pytest.mark.parametrize(("change", "text"), BAD_LIMITS)
def test_bad_limits_are_refused(change, text):
    good = {"joint": "hinge", "stiffness": 1.0}
    with pytest.raises(_engine.InvalidInput, match=text):
        three_joints().add_joint_limit("stop", **(good | change))
