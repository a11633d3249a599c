"""Joints: batteries, internal forces, what each kind holds and leaves free, gradients, refusals."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.links import KINDS, axes, net_wrench, two_links

VALUES = {"stiffness": 30.0, "damping": 0.7}
TURNING = {"rotational_stiffness": 3.0, "rotational_damping": 0.2}


def soft_joint(s, kind, a="a", b="b", name="joint", **more):
    """A joint with stiffnesses a battery's differences can see through."""
    values = VALUES | ({} if kind == "ball" else TURNING) | axes(kind)
    values["position"] = [0.2, 0.1, 0.02]
    if kind != "weld":
        values["friction_damping"] = 0.3
    s.add_joint(name, kind=kind, body_a=a, body_b=b, **(values | more))


@pytest.mark.parametrize("kind", KINDS)
def test_battery_of_joint(kind):
    """Two frames, frame and world in both orders; internal forces balance to rounding."""
    rng = np.random.default_rng(1)
    s = two_links()
    for name, ends in {"joint": ("a", "b"), "to": ("", "a"), "from": ("b", "")}.items():
        soft_joint(s, kind, *ends, name=name)
    for _ in range(3):
        instants = random_instants(rng, 3, 1)
        for name in ("joint", "to", "from"):
            out = check_element(s, name, s.values, instants, rng, frames=[0, 1])
            if name != "joint":
                continue
            force, torque = net_wrench(out["r"], instants[0][0])
            size = np.abs(out["r"]).max()
            assert np.abs(force).max() <= 1e-12 * size
            assert np.abs(torque).max() <= 1e-12 * size


def test_battery_of_joint_with_particles():
    """A ball may hold a particle, on a frame, on another particle's place, in the world."""
    rng = np.random.default_rng(2)
    s = two_links()
    at = {"position": [0.2, 0.1, 0.3], "friction_damping": 0.0}
    soft_joint(s, "ball", "a", "c", name="joint", **at)
    soft_joint(s, "ball", "c", "", name="to", **at)
    for name in ("joint", "to"):
        instants = random_instants(rng, 3, 1)
        out = check_element(s, name, s.values, instants, rng, frames=[0, 1])
        if name == "joint":
            assert net_wrench(out["r"], instants[0][0])[0] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_elastic_forces_of_joints_derive_from_their_energy(kind):
    """Without damping, r is the gradient of the energy joint_motion reports."""
    rng = np.random.default_rng(3)
    s = two_links()
    soft_joint(s, kind, damping=0.0, **({} if kind == "weld" else {"friction_damping": 0.0}),
               **({} if kind == "ball" else {"rotational_damping": 0.0}))  # fmt: skip

    class Pose:  # joint_motion reads frames of anything like a rollout
        pass

    def energy(c, theta):
        pose = Pose()
        pose.position, pose.velocity = c[None], 0 * c[None]
        pose.angular_velocity = pose.velocity
        angle = np.linalg.norm(theta, axis=1, keepdims=True)
        pose.orientation = np.hstack([np.sin(angle / 2) * theta / angle, np.cos(angle / 2)])[None]
        return s.joint_motion("joint", s.values, pose)["energy"][0]

    for _ in range(3):
        c, theta, v, w = random_instants(rng, 3, 1)[0]
        instants = [[c, theta, v, w], [c, theta, v, w]]
        r = s.evaluate_element("joint", s.values, instants, 0.01)["r"]
        dx, e = rng.normal(size=(3, 6)), 1e-5
        ends = []
        for sign in (e, -e):
            turned = np.array([
                _engine.log_rotation(_engine.exp_rotation(sign * d[3:]) @ _engine.exp_rotation(t))
                for d, t in zip(dx, theta, strict=True)
            ])  # fmt: skip
            ends.append(energy(c + sign * dx[:, :3], turned))
        work = r @ np.concatenate([dx[0], dx[1], dx[2, :3]])
        assert (ends[0] - ends[1]) / (2 * e) == pytest.approx(work, rel=1e-7, abs=1e-7)


FREE = {  # translations and rotations each kind leaves free, as directions of the joint's frame
    "ball": ("", "xyz"), "hinge": ("", "z"), "slider": ("z", ""), "weld": ("", ""),
    "planar": ("xy", "z"), "universal": ("", "xz"),
}  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_joints_hold_what_they_should_and_nothing_else(kind):
    """At the start pose K has exactly the free directions of the kind as its null space."""
    s = _engine.Scene()
    s.add_rigid_body("b", mass=1.0, inertia=[0.01] * 3 + [0] * 3, radius=0.1)
    more = {"second_axis": [1, 0, 0]} if kind == "universal" else {}
    s.add_joint("joint", kind=kind, body_b="b", position=[0, 0, 0], axis=[0, 0, 1], **more)
    zero = np.zeros((1, 3))
    K = s.evaluate_element("joint", s.values, [[zero] * 4] * 2, 0.01)["K"]
    assert pytest.approx(K.T) == K
    free = {"xyz".index(i) for i in FREE[kind][0]} | {3 + "xyz".index(i) for i in FREE[kind][1]}
    p = s.values
    k = p[s.index("joint.stiffness")]
    k_r = 0.0 if kind == "ball" else p[s.index("joint.rotational_stiffness")]
    assert k == pytest.approx(2 * 10 * 9.81 / 1e-4)
    wanted = [0.0 if i in free else (k if i < 3 else k_r) for i in range(6)]
    assert np.diag(K) == pytest.approx(wanted, rel=1e-12)
    assert np.abs(K - np.diag(np.diag(K))).max() < 1e-9 * k


@pytest.mark.parametrize("world", ["frame a", "frame b"])
def test_a_hinge_opens_less_than_a_tenth_of_a_millimetre_under_ten_weights(world):
    """Ten times the link's weight at its far end, in any direction, with default stiffness."""
    mass, length = 0.8, 0.6
    for force in np.vstack([np.eye(3), [[0.6, 0.0, -0.8]]]) * 10 * mass * 9.81:
        s = _engine.Scene()
        s.set_gravity([0, 0, -9.81])
        s.add_rigid_body("link", mass=mass, inertia=[0.03, 0.03, 0.001, 0, 0, 0],
                         position=[0, 0, -length / 2], radius=length / 2)  # fmt: skip
        ends = {"body_b": "link"} if world == "frame a" else {"body_a": "link", "body_b": ""}
        s.add_joint("hinge", kind="hinge", position=[0, 0, 0], axis=[0, 1, 0],
                    friction_damping=0.5, **ends)  # fmt: skip
        s.add_points("tip", bodies=["link"], local=[[0, 0, -length / 2]])
        s.add_point_force("load", points="tip", force=force)
        r = _engine.rollout(s, s.values, 1000, _engine.Options(step=0.005))
        assert r.ok
        motion = s.joint_motion("hinge", s.values, r)
        assert np.abs(motion["rate"][-1]) < 1e-3
        load = np.linalg.norm(motion["force"], axis=1) / (10 * mass * 9.81)  # swinging: up to 3
        assert load[-1] == pytest.approx(1, abs=0.11)  # the link's own weight is an eleventh
        assert motion["opening"][-1] <= 1e-4
        assert np.all(motion["opening"] <= 1e-4 * load)
        assert motion["opening"][-1] > 1e-5  # it is a penalty
        assert motion["tilt"][-1] <= 1e-4 / (length / 2)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [1, 2])
def test_gradients_through_joints(kind, order):
    """A driven body a drags b by the joint: stiffnesses, dampings, friction, keys, start of b."""
    rng = np.random.default_rng(5)
    s = _engine.Scene()
    s.add_kinematic_body("a", interval=0.1, position=0.05 * rng.normal(size=(3, 3)), radius=0.1,
                 rotation=0.2 * rng.normal(size=(3, 3)))  # fmt: skip
    s.add_rigid_body("b", mass=0.4, inertia=[0.004, 0.005, 0.006, 0, 0, 0.0005], radius=0.1,
                     position=[0.3, 0.2, 0], angular_velocity=[1, -2, 1.5])  # fmt: skip
    values = {"stiffness": 400.0, "damping": 2.0}
    if kind != "ball":
        values |= {"rotational_stiffness": 5.0, "rotational_damping": 0.02}
    if kind != "weld":
        values["friction_damping"] = 0.01
    s.add_joint("j", kind=kind, body_a="a", body_b="b", position=[0.2, 0.1, 0], **axes(kind),
                **values)  # fmt: skip
    names = [f"j.{name}" for name in values]
    names += ["a.position[1].x", "a.rotation[2].y", "b.mass", "b.inertia.yy", "b.position.z",
              "b.rotation.x", "b.velocity.y", "b.angular_velocity.z"]  # fmt: skip
    options = _engine.Options(step=0.01, order=order, stagnate=True)
    check_gradients(s, 25, options, names)


def test_gradients_with_stiff_default_joints():
    """Two links on default hinges, swinging: start spin, masses, stiffness."""
    s = _engine.Scene()
    for i, name in enumerate("ab"):
        s.add_rigid_body(name, mass=0.5, inertia=[0.01, 0.01, 0.001, 0, 0, 0], radius=0.2,
                         position=[0.2 + 0.4 * i, 0, 0], angular_velocity=[0, 0.5, 0],
                         velocity=[0, 0, -0.1 - 0.2 * i],
                         orientation=[0, 0.5**0.5, 0, 0.5**0.5])  # fmt: skip
    s.add_joint("top", kind="hinge", body_b="a", position=[0, 0, 0], axis=[0, 1, 0])
    s.add_joint("elbow", kind="hinge", body_a="a", body_b="b", position=[0.4, 0, 0], axis=[0, 1, 0],
                friction_damping=0.01)  # fmt: skip
    names = ["top.stiffness", "elbow.friction_damping", "a.mass", "b.mass", "b.inertia.yy",
             "gravity.x", "b.angular_velocity.y"]  # fmt: skip
    options = _engine.Options(step=1 / 240, stagnate=True)
    r = check_gradients(s, 120, options, names, 1e-5)
    assert s.joint_motion("elbow", s.values, r)["opening"].max() < 1e-4


BAD = [
    ({"kind": "hinges"}, r"kind: must be one of 'ball', 'hinge'"),
    ({"axis": [0, 0, 0]}, "axis: must be a finite, non-zero direction"),
    ({"axis": [0, float("nan"), 0]}, "axis: must be a finite"),
    ({"body_a": "arm"}, r"must be one of \[a, b, c\], got 'arm'"),
    ({"body_a": "b"}, "must be two bodies"),
    ({"body_a": "", "body_b": ""}, 'must be two bodies, or one and the world ""'),
    ({"stiffness": -1.0}, r"joint.stiffness': must be finite and in \[0, inf\] N/m, got -1"),
    ({"rotational_damping": -1.0}, "rotational_damping"),
    ({"friction_damping": -1.0}, "friction_damping"),
    ({"position": [0, float("inf"), 0]}, "position: must be finite"),
    ({"body_a": "c"}, "joins frames only, got particle 'c'; use kind 'ball'"),
    ({"second_axis": [1, 0, 0]}, "second_axis: is for kind 'universal'"),
    ({"kind": "universal"}, "second_axis: is for kind 'universal', which needs it"),
    ({"kind": "universal", "second_axis": [0, 1, 1]}, "must be perpendicular to axis"),
    ({"kind": "ball", "rotational_stiffness": 1.0}, "a ball holds no rotation"),
    ({"kind": "weld", "friction_damping": 1.0}, "a weld moves in no direction"),
    ({"kind": "ball", "body_a": "c"}, "must be where its particle starts"),
]


@pytest.mark.parametrize(("change", "text"), BAD)
def test_bad_joints_are_refused(change, text):
    s = two_links()
    good = {"kind": "hinge", "body_a": "a", "body_b": "b", "position": [0, 0, 0], "axis": [0, 0, 1]}
    with pytest.raises(_engine.InvalidInput, match=text):
        s.add_joint("joint", **(good | change))


def test_joints_between_handles_are_refused():
    s = two_links()
    s.add_kinematic_body("h", interval=1.0, position=[[0, 0, 0]])
    with pytest.raises(_engine.InvalidInput, match="moves freely"):
        s.add_joint("joint", kind="weld", body_a="h", body_b="", position=[0, 0, 0])
