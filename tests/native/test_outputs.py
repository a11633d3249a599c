"""Outputs: closed forms, and their derivatives through S and the adjoint."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.meshes import box, quadratic
from tests.native.gradients import check_outputs
from tests.native.test_contact_moving import cube_on, pile
from tests.native.test_energy import linked
from tests.native.test_glued import block_on_box
from tests.native.test_motors import arm
from validation.closed_forms import first_piola

G = 9.81
ELEMENTS = ("p1", "p1_fbar", "p2", "p2_p0")


def names_of(s):
    return [o.name for o in s.outputs]


def outputs(s, steps, h, wanted=None, order=2):
    """Rollout with outputs, all of the scene's by default."""
    options = _engine.Options(step=h, order=order, tolerance=1e-12)
    r = _engine.rollout(s, s.values, steps, options, outputs=wanted or names_of(s))
    assert r.ok, r.message
    return r


def block(gravity, friction="linear"):
    """A cube of 2 kg on four feet on a table."""
    s = _engine.Scene()
    s.set_gravity(gravity)
    feet = 0.05 * np.array([[a, b, -1] for a in (-1, 1) for b in (-1, 1)], float)
    s.add_rigid_body("cube", mass=2.0, inertia=[0.003] * 3 + [0] * 3, radius=0.08,
                     position=[0.3, 0.1, 0.05])  # fmt: skip
    s.add_points("feet", bodies=["cube"] * 4, local=feet)
    s.add_contact("table", points="feet", sdf=_engine.Plane([0, 0, 1], 0), k_n=1e5, k_t=100.0,
                  c_f=0.5, c_n=1.0, friction=friction)  # fmt: skip
    return s


@pytest.mark.parametrize("friction", ["linear", "tanh", "hybrid"])
def test_a_table_carries_a_block_and_holds_it_by_friction(friction):
    r = outputs(block([2.0, 0, -G], friction), 400, 1 / 200)
    y = {name: value[-1] for name, value in r.outputs.items()}
    assert y["table.force"] == pytest.approx([-4.0, 0, 2 * G], rel=1e-6, abs=1e-6)
    assert y["table.normal_force"] == pytest.approx([0, 0, 2 * G], rel=1e-6, abs=1e-6)
    assert np.abs(y["table.torque"]).max() < 1e-6  # about the centre of mass, which does not turn
    assert r.outputs["table.force"] == pytest.approx(r.contact_force.sum(axis=1), abs=1e-9)


def test_both_bodies_of_a_pair_feel_it():
    s, mass = pile()
    r = outputs(s, 120, 1e-3, ["touch.force"], order=1)
    pushed = mass["small"] * (r.velocity[-1, 0] - r.velocity[0, 0])
    force = r.outputs["touch.force"]
    assert np.abs(force).max() > 1
    assert force[1:].sum(axis=0) * 1e-3 == pytest.approx(pushed, rel=1e-9, abs=1e-11)


def test_a_pendulum_pulls_at_its_hinge_by_m_g_cos_plus_m_l_omega_squared():
    m, length, s = 0.5, 0.4, _engine.Scene()
    s.set_gravity([0, 0, -G])
    s.add_rigid_body(
        "bob", mass=m, inertia=[1e-3] * 3 + [0] * 3, radius=0.1, position=[length, 0, 0]
    )
    s.add_joint("pin", kind="hinge", body_b="bob", position=[0, 0, 0], axis=[0, 1, 0])
    r = outputs(s, 400, 1e-3, ["pin.force", "pin.torque"])
    inward = -r.position[:, 0] / length
    omega = r.angular_velocity[:, 0, 1]
    expected = m * (G * inward[:, 2] + length * omega**2)
    found = np.einsum("fi,fi->f", r.outputs["pin.force"], inward)
    assert np.abs(found - expected)[20:].max() < 2e-3 * expected.max()
    assert expected.max() > 2 * m * G
    assert np.abs(r.outputs["pin.torque"]).max() < 1e-6  # all forces pass through the pin


def test_a_motor_that_holds_an_arm_bears_m_g_l():
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    s.add_rigid_body("arm", mass=1.5, inertia=[0.02] * 3 + [0] * 3, radius=0.2,
                     position=[0.3, 0, 0])  # fmt: skip
    s.add_joint("hinge", kind="hinge", body_b="arm", position=[0, 0, 0], axis=[0, 1, 0])
    s.add_motor("motor", joint="hinge", keys=0.0, stiffness=500.0, damping=30.0)
    r = outputs(s, 300, 1e-2, ["motor.torque", "hinge.force", "hinge.energy"])
    assert r.outputs["motor.torque"][-1] == pytest.approx(-1.5 * G * r.position[-1, 0, 0], rel=1e-7)
    assert r.outputs["motor.torque"][-1] == pytest.approx(-1.5 * G * 0.3, rel=1e-3)
    assert r.outputs["hinge.force"][-1] == pytest.approx([0, 0, 1.5 * G], abs=1e-5)


@pytest.mark.parametrize("element", ELEMENTS)
def test_the_stress_of_a_bar_is_its_load_over_its_area(element):
    vertices, tets = box((0.1, 0.1, 0.3), (1, 1, 3))
    if element.startswith("p2"):
        vertices, tets = quadratic(vertices, tets)
    s, load = _engine.Scene(), 3.0
    s.set_gravity([0, 0, -G])
    low, top = (np.flatnonzero(np.abs(vertices[:, 2] - z) < 1e-9) for z in (-0.15, 0.15))
    s.add_rigid_body("weight", mass=load, inertia=[0.01] * 3 + [0] * 3, radius=0.1,
                     position=[0, 0, -0.15])  # fmt: skip
    s.add_solid("bar", vertices=vertices, tets=tets, density=1e-3, young=2e4, poisson=0.0,
                viscosity=3e3, element=element,
                glued=[("", top.tolist()), ("weight", low.tolist())])  # fmt: skip
    r = outputs(s, 80, 0.1, order=1)
    y = {name: value[-1] for name, value in r.outputs.items()}
    pull = load * G / 0.01
    assert y["bar.stress"] == pytest.approx(np.tile([0, 0, pull, 0, 0, 0], (len(tets), 1)),
                                            rel=1e-5, abs=1e-5 * pull)  # fmt: skip
    assert y["bar.von_mises"] == pytest.approx(np.full(len(tets), pull), rel=1e-5)
    assert y["bar.von_mises_max"] == y["bar.von_mises"].max()
    stretch = (0.15 - r.position[-1, s.nodes_of("weight")[0], 2]) / 0.3
    assert stretch > 1.1
    assert y["bar.strain"][:, 2] == pytest.approx((stretch**2 - 1) / 2, rel=1e-6)
    assert pull == pytest.approx(1e4 * (stretch**2 - 1) / stretch, rel=1e-5)  # mu = E/2


@pytest.mark.parametrize("viscosity", ["invariant", "linear"])
@pytest.mark.parametrize("model", ["neo_hookean", "neo_hookean_safe"])
def test_stress_of_a_tumbling_block_is_that_of_its_positions_and_velocities(model, viscosity):
    """The witness is P F^T / J of linear tetrahedra, with F and F' from the recorded nodes."""
    vertices, tets = box((0.2, 0.1, 0.2), (2, 1, 2))
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_solid("block", vertices=vertices, tets=tets, density=900.0, young=5e3, poisson=0.3,
                viscosity=40.0, model=model, viscosity_model=viscosity,
                angular_velocity=[8, -12, 5])  # fmt: skip
    r = outputs(s, 8, 0.01)
    for e, tet in enumerate(tets):
        D = np.linalg.inv((vertices[tet[1:]] - vertices[tet[0]]).T)
        F, rate = ((x[tet[1:]] - x[tet[0]]).T @ D for x in (r.position[-1], r.velocity[-1]))
        assert np.abs(F.T @ F - np.eye(3)).max() > 0.05
        P = first_piola(F, 5e3, 0.3, model)
        strain_rate = rate + rate.T if viscosity == "linear" else F @ (F.T @ rate + rate.T @ F)
        stress = (P + 40.0 * strain_rate) @ F.T / np.linalg.det(F)
        stress = (stress + stress.T) / 2
        strain = (F.T @ F - np.eye(3)) / 2
        at = ([0, 1, 2, 0, 0, 1], [0, 1, 2, 1, 2, 2])
        scale = np.abs(stress).max()
        assert r.outputs["block.stress"][-1, e] == pytest.approx(stress[at], abs=1e-9 * scale)
        assert r.outputs["block.strain"][-1, e] == pytest.approx(strain[at], abs=1e-9)
        deviator = stress - np.trace(stress) / 3 * np.eye(3)
        mises = np.sqrt(1.5 * np.sum(deviator**2))
        assert r.outputs["block.von_mises"][-1, e] == pytest.approx(mises, rel=1e-9)


def test_von_mises_stress_of_rounding_has_no_derivative():
    """A block as it was cut, on a plate: its stress is that of rounded positions. A velocity would
    stress it either way, and the derivative of that length is the kink's, 0."""
    vertices, tets = box((0.2, 0.1, 0.2), (2, 1, 2))
    s = _engine.Scene()
    s.add_rigid_body("plate", mass=1.0, inertia=[0.01] * 3 + [0] * 3, radius=0.1,
                     position=[0.1, -7.3, 0.4], orientation=[0.5, 0.5, 0.5, 0.5])  # fmt: skip
    low = np.flatnonzero(vertices[:, 2] < -0.09).tolist()
    turned = vertices @ _engine.exp_rotation([0.3, 0.5, 1]).T + [0.3, -7.1, 0.7]
    s.add_solid("block", vertices=turned, tets=tets, density=900.0, young=5e3, poisson=0.3,
                viscosity=40.0, glued=[("plate", low)])  # fmt: skip
    names = ["block.von_mises", "block.von_mises_max", "block.stress"]
    r = _engine.rollout(s, s.values, 1, _engine.Options(step=0.01), mode="sensitivity",
                        active=[s.index("block.velocity.z")], outputs=names)  # fmt: skip
    assert 0 < r.outputs["block.von_mises_max"].min() < 1e-7
    assert np.abs(r.outputs_dp["block.stress"]).max() > 100  # Pa per m/s
    for name in names[:2]:
        assert np.all(r.outputs_dp[name] == 0)


def test_energies_of_free_fall_and_of_everything():
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    s.add_particle("stone", mass=0.2, position=[0, 0, 5.0])
    r = outputs(s, 100, 0.01)
    kinetic, gravity = r.outputs["energy"][:, :2].T
    assert kinetic == pytest.approx(0.1 * r.velocity[:, 0, 2] ** 2)
    assert gravity == pytest.approx(0.2 * G * r.position[:, 0, 2])
    assert np.ptp(kinetic + gravity) < 2e-2 * kinetic[-1]  # the scheme's error
    for s in (linked(), block([0, 0, -G]), block_on_box("p1_fbar")):
        r = outputs(s, 5, 2e-3)
        kept = s.energies(r)
        for k, kind in enumerate(("kinetic", "gravity", "springs", "elastic", "contact")):
            assert r.outputs["energy"][:, k] == pytest.approx(kept[kind], rel=1e-12, abs=1e-12)
        single = sum(y for name, y in r.outputs.items() if name.endswith(".energy"))
        whole = kept["springs"] + kept["elastic"] + kept["contact"]
        assert single == pytest.approx(whole, rel=1e-12, abs=1e-12)


def test_tension_of_a_hanging_spring_and_cable():
    s = _engine.Scene()
    s.set_gravity([0, 0, -G])
    for name, x in (("a", 0.0), ("b", 1.0)):
        s.add_particle(name, mass=0.5, position=[x, 0, -1.0])
    s.add_points("ends", bodies=["a", "b", "", ""],
                 local=[[0, 0, 0], [0, 0, 0], [0, 0, 0], [1, 0, 0]])  # fmt: skip
    s.add_springs("spring", points_a="ends", index_a=[0], points_b="ends", index_b=[2],
                  stiffness=200.0, damping=20.0, rest_length=0.9)  # fmt: skip
    s.add_cable("cable", points="ends", index=[1, 3], stiffness=300.0, damping=0.5,
                rest_length=0.95)  # fmt: skip
    r = outputs(s, 300, 0.02, order=1)
    assert r.outputs["spring.tension"].shape == (301, 1)
    assert r.outputs["spring.tension"][-1, 0] == pytest.approx(0.5 * G, rel=1e-6)
    assert r.outputs["cable.tension"][-1] == pytest.approx(0.5 * G, rel=1e-6)


EXACT = {"stagnate": True, "record_modes": True}


@pytest.mark.parametrize(("carrier", "order"), [("rigid", 2), ("handle", 1)])
def test_derivatives_of_contact_outputs(carrier, order):
    s = cube_on(carrier, "linear")
    names = ["cube.velocity.x", "cube.mass", "cube_slab.k_n", "cube_slab.k_t", "cube_slab.c_n",
             "cube_slab.c_f", "corners.scale", "corners.radius", "ball.velocity.y",
             "cube_slab.surface_offset", "cube_slab.surface_scale",
             "gravity.z"]  # fmt: skip
    r = check_outputs(s, 130, _engine.Options(step=1 / 400, order=order, **EXACT), names)
    assert np.abs(r.outputs["cube_slab.torque"]).max() > 0.01


def test_derivatives_of_outputs_of_a_pair():
    names = ["touch.k_n", "touch.k_t", "touch.c_n", "touch.c_f", "small.velocity.z",
             "corners_small.scale", "corners_large.radius", "large.mass"]  # fmt: skip
    check_outputs(pile()[0], 150, _engine.Options(step=1 / 500, **EXACT), names)


@pytest.mark.parametrize("kind", ["position", "torque"])
def test_derivatives_of_motor_limit_and_joint_outputs(kind):
    s = arm(kind)
    names = [f"m.{'target' if kind == 'position' else 'torque'}[1]", "push.force[0]",
             "stop.stiffness", "stop.damping", "stop.upper",
             "rail.friction_damping", "lower.mass", "cart.velocity.x"]  # fmt: skip
    if kind == "position":
        names += ["m.stiffness", "m.damping"]
    assert {"m.torque", "push.force", "stop.torque", "elbow.force"} <= set(names_of(s))
    # what stiff joints store is a difference of places that only rounding sees
    wanted = [name for name in names_of(s) if not name.endswith(".energy")]
    check_outputs(s, 110, _engine.Options(step=1 / 240, **EXACT), names, wanted)


def test_derivatives_of_tensions_joints_and_energies():
    s = linked()
    s.add_joint_friction("rub", joint="slider", coulomb=0.3, slip_rate=0.1)
    s.add_armature("rotor", joint="hinge", inertia=1e-3)
    s.add_torsion("twist", body_a="a", body_b="b", stiffness=0.2, damping=0.01)
    names = ["link.stiffness", "link.damping", "link.rest_length", "strings.stiffness",
             "strings.rest_length", "none.stiffness", "cable.stiffness", "cable.rest_length",
             "weld.stiffness", "weld.rotational_stiffness", "universal.rotational_stiffness",
             "rub.coulomb", "rotor.inertia", "weld.anchor_a.x",
             "universal.axis_rotation.y", "slider.axis_rotation.x", "hinge.anchor_b.z",
             "twist.stiffness", "load.mass", "load.moment.x",
             "load.inertia.xy", "a.mass", "a.inertia.xy", "b.velocity.x", "gravity.y"]  # fmt: skip
    check_outputs(s, 12, _engine.Options(step=2e-3, **EXACT), names)


@pytest.mark.parametrize(("model", "viscosity"), [("neo_hookean", "linear"),
                                                  ("neo_hookean_safe", "invariant")])  # fmt: skip
@pytest.mark.parametrize("element", ELEMENTS)
def test_derivatives_of_stress_strain_and_elastic_energy(element, model, viscosity):
    fields = [] if element == "p1_fbar" else ["young"]
    s = block_on_box(element, model, viscosity_model=viscosity, fields=fields)
    young = "body.young[1]" if fields else "body.young"
    names = [young, "body.poisson", "body.viscosity", "body.density", "base.mass",
             "base.angular_velocity.y", "gravity.z"]  # fmt: skip
    check_outputs(s, 4, _engine.Options(step=0.01, **EXACT), names)


def test_directions_and_batches_give_the_same():
    s, names = cube_on("rigid", "tanh"), ["cube.velocity.x", "cube_slab.c_f", "gravity.z"]
    active, wanted = [s.index(n) for n in names], ["cube_slab.force", "energy"]
    D = np.random.default_rng(3).normal(size=(3, 2))
    options = _engine.Options(step=1 / 400)
    more = {"active": active, "mode": "sensitivity", "outputs": wanted}
    full = _engine.rollout(s, s.values, 100, options, **more)
    along = _engine.rollout(s, s.values, 100, options, directions=D, **more)
    batch = _engine.rollout_batch(s, s.values[None], 100, options, threads=2, **more)[0]
    for name in wanted:
        scale = np.abs(full.outputs_dp[name]).max()
        assert along.outputs_dp[name] == pytest.approx(full.outputs_dp[name] @ D, abs=1e-8 * scale)
        assert np.array_equal(batch.outputs_dp[name], full.outputs_dp[name])
        assert np.array_equal(batch.outputs[name], full.outputs[name])


def test_what_cannot_be_asked_for_is_refused():
    s = block([0, 0, -G])
    with pytest.raises(
        ValueError, match=r"must be some of \[energy, table.energy, table.force.*'table.forse'"
    ):
        _engine.rollout(s, s.values, 1, outputs=["table.forse"])
    with pytest.raises(ValueError, match="once each, got 'energy' twice"):
        _engine.rollout(s, s.values, 1, outputs=["energy", "energy"])
    r = _engine.rollout(s, s.values, 1, mode="store", active=[0], outputs=["energy"])
    with pytest.raises(ValueError, match="needs mode 'sensitivity'"):
        _ = r.outputs_dp
    none = np.zeros((2, s.ndof))
    with pytest.raises(ValueError, match=r"'table.force': must be one that the rollout was asked"):
        r.gradient(none, none, outputs={"table.force": np.zeros((2, 3))})
    with pytest.raises(ValueError, match="must have that output's shape"):
        r.gradient(none, none, outputs={"energy": np.zeros((2, 3))})
