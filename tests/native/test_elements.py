"""Derivative batteries of every element, on random states of both kinds of node."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.batteries import check_element, random_instants

CORNERS = np.array([[a, b, c] for a in (-1, 1) for b in (-1, 1) for c in (-1, 1)], float)


def two_bodies(rng):
    """A rigid body 'a' with a general inertia, and a particle 'b'."""
    s = _engine.Scene()
    s.set_gravity([0.3, -0.2, -9.81])
    s.add_rigid_body(
        "a", mass=0.7, inertia=[0.011, 0.014, 0.017, 0.001, -0.002, 0.0015], radius=0.2
    )
    s.add_particle("b", mass=0.4)
    return s


@pytest.mark.parametrize("order", [1, 2])
def test_battery_of_inertia(order):
    rng = np.random.default_rng(order)
    s = two_bodies(rng)
    for _ in range(5):
        check_element(s, "inertia", s.values, random_instants(rng, 2, order), rng, frames=[0])


def test_battery_of_gravity():
    rng = np.random.default_rng(3)
    s = two_bodies(rng)
    out = check_element(s, "gravity", s.values, random_instants(rng, 2, 1), rng, frames=[0])
    assert out["r"] == pytest.approx([-0.21, 0.14, 6.867, 0, 0, 0, -0.12, 0.08, 3.924])


@pytest.mark.parametrize("rest_length", [0.0, 0.4])
def test_battery_of_spring(rest_length):
    """Frame to world, frame to point, frame to itself; internal forces and torques balance.

    The damper of a zero-length spring acts in all directions, so its torque d x c d' vanishes only
    with d: the balance of torques is checked without it.
    """
    rng = np.random.default_rng(4)
    s = two_bodies(rng)
    s.add_points("world", bodies=[""], local=[[0.1, 0.2, 0.3]])
    s.add_points("on_a", bodies=["a", "a"], local=rng.normal(size=(2, 3)), inset=CORNERS[:2],
                 radius=0.02, scale=1.1)  # fmt: skip
    s.add_points("on_b", bodies=["b"], local=np.zeros((1, 3)))
    values = {"stiffness": 30.0, "damping": 0.7, "rest_length": rest_length}
    ends = {"tether": ("world", [0], "on_a", [1]), "link": ("on_a", [0], "on_b", [0]),
            "inner": ("on_a", [0], "on_a", [1])}  # fmt: skip
    for name, (a, ia, b, ib) in ends.items():
        s.add_springs(name, points_a=a, index_a=ia, points_b=b, index_b=ib, **values)
    p = s.values
    for name in ends:
        check_element(s, name, p, random_instants(rng, 2, 1), rng, frames=[0])
        if rest_length == 0:
            p[s.index(f"{name}.damping")] = 0
    for _ in range(4):
        instants = random_instants(rng, 2, 1)
        for name in ends:
            out = check_element(s, name, p, instants, rng, frames=[0])
            if name == "link":  # internal: no net force, no net torque about the origin
                r, c = out["r"], instants[0][0]
                assert r[:3] + r[6:] == pytest.approx(0, abs=1e-12)
                torque = r[3:6] + np.cross(c[0], r[:3]) + np.cross(c[1], r[6:])
                assert torque == pytest.approx(0, abs=1e-11)
            if name == "inner":
                assert out["r"] == pytest.approx(0, abs=1e-10)


def obstacle(kind):
    """An sdf whose surface passes near the origin, tops up."""
    if kind == "plane":
        return _engine.Plane([0.1, -0.2, 1], 0.0)
    if kind == "sphere":
        return _engine.Transformed(_engine.Sphere(0.7), [0.1, 0.05, -0.65])
    box = _engine.Transformed(_engine.Box([0.4, 0.3, 0.2]), [0, 0, -0.2], [0.1, 0.2, 0, 1])
    if kind == "box":
        return box
    return _engine.Union([box, _engine.Transformed(_engine.Sphere(0.2), [0.2, 0, -0.1])])


@pytest.mark.parametrize("friction", ["linear", "tanh"])
@pytest.mark.parametrize("damping", ["continuous", "ramped", "thesis"])
@pytest.mark.parametrize("kind", ["plane", "sphere", "box", "union"])
def test_battery_of_contact(friction, damping, kind):
    """Open, stick, slip and clamped points all occur; every derivative is right in each of them."""
    rng = np.random.default_rng(5)
    modes = set()
    for k_t, speed in ((40.0, 0.02), (40.0, 2.0), (900.0, 1.0)):
        s = two_bodies(rng)
        s.add_points("corners", bodies=["a"] * 8, local=0.12 * CORNERS, inset=-CORNERS,
                     radius=0.03, scale=0.95)  # fmt: skip
        s.add_points("point", bodies=["b"], local=np.zeros((1, 3)), radius=0.02)
        law = {"continuous": {"c_n": 0.5}, "ramped": {"k_d": 300.0, "d_0": 0.01},
               "thesis": {"k_d": 300.0}}[damping]  # fmt: skip
        for i, points in enumerate(("corners", "point")):
            load = {"c_s": 0.7, "f_0": 3.0} if i == 0 else {}
            s.add_contact(f"contact_{i}", points=points, sdf=obstacle(kind), k_n=4000.0, k_t=k_t,
                          c_f=0.4, friction=friction, damping=damping, **law, **load)  # fmt: skip
        for _ in range(6):
            c = rng.normal(size=(2, 3)) * 0.03
            instants = random_instants(rng, 2, 1, c)
            instants[0][2] *= speed
            instants[0][3] *= speed
            for i in range(2):
                out = check_element(s, f"contact_{i}", s.values, instants, rng, frames=[0])
                modes |= {int(m) & 7 for m in out["modes"]}
    assert {0, 1, 2} <= modes
    assert modes & {5, 6}, "no point separated so fast that its damping clamped the force at zero"
