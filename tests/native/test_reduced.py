"""Joints in reduced coordinates: derivatives of every kind, of trees, of all that acts on them."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine, meshes
from tests.native.gradients import check_gradients, check_outputs
from tests.native.links import AXES, DRIVEN, INERTIA, KINDS
from tests.native.reduced import FAR, add_base, add_link, join, smooth_names, tree

BASES = ["world", "free body", "driven body"]


def some(names, seed, count=8, *also):
    """A sample of parameters, dealt out over the tests (all of them pass), and `also`."""
    chosen = np.random.default_rng(100 + seed).choice(names, count, replace=False).tolist()
    return list(dict.fromkeys([*chosen, *also]))


def options(order=2, step=0.01):
    return _engine.Options(step=step, order=order, stagnate=True, record_modes=True)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_every_kind_on_everything(kind, base, order):
    """Two links in a row by all they have: place, start, inertia, gravity, keys, friction."""
    rng = np.random.default_rng(KINDS.index(kind))
    s = _engine.Scene()
    add_link(s, "b", [0.3, 0.2, 0], rng)  # carried, and added before what carries it
    ground = add_base(s, base, rng, [0, 0, 0.1])
    add_link(s, "c", [0.5, 0.1, 0.1], rng, 0.3)
    join(s, "k", kind, "b", "c", [0.4, 0.2, 0.05])  # before the joint that moves its carrier
    join(
        s, "j", kind, ground, "b", [0.2, 0.1, 0], **({"coordinate": 0.1} if kind in DRIVEN else {})
    )
    names = smooth_names(s)
    assert {"j.anchor_a.x", "k.position.y", "b.inertia.xy", "c.velocity.z"} <= set(names)
    seed = 10 * KINDS.index(kind) + 5 * BASES.index(base) + order
    check_gradients(s, 12, options(order), some(names, seed, 6, "k.anchor_b.x"))


@pytest.mark.parametrize("turns", [(3.1, 0.2), (-2.9, 1.5707), (1.0, 3.0)])
def test_gradients_where_angles_are_wide(turns):
    """A hinge near a half turn and a universal near its right angles, given by start parameters."""
    rng = np.random.default_rng(11)
    s = _engine.Scene()
    add_link(s, "b", [0.1, 0, 0], rng)
    add_link(s, "c", [0.3, 0, 0], rng)
    join(s, "j", "hinge", "", "b", [0, 0, 0], coordinate=turns[0])
    join(s, "k", "universal", "b", "c", [0.2, 0, 0])
    z, x = (np.array(AXES[k]) / np.linalg.norm(AXES[k]) for k in ("axis", "second_axis"))
    turned = Rotation.from_rotvec(turns[0] * z) * Rotation.from_rotvec(turns[1] * x)
    for axis, value in zip("xyz", turned.as_rotvec(), strict=True):
        s.set_value(f"c.rotation.{axis}", value)
    names = ["c.rotation.x", "c.rotation.z", "b.rotation.y", "c.angular_velocity.x",
             "k.axis_rotation.x", "k.anchor_b.y", "j.axis_rotation.z", "b.mass"]  # fmt: skip
    check_gradients(s, 12, options(), names)


@pytest.mark.parametrize("base", BASES)
def test_gradients_of_a_branched_tree_with_drives_limits_friction_armature(base):
    s = tree(base)
    forces = ["servo.stiffness", "servo.target[1]", "push.force[0]", "stop.lower", "stop.damping",
              "bar.upper", "rub.coulomb", "scrape.slip_rate", "rotor.inertia",
              "drum.inertia"]  # fmt: skip
    names = some(smooth_names(s), BASES.index(base), 6, *forces)
    r = check_gradients(s, 20, options(), names, 3e-6)
    assert r.modes.shape[1] == 2  # of stop, bar
    assert np.all(np.any(r.modes[:, 1:] & 3, axis=0)), "limits are not reached"


def test_gradients_of_a_tree_far_from_the_origin():
    """Twists are about a point of the tree: 37 m away costs no digits but those of the numbers."""
    s = tree("free body", FAR)
    names = some(smooth_names(s), 7, 8, "hinge.anchor_a.x", "universal.axis_rotation.y")
    check_gradients(s, 12, options(), names, 1e-5)


def test_two_threads_directions_and_keys_that_begin_later():
    s = tree("driven body")
    names = [n for n in smooth_names(s) if "[" in n] + ["ball.anchor_b.x", "slider.position.z"]
    active = [s.index(n) for n in names]
    runs = [
        _engine.rollout(s, s.values, 30, options(), active, "sensitivity", threads=n)
        for n in (1, 2)
    ]
    assert np.array_equal(runs[0].dx, runs[1].dx)
    D = np.random.default_rng(1).normal(size=(len(active), 3))
    along = _engine.rollout(s, s.values, 30, options(), active, "sensitivity", directions=D)
    for found, all_of in ((along.dx, runs[0].dx), (along.dv, runs[0].dv)):
        assert found == pytest.approx(all_of @ D, rel=1e-10, abs=1e-10 * np.abs(all_of).max())
    g = np.random.default_rng(2).normal(size=runs[0].dx.shape[:2])
    backward = [
        _engine.rollout(s, s.values, 30, options(), active, "checkpoint", threads=n).gradient(g, g)
        for n in (1, 2)
    ]
    assert np.array_equal(*backward)
    exact = np.einsum("fd,fda->a", g, runs[0].dx) + np.einsum("fd,fda->a", g, runs[0].dv)
    assert backward[0] == pytest.approx(exact, rel=1e-9, abs=1e-9 * np.abs(exact).max())


def strung(seed=3):
    """Springs within a tree, between two, to a free body, to the world; a cable over links."""
    s = tree("free body", seed=seed, forces=False)
    rng = np.random.default_rng(seed)
    add_link(s, "x", [0.1, 0.5, 0.2], rng)
    join(s, "other", "ball", "", "x", [0, 0.5, 0.2])
    add_link(s, "free", [0.4, -0.3, 0.1], rng)
    s.add_points("ends", bodies=["e", "f", "x", "free", "a", ""],
                 local=[*0.03 * rng.normal(size=(5, 3)), [0, 0, 0.6]])  # fmt: skip
    pairs = {"within": (0, 1), "between": (1, 2), "to_free": (4, 3), "to_world": (0, 5)}
    for name, (i, k) in pairs.items():
        s.add_springs(name, points_a="ends", index_a=[i], points_b="ends", index_b=[k],
                      stiffness=20.0, damping=0.3, rest_length=0.1)  # fmt: skip
    s.add_cable("cable", points=["ends"] * 5, index=[5, 4, 0, 1, 2], stiffness=40.0, damping=0.3,
                rest_length=0.9)  # fmt: skip
    return s


def test_gradients_through_springs_and_a_cable_over_links():
    s = strung()
    names = some(smooth_names(s), 8, 6, "within.stiffness", "between.damping", "cable.rest_length",
                 "to_free.stiffness", "other.anchor_b.z")  # fmt: skip
    check_gradients(s, 15, options(), names)


def glued(kind="hinge"):
    """A soft block held by the last of two links."""
    rng = np.random.default_rng(5)
    s = _engine.Scene()
    add_link(s, "a", [0.1, 0, 0], rng)
    add_link(s, "b", [0.3, 0, 0], rng)
    join(s, "top", kind, "", "a", [0, 0, 0])
    join(s, "elbow", "hinge", "a", "b", [0.2, 0, 0])
    vertices, tets = meshes.box((0.08, 0.06, 0.05), (1, 1, 1))
    high = np.argsort(vertices[:, 2])[-4:].tolist()
    s.add_solid("soft", vertices=vertices, tets=tets, density=800.0, young=2e4, poisson=0.3,
                viscosity=10.0, position=[0.3, 0, -0.05], glued=[("b", high)])  # fmt: skip
    return s


def test_gradients_through_a_soft_solid_glued_to_a_link():
    s = glued()
    names = some(smooth_names(s), 9, 6, "soft.young", "soft.density", "elbow.anchor_a.y")
    check_gradients(s, 12, options(step=0.005), names)


def touching(friction, carrier):
    """Spheres of a link on two joints on a plane, or on a shape that a link carries."""
    rng = np.random.default_rng(6)
    s = _engine.Scene()
    s.set_gravity([0.5, 0, -9.81])
    s.add_rigid_body("a", mass=0.5, inertia=INERTIA, radius=0.1, position=[0, 0, 0.3],
                     angular_velocity=0.3 * rng.normal(size=3))  # fmt: skip
    s.add_rigid_body("b", mass=0.4, inertia=[4e-4, 5e-4, 6e-4, 0, 0, 1e-4], radius=0.06,
                     position=[0.1, 0, 0.029], velocity=[0.2, 0, -0.3])  # fmt: skip
    join(s, "top", "universal", "", "a", [0, 0, 0.45])
    join(s, "elbow", "planar", "a", "b", [0.05, 0, 0.15])
    corners = 0.03 * np.array([[x, y, -1] for x in (-1, 1) for y in (-1, 1)], float)
    s.add_points("feet", bodies=["b"] * 4, local=corners, radius=0.002)
    law = {"k_n": 2e3, "k_t": 20.0, "c_f": 0.4, "c_n": 0.3, "friction": friction}
    if carrier == "link":
        s.add_rigid_body("t", mass=1.0, inertia=[0.01, 0.012, 0.011, 0, 0.001, 0], radius=0.1,
                         position=[0.12, 0, -0.06])  # fmt: skip
        join(s, "table", "universal", "", "t", [0.12, 0, -0.2], friction_damping=0.2)
        box = _engine.Transformed(_engine.Box([0.2, 0.2, 0.05]), [0, 0, 0.01], [0, 0, 0, 1])
        s.add_contact("touch", points="feet", carrier="t", sdf=box, **law)
    elif carrier == "own link":
        below = _engine.Transformed(_engine.Plane([0, 0, 1], 0), [0, 0, -0.3], [0, 0, 0, 1])
        s.add_contact("touch", points="feet", carrier="a", sdf=below, **law)
    else:
        s.add_contact("touch", points="feet", sdf=_engine.Plane([0, 0, 1], 0), **law)
    return s


@pytest.mark.parametrize("carrier", ["", "link", "own link"])
@pytest.mark.parametrize("friction", ["linear", "tanh", "hybrid"])
def test_gradients_of_contact_on_links(friction, carrier):
    s = touching(friction, carrier)
    known = smooth_names(s, ["c_roll", "c_spin", "k_roll"])
    names = some(known, len(carrier), 5, "touch.k_n", "touch.c_f", "touch.k_t", "elbow.anchor_a.x")
    r = check_gradients(s, 12, options(step=0.003), names, 3e-6)
    assert np.any(r.modes & 3), "nothing touched"


def test_outputs_of_trees_and_their_derivatives():
    s = strung()
    names = ["a.mass", "f.inertia.xy", "ball.anchor_b.x", "hinge.axis_rotation.y", "e.velocity.x",
             "within.stiffness", "base.rotation.z"]  # fmt: skip
    check_outputs(s, 12, options(), names)
    s = tree("driven body")
    assert {"servo.torque", "stop.force", "rub.torque", "energy"} <= {o.name for o in s.outputs}
    names = ["a.mass", "planar.position.x", "servo.target[1]", "stop.stiffness", "rotor.inertia"]
    check_outputs(s, 12, options(), names)
