"""Joints held by constraint rows: batteries, loops against a reference, gradients, refusals."""

import numpy as np
import pytest

from diffsim_ros import _engine, meshes
from tests.native.batteries import check_element, random_instants
from tests.native.gradients import check_gradients, check_outputs
from tests.native.links import KINDS, axes, net_wrench, two_links
from tests.native.loops import (
    GRAVITY,
    MASSES,
    ROD,
    four_bar,
    four_bar_reference,
    places,
    platform,
    platform_reference,
    platform_start,
    ring,
)
from tests.native.reduced import smooth_names, tree

BASES = ["world", "free body", "driven body"]
ROWS = {"ball": 3, "hinge": 5, "slider": 5, "weld": 6, "planar": 3, "universal": 4}


def options(order=2, step=0.01):
    return _engine.Options(step=step, order=order, stagnate=True, record_modes=True)


def hold(s, kind, a, b, name="joint", **more):
    values = {"position": [0.2, 0.1, 0.02], **axes(kind)}
    if kind != "weld":
        values["friction_damping"] = 0.3
    s.add_joint(name, kind=kind, body_a=a, body_b=b, constrained=True, **(values | more))


@pytest.mark.parametrize("kind", KINDS)
def test_battery(kind):
    """Two frames, frame and world in both orders, open and turned at random; forces balance."""
    rng = np.random.default_rng(1)
    for a, b in (("a", "b"), ("", "a"), ("b", "")):
        s = two_links()
        hold(s, kind, a, b)
        multipliers = rng.normal(size=ROWS[kind])
        for _ in range(2):
            instants = random_instants(rng, 3, 1)
            out = check_element(s, "joint", s.values, instants, rng, frames=[0, 1],
                                multipliers=multipliers)  # fmt: skip
            if a and b:
                force, torque = net_wrench(out["r"], instants[0][0])
                assert (
                    max(np.abs(force).max(), np.abs(torque).max()) <= 1e-12 * np.abs(out["r"]).max()
                )


def test_battery_with_a_particle():
    rng = np.random.default_rng(2)
    s = two_links()
    hold(s, "ball", "a", "c", position=[0.2, 0.1, 0.3], friction_damping=0.0)
    check_element(s, "joint", s.values, random_instants(rng, 3, 1), rng, frames=[0, 1],
                  multipliers=rng.normal(size=3))  # fmt: skip


def run(s, step, order, time=0.4, **more):
    at = _engine.Options(step=step, order=order, tolerance=1e-10)
    r = _engine.rollout(s, s.values, round(time / step), at, **more)
    assert r.ok, r.message
    return r


@pytest.mark.parametrize("order", [1, 2])
def test_four_bar_linkage_of_order_1_and_2_towards_its_own_equations(order):
    """Motion, its derivatives by gravity and a mass, and the force that closes the loop."""
    time, e = np.array([0.0, 0.4]), 1e-3
    q, v, lam = (x[-1] for x in four_bar_reference(time))
    by_gravity, by_mass = (
        (four_bar_reference(time, *up)[0][-1] - four_bar_reference(time, *down)[0][-1]) / (2 * e)
        for up, down in (
            ((None, GRAVITY + e), (None, GRAVITY - e)),
            ((MASSES | {"coupler": MASSES["coupler"] + e},),
             (MASSES | {"coupler": MASSES["coupler"] - e},)),
        )
    )  # fmt: skip
    errors = []
    for step in (4e-3, 2e-3, 1e-3):
        s = four_bar()
        # A rod's inertia goes with its mass.
        rod = s.values[s.index("coupler.inertia.zz")] / MASSES["coupler"]
        names = ["gravity.y", "coupler.mass", "coupler.inertia.zz"]
        r = run(s, step, order, mode="sensitivity", active=[s.index(n) for n in names],
                outputs=["B.force"])  # fmt: skip
        at, rate = places(s, r)
        dx = np.stack([r.dx[-1, 6 * i : 6 * i + 6][[0, 1, 5]] for i in range(3)])
        force = r.outputs["B.force"][-1, :2]
        errors.append([
            np.abs(at[-1] - q).max(), np.abs(rate[-1] - v).max(), np.abs(force - lam).max(),
            np.abs(-dx[..., 0] - by_gravity).max(),
            np.abs(dx[..., 1] + rod * dx[..., 2] - by_mass).max(),
        ])  # fmt: skip
        gap = s.joint_motion("B", s.values, r)["opening"]
        assert gap.max() < 1e-12
    orders = np.log2(np.divide(errors[:-1], errors[1:]))
    assert orders[-1] == pytest.approx(order, abs=0.2), (errors, orders)
    assert np.abs(by_gravity).max() > 1e-3 and np.abs(by_mass).max() > 1e-3


def test_a_platform_on_three_rods_is_a_spherical_pendulum():
    """Two spatial loops; motion and S of order 2, and the platform does not turn."""
    n, dn = platform_reference(0.5)
    e = 1e-3
    by_gravity = (
        platform_reference(0.5, GRAVITY + e)[0] - platform_reference(0.5, GRAVITY - e)[0]
    ) / (2 * e)
    errors = []
    for step in (2e-3, 1e-3):
        s = platform()
        assert s.ndof - s.body_ndof == 12 + 6
        r = run(s, step, 2, 0.5, mode="sensitivity", active=[s.index("gravity.z")])
        at = s.dof_offset("platform")
        moved = r.position[-1, -1] - r.position[0, -1]
        errors.append([
            np.abs(moved / ROD + platform_start()[0] - n).max(),
            np.abs(r.velocity[-1, -1] / ROD - dn).max(),
            np.abs(-r.dx[-1, at : at + 3, 0] / ROD - by_gravity).max(),
        ])  # fmt: skip
        assert np.abs(r.orientation[:, -1, :3]).max() < 1e-8
        for joint in ("end1", "end2"):
            assert s.joint_motion(joint, s.values, r)["opening"].max() < 1e-13
    assert np.log2(np.divide(*errors)) == pytest.approx(2, abs=0.1), errors


def test_the_four_bar_linkage_keeps_its_energy_and_its_closed_loop():
    s = four_bar()
    errors = []
    for step in (2e-3, 1e-3):
        r = run(s, step, 2, time=1.0)
        energy = s.energies(r)["total"]
        errors.append(np.abs(energy - energy[0]).max() / np.ptp(s.energies(r)["kinetic"]))
        assert s.joint_motion("B", s.values, r)["opening"].max() < 1e-13
    assert errors[1] < 1e-3 and errors[0] > 3 * errors[1]  # energy is kept to second order


@pytest.mark.parametrize("tree", [True, False])
def test_a_hinge_closes_a_planar_linkage_with_the_rows_that_are_left(tree):
    """Three of its five rows hold what the other hinges hold; with all hinges constrained too."""
    s = four_bar("hinge", tree=tree)
    r = run(s, 2e-3, 2)
    rows = s.ndof - s.body_ndof - (3 if tree else 0)
    assert rows == (2 if tree else 17)  # of 20, one degree of freedom of 18 is left
    for joint in "OABD":
        motion = s.joint_motion(joint, s.values, r)
        assert max(motion["opening"].max(), motion["tilt"].max()) < 1e-12
    other = run(four_bar("ball"), 2e-3, 2)
    # Free frames are another discretization than angles.
    assert np.abs(r.position - other.position).max() < (1e-11 if tree else 1e-4)


def test_springs_approach_the_constraint_as_their_stiffness_grows():
    exact = run(four_bar(), 1e-3, 2).position
    apart = []
    for stiffness in (1e5, 1e6, 1e7):
        soft = four_bar(how="maximal", stiffness=stiffness, damping=0.02 * stiffness**0.5)
        apart.append(np.abs(run(soft, 1e-3, 2).position - exact).max())
    assert apart[0] < 1e-3 and np.all(np.divide(apart[:-1], apart[1:]) > 5), apart


def some(s, seed, *also):
    names = smooth_names(s)
    chosen = np.random.default_rng(seed).choice(names, 5, replace=False).tolist()
    return list(dict.fromkeys([*chosen, *also]))


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_loops(kind, base):
    """A ring of four links on all that it has: its start, which is closed anew, and all places."""
    s = ring(kind, base, KINDS.index(kind))
    seed = 10 * KINDS.index(kind) + 3 * BASES.index(base)
    order = 1 + (KINDS.index(kind) + BASES.index(base)) % 2
    names = some(s, seed, "end.anchor_b.x", "two.position.y", "c.position.z", "d.mass")
    r = check_gradients(s, 8, options(order), names)
    motion = s.joint_motion("end", s.values, r)
    assert motion["opening"].max() < 1e-12 and motion["tilt"].max() < 1e-12


@pytest.mark.parametrize("order", [1, 2])
def test_gradients_of_frames_and_a_particle_held_together_without_a_tree(order):
    s = two_links()
    for name, a in {"one": "", "two": "b"}.items():
        s.add_joint(name, kind="universal", body_a=a, body_b="a", constrained=True,
                    position=[0.2, 0.1, 0], friction_damping=0.01, **axes("universal"))  # fmt: skip
    s.add_joint("tied", kind="ball", body_a="b", body_b="c", position=[0.2, 0.1, 0.3],
                constrained=True)  # fmt: skip
    names = ["one.position.x", "two.anchor_a.y", "two.axis_rotation.z", "a.rotation.y",
             "a.velocity.x", "c.position.z", "c.mass", "tied.anchor_a.x"]  # fmt: skip
    check_gradients(s, 10, options(order), names)


def driven_ring():
    s = ring("hinge", "free body", 4)
    s.add_motor("servo", joint="end", keys=[0.0, 0.4], interval=0.2, stiffness=3.0, damping=0.05)
    s.add_joint_limit("stop", joint="four", lower=0.0, upper=0.03, stiffness=500.0, damping=0.2)
    s.add_joint_friction("rub", joint="end", coulomb=0.02, slip_rate=0.5)
    return s


def test_outputs_of_loops_and_their_derivatives():
    """Force and torque of the joint that closes the loop, and of those in the tree."""
    s = driven_ring()
    names = ["d.mass", "end.position.x", "two.anchor_b.y", "servo.target[1]", "a.velocity.y",
             "end.axis_rotation.x"]  # fmt: skip
    r = check_outputs(s, 10, options(), names)
    assert {"end.force", "end.torque", "one.force", "servo.torque"} <= set(r.outputs)
    assert np.abs(r.outputs["end.force"][1:]).min(0).max() > 0.1


def test_what_a_loop_transmits_balances_a_link():
    """On the coupler: rate of momentum = weight + forces of both its hinges."""
    s = four_bar()
    r = run(s, 1e-3, 2, outputs=["A.force", "B.force"])
    a = np.gradient(r.velocity[:, 1], 1e-3, axis=0)[1:-1]
    weight = np.array([0, -GRAVITY * MASSES["coupler"], 0])
    total = (r.outputs["A.force"] + r.outputs["B.force"])[1:-1] + weight
    assert np.abs(total - MASSES["coupler"] * a)[5:].max() < 2e-2 * np.abs(total).max()


def test_gradients_of_a_loop_that_a_soft_solid_hangs_on():
    """More nodes than eliminations by blocks take: multipliers are pivots of the last fronts."""
    s = ring("ball", seed=2)
    vertices, tets = meshes.box((0.12, 0.09, 0.08), (3, 2, 2))
    high = np.argsort(vertices[:, 2])[-12:].tolist()
    s.add_solid("soft", vertices=vertices, tets=tets, density=500.0, young=2e4, poisson=0.3,
                viscosity=10.0, position=[0.2, 0.35, -0.05], glued=[("c", high)])  # fmt: skip
    names = ["soft.young", "end.anchor_a.x", "b.mass", "three.position.y"]
    check_gradients(s, 6, options(step=0.005), names)


def test_a_motion_goes_on_from_a_snapshot():
    s = driven_ring()
    names = ["d.position", "end.force"]
    more = {"options": options(), "outputs": names}
    whole = _engine.rollout(s, s.values, 20, **more)
    half = _engine.Segment(s, [s.snapshot()], s.values[None], 10, **more)
    rest = _engine.Segment(s, half.ends, s.values[None], 10, **more)
    y = np.concatenate([whole.outputs[n][-1] for n in names])
    assert rest.outputs[0] == pytest.approx(y, abs=1e-9)


def test_a_snapshot_keeps_the_coordinates_that_it_is_given():
    s = ring("ball", seed=1)
    at = s.snapshot(joints={"four": [0.05, 0.3]})
    names = ["four.coordinate", "four.rate", "end.force"]
    found = _engine.Segment(s, [at], s.values[None], 1, options=options(1, 1e-5), outputs=names)
    assert found.ok.all()
    assert found.outputs[0, :2] == pytest.approx([0.05, 0.3], abs=2e-3)


def test_a_start_is_closed_where_parameters_open_it():
    """The crank turned on: the others follow, with velocities that the loop allows."""
    s = four_bar()
    p = s.values
    p[s.index("crank.rotation.z")] += 0.3
    p[s.index("crank.angular_velocity.z")] += 1.0
    r = _engine.rollout(s, p, 1, options(1, 1e-4))
    motion = s.joint_motion("B", p, r)
    assert motion["opening"].max() < 1e-13
    moved = (r.position[1] - r.position[0]) / 1e-4
    assert np.abs(moved - r.velocity[0]).max() < 1e-2
    for body in ("crank", "coupler"):
        p[s.index(f"{body}.rotation.z")] += 1.2
    with pytest.raises(ValueError, match=r"'B'.*cannot be closed"):
        _engine.rollout(s, p, 1, options(1, 1e-4))


def test_what_constrained_joints_cannot_do_is_refused_by_name():
    s = four_bar()
    with pytest.raises(ValueError, match=r"'B'.*constraint rows"):
        _engine.rollout(s, s.values, 1, _engine.Options(stepper="velocity"))
    with pytest.raises(ValueError, match=r"'twin'.*hold what no other holds"):
        twice = four_bar()
        at = places(twice, run(four_bar(), 1e-3, 1))[0][0]
        at = [*(2 * at[0, :2]), 0]  # the crank is on the origin
        twice.add_joint("twin", kind="ball", body_a="crank", body_b="coupler", position=at,
                        constrained=True)  # fmt: skip
        assert twice.ndof


def test_a_singular_start_is_refused():
    """Crank and coupler in one line, rocker too: lengths that let all lie flat."""
    s = _engine.Scene()
    for name, x in {"a": 0.1, "b": 0.3, "c": 0.5}.items():
        s.add_rigid_body(name, mass=0.3, inertia=[1e-3] * 3 + [0] * 3, radius=0.1,
                         position=[x, 0, 0])  # fmt: skip
    for name, (a, b, x) in {"o": ("", "a", 0), "p": ("a", "b", 0.2), "q": ("b", "c", 0.4)}.items():
        s.add_joint(name, kind="hinge", body_a=a, body_b=b, position=[x, 0, 0], reduced=True)
    s.add_joint("r", kind="ball", body_b="c", position=[0.6, 0, 0], constrained=True)
    with pytest.raises(ValueError, match=r"'r'.*independent of each other at the start"):
        assert s.ndof


@pytest.mark.parametrize("base", ["tree", "loop"])
def test_a_sheet_that_is_compressed_may_hang_on_a_link(base):
    """Newton's search for positive matrices is Krylov's, which takes no joint coordinates."""
    s = ring("ball", seed=2) if base == "loop" else tree(seed=2)
    vertices, triangles = meshes.sheet(9, 0.16)
    edges = meshes.edges(triangles)
    lengths = np.linalg.norm(np.subtract(*vertices[edges.T]), axis=1)
    start = vertices * [0.9, 1, 1] + 3e-3 * np.random.default_rng(1).normal(size=vertices.shape)
    corner = np.argsort(vertices[:, 0] + vertices[:, 1])[:4].tolist()
    s.add_mass_points("net", vertices=start, position=[0.2, 0.35, -0.02], mass=0.05,
                      glued=[("c", corner)])  # fmt: skip
    s.add_springs("mesh", points_a="net", index_a=edges[:, 0], points_b="net",
                  index_b=edges[:, 1], stiffness=200.0, damping=0.01,
                  rest_length=lengths)  # fmt: skip
    r = _engine.rollout(s, s.values, 15, _engine.Options(step=2e-3, order=2))
    assert r.ok, r.message
