"""What a robot's drive adds to a joint: armature, Coulomb friction, payload, start coordinate."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.links import DRIVEN, hinged_arm, jointed, net_wrench, two_links

PAYLOAD = {
    "mass": 0.9,
    "first_moment": [0.03, -0.05, 0.08],
    "inertia": [0.03, 0.035, 0.02, 0.002, -0.003, 0.004],
}


def check(kind, add, order=2):
    """Battery of an element on both joints; what acts between two bodies is internal."""
    rng = np.random.default_rng(3)
    s = jointed(kind)
    for joint in ("joint", "base"):
        add(s, f"on_{joint}", joint)
    for _ in range(2):
        instants = random_instants(rng, 3, order)
        for joint in ("joint", "base"):
            out = check_element(s, f"on_{joint}", s.values, instants, rng, frames=[0, 1])
            if joint == "joint":
                force, torque = net_wrench(out["r"], instants[0][0])
                size = 1 + np.abs(out["r"]).max()
                assert max(np.abs(force).max(), np.abs(torque).max()) <= 1e-11 * size


@pytest.mark.parametrize("kind", DRIVEN)
def test_battery_of_joint_friction(kind):
    check(kind, lambda s, name, j: s.add_joint_friction(name, joint=j, coulomb=0.7, slip_rate=0.9))


@pytest.mark.parametrize("kind", DRIVEN)
@pytest.mark.parametrize("order", [1, 2])
def test_battery_of_armature(kind, order):
    """Its history blocks too."""
    check(kind, lambda s, name, j: s.add_armature(name, joint=j, inertia=0.3), order)


@pytest.mark.parametrize("order", [1, 2])
def test_battery_of_payload(order):
    rng = np.random.default_rng(4)
    s = two_links()
    s.add_payload("load", body="b", **PAYLOAD)
    for _ in range(3):
        check_element(s, "load", s.values, random_instants(rng, 3, order), rng, frames=[0, 1])


def test_an_armature_turns_with_its_joint_alone():
    """I0 + I_a takes the torque; without a joint rate the armature is not felt."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("wheel", mass=1.0, inertia=[0.006, 0.01, 0.006, 0, 0, 0], radius=0.1)
    s.add_joint("axle", kind="hinge", body_b="wheel", position=[0, 0, 0], axis=[0, 1, 0])
    s.add_motor("drive", joint="axle", kind="torque", keys=0.3)
    s.add_armature("rotor", joint="axle", inertia=0.02)
    r = _engine.rollout(s, s.values, 50, _engine.Options(step=0.01))
    rate = s.joint_motion("axle", s.values, r)["rate"]
    assert rate[-1] == pytest.approx(0.3 / 0.03 * 0.5, rel=1e-9)


def test_joint_friction_stops_a_wheel_at_the_coulomb_rate():
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("wheel", mass=1.0, inertia=[0.006, 0.01, 0.006, 0, 0, 0], radius=0.1,
                     angular_velocity=[0, 10.0, 0])  # fmt: skip
    s.add_joint("axle", kind="hinge", body_b="wheel", position=[0, 0, 0], axis=[0, 1, 0])
    s.add_joint_friction("rub", joint="axle", coulomb=0.05, slip_rate=0.01)
    r = _engine.rollout(s, s.values, 250, _engine.Options(step=0.01))
    rate = s.joint_motion("axle", s.values, r)["rate"]
    assert rate[100] == pytest.approx(10 - 5 * 1.0, rel=1e-6)
    assert abs(rate[-1]) < 1e-6


def split(mass, centre, inertia):
    """(first moment, inertia about the node) of a load with its own centre."""
    c = np.array(centre)
    xx, yy, zz, xy, xz, yz = inertia
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    about = about + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return mass * c, about[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]]


def test_a_payload_moves_as_a_body_of_its_own_would():
    """A free body with a load off its centre, against the one rigid body that both make."""
    m0, m1, c1 = 0.7, 0.5, np.array([0.1, -0.05, 0.08])
    own, load = [0.01, 0.012, 0.009, 0, 0, 0], [0.002, 0.003, 0.0025, 0.0002, 0, 0.0001]
    centre = m1 * c1 / (m0 + m1)
    moment, about = split(m1, c1, load)
    xx, yy, zz, xy, xz, yz = np.array(own) + about
    whole = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    whole = whole - (m0 + m1) * (centre @ centre * np.eye(3) - np.outer(centre, centre))
    spin, speed = np.array([2.0, -1.0, 3.0]), np.array([0.3, 0.1, 1.0])
    a, b = _engine.Scene(), _engine.Scene()
    a.add_rigid_body("body", mass=m0, inertia=own, radius=0.1, velocity=speed,
                     angular_velocity=spin)  # fmt: skip
    a.add_payload("load", body="body", mass=m1, first_moment=moment, inertia=about)
    b.add_rigid_body("body", mass=m0 + m1, radius=0.1, position=centre, angular_velocity=spin,
                     inertia=whole[[0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2]],
                     velocity=speed + np.cross(spin, centre))  # fmt: skip
    errors = []
    for step in (0.005, 0.0025):
        options = _engine.Options(step=step)
        ra, rb = (_engine.rollout(s, s.values, round(0.5 / step), options) for s in (a, b))
        turned = Rotation.from_quat(ra.orientation[-1, 0]).apply(centre)
        errors.append(np.abs(ra.position[-1, 0] + turned - rb.position[-1, 0]).max())
    assert errors[0] < 2e-4
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.3)  # second order


@pytest.mark.parametrize("kind", ["hinge", "slider"])
def test_the_start_pose_may_have_a_coordinate(kind):
    """It is joint_motion's value at the start, and where a motor holds it."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("b", mass=1.0, inertia=[0.01] * 3 + [0] * 3, position=[0.3, 0, 0], radius=0.1)
    s.add_joint("j", kind=kind, body_b="b", position=[0, 0, 0], axis=[0, 1, 0], coordinate=0.4)
    s.add_motor("hold", joint="j", keys=0.4, stiffness=50.0, damping=5.0)
    r = _engine.rollout(s, s.values, 20, _engine.Options(step=0.01))
    q = s.joint_motion("j", s.values, r)["coordinate"]
    assert q == pytest.approx(0.4, abs=1e-12)


def test_joint_motion_gives_the_derivative_of_the_coordinate():
    """By central differences of a motion's start pose and velocity."""
    s = jointed("hinge")
    rng = np.random.default_rng(5)
    names = ["a.position.x", "b.rotation.z", "b.velocity.y", "a.angular_velocity.z"]
    p = s.values + 0.0
    for name in ("b.velocity.x", "a.angular_velocity.y", "b.angular_velocity.x"):
        p[s.index(name)] = rng.normal()
    options = _engine.Options(step=0.01)
    r = _engine.rollout(s, p, 1, options, active=[s.index(n) for n in names], mode="sensitivity")
    motion = s.joint_motion("joint", p, r)
    dofs = [s.dof_offset(body) + i for body in ("a", "b") for i in range(6)]
    by, rate_by = motion["by_pose"][0], motion["rate_by_pose"][0]
    for k, name in enumerate(names):
        ends = []
        for sign in (1e-6, -1e-6):
            q = p.copy()
            q[s.index(name)] += sign
            m = s.joint_motion("joint", q, _engine.rollout(s, q, 1, options))
            ends.append((m["coordinate"][0], m["rate"][0]))
        slope = (np.array(ends[0]) - ends[1]) / 2e-6
        dx, dv = r.dx[0, dofs, k], r.dv[0, dofs, k]
        exact = [by @ dx, rate_by @ dx + by @ dv]
        assert exact == pytest.approx(slope, rel=1e-6, abs=1e-8)


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_through_a_driven_arm(order):
    """Armature, Coulomb friction and all of a payload's numbers through a motion."""
    s = hinged_arm(elbow=[0, 0, 1])
    for joint in ("top", "elbow"):
        s.add_motor(f"{joint}_drive", joint=joint, keys=[0, 0.4, -0.3], interval=0.1,
                    stiffness=80.0, damping=3.0)  # fmt: skip
        s.add_armature(f"{joint}_rotor", joint=joint, inertia=0.02)
        s.add_joint_friction(f"{joint}_rub", joint=joint, coulomb=0.4, slip_rate=0.3)
    s.add_payload("load", body="b", **PAYLOAD)
    names = [f"load.{n}" for n in ("mass", "moment.x", "moment.z", "inertia.xx", "inertia.xy",
                                   "inertia.zz")]  # fmt: skip
    names += ["top_rotor.inertia", "elbow_rotor.inertia", "top_rub.coulomb", "elbow_rub.slip_rate",
              "top_drive.stiffness", "elbow_drive.damping", "gravity.z"]  # fmt: skip
    check_gradients(s, 40, _engine.Options(step=0.005, order=order, stagnate=True), names)


BAD = [
    (lambda s: s.add_armature("r", joint="nope", inertia=1.0), "must be one of"),
    (lambda s: s.add_armature("r", joint="j", inertia=-1.0), r"r.inertia"),
    (lambda s: s.add_joint_friction("r", joint="j", coulomb=-1.0, slip_rate=1.0), "r.coulomb"),
    (lambda s: s.add_joint_friction("r", joint="j", coulomb=1.0, slip_rate=0.0), "slip_rate"),
    (lambda s: s.add_payload("r", body="c", **PAYLOAD), "must be a rigid body that moves"),
    (lambda s: s.add_payload("r", body="b", **(PAYLOAD | {"mass": -1.0})), "r.mass"),
    (
        lambda s: s.add_joint("w", kind="weld", body_b="b", position=[0, 0, 0], coordinate=0.1),
        "coordinate: must be finite, and 0",
    ),
]


@pytest.mark.parametrize(("add", "message"), BAD)
def test_bad_drives_are_refused(add, message):
    s = two_links()
    s.add_joint("j", kind="hinge", body_a="a", body_b="b", position=[0, 0, 0])
    with pytest.raises(ValueError, match=message):
        add(s)
