"""Pendulum, double pendulum, motor-driven four-bar loop against DOP853; what free links keep."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from tests.native import planar
from validation import linkages

TIMES = np.linspace(0, 1, 11)
ROD = linkages.Link(0.5, 0.4)
LOOP = linkages.FourBar(linkages.Link(0.3, 0.15), linkages.Link(0.9, 0.45),
                        linkages.Link(0.7, 0.35), 0.5)  # fmt: skip
KEYS, INTERVAL = [0.0, 1.5, 4.0, 5.0, 5.0], 0.25
SERVO = {"stiffness": 8.0, "damping": 0.1}


def mechanism(name: str, **joint):
    """(engine scene, reference motion at TIMES)."""
    if name == "pendulum":
        start = [-0.3]
        return planar.chain([ROD], start, **joint), linkages.chain([ROD], start, [0.0], TIMES)
    if name == "double pendulum":
        links, start = [ROD, linkages.Link(0.7, 0.4)], [-0.3, -0.3]
        return planar.chain(links, start, **joint), linkages.chain(links, start, [0, 0], TIMES)
    s = planar.four_bar(LOOP, 1.0, **joint)
    s.add_motor("servo", joint="hinge0", keys=KEYS, interval=INTERVAL, **SERVO)
    motor = linkages.Motor(
        lambda t: 1.0 + np.interp(t, INTERVAL * np.arange(5), KEYS),
        lambda t: np.append(np.diff(KEYS), 0)[int(t / INTERVAL)] / INTERVAL, *SERVO.values(),
    )  # fmt: skip
    return s, linkages.four_bar(LOOP, motor, 1.0, 0.0, TIMES)


def angle_error(s, reference, steps, order):
    r = _engine.rollout(s, s.values, steps, _engine.Options(step=1 / steps, order=order))
    assert r.ok, r.message
    return np.abs(planar.angles(r)[:: steps // 10] - reference.angles).max(), r


MECHANISMS = ["pendulum", "double pendulum", "four-bar"]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("name", MECHANISMS)
def test_linkages_converge_to_the_ideal_motion_with_the_order_of_the_scheme(name, order):
    """Joints of 1e8 N/m; the motor's target has kinks, which must not cost the order."""
    s, reference = mechanism(name, stiffness=1e8)
    errors = [angle_error(s, reference, steps, order)[0] for steps in (200, 400, 800)]
    slopes = np.log2(np.array(errors[:-1]) / errors[1:])
    assert np.all(np.abs(slopes - order) < 0.12), (errors, slopes)
    assert errors[-1] < {1: 0.06, 2: 6e-4}[order]


@pytest.mark.parametrize("name", MECHANISMS)
def test_linkages_with_default_joints_stay_near_the_ideal_motion(name):
    """What the default stiffness gives away: below 1e-3 rad within a second, openings < 1e-4 m."""
    s, reference = mechanism(name)
    error, r = angle_error(s, reference, 800, 2)
    assert error < 1e-3
    joints = 4 if name == "four-bar" else len(s.body_names)
    for k in range(joints):
        motion = s.joint_motion(f"hinge{k}", s.values, r)
        assert motion["opening"].max() < 1e-4
        assert motion["tilt"].max() < 1e-9  # the motion is planar


def test_the_energy_of_an_undamped_pendulum_is_kept_with_the_scheme():
    """Undamped hinge: BDF2 only takes energy, and what it takes falls with its order."""
    s = planar.chain([ROD], [-0.3], damping=0.0, rotational_damping=0.0)
    losses = []
    for steps in (500, 1000, 2000):
        r = _engine.rollout(s, s.values, steps, _engine.Options(step=1 / steps))
        v, w = r.velocity[:, 0], r.angular_velocity[:, 0, 1]
        energy = ROD.mass * (np.sum(v * v, axis=1) / 2 + 9.81 * r.position[:, 0, 2])
        energy += ROD.I * w**2 / 2 + s.joint_motion("hinge0", s.values, r)["energy"]
        swing = np.ptp(v[:, 2] ** 2) * ROD.mass / 2
        assert np.diff(energy).max() < 1e-4 * swing
        losses.append((energy[0] - energy[-1]) / swing)
    assert 0 < losses[0] < 2e-3
    assert np.all(np.array(losses[:-1]) / losses[1:] > 3.5), losses


@pytest.mark.parametrize("kind", ["ball", "hinge", "universal"])
@pytest.mark.parametrize("order", [1, 2])
def test_momentum_of_free_linked_bodies(kind, order):
    """Linear momentum to solver tolerance; the drift of angular momentum with the order."""
    masses, moments = (0.7, 0.4), ([0.004, 0.005, 0.006], [0.002, 0.003, 0.0025])
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    free = {"ball": [0.9, -2.0, 1.3], "hinge": [0, 0, 3.0], "universal": [0.8, 0, 2.3]}[kind]
    spins = [1.0, 2.0, -1.5], np.add([1.0, 2.0, -1.5], free)  # what the joint leaves free
    for name, mass, moment, x, spin in zip("ab", masses, moments, (-0.1, 0.12), spins, strict=True):
        s.add_rigid_body(name, mass=mass, inertia=[*moment, 0, 0, 0], radius=0.1,
                         position=[x, 0, 0], velocity=np.cross(spin, [x, 0, 0]),
                         angular_velocity=spin)  # fmt: skip
    more = {"second_axis": [1, 0, 0]} if kind == "universal" else {}
    s.add_joint("joint", kind=kind, body_a="a", body_b="b", position=[0, 0, 0], axis=[0, 0, 1],
                friction_damping=1e-3, **more)  # fmt: skip
    drifts = []
    for h in (2e-3, 1e-3, 5e-4):
        options = _engine.Options(step=h, order=order, tolerance=1e-9)
        r = _engine.rollout(s, s.values, round(0.5 / h), options)
        assert r.ok
        P, L = np.zeros((len(r.time), 3)), np.zeros((len(r.time), 3))
        for i, (mass, moment) in enumerate(zip(masses, moments, strict=True)):
            R = Rotation.from_quat(r.orientation[:, i])
            P += mass * r.velocity[:, i]
            L += mass * np.cross(r.position[:, i], r.velocity[:, i])
            L += R.apply(R.inv().apply(r.angular_velocity[:, i]) * moment)
        exchanged = masses[0] * np.ptp(r.velocity[:, 0], axis=0).max()
        assert exchanged > 0.05
        assert np.abs(P - P[0]).max() < 1e-8 * exchanged
        drifts.append(np.abs(L - L[0]).max() / np.linalg.norm(L[0]))
    slopes = np.log2(np.array(drifts[:-1]) / drifts[1:])
    assert np.all(slopes > order - 0.15), (drifts, slopes)


@pytest.mark.parametrize("place", [0.0, 10.0])
@pytest.mark.parametrize("spin", [0.0, 1e-3, 1.0])
def test_weightless_links_converge(place, spin):
    """Without loads a stiff joint's force is the rounding of positions: Newton must end there."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    for name, x in (("a", -0.1), ("b", 0.1)):
        s.add_rigid_body(name, mass=0.5, inertia=[0.004, 0.005, 0.006, 0, 0, 0], radius=0.1,
                         position=[place + x, 0.3 * place, 0], angular_velocity=[0, 0, spin],
                         velocity=[0.01, x * spin, 0])  # fmt: skip
    s.add_joint("joint", kind="hinge", body_a="a", body_b="b", position=[place, 0.3 * place, 0],
                axis=[0.2, 0.3, 0.7])  # fmt: skip
    for h in (1e-2, 1e-3, 1e-4):
        options = _engine.Options(step=h, tolerance=1e-11)
        r = _engine.rollout(s, s.values, 50, options)
        assert r.ok, r.message
        assert r.halvings == 0
        assert max(r.iterations) <= 20  # one residual in rounding noise more or less
