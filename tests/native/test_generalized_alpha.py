"""Generalized-alpha: what it keeps, its orders, its derivatives, what it refuses."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.meshes import box
from tests.native import planar
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients
from tests.native.links import hinged_arm
from tests.native.test_drives import PAYLOAD
from tests.native.test_glued import block_on_box
from tests.native.test_glued import instants as glued_instants
from tests.native.test_kinematic_body import hand_and_box
from tests.native.test_linkages import MECHANISMS, mechanism
from tests.native.test_mass_points import hanging
from tests.native.test_motors import arm
from tests.native.test_rollout import cube
from validation.physics_orders import MOTIONS, errors, observed_order
from validation.physics_reference import reference_with_gradient

RADII = [0.0, 0.8, 1.0]
THIRD = 1 / 3  # no carry: a case of its own


def options(step, radius, **more):
    return _engine.Options(step=step, spectral_radius=radius, **more)


def tumbling(spin):
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("a", mass=1.0, inertia=[1e-3, 2e-3, 2.5e-3, 0, 0, 0], radius=0.1,
                     angular_velocity=spin)  # fmt: skip
    return s


@pytest.mark.parametrize("spin", [[0.2, 20.0, 0.1], [12.0, 11.0, 12.0]])
def test_a_free_tumble_keeps_its_energy(spin):
    """2e-5 over 10 s at 20 rad/s and 1/240 s; the trapezoidal rule to rounding; BDF2 does not."""
    s, drift = tumbling(spin), {}
    for radius in (0.8, 1.0, None):
        r = _engine.rollout(s, s.values, 2400, options(1 / 240, radius, tolerance=1e-12))
        E = s.energies(r)["total"]
        drift[radius] = np.abs(E / E[0] - 1).max()
    assert drift[0.8] < 2e-5
    assert drift[1.0] < 1e-9
    assert drift[None] > 50 * drift[0.8]


@pytest.mark.parametrize("radius", [0.0, THIRD, 0.8, 1.0])
def test_the_amplitude_of_fast_oscillations_falls_with_the_spectral_radius(radius):
    """A spring of h omega = 1000 falls by rho in each step."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_particle("p", mass=1.0, position=[1, 0, 0])
    s.add_points("p", bodies=["p"], local=np.zeros((1, 3)))
    s.add_points("o", bodies=[""], local=np.zeros((1, 3)))
    s.add_springs("k", points_a="p", index_a=[0], points_b="o", index_b=[0], stiffness=1e6,
                  damping=0.0, rest_length=0.0)  # fmt: skip
    r = _engine.rollout(s, s.values, 60, options(1.0, radius, tolerance=1e-13))
    force = np.abs(r.position[:, 0, 0])
    later = force[20] / force[10]
    if radius == 0:
        assert force[10] < 1e-12
    elif radius < 1:
        assert radius**10 < later < 3 * radius**10  # a double root: n rho^n
    else:
        assert force[41:].max() == pytest.approx(force[21:41].max(), rel=0.05)


def test_a_bar_goes_on_vibrating():
    """A clamped bar of 0.3 m (about 5 Hz) that sags from straight: what 1/2 s at 1/240 s takes."""
    s = _engine.Scene()
    vertices, tets = box((0.3, 0.03, 0.03), (8, 1, 1))
    clamped = np.flatnonzero(vertices[:, 0] < -0.149).tolist()
    s.add_solid("bar", vertices=vertices, tets=tets, density=1000.0, young=1e7, poisson=0.3,
                viscosity=0.0, glued=[("", clamped)])  # fmt: skip
    lost = {}
    for radius in (0.8, 1.0, None):
        r = _engine.rollout(s, s.values, 120, options(1 / 240, radius, tolerance=1e-10))
        E = s.energies(r)["total"]
        lost[radius] = (E[0] - E[-1]) / s.energies(r)["kinetic"].max()
    assert 0 < lost[0.8] < 0.01
    assert abs(lost[1.0]) < 1e-3
    assert lost[None] > 0.2


@pytest.mark.parametrize(("stiffness", "near"), [(300.0, 0.01), (2000.0, 0.01)])
@pytest.mark.parametrize("radius", [0.5, 0.8, 1.0])
def test_a_ball_bounces_back_as_fast_as_it_came(stiffness, near, radius):
    """Undamped contact that lasts 5 steps and more; forces never pull."""
    s = thrown(c_n=0.0, k_n=stiffness, k_t=0.0, c_f=0.0)
    r = _engine.rollout(s, s.values, 80, options(1 / 240, radius))
    v = r.velocity[:, 0, 2]
    assert -v[30:].max() / v[:30].min() == pytest.approx(1.0, abs=near)
    assert r.contact_force[:, 0, 2].min() == 0


@pytest.mark.parametrize("radius", RADII)
@pytest.mark.parametrize("name", MECHANISMS)
def test_linkages_converge_to_the_ideal_motion_with_order_two(name, radius):
    """Hinges of 1e8 N/m, a motor whose target has kinks."""
    s, reference = mechanism(name, stiffness=1e8)
    errors = []
    for steps in (200, 400, 800):
        r = _engine.rollout(s, s.values, steps, options(1 / steps, radius))
        assert r.ok, r.message
        errors.append(np.abs(planar.angles(r)[:: steps // 10] - reference.angles).max())
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(slopes > 1.85), (errors, slopes)


@pytest.mark.parametrize("kind", ["flight", "sliding_linear", "swinging"])
@pytest.mark.parametrize("radius", [0.5, 1.0])
def test_motion_and_derivative_converge_to_an_independent_one_with_order_two(kind, radius):
    rng = np.random.default_rng([7, 1])
    motion = MOTIONS[kind](rng)
    directions = rng.normal(size=(len(motion.active), 1))
    exact = reference_with_gradient(motion, directions)
    h, state, slope = errors(motion, 2, exact, directions, 2, radius)
    for error in (state, slope):
        assert observed_order(h, error) == pytest.approx(2, abs=0.1), (h, error)
        assert error[-1] < 1e-3


@pytest.mark.parametrize("radius", [THIRD, 0.8, 1.0])
def test_battery_of_momenta_and_differences(radius):
    """Every element that reads the scheme's weights."""
    rng = np.random.default_rng(1)
    more = {"spectral_radius": radius}
    s = hinged_arm(elbow=[0, 0, 1])
    s.add_armature("rotor", joint="elbow", inertia=0.02)
    s.add_motor("drive", joint="top", keys=[0, 0.4, -0.3], interval=0.1, stiffness=8.0,
                damping=3.0)  # fmt: skip
    s.add_payload("load", body="b", **PAYLOAD)
    instants = random_instants(rng, 2, 2)
    for name in ("inertia", "rotor", "drive", "load"):
        check_element(s, name, s.values, instants, rng, frames=[0, 1], t=0.15, **more)
    for s in (block_on_box(mass="consistent"), block_on_box("p2")):
        now = glued_instants(s, rng)
        for name in s.element_names:
            if "mass" in name:
                check_element(s, name, s.values, now, rng, frames=[0], **more)


@pytest.mark.parametrize("radius", [*RADII, THIRD])
def test_gradients_of_a_tumble(radius):
    names = ["a.mass", "a.inertia.xx", "a.inertia.yz", "a.angular_velocity.x", "a.velocity.x",
             "a.rotation.y", "gravity.z"]  # fmt: skip
    check_gradients(tumbling([3.0, 5.0, 2.0]), 60, options(4e-3, radius, stagnate=True), names)


def scene(kind):
    """(scene, names, steps, step) that mixes what looks back."""
    if kind == "arm":
        s = hinged_arm(elbow=[0, 0, 1])
        for joint in ("top", "elbow"):
            s.add_motor(f"{joint}_drive", joint=joint, keys=[0, 0.4, -0.3], interval=0.1,
                        stiffness=80.0, damping=3.0)  # fmt: skip
            s.add_armature(f"{joint}_rotor", joint=joint, inertia=0.02)
        s.add_payload("load", body="b", **PAYLOAD)
        return s, ["load.mass", "load.moment.x", "load.inertia.xy", "top_rotor.inertia",
                   "elbow_drive.damping", "top_drive.target[1]", "gravity.z"], 40, 5e-3  # fmt: skip
    if kind == "stop":
        return arm("torque"), ["m.torque[0]", "m.torque[2]", "stop.stiffness", "stop.damping",
                               "cart.velocity.x", "lower.mass"], 80, 1 / 240  # fmt: skip
    if kind == "hand":
        s = hand_and_box()
        keys = [p.name for p in s.parameters if p.name.startswith(("hand.p", "string."))]
        return s, [*keys, "box.mass"], 45, 0.01
    return (
        hanging("rod", glued=(0, 1)),
        ["rope.mass", "rope.rotation.y", "links.stiffness", "hand.position[1].y", "rod.mass"],
        40,
        1 / 400,
    )


@pytest.mark.parametrize("radius", [0.8, 1.0])
@pytest.mark.parametrize("kind", ["arm", "stop", "hand", "string"])
def test_gradients_through_all_that_looks_back(kind, radius):
    s, names, steps, step = scene(kind)
    o = options(step, radius, stagnate=True, record_modes=True)
    check_gradients(s, steps, o, names, 1e-5)


def thrown(onset="integrated", **law):
    """A particle that bounces and slides twice."""
    s = _engine.Scene()
    s.add_particle("p", mass=0.2, position=[0, 0, 0.05], velocity=[1.0, 0.3, 0.2])
    s.add_points("p", bodies=["p"], local=np.zeros((1, 3)), radius=0.02)
    s.add_contact("g", points="p", sdf=_engine.Plane([0, 0, 1], 0), onset=onset,
                  **{"k_n": 800.0, "k_t": 2.0, "c_f": 0.3, "c_n": 0.1} | law)  # fmt: skip
    return s


@pytest.mark.parametrize("radius", [0.5, 1.0])
@pytest.mark.parametrize("onset", ["integrated", "sampled"])
def test_gradients_through_contact(onset, radius):
    s = thrown(onset)
    names = ["p.position.z", "p.velocity.z", "p.mass", "g.k_n", "g.c_n", "g.k_t", "g.c_f"]
    o = options(2e-3, radius, stagnate=True, record_modes=True)
    r = check_gradients(s, 250, o, names, 1e-5)
    touches = np.diff((r.modes[:, 0] & 3 > 0).astype(int))
    assert np.sum(touches > 0) >= 2


@pytest.mark.parametrize("radius", [0.8, 1.0])
def test_gradients_of_a_glued_solid_with_consistent_masses(radius):
    s = block_on_box(mass="consistent")
    names = ["body.density", "body.young", "body.poisson", "base.mass", "base.angular_velocity.x",
             "gravity.z"]  # fmt: skip
    check_gradients(s, 30, options(1 / 400, radius, stagnate=True), names, 1e-5)


@pytest.mark.parametrize("radius", [0.8, 1.0])
def test_halved_steps_and_threads(radius):
    """Restarts are differentiated; two threads and a batch give the same bits."""
    s = cube(k_n=3e5, c_n=0.2)
    names = ["cube.velocity.z", "cube.mass", "cube.angular_velocity.x", "table.k_n"]
    active = [s.index(n) for n in names]
    o = options(1 / 30, radius, max_iterations=4, max_halvings=8, tolerance=1e-12,
                record_modes=True)  # fmt: skip
    r = check_gradients(s, 10, o, names, 1e-5)
    assert r.halvings > 0
    two = _engine.rollout(s, s.values, 10, o, active=active, mode="sensitivity", threads=2)
    batch = _engine.rollout_batch(s, np.tile(s.values, (3, 1)), 10, o, active, "sensitivity")
    for other in (two, *batch):
        assert np.array_equal(other.dx, r.dx)
        assert np.array_equal(other.position, r.position)
    directions = np.random.default_rng(0).normal(size=(len(active), 2))
    along = _engine.rollout(s, s.values, 10, o, active, "sensitivity", directions=directions)
    assert along.dx == pytest.approx(r.dx @ directions, rel=1e-10, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"spectral_radius": 1.1}, r"must be in \[0, 1\]"),
        ({"spectral_radius": -0.1}, r"must be in \[0, 1\]"),
        ({"spectral_radius": float("nan")}, r"must be in \[0, 1\]"),
        ({"spectral_radius": 0.8, "order": 1}, "needs order 2"),
    ],
)
def test_bad_radii_are_refused(change, text):
    with pytest.raises(ValueError, match=text):
        _engine.Options(**change)


def test_hybrid_friction_is_refused():
    s = thrown(friction="hybrid", onset="sampled")
    with pytest.raises(ValueError, match="scenes without hybrid friction"):
        _engine.rollout(s, s.values, 1, options(1e-3, 0.8))
