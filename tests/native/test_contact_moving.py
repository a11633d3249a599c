"""Obstacles carried by rigid bodies and kinematic bodies: derivatives, balance, pairs, refusals."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.batteries import check_element, net_wrench, random_instants
from tests.native.gradients import check_gradients

CORNERS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)
INERTIA = [0.011, 0.014, 0.017, 0.001, -0.002, 0.0015]


def obstacle(kind):
    """An sdf of the carrier's frame whose surface passes near the origin."""
    if kind == "plane":
        return _engine.Plane([0.1, -0.2, 1], 0.0)
    if kind == "sphere":
        return _engine.Transformed(_engine.Sphere(0.7), [0.1, 0.05, -0.65])
    return _engine.Transformed(_engine.Box([0.4, 0.3, 0.2]), [0, 0, -0.2], [0.1, 0.2, 0, 1])


def scene_of(carrier):
    """A rigid body 'a', a particle 'b', and the obstacle's carrier 'c'."""
    s = _engine.Scene()
    s.add_rigid_body("a", mass=0.7, inertia=INERTIA, radius=0.2)
    s.add_particle("b", mass=0.4)
    if carrier == "rigid":
        s.add_rigid_body("c", mass=1.1, inertia=2 * np.array(INERTIA), radius=0.3)
    else:
        s.add_kinematic_body("c", interval=0.1, position=np.zeros((2, 3)), radius=0.3)
    s.add_points("corners", bodies=["a"] * 8, local=0.12 * CORNERS, inset=-CORNERS, radius=0.03,
                 scale=0.95)  # fmt: skip
    s.add_points("point", bodies=["b"], local=np.zeros((1, 3)), radius=0.02)
    s.add_points("posts", bodies=[""] * 2, local=[[0.01, 0.02, -0.03], [0, 0, 0.1]], radius=0.05,
                 scale=0.9)  # fmt: skip
    return s


@pytest.mark.parametrize("friction", ["linear", "tanh"])
@pytest.mark.parametrize("damping", ["continuous", "ramped"])
@pytest.mark.parametrize("carrier", ["rigid", "handle"])
@pytest.mark.parametrize("kind", ["plane", "sphere", "box"])
def test_battery_of_contact_with_a_carried_sdf(friction, damping, carrier, kind):
    """Frame, point and world points against a moving sdf; both ends feel exactly opposite."""
    rng = np.random.default_rng(7)
    modes = set()
    law = {"continuous": {"c_n": 0.5}, "ramped": {"k_d": 300.0, "d_0": 0.01}}[damping]
    for k_t, speed in ((40.0, 0.02), (40.0, 2.0)):
        s = scene_of(carrier)
        for points in ("corners", "point", "posts"):
            load = {"c_s": 0.7, "f_0": 3.0} if points == "corners" else {}
            s.add_contact(f"of_{points}", points=points, sdf=obstacle(kind), carrier="c",
                          k_n=4000.0, k_t=k_t, c_f=0.4, friction=friction, damping=damping,
                          **law, **load)  # fmt: skip
        p = s.values
        for _ in range(5):
            instants = random_instants(rng, 3, 1, rng.normal(size=(3, 3)) * 0.03)
            instants[0][2] *= speed
            instants[0][3] *= speed
            for points in ("corners", "point", "posts"):
                out = check_element(s, f"of_{points}", p, instants, rng, frames=[0, 2])
                modes |= {int(m) & 7 for m in out["modes"]}
                if points == "posts":  # the world is the other end
                    continue
                r, c = out["r"], instants[0][0]
                force, torque = net_wrench(r, c, [(0, True), (6, False), (9, True)])
                size = np.abs(r).max() + 1e-300
                assert np.abs(force).max() <= 1e-12 * size
                assert np.abs(torque).max() <= 1e-12 * size
    assert {0, 1, 2} <= modes


def test_a_common_rigid_motion_changes_nothing():
    """Forces seen from the carrier depend on relative motion only."""
    rng = np.random.default_rng(8)
    s = scene_of("rigid")
    s.add_contact("touch", points="corners", sdf=obstacle("sphere"), carrier="c", k_n=4000.0,
                  k_t=40.0, c_f=0.4, c_n=0.5)  # fmt: skip
    instants = random_instants(rng, 3, 1, rng.normal(size=(3, 3)) * 0.03)
    before = s.evaluate_element("touch", s.values, instants, 0.01)["r"]
    assert np.abs(before).max() > 1
    Q = _engine.exp_rotation(rng.normal(size=3))
    shift, spin = rng.normal(size=(2, 3))
    c, theta, v, w = (x.copy() for x in instants[0])
    moved = [c @ Q.T + shift, theta, v @ Q.T, w @ Q.T + spin]
    moved[2] += np.cross(spin, moved[0]) + rng.normal(size=3)
    for i in range(3):
        moved[1][i] = _engine.log_rotation(Q @ _engine.exp_rotation(theta[i]))
    after = s.evaluate_element("touch", s.values, [moved, instants[1]], 0.01)["r"]
    turned = np.concatenate([Q @ part for part in before.reshape(-1, 3)])
    assert after == pytest.approx(turned, abs=1e-11 * np.abs(before).max())


def cube_on(carrier, friction="linear", **motion):
    """A cube that lands, turning, on a box-shaped carrier; and a particle beside it."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    s.add_rigid_body("cube", mass=0.37, inertia=[0.00081] * 3 + [0] * 3,
                     position=[0.02, 0.01, 0.13], orientation=[0.1, 0.2, 0.3, 0.9],
                     velocity=[0.5, 0.3, -0.5], angular_velocity=[3, -4, 5],
                     radius=0.05)  # fmt: skip
    s.add_particle("ball", mass=0.1, position=[0.2, 0.1, 0.08], velocity=[-0.3, 0.2, -0.4])
    if carrier == "rigid":
        s.add_rigid_body("slab", mass=2.0, inertia=[0.07, 0.07, 0.13, 0, 0, 0],
                         velocity=[0, 0.1, 1.0], angular_velocity=[0.5, -0.4, 0.3],
                         radius=0.3)  # fmt: skip
    else:
        t = np.arange(6)[:, None] * 0.1
        s.add_kinematic_body("slab", interval=0.1, position=0.05 * np.sin(3 * t) * [1, 0.5, 1],
                     rotation=0.4 * np.sin(4 * t) * [1, -1, 0.5], radius=0.3)  # fmt: skip
    s.add_points("corners", bodies=["cube"] * 8, local=0.0524 * CORNERS, inset=-CORNERS,
                 radius=0.004)  # fmt: skip
    s.add_points("centre", bodies=["ball"], local=np.zeros((1, 3)), radius=0.03)
    slab = _engine.Box([0.4, 0.4, 0.03])
    law = {"k_n": 2500.0, "k_t": 8.0, "c_f": 0.3, "c_n": 0.3, "friction": friction}
    s.add_contact("cube_slab", points="corners", sdf=slab, carrier="slab", **law)
    s.add_contact("ball_slab", points="centre", sdf=slab, carrier="slab", **law)
    return s


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("friction", ["linear", "tanh"])
@pytest.mark.parametrize("carrier", ["rigid", "handle"])
def test_gradients_through_contact_with_a_carried_sdf(carrier, friction, order):
    s = cube_on(carrier, friction)
    options = _engine.Options(step=1 / 400, order=order, stagnate=True, record_modes=True)
    names = ["cube.velocity.x", "cube.rotation.y", "cube.mass", "cube_slab.k_n", "cube_slab.k_t",
             "cube_slab.c_n", "cube_slab.c_f", "corners.scale", "corners.radius", "centre.radius",
             "ball.velocity.y", "gravity.z"]  # fmt: skip
    if carrier == "rigid":
        names += ["slab.velocity.y", "slab.angular_velocity.x", "slab.mass", "slab.inertia.zz"]
    else:
        names += ["slab.position[2].z", "slab.rotation[3].x"]
    r = check_gradients(s, 160, options, names)
    assert {0, 1, 2} <= set(np.unique(r.modes & 3))


def pile(k_t=20.0, **law):
    """A small box that falls, turned, on a large free one: points of each against the other."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    half = {"small": np.array([0.05, 0.06, 0.04]), "large": np.array([0.1, 0.12, 0.08])}
    start = {"small": {"position": [0.03, -0.02, 0.16], "orientation": [0.3, 0.2, 0.1, 0.9],
                       "velocity": [0.1, 0.2, -1.0], "angular_velocity": [2, -1, 1]},
             "large": {"position": [0, 0, 0], "angular_velocity": [0.2, 0.3, -0.1]}}  # fmt: skip
    mass = {"small": 0.4, "large": 1.5}
    sides = {}
    for name in ("small", "large"):
        h = half[name]
        moments = mass[name] / 3 * (h @ h - h**2)
        s.add_rigid_body(name, mass=mass[name], inertia=[*moments, 0, 0, 0],
                         radius=np.linalg.norm(h), **start[name])  # fmt: skip
        s.add_points(f"corners_{name}", bodies=[name] * 8, local=CORNERS * h, inset=-CORNERS,
                     radius=0.003)  # fmt: skip
        sides[name] = {"points": f"corners_{name}", "sdf": _engine.Box(h), "body": name}
    a, b = sides["small"], sides["large"]
    s.add_contact_pair("touch", **{f"{k}_a": v for k, v in a.items()},
                       **{f"{k}_b": v for k, v in b.items()}, k_n=3e3, k_t=k_t, c_f=0.4, c_n=0.2,
                       **law)  # fmt: skip
    return s, mass


@pytest.mark.parametrize("order", [1, 2])
def test_a_pair_shares_its_law_and_keeps_momentum(order):
    s, mass = pile()
    assert [q.name for q in s.parameters if q.name.startswith("touch")] == [
        "touch.k_n", "touch.k_t", "touch.c_n", "touch.c_f"]  # fmt: skip
    assert s.contact_names == ["touch.a", "touch.b"]
    r = _engine.rollout(s, s.values, 300, _engine.Options(step=1e-3, order=order, tolerance=1e-12))
    assert r.ok, r.message
    assert np.abs(r.contact_force[:, :8]).max() > 1  # corners of the small box on the large one
    P = mass["small"] * r.velocity[:, 0] + mass["large"] * r.velocity[:, 1]
    exchanged = mass["small"] * np.ptp(r.velocity[:, 0], axis=0).max()
    assert exchanged > 0.2
    assert np.abs(P - P[0]).max() < 1e-9 * exchanged


def test_both_directions_of_a_pair_carry_half():
    """Two faces pressed together by a depth d push with k_n d in all."""
    s = _engine.Scene()
    h, depth = 0.1, 1e-3
    for name, z in (("low", 0.0), ("top", 2 * h - depth)):
        s.add_rigid_body(name, mass=1.0, inertia=[0.01] * 3 + [0] * 3, position=[0, 0, z],
                         radius=0.1)  # fmt: skip
        face = np.array([[a, b, 1 if name == "low" else -1] for a in (-1, 1) for b in (-1, 1)])
        s.add_points(f"face_{name}", bodies=[name] * 4, local=face * [0.8 * h, 0.8 * h, h])
    box = _engine.Box([h] * 3)
    s.add_contact_pair("touch", points_a="face_low", sdf_a=box, body_a="low", points_b="face_top",
                       sdf_b=box, body_b="top", k_n=1e4, k_t=1.0, c_f=0.5)  # fmt: skip
    r = _engine.rollout(s, s.values, 0)
    assert r.contact_force[0, :4].sum(axis=0) == pytest.approx([0, 0, -5.0])
    assert r.contact_force[0, 4:].sum(axis=0) == pytest.approx([0, 0, 5.0])


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_of_a_pair(order):
    s, _ = pile()
    names = ["touch.k_n", "touch.k_t", "touch.c_n", "touch.c_f", "small.velocity.z",
             "large.angular_velocity.x", "corners_small.scale", "corners_large.radius",
             "large.mass", "small.inertia.xy"]  # fmt: skip
    options = _engine.Options(step=1 / 500, order=order, stagnate=True, record_modes=True)
    r = check_gradients(s, 150, options, names)
    assert {1, 2} & set(np.unique(r.modes & 3))


def box_contact(s, **change):
    arguments = {"points": "corners", "sdf": _engine.Sphere(0.1)} | change
    s.add_contact("bad", k_n=1.0, k_t=1.0, c_f=0.5, **arguments)


def test_what_no_carrier_can_do_is_refused():
    s = scene_of("rigid")
    with pytest.raises(_engine.InvalidInput, match="must not carry points of the set itself"):
        box_contact(s, carrier="a")
    with pytest.raises(_engine.InvalidInput, match="deformable bodies, or of one with itself"):
        box_contact(s, carrier="b")
    with pytest.raises(_engine.InvalidInput, match=r"one of \[a, b, c\]"):
        box_contact(s, carrier="d")
    with pytest.raises(_engine.InvalidInput, match="only an sdf with a carrier"):
        box_contact(s, points="posts")
    pair = {"points_a": "corners", "sdf_a": _engine.Sphere(0.1), "body_a": "a",
            "points_b": "corners", "sdf_b": _engine.Sphere(0.1), "body_b": "c", "k_n": 1.0,
            "k_t": 1.0, "c_f": 0.5}  # fmt: skip
    with pytest.raises(_engine.InvalidInput, match="must not carry points of the set itself"):
        s.add_contact_pair("bad", **pair)
    with pytest.raises(_engine.InvalidInput, match="must all be on 'c'"):
        s.add_contact_pair("bad", **(pair | {"points_b": "point"}))
    with pytest.raises(_engine.InvalidInput, match="must name a body"):
        s.add_contact_pair("bad", **(pair | {"body_b": ""}))
    with pytest.raises(_engine.InvalidInput, match="sum 1"):
        s.add_contact_pair("bad", **(pair | {"weights_a": np.full(8, 0.0625)}))


@pytest.mark.parametrize("carrier", ["", "hand"])
def test_a_leap_over_half_an_obstacle_warns(carrier):
    def warnings(velocity, height=1.0, sdf=None):
        s = _engine.Scene()
        s.add_particle("dot", mass=1, position=[0, 0, height], velocity=[0, 0, velocity])
        s.add_points("dots", bodies=["dot"], local=np.zeros((1, 3)))
        if carrier:
            s.add_kinematic_body(carrier, interval=1, position=np.zeros((1, 3)))
        s.add_contact(
            "sheet", points="dots", sdf=sdf or _engine.Box([0.5, 0.5, 0.025]), k_n=100, k_t=0,
            c_f=0, carrier=carrier,
        )  # fmt: skip
        s.set_gravity([0, 0, 0])
        return _engine.rollout(s, s.values, 100, _engine.Options(step=0.01)).warnings

    (text,) = warnings(-3.0)
    assert "contact 'sheet', step to t = 0.33 s" in text and "moved 29.9" in text
    assert "50 mm thick" in text and "below 0.0083" in text
    assert warnings(-2.4) == []  # 24 mm a step meet it
    assert warnings(-3.0, height=10.0) == []  # fast, but far away
    assert warnings(-3.0, sdf=_engine.Plane([0, 0, 1], 0)) == []  # no end to pass through to
