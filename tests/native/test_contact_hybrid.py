"""Hybrid friction: static friction as a constraint, released beyond Coulomb's limit."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from tests.native.batteries import check_element, net_wrench, random_instants
from tests.native.gradients import check_gradients
from tests.native.test_contact_moving import CORNERS, INERTIA, obstacle

G, C_F = 9.81, 0.5
HELD = 3


@pytest.mark.parametrize("kind", ["plane", "sphere", "box"])
@pytest.mark.parametrize("carried", [False, True])
def test_battery_of_contact_with_held_points(carried, kind):
    """Held, sticking and slipping points; creep within the compliance and beyond it; release."""
    rng = np.random.default_rng(21)
    modes = set()
    for k_t, speed in ((4e3, 1e-3), (40.0, 1.0)):
        s = _engine.Scene()
        s.add_rigid_body("a", mass=0.7, inertia=INERTIA, radius=0.2)
        s.add_particle("b", mass=0.4)
        s.add_rigid_body("c", mass=1.1, inertia=2 * np.array(INERTIA), radius=0.3)
        s.add_points("corners", bodies=["a"] * 8, local=0.12 * CORNERS, inset=-CORNERS,
                     radius=0.03, scale=0.95)  # fmt: skip
        s.add_points("point", bodies=["b"], local=np.zeros((1, 3)), radius=0.02)
        for points, load in (("corners", {"c_s": 0.7, "f_0": 3.0}), ("point", {})):
            s.add_contact(f"of_{points}", points=points, sdf=obstacle(kind),
                          carrier="c" if carried else "", k_n=4000.0, k_t=k_t, c_f=0.4, c_n=0.3,
                          friction="hybrid", **load)  # fmt: skip
        for _ in range(5):
            instants = random_instants(rng, 3, 1, rng.normal(size=(3, 3)) * 0.03)
            instants[0][2] *= speed
            instants[0][3] *= speed
            flags = [np.zeros(9), np.ones(9), rng.integers(0, 2, 9)]
            if speed == 1:  # the law itself, too narrow for differences near rest
                flags.append(np.full(9, 8))
            for held in flags:
                for points in ("corners", "point"):
                    out = check_element(s, f"of_{points}", s.values, instants, rng, frames=[0, 2],
                                        held=held.astype(np.uint8))  # fmt: skip
                    modes |= {int(m) & 3 for m in out["modes"]}
                    nodes = [(0, True), (6, False), (9, True)]
                    force, torque = net_wrench(out["r"], instants[0][0], nodes)
                    size = np.abs(out["r"]).max() + 1e-300
                    if carried:
                        assert max(np.abs(force).max(), np.abs(torque).max()) <= 1e-12 * size
    assert modes == {0, 1, 2, HELD}


def slope(share=0.7):
    """(gravity in the frame of an incline with tan alpha = share c_f, its tangential part)."""
    alpha = np.arctan(share * C_F)
    return [G * np.sin(alpha), 0, -G * np.cos(alpha)]


def shapes(kind):
    """(mass, inertia, contact points, half height) of a cube or a puck of the same size."""
    m, h = 0.4, 0.05
    if kind == "cube":
        return m, [m * h * h * 2 / 3] * 3, CORNERS * h, h
    t = np.arange(12) * np.pi / 6
    rim = np.stack([0.06 * np.cos(t), 0.06 * np.sin(t), 0 * t], axis=1)
    rim = np.stack([rim, rim])
    rim[:, :, 2] = [[0.02], [-0.02]]
    points = rim.reshape(-1, 3)
    side = m * (3 * 0.06**2 + 0.04**2) / 12
    return m, [side, side, m * 0.06**2 / 2], points, 0.02


def on_slope(kind, friction="hybrid", share=0.7, k_t=20.0, **start):
    """A body that is put down, sliding and turning, on an incline."""
    m, inertia, points, h = shapes(kind)
    s = _engine.Scene()
    s.set_gravity(slope(share))
    k_n = 2e4  # of all points; half of them touch
    s.add_rigid_body("body", mass=m, inertia=[*inertia, 0, 0, 0], radius=0.06,
                     position=[0, 0, h + m * slope(share)[2] / (k_n / 2)],
                     **({"velocity": [0.3, 0.2, 0], "angular_velocity": [0, 0, 2.0]} | start),
                     )  # fmt: skip
    s.add_points("feet", bodies=["body"] * len(points), local=points)
    s.add_contact("ground", points="feet", sdf=_engine.Plane([0, 0, 1], 0), k_n=k_n, k_t=k_t,
                  c_f=C_F, c_n=0.3, friction=friction)  # fmt: skip
    return s, points


def drift(r, points, seconds=10.0):
    """Tangential path of contact points in `seconds`, from 1 s after the speed stays < 1e-6 m/s."""
    turned = Rotation.from_quat(r.orientation[:, 0]).as_matrix()
    arm = np.einsum("fij,pj->fpi", turned, points)
    speed = np.linalg.norm(
        r.velocity + np.cross(r.angular_velocity, arm), axis=2
    ).max(axis=1)  # fmt: skip
    fast = np.flatnonzero(speed >= 1e-6)
    begin = np.searchsorted(r.time, r.time[fast[-1]] + 1)
    end = np.searchsorted(r.time, r.time[begin] + seconds - 1e-9)
    assert end < len(r.time), f"still moves at {r.time[fast[-1]]} s"
    x = r.position + arm
    low = x[begin, :, 2] < 0
    return np.linalg.norm((x[end] - x[begin])[low, :2], axis=1).max(), r.time[fast[-1]]


# Contact is almost elastic here (c_n v_in is a few hundredths): at small steps, where BDF2 damps
# little, a cube rocks for seconds before it rests.
@pytest.mark.parametrize(("kind", "rate", "within"), [
    ("cube", 240, 5), ("puck", 240, 5), ("cube", 480, 10), ("puck", 480, 5),
])  # fmt: skip
@pytest.mark.parametrize("order", [1, 2])
def test_rest_on_an_incline_is_rest(kind, rate, within, order):
    """tan alpha = 0.7 c_f, begun sliding: at rest contact points move < 1 um in 10 s."""
    s, points = on_slope(kind)
    options = _engine.Options(step=1 / rate, order=order, record_modes=True)
    r = _engine.rollout(s, s.values, (within + 11) * rate, options)
    assert r.ok, r.message
    distance, stopped = drift(r, points)
    assert stopped < within
    assert distance < 1e-6, f"{distance} m"
    assert set(np.unique(r.modes[-1] & 3)) == {0, HELD}
    penalty, _ = on_slope(kind, friction="linear")
    p = _engine.rollout(penalty, penalty.values, within * rate, options)
    assert p.velocity[-1, 0, 0] > 1e-3  # the penalty alone creeps


def test_sliding_stops_where_coulomb_says():
    """v^2 / (2 c_f g) on the level; beyond the limit a body slides with g (sin - c_f cos)."""
    s, _ = on_slope("puck", share=0.0, velocity=[0.5, 0, 0], angular_velocity=[0, 0, 0])
    r = _engine.rollout(s, s.values, 1000, _engine.Options(step=1 / 1000))
    assert r.position[-1, 0, 0] == pytest.approx(0.25 / (2 * C_F * G), rel=2e-3)
    s, _ = on_slope("puck", share=1.05, velocity=[0, 0, 0], angular_velocity=[0, 0, 0])
    r = _engine.rollout(s, s.values, 2000, _engine.Options(step=1 / 1000))
    a = np.array(slope(1.05))
    gained = r.velocity[-1, 0, 0] - r.velocity[1000, 0, 0]
    assert gained == pytest.approx(a[0] + C_F * a[2], rel=2e-3)


def test_no_force_is_beyond_coulombs_limit():
    s, _ = on_slope("cube", velocity=[0.2, 0.3, -1.0], angular_velocity=[3, 2, 5])
    r = _engine.rollout(s, s.values, 800, _engine.Options(step=1 / 400, record_modes=True))
    assert r.ok, r.message
    f = r.contact_force
    assert np.all(np.linalg.norm(f[..., :2], axis=2) <= C_F * f[..., 2] * (1 + 1e-9))
    assert set(np.unique(r.modes & 3)) == {0, 2, HELD}


def pulled():
    """A cube held by friction, pulled by a spring from a hand until it breaks loose, and again."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    t = np.arange(5)[:, None] * 0.1
    s.add_rigid_body("cube", mass=0.4, inertia=[0.00067] * 3 + [0] * 3, position=[0, 0, 0.05],
                     velocity=[0.05, 0.1, 0], angular_velocity=[0, 0, 1.0],
                     radius=0.05)  # fmt: skip
    path = np.hstack([0.2 + 0.5 * t, 0.1 * t, 0.06 + 0 * t])
    s.add_kinematic_body("hand", interval=0.1, position=path)
    s.add_points("feet", bodies=["cube"] * 8, local=CORNERS * 0.05)
    s.add_points("hook", bodies=["cube"], local=[[0.05, 0.01, 0.01]])
    s.add_points("grip", bodies=["hand"], local=[[0, 0, 0]])
    s.add_springs("rope", points_a="hook", index_a=[0], points_b="grip", index_b=[0],
                  stiffness=40.0, damping=0.1, rest_length=0.14)  # fmt: skip
    s.add_contact("ground", points="feet", sdf=_engine.Plane([0, 0, 1], 0), k_n=1e4, k_t=20.0,
                  c_f=C_F, c_n=0.3, friction="hybrid")  # fmt: skip
    return s


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_through_stick_slip_and_release(order):
    s = pulled()
    names = ["cube.velocity.x", "cube.velocity.y", "cube.angular_velocity.z", "cube.position.z",
             "cube.mass", "ground.k_n", "ground.c_f", "ground.c_n", "rope.stiffness",
             "rope.rest_length", "hand.position[2].x", "feet.scale"]  # fmt: skip
    options = _engine.Options(step=1 / 300, order=order, stagnate=True, record_modes=True)
    r = check_gradients(s, 150, options, names)
    feet = r.modes[:, :4] & 3
    held = (feet == HELD).any(axis=1)
    assert set(np.unique(r.modes & 3)) == {0, 2, HELD}
    assert np.any(held[:-1] & ~held[1:]), "was never released"
    assert np.any(~held[:-1] & held[1:]), "was never caught"


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_of_two_coupled_stuck_masses(order):
    """Two particles joined by a spring slide, stick one after the other, and stay held.

    While both are held lambda must carry dO/dx of every step through both spring ends and the
    normal directions. [G 4.4.3] prints T lambda_(i-1) = T lambda_i for that, which leaves the
    coupling out; the exact transpose of the constrained step has it.
    """
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    for name, x, v in (("a", 0.0, [0.5, 0.1, 0]), ("b", 0.3, [0.3, -0.2, 0])):
        s.add_particle(name, mass=0.3, position=[x, 0, -0.3 * G / 1e3], velocity=v)
        s.add_points(f"of_{name}", bodies=[name], local=np.zeros((1, 3)))
        s.add_contact(f"under_{name}", points=f"of_{name}", sdf=_engine.Plane([0, 0.02, 1], 0),
                      k_n=1e3, k_t=10.0, c_f=C_F, friction="hybrid")  # fmt: skip
    s.add_springs("link", points_a="of_a", index_a=[0], points_b="of_b", index_b=[0],
                  stiffness=3.0, damping=0.05, rest_length=0.25)  # fmt: skip
    names = ["a.velocity.x", "a.velocity.y", "b.velocity.x", "b.position.x", "a.mass", "b.mass",
             "link.stiffness", "link.rest_length", "under_a.c_f", "under_b.k_n", "gravity.x",
             "gravity.y"]  # fmt: skip
    options = _engine.Options(step=1 / 300, order=order, stagnate=True, record_modes=True)
    r = check_gradients(s, 150, options, names)
    both = np.all((r.modes & 3) == HELD, axis=1)
    assert both[-1]
    assert 20 < both.sum() < 140


@pytest.mark.parametrize("carrier", ["rigid", "handle"])
def test_gradients_of_a_body_held_on_a_moving_one(carrier):
    """A box rides on a slab that moves and turns, slips when it is shaken, and is caught again."""
    s = ride(carrier)
    names = ["box.velocity.x", "box.velocity.y", "box.mass", "ride.c_f", "ride.k_n", "gravity.x"]
    names += ["slab.velocity.y", "mount.stiffness"] if carrier == "rigid" else [
        "slab.position[3].x", "slab.rotation[2].z"]  # fmt: skip
    options = _engine.Options(step=1 / 300, order=2, stagnate=True, record_modes=True)
    r = check_gradients(s, 140, options, names)
    assert set(np.unique(r.modes & 3)) == {0, 2, HELD}


def test_who_is_held_hangs_on_neither_rounding_nor_k_t():
    """The law decides which points are held: not Newton's path, nor where its search began."""
    options = _engine.Options(step=1 / 300, order=2, stagnate=True, record_modes=True)
    for s, k_t in ((ride("handle"), "ride.k_t"), (pulled(), "ground.k_t")):
        runs = [_engine.rollout(s, s.values, 150, options)]
        for parameter, factor in ((k_t, 1e-2), (k_t, 1e2), ("gravity.z", 1 + 1e-13)):
            p = s.values
            p[s.index(parameter)] *= factor
            runs.append(_engine.rollout(s, p, 150, options))
        assert len({r.mode_hash for r in runs}) == 1
        for r in runs[1:]:
            assert np.abs(r.position - runs[0].position).max() < 1e-10


def ride(carrier):
    """A box on a slab that is shaken: a rigid body on springs, or a kinematic body."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    s.add_rigid_body("box", mass=0.4, inertia=[0.00067] * 3 + [0] * 3, position=[0, 0, 0.08],
                     velocity=[0.1, 0, 0], radius=0.05)  # fmt: skip
    t = np.arange(6)[:, None] * 0.1
    if carrier == "rigid":
        s.add_rigid_body("slab", mass=3.0, inertia=[0.1, 0.1, 0.2, 0, 0, 0], radius=0.3)
        s.add_points("under", bodies=["slab"] * 4, local=[[a, b, 0] for a in (-0.2, 0.2)
                                                          for b in (-0.2, 0.2)])  # fmt: skip
        s.add_points("frame", bodies=[""] * 4, local=[[a + 0.05, b, 0] for a in (-0.2, 0.2)
                                                      for b in (-0.2, 0.2)])  # fmt: skip
        s.add_springs("mount", points_a="under", index_a=range(4), points_b="frame",
                      index_b=range(4), stiffness=400.0, damping=2.0, rest_length=0.0)  # fmt: skip
    else:
        s.add_kinematic_body("slab", interval=0.1, radius=0.3,
                     position=0.04 * np.sin(20 * t) * [1, 0.5, 0.0],
                     rotation=0.1 * np.sin(5 * t) * [0, 1, 1])  # fmt: skip
    s.add_points("feet", bodies=["box"] * 8, local=CORNERS * 0.05)
    s.add_contact("ride", points="feet", sdf=_engine.Box([0.4, 0.4, 0.03]), carrier="slab",
                  k_n=1e4, k_t=20.0, c_f=0.4, c_n=0.5, friction="hybrid")  # fmt: skip
    return s


def test_halved_and_repeated_steps_keep_their_flags():
    """Checkpoint mode linearizes the very steps that were run, held points and all."""
    s = pulled()
    options = _engine.Options(step=1 / 30, max_iterations=8, max_halvings=6, tolerance=1e-11)
    active = [s.index("cube.velocity.x"), s.index("ground.c_f"), s.index("rope.stiffness")]
    r = _engine.rollout(s, s.values, 30, options, active=active, mode="sensitivity")
    assert r.ok, r.message
    assert r.halvings > 0
    g = np.random.default_rng(0).normal(size=(2, len(r.time), s.ndof))
    by_s = np.einsum("fd,fda->a", g[0], r.dx) + np.einsum("fd,fda->a", g[1], r.dv)
    for mode in ("store", "checkpoint"):
        a = _engine.rollout(s, s.values, 30, options, active=active, mode=mode)
        assert a.gradient(g[0], g[1]) == pytest.approx(by_s, rel=1e-8)
