"""Steps in which contact or sliding begins or ends: forces integrated, derivatives that settle."""

from __future__ import annotations

import numpy as np
import pytest

from diffsim_ros import _engine

from .gradients import check_gradients

STEP = 1e-3
GROUND = _engine.Plane([0, 0, 1], 0)


def particle(mass, position, velocity, gravity=(0, 0, 0), **law):
    """A particle before the plane z = 0."""
    s = _engine.Scene()
    s.set_gravity(list(gravity))
    s.add_particle("p", mass=mass, position=position, velocity=velocity)
    s.add_points("point", bodies=["p"], local=np.zeros((1, 3)))
    s.add_contact("ground", points="point", sdf=GROUND, **{"k_t": 0.0, "c_f": 0.0} | law)
    return s


def impulse(order, steps, phase, speed=1.0, side=0.0, **law):
    """Momentum (3,) that a particle too heavy to be slowed has got `steps` steps after touchdown.

    phase  share of a step from touchdown to the step's end
    """
    mass = 1e9
    height = (3 - phase) * STEP * speed
    s = particle(mass, [0, 0, height], [side, 0, -speed], **law)
    r = _engine.rollout(s, s.values, 3 + steps, _engine.Options(step=STEP, order=order))
    assert r.ok, r.message
    return mass * (r.velocity[-1, 0] - r.velocity[0, 0])


@pytest.mark.parametrize("phase", [0.02, 0.3, 0.5, 0.8, 0.99])
def test_an_impulse_from_touchdown_on_is_the_integral_of_the_force(phase):
    """f = k_n (1 + c_n v) v t from touchdown on: BDF2 takes its integral, whatever the phase.

    But for its own error h^2 f'/4 at the end, which is a smooth function of time.
    """
    steps, k_n, c_n, speed = 20, 2e3, 0.3, 1.5
    time = (steps + phase) * STEP
    exact = k_n * (1 + c_n * speed) * speed * time**2 / 2
    unit = k_n * (1 + c_n * speed) * speed * STEP**2  # what a step's error is measured in
    for onset, excess in (("integrated", 0), ("sampled", phase * (1 - phase) / 2)):
        found = impulse(2, steps, phase, speed, k_n=k_n, c_n=c_n, onset=onset)[2]
        assert (found - exact) / unit - 0.25 == pytest.approx(excess, abs=2e-3)


@pytest.mark.parametrize("phase", [0.1, 0.6])
def test_ramped_and_thesis_damping_are_integrated_too(phase):
    steps, k_n, k_d, d_0, speed = 20, 2e3, 5.0, 4e-3, 1.0
    time = (steps + phase) * STEP
    depth = speed * time
    share = 1 - d_0 / depth * np.log1p(depth / d_0)
    for law, damper in (({"damping": "thesis"}, 1.0), ({"damping": "ramped", "d_0": d_0}, share)):
        exact = k_n * speed * time**2 / 2 + k_d * depth * damper
        found = impulse(2, steps, phase, speed, k_n=k_n, k_d=k_d, **law)[2]
        error = found - exact - k_n * speed * STEP**2 / 4
        assert abs(error) <= 0.02 * k_d * speed * STEP


def test_friction_that_slides_is_integrated_with_the_normal_force():
    found = impulse(2, 20, 0.4, side=2.0, k_n=2e3, k_t=1e9, c_f=0.5)
    assert found[0] == pytest.approx(-0.5 * found[2], rel=1e-5)


@pytest.mark.parametrize("limited", [0.0, 0.02, 0.4, 1.3])
def test_friction_that_sticks_is_integrated_under_its_limit(limited):
    """min(q, L), q = k_t |v_t|: L takes so many steps to grow to q, or to fall from it."""
    q, k_n, mass = 6.0, 2e3, 1e9
    after = limited * STEP
    law = {"k_n": k_n, "k_t": q, "c_f": q / (k_n * after) if limited else 1e6}
    for phase in np.linspace(0.005, 0.995, 12):
        time = (20 + phase) * STEP
        exact = q * (time - after / 2)
        assert -impulse(2, 20, phase, side=1.0, **law)[0] == pytest.approx(
            exact, abs=2e-3 * q * STEP
        )
        s = particle(mass, [0, 0, -time], [1.0, 0, 1.0], **law)  # leaves at this time
        r = _engine.rollout(s, s.values, 26, _engine.Options(step=STEP, order=2))
        out = mass * (1.0 - r.velocity[-1, 0, 0])
        assert out == pytest.approx(exact, abs=2e-3 * q * STEP)


@pytest.mark.parametrize("k_t", [100.0, 1000.0])
def test_what_sticks_leaves_with_the_surface(k_t):
    """It falls along the wall from the end of the touch on, g (T - t): later by a later start.

    Friction of the last step is a twentieth of its limit, and comes to slide in some phases.
    """
    g, speed, step, steps = 9.81, 1.5, 1 / 12000, 90
    for phase in np.arange(12) / 12:
        s = particle(0.0228, [0, 0, speed * step * (1 + phase)], [-1.0, 0, -speed],
                     gravity=[-g, 0, 0], k_n=2e4, c_n=0.072, c_f=0.6, k_t=k_t)  # fmt: skip
        r = _engine.rollout(s, s.values, steps, _engine.Options(step=step, record_every=steps),
                            active=[s.index("p.position.z")], mode="sensitivity")  # fmt: skip
        assert r.position[-1, 0, 2] > 0
        assert r.dv[-1, 0, 0] == pytest.approx(g / speed, rel=0.01)


def thrown(vz, onset, friction="linear", step=STEP / 2):
    """dz/dv_z and dx/dv_x at the end of a ball's throw with two bounces and sliding."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -9.81])
    s.add_rigid_body("ball", mass=0.06, inertia=[6e-5] * 3 + [0] * 3, radius=0.05,
                     position=[0, 0, 0.3], velocity=[1.0, 0.2, vz])  # fmt: skip
    s.add_points("sphere", bodies=["ball"], local=np.zeros((1, 3)), radius=0.05)
    s.add_contact("ground", points="sphere", sdf=GROUND, k_n=2000.0, k_t=5.0, c_f=0.3, c_n=0.3,
                  friction=friction, onset=onset)  # fmt: skip
    active = [s.index("ball.velocity.z"), s.index("ball.velocity.x")]
    steps = round(0.6 / step)
    options = _engine.Options(step=0.6 / steps, record_every=steps)
    r = _engine.rollout(s, s.values, steps, options, active=active, mode="sensitivity")
    assert r.ok, r.message
    return np.array([r.dx[-1, 2, 0], r.dx[-1, 0, 1]])


@pytest.mark.parametrize("friction", ["linear", "tanh", "hybrid"])
def test_derivatives_after_a_bounce_do_not_hang_on_the_phase_of_touchdown(friction):
    """Throws that differ by less than a step in the instant of touchdown."""
    speeds = -1 + np.arange(12) * 4e-4
    converged = np.array([thrown(v, "integrated", friction, STEP / 32) for v in speeds])
    error = {
        onset: np.array([thrown(v, onset, friction) for v in speeds]) - converged
        for onset in ("integrated", "sampled")
    }
    size = np.abs(converged).max(axis=0)
    rms = {onset: np.sqrt(np.mean(e**2, axis=0)) / size for onset, e in error.items()}
    assert np.all(rms["integrated"] <= 0.03), rms
    assert rms["sampled"][0] >= 0.15, rms


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("damping", ["continuous", "ramped"])
def test_gradients_through_touchdown_transition_and_release(order, damping):
    """A ball that slides, sticks and leaves, by every parameter of the law."""
    law = {"continuous": {"c_n": 0.3}, "ramped": {"k_d": 4.0, "d_0": 2e-3}}[damping]
    s = _engine.Scene()
    s.set_gravity([0.3, 0, -9.81])
    s.add_rigid_body("ball", mass=0.06, inertia=[6e-5] * 3 + [0] * 3, radius=0.05,
                     position=[0, 0, 0.083], velocity=[0.4, 0.1, -1.5])  # fmt: skip
    s.add_points("sphere", bodies=["ball"], local=[[0.001, 0, 0]], radius=0.05, scale=1.2)
    s.add_contact("ground", points="sphere", sdf=GROUND, k_n=2000.0, k_t=20.0, c_f=0.4, c_s=0.5,
                  f_0=10.0, damping=damping, **law)  # fmt: skip
    names = ["ball.velocity.x", "ball.velocity.z", "ball.position.z", "ball.mass", "gravity.x",
             "sphere.radius", "sphere.scale"]  # fmt: skip
    names += [f"ground.{name}" for name in ("k_n", "k_t", "c_f", "c_s", "f_0", *law)]
    options = _engine.Options(step=1 / 1000, order=order, stagnate=True, record_modes=True)
    r = check_gradients(s, 60, options, names)
    modes = r.modes[:, 0] & 3
    assert {0, 1, 2} <= set(modes.tolist()), "flew, slid and stuck"
    assert modes[0] == 0 and modes[-1] == 0
    assert np.any((modes[:-1] == 2) & (modes[1:] == 1)), "came to stick"


def test_a_body_on_the_surface_has_no_kink_at_its_start():
    """Placed with gap 0: its height may be varied either way."""
    s = particle(0.1, [0, 0, 0], [0.1, 0, 0], gravity=[0, 0, -9.81], k_n=500.0, k_t=2.0, c_f=0.3)
    options = _engine.Options(step=STEP, stagnate=True, record_modes=True)
    check_gradients(s, 40, options, ["p.position.z", "p.velocity.z", "p.mass"])


def test_refuses_another_onset():
    with pytest.raises(ValueError, match="onset: must be one of 'integrated', 'sampled'"):
        particle(1.0, [0, 0, 1], [0, 0, 0], k_n=1.0, onset="smooth")
