"""Rolling and spinning friction: derivatives, balance, laws of a rolling and a spinning ball."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.batteries import check_element, net_wrench, random_instants
from tests.native.gradients import check_gradients
from tests.native.test_contact_moving import CORNERS, INERTIA, obstacle

RADIUS, MASS, G = 0.05, 0.4, 9.81


@pytest.mark.parametrize("friction", ["linear", "tanh"])
@pytest.mark.parametrize("kind", ["plane", "sphere", "box"])
@pytest.mark.parametrize("carried", [False, True])
def test_battery_of_contact_with_rolling_friction(carried, kind, friction):
    rng = np.random.default_rng(12)
    codes = set()
    for speed in (0.01, 3.0):
        s = _engine.Scene()
        s.add_rigid_body("a", mass=0.7, inertia=INERTIA, radius=0.2)
        s.add_rigid_body("c", mass=1.1, inertia=2 * np.array(INERTIA), radius=0.3)
        s.add_points("corners", bodies=["a"] * 8, local=0.12 * CORNERS, inset=-CORNERS,
                     radius=0.03, scale=0.95)  # fmt: skip
        s.add_contact("touch", points="corners", sdf=obstacle(kind), carrier="c" if carried else "",
                      k_n=4000.0, k_t=40.0, c_f=0.4, c_n=0.5, c_roll=0.02, c_spin=0.01,
                      k_roll=0.3, friction=friction)  # fmt: skip
        for _ in range(6):
            instants = random_instants(rng, 2, 1, rng.normal(size=(2, 3)) * 0.03)
            instants[0][2] *= speed
            instants[0][3] *= speed
            out = check_element(s, "touch", s.values, instants, rng, frames=[0, 1])
            codes |= {int(m) & 24 for m in out["modes"] if m}
            if carried:
                force, torque = net_wrench(out["r"], instants[0][0], [(0, True), (6, True)])
                size = np.abs(out["r"]).max() + 1e-300
                assert max(np.abs(force).max(), np.abs(torque).max()) <= 1e-12 * size
    assert codes >= {0, 24}  # neither and both at their limits


def ball(friction="linear", limits=(0.002, 0.003), **start):
    """A ball in equilibrium on the plane."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    k_n = 4e4
    s.add_rigid_body("ball", mass=MASS, inertia=[0.4 * MASS * RADIUS**2] * 3 + [0] * 3,
                     position=[0, 0, RADIUS - MASS * G / k_n], radius=RADIUS, **start)  # fmt: skip
    s.add_points("centre", bodies=["ball"], local=np.zeros((1, 3)), radius=RADIUS)
    s.add_contact("ground", points="centre", sdf=_engine.Plane([0, 0, 1], 0), k_n=k_n, k_t=1e3,
                  c_f=0.8, c_roll=limits[0], c_spin=limits[1], k_roll=0.05,
                  friction=friction)  # fmt: skip
    return s


def test_a_rolling_ball_slows_by_five_sevenths_of_c_roll_g_over_r():
    """(m + I/r^2) a = c_roll m g / r while it rolls without slip; then it stands."""
    s = ball(velocity=[0.5, 0, 0], angular_velocity=[0, 0.5 / RADIUS, 0])
    r = _engine.rollout(s, s.values, 3000, _engine.Options(step=1e-3))
    assert r.ok, r.message
    slow = 5 / 7 * 0.002 * G / RADIUS
    v = r.velocity[:, 0, 0]
    at = np.searchsorted(-v, -0.25)
    assert (0.5 - v[at]) / r.time[at] == pytest.approx(slow, rel=2e-3)
    assert r.angular_velocity[at, 0, 1] * RADIUS == pytest.approx(v[at], rel=0.01)
    assert np.abs(v[-1]) < 1e-4


def test_a_spinning_ball_slows_by_c_spin_f_n_over_its_inertia():
    s = ball(angular_velocity=[0, 0, 10.0])
    r = _engine.rollout(s, s.values, 200, _engine.Options(step=1e-3))
    slow = 0.003 * MASS * G / (0.4 * MASS * RADIUS**2)
    assert 10 - r.angular_velocity[100, 0, 2] == pytest.approx(slow * 0.1, rel=1e-6)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("friction", ["linear", "tanh"])
def test_gradients_through_rolling_friction(friction, order):
    """A thrown, spinning ball that lands, rolls and comes to rest."""
    s = ball(friction, velocity=[0.3, 0.1, 0.2], angular_velocity=[1, 8, 12])
    names = ["ground.c_roll", "ground.c_spin", "ground.k_roll", "ground.k_n", "ground.c_f",
             "centre.radius", "ball.velocity.x", "ball.angular_velocity.z", "ball.mass",
             "ball.inertia.xz"]  # fmt: skip
    options = _engine.Options(step=1 / 300, order=order, stagnate=True, record_modes=True)
    check_gradients(s, 200, options, names)


@pytest.mark.parametrize("friction", ["linear", "tanh"])
def test_limits_of_zero_are_parameters_with_a_derivative_towards_more(friction):
    """At 0 nothing is felt yet, and the slope is that of a small limit (one-sided difference)."""
    start = {"velocity": [0.3, 0.1, 0.2], "angular_velocity": [1, 8, 12]}
    options = _engine.Options(step=1 / 300)
    s = ball(friction, (0.0, 0.0), **start)
    names = ["ground.c_roll", "ground.c_spin"]
    active = [s.index(name) for name in names]
    r = _engine.rollout(s, s.values, 40, options, active=active, mode="sensitivity")
    assert r.ok, r.message
    spin = s.dof_offset("ball") + 3
    for k, i in enumerate(active):
        p = s.values
        p[i] = 1e-8
        more = _engine.rollout(s, p, 40, options)
        difference = (more.angular_velocity[-1, 0] - r.angular_velocity[-1, 0]) / p[i]
        assert np.linalg.norm(difference) > 100.0, "it brakes"
        exact = r.dv[-1, spin : spin + 3, k]
        assert exact == pytest.approx(difference, rel=1e-4, abs=1e-4 * np.abs(difference).max())


def test_a_limit_of_zero_where_points_cannot_turn_is_no_parameter():
    law = {"sdf": _engine.Plane([0, 0, 1], 0), "k_n": 1.0, "k_t": 1.0, "c_f": 0.5}
    s = ball()
    s.add_particle("p", mass=1.0)
    s.add_points("point", bodies=["p"], local=np.zeros((1, 3)), radius=0.02)
    s.add_points("sharp", bodies=["ball"], local=np.zeros((1, 3)))
    known = [info.name for info in s.parameters]
    for points in ("point", "sharp"):
        s.add_contact(points, points=points, c_roll=0.0, c_spin=0.0, **law)
        added = [info.name for info in s.parameters if info.name not in known]
        assert f"{points}.k_n" in added and f"{points}.c_roll" not in added


def test_rolling_friction_without_a_slope_or_on_particles_is_refused():
    s = ball()
    s.add_particle("p", mass=1.0)
    s.add_points("point", bodies=["p"], local=np.zeros((1, 3)), radius=0.02)
    s.add_points("sharp", bodies=["ball"], local=np.zeros((1, 3)))
    law = {"sdf": _engine.Plane([0, 0, 1], 0), "k_n": 1.0, "k_t": 1.0, "c_f": 0.5}
    with pytest.raises(_engine.InvalidInput, match="cannot turn"):
        s.add_contact("bad", points="point", c_roll=0.01, **law)
    with pytest.raises(_engine.InvalidInput, match="k_roll: must be > 0"):
        s.add_contact("bad", points="sharp", c_spin=0.01, **law)
    with pytest.raises(_engine.InvalidInput, match="goes with c_roll or c_spin"):
        s.add_contact("bad", points="sharp", k_roll=0.01, **law)
    s.add_contact("good", points="centre", c_roll=0.01, **law)
    assert s.values[s.index("good.k_roll")] == pytest.approx(RADIUS**2)
