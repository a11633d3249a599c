"""Bounces under the velocity stepper: impacts at their own times split its steps."""

import numpy as np
import pytest
from scipy.optimize import brentq

from diffsim_ros import _engine
from diffsim_ros.rotation import quat_exp
from tests.native.gradients import check_gradients
from tests.native.reduced import add_link, join, smooth_names
from validation.hard_contact import (
    HALF,
    LAW,
    MASS,
    G,
    _bounce_errors,
    add_ball,
    add_box,
    ball,
    options,
    restitution_errors,
    run,
)


@pytest.mark.parametrize("e", [0.3, 0.9, 1.0])
@pytest.mark.parametrize("h", [1e-3, 1 / 240])
def test_an_impact_leaves_with_its_restitution(e, h):
    found = restitution_errors(e, h, round(0.9 / h))
    assert len(found) >= 1
    assert max(found) < 1e-6
    assert run(ball(e, 0.3), 200, options(h)).position[:, 0, 2].min() >= 0.05 - 1e-9


def test_without_restitution_a_ball_comes_down_to_the_floor_within_the_step():
    r = run(ball(0.0, 0.3), 400, options(1e-3))
    assert r.position[:, 0, 2].min() >= 0.05 - 1e-9
    assert np.abs(r.velocity[-1, 0, 2]) < 1e-6


def test_heights_of_bounces_are_those_of_the_parabola():
    """e^2 of the height before, to what the start is off: half a step's velocity."""
    h = 1 / 240
    r = run(ball(0.8, height=0.5, velocity=[0, 0, G * h / 2]), round(1.4 / h), options(h))
    z, v = r.position[:, 0, 2] - 0.05, r.velocity[:, 0, 2] - G * h / 2
    E = G * z + v**2 / 2
    t = r.time
    assert E[t < 0.31] == pytest.approx(G * 0.5, rel=1e-9)
    assert E[(t > 0.33) & (t < 0.8)] == pytest.approx(0.64 * G * 0.5, rel=1e-6)
    assert E[(t > 0.85) & (t < 1.2)] == pytest.approx(0.64**2 * G * 0.5, rel=1e-6)


@pytest.mark.parametrize("c_f", [0.3, 0.02])
def test_derivatives_of_a_bounce_are_those_of_the_closed_form(c_f):
    """It rolls off, or slips; at 1 m/s and 1/480 s, over phases of the step."""
    row = _bounce_errors(0.35, c_f, 1 / 480, phases=4)
    assert row["relative_error"] < 0.02
    assert row["place"] < 1e-3
    assert row["against_differences"] < 1e-7
    assert row["jump_where_the_step_of_impact_changes"] < 1e-10


def thrown_box(height):
    s = _engine.Scene()
    add_box(s, "box", [0, 0, height], velocity=[1.0, 0.3, -1.5], angular_velocity=[3.0, 5.0, -2.0],
            orientation=quat_exp(np.array([0.3, 0.5, 0.1])))  # fmt: skip
    s.add_contact("floor", points="box_corners", sdf=_engine.Plane([0.1, 0, 1], 0), c_f=0.3,
                  restitution=0.6, **LAW)  # fmt: skip
    return s


def test_a_corner_that_strikes_goes_on_continuously_where_the_step_of_impact_changes():
    """The arm, the normal velocity and inertia are those of the instant of impact."""
    h, steps = 1 / 240, 40

    def first(height):
        r = run(thrown_box(height), steps, options(h))
        end = [r.position[-1, 0], r.velocity[-1, 0] * h, r.angular_velocity[-1, 0] * h]
        return int(np.argmax(r.modes.any(1))), np.concatenate(end)

    low, high = 0.2, 0.2 + 2 * h
    step = first(low)[0]
    assert first(high)[0] > step
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if first(middle)[0] == step else (low, middle)
    assert first(high)[0] == step + 1
    assert np.abs(first(high)[1] - first(low)[1]).max() < 1e-9


@pytest.mark.parametrize("height", [0.2, 0.203, 0.206])
def test_gradients_of_a_box_that_bounces_from_corner_to_corner(height):
    s = thrown_box(height)
    names = [n for n in smooth_names(s) if not n.endswith(("k_n", "k_t", "c_n"))]
    r = check_gradients(s, 40, options(1 / 240), names)
    assert r.modes.any()


def test_gradients_of_a_chain_whose_links_bounce():
    """A double pendulum that strikes a floor: joints carry the impulse."""
    s = _engine.Scene()
    rng = np.random.default_rng(8)
    for k in range(2):
        add_link(s, f"l{k}", [0.2 * k + 0.1, 0, 0.5], rng)
        join(s, f"j{k}", "hinge", f"l{k - 1}" if k else "", f"l{k}", [0.2 * k, 0, 0.5])
    s.add_points("tip", bodies=["l1"], local=np.array([[0.08, 0, 0]]), radius=0.03)
    s.add_contact("stop", points="tip", sdf=_engine.Plane([0, 0, 1], 0.4), c_f=0.3, restitution=0.7,
                  **LAW)  # fmt: skip
    skip = ("anchor", "axis", "j0.position", "j1.position", "k_n", "k_t", "c_n")
    r = check_gradients(s, 90, options(1 / 240), smooth_names(s, skip))
    assert r.modes.any()


def test_gradients_of_a_ball_that_strikes_a_box_on_the_floor():
    """The floor presses before, in and after the impact."""
    s = _engine.Scene()
    add_box(s, "box", [0, 0, HALF], velocity=[0.5, 0.1, 0])
    add_ball(s, "ball", [0.01, 0.015, 0.25], velocity=[0.3, 0, -1.0])
    s.add_contact("floor", points="box_corners", sdf=_engine.Plane([0, 0, 1], 0), c_f=0.2, **LAW)
    s.add_contact("on", points="ball_centre", sdf=_engine.Box([HALF] * 3), carrier="box", c_f=0.4,
                  restitution=0.6, **LAW)  # fmt: skip
    names = ["ball.position.z", "ball.velocity.x", "box.velocity.x", "box.mass", "on.restitution",
             "on.c_f", "floor.c_f"]  # fmt: skip
    r = check_gradients(s, 30, options(1 / 240), names)
    assert r.modes.any()


def test_forces_of_contacts_are_all_impulses_of_the_step():
    h = 1 / 240
    r = run(ball(0.7, 0.2, velocity=[0.5, 0, 0]), 100, options(h))
    momentum = MASS * (r.velocity[-1, 0] - r.velocity[0, 0])
    impulse = h * r.contact_force.sum((0, 1)) - MASS * 100 * h * np.array([0, 0, G])
    np.testing.assert_allclose(momentum, impulse, atol=1e-9)


def test_a_box_dropped_flat_bounces_flat():
    """Its corners strike at one instant."""
    s = _engine.Scene()
    add_box(s, "box", [0, 0, 0.3])
    s.add_contact("floor", points="box_corners", sdf=_engine.Plane([0, 0, 1], 0), c_f=0.3,
                  restitution=0.5, **LAW)  # fmt: skip
    r = run(s, 120, options(1 / 240))
    assert np.abs(r.angular_velocity).max() < 1e-6
    assert r.position[60:100, 0, 2].max() == pytest.approx(HALF + 0.25 * 0.25, abs=2e-3)


def test_scenes_with_prescribed_motions_bounce_with_their_steps():
    s = ball(0.6, 0.3)
    s.add_kinematic_body("tool", interval=0.1, radius=0.1, position=[[1, 0, 0.5], [1, 0, 0.5]])
    v = run(s, 300, options(1e-3)).velocity[:, 0, 2]
    i = int(np.flatnonzero((v[:-1] < -0.5) & (v[1:] > 0))[0])
    assert v[i + 1] == pytest.approx(-0.6 * v[i], abs=1e-6)


def rod_on_its_tip(c_f):
    """A rod without gravity whose tip comes down at 1 m/s and slides by 0.8 m/s, which the impulse
    along the normal turns round."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    arm = 0.2 * np.array([np.cos(0.9), 0, -np.sin(0.9)])  # to the tip
    s.add_rigid_body("rod", mass=0.3, inertia=[0.004] * 3 + [0] * 3, radius=0.2,
                     position=[0, 0, 0.01 - arm[2]], velocity=[-0.8, 0, -1.0])  # fmt: skip
    s.add_points("tip", bodies=["rod"], local=[arm])
    s.add_contact("floor", points="tip", sdf=_engine.Plane([0, 0, 1], 0), c_f=c_f, restitution=1.0,
                  **LAW)  # fmt: skip
    return s, arm[[2, 0]]


@pytest.mark.parametrize(("c_f", "gain"), [(0.9, 0.51), (0.2, 0.29)])
def test_an_impact_that_turns_the_slip_gives_no_energy(c_f, gain):
    """[Kane and Levinson 1985]: by Newton's law it would; against the impulse without energy."""
    s, (z, x) = rod_on_its_tip(c_f)
    c = np.array([-1.0, -0.8])  # normal and tangential velocity before
    W = np.eye(2) / 0.3 + np.array([[x * x, -x * z], [-x * z, z * z]]) / 0.004
    inverse, energy = np.linalg.inv(W), c @ np.linalg.inv(W) @ c / 2

    def impulse(c_n):
        """It sticks, or slips back."""
        sticks = inverse @ (np.array([c_n, 0]) - c)
        back = np.array([1.0, -c_f])
        return sticks if abs(sticks[1]) <= c_f * sticks[0] else (c_n - c[0]) / (W[0] @ back) * back

    def gained(c_n):
        return impulse(c_n) @ (2 * c + W @ impulse(c_n)) / 2

    assert gained(1.0) / energy == pytest.approx(gain, abs=0.01)
    found = impulse(brentq(gained, 0, 1, xtol=1e-15))
    r = run(s, 12, options(1 / 240))
    v, w = r.velocity[-1, 0], r.angular_velocity[-1, 0]
    assert v[[2, 0]] == pytest.approx(c + found / 0.3, abs=1e-5)
    T = 0.3 * v @ v / 2 + 0.004 * w @ w / 2
    assert T == pytest.approx(0.3 * c @ c / 2, rel=1e-12)
    names = ["rod.velocity.x", "rod.angular_velocity.y", "rod.rotation.y", "rod.mass",
             "rod.inertia.yy", "floor.c_f"]  # fmt: skip
    check_gradients(s, 12, options(1 / 240), names)
