"""Joints in reduced coordinates: exact, convergent, what stiff ones tend to; refusals."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import _engine
from tests.native import planar
from tests.native.links import AXES, two_links
from tests.native.pinocchio_tree import PinocchioTree, inertia_of, world_axes
from tests.native.reduced import FAR, add_link, join, tree
from validation import linkages

TIMES = np.linspace(0, 0.25, 6)
RODS = [linkages.Link(0.5, 0.4), linkages.Link(0.7, 0.4), linkages.Link(0.3, 0.2)]
ANGLES = [-0.3, -1.0, 0.4]
JOINTS = ("hinge", "weld", "universal", "slider", "ball", "planar")


def run(s, steps, h, order=2, tolerance=1e-11, **more):
    options = _engine.Options(step=h, order=order, tolerance=tolerance)
    r = _engine.rollout(s, s.values, steps, options, **more)
    assert r.ok, r.message
    return r


def slopes_of(errors):
    return np.log2(np.array(errors[:-1]) / errors[1:])


@pytest.mark.parametrize("at", [np.zeros(3), FAR])
def test_joints_are_closed_to_rounding_after_a_thousand_steps(at):
    """Opening and tilt of every joint of a driven tree; opening in ulps of the place."""
    s = tree("driven body", at)
    r = run(s, 1000, 1e-3, tolerance=1e-9)
    assert np.abs(r.angular_velocity).max() > 1
    for joint in JOINTS:
        motion = s.joint_motion(joint, s.values, r)
        assert motion["opening"].max() <= 1e-12 * max(1, np.abs(at).max())
        assert motion["tilt"].max() <= 1e-12


@pytest.mark.parametrize("seed", range(4))
def test_steps_on_a_driven_body_end_at_rounding(seed):
    """A tolerance below what rounding leaves of r is met by what rounding is told to be."""
    run(tree("driven body", FAR, seed), 300, 1e-3, tolerance=1e-11)


def test_a_hinge_turns_many_times():
    """Eight turns, at a rate that is constant: a spin about a principal axis."""
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    s.add_rigid_body("b", mass=1.0, inertia=[0.01] * 3 + [0] * 3, radius=0.1, position=[0.1, 0, 0],
                     angular_velocity=[0, 0, 50.0])  # fmt: skip
    s.add_joint("j", kind="hinge", body_b="b", position=[0.1, 0, 0.2], axis=[0, 0, 1], reduced=True)
    s.add_armature("rotor", joint="j", inertia=0.02)
    r = run(s, 1000, 1e-3)
    turned = Rotation.from_quat(r.orientation[:, 0]) * Rotation.from_rotvec(
        np.outer(-50 * r.time, [0, 0, 1])
    )
    assert turned.magnitude().max() < 1e-10


def spatial_chain(reduced, stiffness=None):
    """Three links on universal, slider and ball, at rest at the start."""
    s = _engine.Scene()
    rng = np.random.default_rng(4)
    more = {"reduced": True} if reduced else {"stiffness": stiffness}
    before = ""
    for k, (kind, name) in enumerate(zip(("universal", "slider", "ball"), "abc", strict=True)):
        q = rng.normal(size=4)
        s.add_rigid_body(name, mass=0.5, inertia=[5e-3, 6e-3, 7e-3, 0, 1e-3, 0], radius=0.1,
                         position=[0.2 * k + 0.1, 0, 0],
                         orientation=q / np.linalg.norm(q))  # fmt: skip
        axes = {} if kind == "ball" else {"axis": [0, 1, 0.2]}
        axes |= {"second_axis": [1, 0, 0]} if kind == "universal" else {}
        s.add_joint(kind, kind=kind, body_a=before, body_b=name, position=[0.2 * k, 0, 0.02],
                    friction_damping=0.05, **axes, **more)  # fmt: skip
        before = name
    return s


def test_stiff_joints_tend_to_reduced_ones():
    """The difference falls with 1/stiffness."""
    exact = run(spatial_chain(True), 200, 5e-4, tolerance=1e-9).position
    gaps = [
        np.abs(run(spatial_chain(False, k), 200, 5e-4, tolerance=1e-9).position - exact).max()
        for k in (1e5, 1e6, 1e7)
    ]
    ratios = np.array(gaps[:-1]) / gaps[1:]
    assert np.all(np.abs(ratios - 10) < 2), (gaps, ratios)
    assert gaps[-1] < 1e-4


def test_a_loop_closed_by_a_stiff_joint_tends_to_the_stiff_loop():
    """Four bars: three hinges in reduced coordinates and one stiff, or all stiff."""
    loop = linkages.FourBar(
        linkages.Link(0.3, 0.15), linkages.Link(0.9, 0.45), linkages.Link(0.7, 0.35), 0.5
    )
    gaps = []
    for stiffness in (1e5, 1e6, 1e7):
        one, all_of = (
            run(planar.four_bar(loop, 1.0, reduced, stiffness=stiffness), 250, 1e-3, tolerance=1e-8)
            for reduced in (True, False)
        )
        gaps.append(np.abs(planar.angles(one) - planar.angles(all_of)).max())
    assert gaps[0] > 5 * gaps[1] > 25 * gaps[2], gaps
    reference = linkages.four_bar(loop, linkages.Motor(lambda t: 0.0), 1.0, 0.0, TIMES)
    assert np.abs(planar.angles(one)[::50] - reference.angles).max() < 1e-4


def test_a_pendulum_of_three_links_and_its_derivatives_converge_with_the_order():
    """Towards DOP853, the derivatives by gravity and by the last link's mass too."""

    def centres(gravity, mass):
        rods = [*RODS[:2], linkages.Link(mass, 0.2, moment=RODS[2].I)]
        return linkages.chain(rods, ANGLES, np.zeros(3), TIMES, gravity).centres

    g, m, e = linkages.GRAVITY, RODS[2].mass, 1e-4
    exact = centres(g, m)
    by_g = (centres(g + e, m) - centres(g - e, m)) / (2 * e)
    by_m = (centres(g, m + e) - centres(g, m - e)) / (2 * e)
    s = planar.chain(RODS, ANGLES, reduced=True)
    active = [s.index("gravity.z"), s.index("link2.mass")]
    dof = [s.dof_offset(f"link{k}") for k in range(3)]
    for order in (1, 2):
        errors = []
        for steps in (100, 200, 400):
            r = run(s, steps, TIMES[-1] / steps, order, active=active, mode="sensitivity")
            at = slice(None, None, steps // 5)
            dx = np.stack([r.dx[at, d : d + 3 : 2] for d in dof], axis=1)
            errors.append([
                np.abs(r.position[at][:, :, ::2] - exact).max(),
                np.abs(dx[..., 0] + by_g).max(), np.abs(dx[..., 1] - by_m).max(),
            ])  # fmt: skip
        slopes = slopes_of(np.array(errors))
        assert np.all(np.abs(slopes[-1] - order) < 0.3), (order, errors, slopes)


def test_a_tree_converges_to_pinocchios_with_the_order_of_the_scheme():
    """hinge, weld, universal, slider, ball, planar; S by gravity and by a mass too."""
    pin = pytest.importorskip("pinocchio")
    s = tree(forces=False)
    for joint in JOINTS:
        if joint != "weld":
            s.set_value(f"{joint}.friction_damping", 0.0)
    p = s.values
    ends = {"hinge": ("", "a"), "weld": ("a", "b"), "universal": ("b", "c"), "slider": ("b", "d"),
            "ball": ("c", "e"), "planar": ("d", "f")}  # fmt: skip
    joints = []
    for j in JOINTS:
        axis = [0, 0, 1] if j == "ball" else AXES["axis"]
        second = AXES["second_axis"] if j == "universal" else None
        point = [p[s.index(f"{j}.position.{w}")] for w in "xyz"]
        joints.append((j, *ends[j], point, world_axes(axis, second)))
    reference = PinocchioTree(pin, s, joints, _engine.rollout(s, p, 0))
    g, m, e = p[s.index("gravity.x")], p[s.index("e.mass")], 1e-4
    exact, ball = reference.places(0.2), JOINTS.index("ball")
    by_g = (reference.places(0.2, g + e) - reference.places(0.2, g - e)) / (2 * e)
    by_m = (
        reference.places(0.2, g, (ball, m + e)) - reference.places(0.2, g, (ball, m - e))
    ) / (2 * e)  # fmt: skip
    active = [s.index("gravity.x"), s.index("e.mass")]
    nodes = reference.order
    dofs = np.array([s.dof_offset(s.body_names[i]) for i in nodes])[:, None] + np.arange(3)
    for order in (1, 2):
        errors = []
        for steps in (40, 80, 160):
            r = run(s, steps, 0.2 / steps, order, active=active, mode="sensitivity")
            gaps = (r.position[-1, nodes] - exact, *(r.dx[-1][dofs, k] - by for k, by in
                                                     enumerate((by_g, by_m))))  # fmt: skip
            errors.append([np.abs(gap).max() for gap in gaps])
        slopes = slopes_of(np.array(errors))
        assert np.all(np.abs(slopes[-1] - order) < 0.3), (order, errors, slopes)


def momenta(s, r):
    """Linear momentum (F, 3) and angular momentum about the origin (F, 3)."""
    total = turn = 0
    for i, name in enumerate(s.body_names):
        m, own = s.values[s.index(f"{name}.mass")], inertia_of(s, name)
        R = Rotation.from_quat(r.orientation[:, i]).as_matrix()
        total = total + m * r.velocity[:, i]
        turn = turn + np.cross(r.position[:, i], m * r.velocity[:, i])
        turn = turn + np.einsum("fij,jk,flk,fl->fi", R, own, R, r.angular_velocity[:, i])
    return total, turn


def test_a_floating_tree_keeps_its_momenta():
    """Linear momentum to rounding, angular momentum to the order of the scheme."""
    s = tree("free body", forces=False)
    p = s.values
    p[[s.index(f"gravity.{axis}") for axis in "xyz"]] = 0
    for order in (1, 2):
        errors = []
        for steps in (50, 100, 200):
            options = _engine.Options(step=0.2 / steps, order=order, tolerance=1e-12)
            r = _engine.rollout(s, p, steps, options)
            linear, angular = momenta(s, r)
            assert np.abs(linear - linear[0]).max() <= 1e-11 * np.abs(linear[0]).max()
            errors.append(np.abs(angular[-1] - angular[0]).max())
        assert np.all(np.abs(slopes_of(errors) - order) < 0.4), (order, errors)


def test_the_energy_of_a_pendulum_of_three_links_is_kept_with_the_order():
    s = planar.chain(RODS, ANGLES, reduced=True)
    for order in (1, 2):
        errors = []
        for steps in (200, 400, 800):
            r = run(s, steps, 0.5 / steps, order, outputs=["energy"])
            total = r.outputs["energy"].sum(axis=1)
            errors.append(np.abs(total[-1] - total[0]))
        assert np.all(slopes_of(errors) > order - 0.2), (order, errors)


def symmetric_top(pin, spin, rate, tilt):
    """(position, orientation, velocities) of a top at distance 0.1 from its pin, precessing."""
    axis = np.array([np.sin(tilt), 0, np.cos(tilt)])
    omega = np.array([0, 0, rate]) + spin * axis
    place = np.asarray(pin) + 0.1 * axis
    return {"position": place, "orientation": [0, np.sin(tilt / 2), 0, np.cos(tilt / 2)],
            "velocity": np.cross(omega, 0.1 * axis), "angular_velocity": omega}, axis  # fmt: skip


def test_a_heavy_top_on_a_ball_precesses_steadily():
    """I1 cos(tilt) W^2 - I3 w3 W + m g l = 0 for the rate W, w3 the spin about the own axis."""
    m, length, tilt, rate, g = 0.5, 0.1, 0.6, 4.0, 9.81
    across, along = 1e-3, 8e-4
    pivot = across + m * length**2
    w3 = (pivot * np.cos(tilt) * rate**2 + m * g * length) / (along * rate)
    start, axis = symmetric_top(np.zeros(3), w3 - rate * np.cos(tilt), rate, tilt)
    s = _engine.Scene()
    s.add_rigid_body("top", mass=m, inertia=[across, across, along, 0, 0, 0], radius=0.1, **start)
    s.add_joint("pin", kind="ball", body_b="top", position=[0, 0, 0], reduced=True)
    errors = []
    for steps in (500, 1000):
        r = run(s, steps, 0.5 / steps)
        t = r.time[:, None]
        exact = length * np.hstack([axis[0] * np.cos(rate * t), axis[0] * np.sin(rate * t),
                                    axis[2] + 0 * t])  # fmt: skip
        errors.append(np.abs(r.position[:, 0] - exact).max())
    assert errors[-1] < 5e-4 and np.abs(slopes_of(errors) - 2)[0] < 0.3, errors


def test_a_spherical_pendulum_swings_on_a_cone():
    """(m l^2 + I) cos(angle) W^2 = m g l for a body of equal moments that turns with its rod."""
    m, length, angle = 0.5, 0.1, np.pi - 0.5
    inertia = 1e-3
    # About the vertical alone: no spin of its own, so w3 = W cos(angle).
    rate = np.sqrt(9.81 * m * length / (m * length**2) / -np.cos(angle))
    start, axis = symmetric_top(np.zeros(3), 0.0, rate, angle)
    s = _engine.Scene()
    s.add_rigid_body("bob", mass=m, inertia=[inertia] * 3 + [0] * 3, radius=0.1, **start)
    s.add_joint("pin", kind="ball", body_b="bob", position=[0, 0, 0], reduced=True)
    errors = []
    for steps in (500, 1000):
        r = run(s, steps, 0.5 / steps)
        errors.append(np.abs(r.position[:, 0, 2] - length * axis[2]).max())
        turned = np.arctan2(r.position[-1, 0, 1], r.position[-1, 0, 0])
        wrong = np.remainder(turned - rate * 0.5 + np.pi, 2 * np.pi) - np.pi
        errors[-1] = max(errors[-1], abs(wrong) * length)
    assert errors[-1] < 1e-3 and abs(slopes_of(errors)[0] - 2) < 0.3, errors


def test_two_bodies_welded_to_a_floating_top_precess():
    """Free symmetric top of two discs: its axis turns about L at the rate L / I1."""
    tilt, rate, gap = 0.5, 6.0, 0.08
    disc, along, m = 4e-4, 7e-4, 0.3
    across = 2 * (disc + m * (gap / 2) ** 2)
    spin = across * rate * np.cos(tilt) / (2 * along) - rate * np.cos(tilt)
    axis = np.array([np.sin(tilt), 0, np.cos(tilt)])
    omega = np.array([0, 0, rate]) + spin * axis
    s = _engine.Scene()
    s.set_gravity([0, 0, 0])
    for name, side in (("upper", 1), ("lower", -1)):
        s.add_rigid_body(name, mass=m, inertia=[disc, disc, along, 0, 0, 0], radius=0.05,
                         position=side * gap / 2 * axis,
                         orientation=[0, np.sin(tilt / 2), 0, np.cos(tilt / 2)],
                         velocity=np.cross(omega, side * gap / 2 * axis),
                         angular_velocity=omega)  # fmt: skip
    s.add_joint("weld", kind="weld", body_a="upper", body_b="lower", position=[0, 0, 0],
                reduced=True)  # fmt: skip
    errors = []
    for steps in (500, 1000):
        r = run(s, steps, 0.5 / steps)
        t = r.time[:, None]
        exact = np.hstack([axis[0] * np.cos(rate * t), axis[0] * np.sin(rate * t), axis[2] + 0 * t])
        errors.append(np.abs((r.position[:, 0] - r.position[:, 1]) / gap - exact).max())
    assert errors[-1] < 2e-3 and abs(slopes_of(errors)[0] - 2) < 0.3, errors


def bad(**change):
    return {"kind": "hinge", "body_b": "b", "position": [0.2, 0, 0], "axis": [0, 0, 1],
            "reduced": True} | change  # fmt: skip


BAD = [
    (bad(body_a="b", body_b=""), "reduced ones carry body_b, which must be a rigid body"),
    (bad(body_a="b", body_b="h"), "reduced ones carry body_b"),
    (bad(kind="ball", body_a="b", body_b="c", position=[0.2, 0.1, 0.3]), "carry body_b"),
    (bad(kind="ball", body_a="c", position=[0.2, 0.1, 0.3]), "between rigid bodies"),
    (bad(body_b="a"), "carried by one joint, got 'a', which another carries"),
    (bad(stiffness=1e4), "are of joints in maximal coordinates"),
    (bad(damping=1.0), "are of joints in maximal coordinates"),
    (bad(rotational_stiffness=1.0), "are of joints in maximal coordinates"),
]


@pytest.mark.parametrize(("spec", "text"), BAD)
def test_what_cannot_be_in_reduced_coordinates_is_refused(spec, text):
    s = two_links()
    s.add_kinematic_body("h", interval=1.0, position=[[0, 0, 0]])
    join(s, "first", "ball", "", "a", [0, 0, 0])
    with pytest.raises(_engine.InvalidInput, match=text):
        s.add_joint("joint", **spec)


def test_a_loop_of_reduced_joints_is_refused():
    s = two_links()
    join(s, "one", "ball", "a", "b", [0.2, 0, 0])
    join(s, "two", "hinge", "b", "a", [0.1, 0, 0])
    with pytest.raises(_engine.InvalidInput, match="must form trees, got a loop"):
        _engine.rollout(s, s.values, 1)


def test_a_tree_carried_by_the_world_alone_stands_still():
    """A weld leaves no coordinate at all."""
    s = _engine.Scene()
    add_link(s, "a", [0.1, 0, 0], np.random.default_rng(1))
    join(s, "fixed", "weld", "", "a", [0, 0, 0])
    r = run(s, 10, 0.01)
    assert np.array_equal(r.position[-1], r.position[0])
    assert np.all(r.velocity == 0)
