"""The velocity stepper: hard contacts by closed forms, derivatives by differences, refusals."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.rotation import quat_exp
from tests.native.gradients import check_gradients
from tests.native.reduced import add_base, add_link, join, smooth_names, tree
from validation.hard_contact import (
    LAW,
    G,
    add_ball,
    add_box,
    ball,
    incline,
    options,
    random_problem,
    stack,
)


def run(s, steps, step=1e-3, **more):
    cone = more.pop("friction_cone", "cone")
    r = _engine.rollout(s, s.values, steps, options(step, friction_cone=cone), **more)
    assert r.ok, r.message
    return r


@pytest.mark.parametrize("cone", ["cone", "pyramid"])
@pytest.mark.parametrize("step", [1e-3, 1e-2])
def test_a_block_on_an_incline_slides_as_coulomb_says_or_stands(step, cone):
    """a = g (sin - c_f cos) down the slope, exactly, in every step."""
    angle = 0.4
    scene, down = incline(angle, 0.2)
    r = run(scene, 50, step, friction_cone=cone)
    a = G * (np.sin(angle) - 0.2 * np.cos(angle))
    np.testing.assert_allclose(r.velocity[:, 0] @ down, a * r.time, rtol=1e-6, atol=1e-8)
    r = run(incline(angle, 0.5)[0], 50, step, friction_cone=cone)
    assert np.abs(r.velocity).max() <= 1e-7 * G * step
    force = r.contact_force[-1].sum(0)
    np.testing.assert_allclose(force, [0, 0, 0.4 * G], atol=1e-6)


def test_a_stack_of_ten_stands_and_each_carries_what_is_above():
    r = run(stack(10), 100, 2e-3)
    assert np.abs(r.velocity).max() <= 1e-7
    for k in range(10):
        carried = r.contact_force[-1][8 * k : 8 * k + 8].sum(0)
        np.testing.assert_allclose(carried, [0, 0, 0.4 * G * (10 - k)], rtol=1e-6, atol=1e-6)


def test_heights_of_bounces_fall_by_the_square_of_restitution():
    errors = []
    for step in (2e-3, 1e-3, 5e-4):
        r = run(ball(0.8, height=0.5), round(1.4 / step), step)
        z = r.position[:, 0, 2] - 0.05
        tops = z[1:-1][(z[1:-1] > z[:-2]) & (z[1:-1] >= z[2:])]
        errors.append(abs(tops[0] - 0.64 * 0.5) + abs(tops[1] - 0.64**2 * 0.5))
    assert errors[0] < 0.02 and errors[2] < 0.5 * errors[0]


def test_a_sliding_ball_comes_to_roll_at_five_sevenths():
    r = run(ball(0.0, height=0.0, velocity=[1.0, 0, 0]), 1000)
    assert r.velocity[-1, 0, 0] == pytest.approx(5 / 7, rel=1e-3)
    assert r.angular_velocity[-1, 0, 1] * 0.05 == pytest.approx(r.velocity[-1, 0, 0], rel=1e-6)


def branches(base):
    """Hinges and sliders alone, one of which follows another on its own branch of the tree."""
    rng = np.random.default_rng(2)
    s = _engine.Scene()
    ground = add_base(s, base, rng, [-0.2, 0, 0])
    for name, place in {"a": (0.1, 0, 0), "b": (0.3, 0.1, 0), "c": (0, 0.2, 0.1),
                        "d": (0, 0.4, 0.1)}.items():  # fmt: skip
        add_link(s, name, place, rng)
    join(s, "hinge", "hinge", ground, "a", [0, 0, 0])
    join(s, "slider", "slider", "a", "b", [0.2, 0.1, 0])
    join(s, "follower", "hinge", ground, "c", [0, 0.1, 0], mimic="hinge", ratio=-0.5, shift=0.2)
    join(s, "elbow", "hinge", "c", "d", [0, 0.3, 0.1])
    s.add_armature("rotor", joint="hinge", inertia=0.01)
    return s


TREES = pytest.mark.parametrize(
    ("make", "base"),
    [(tree, "world"), (tree, "free body"), (branches, "world"), (branches, "free body")],
)


@TREES
def test_smooth_motion_converges_with_order_one_to_the_implicit_one(make, base):
    s = make(base)
    fine = _engine.rollout(s, s.values, 1000, _engine.Options(step=1e-4, tolerance=1e-11))
    assert fine.ok
    errors = []
    for step in (1e-3, 5e-4, 2.5e-4):
        r = run(s, round(0.1 / step), step)
        errors.append(np.abs(r.position[-1] - fine.position[-1]).max())
    assert errors[-1] < 2e-3
    assert np.log2(np.array(errors[:-1]) / errors[1:]) == pytest.approx(1, abs=0.15)


@TREES
def test_gradients_of_a_tree(make, base):
    s = make(base)
    names = smooth_names(s, ("anchor", "axis", "position", "stiffness_limit"))
    check_gradients(s, 30, options(1e-3), names)


@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_gradients_of_dampers_on_what_spins(restitution):
    """Drag, a damped spring and a cable see speeds at places that move with spinning bodies, free
    and carried by joints, and through an impact."""
    s = branches("free body")
    add_box(s, "box", [0.4, 0.1, 0.11], velocity=[0.3, 0.2, -1.5], angular_velocity=[9, -7, 8])
    s.add_points("ends", bodies=["box", "d", "b"], local=[[0.04, 0, 0.02], [0, 0.05, 0], [0] * 3])
    s.add_drag("drag", points="ends", c_linear=0.3, c_quadratic=0.2, wind=[1, 2, -1])
    s.add_springs("spring", points_a="ends", index_a=[0], points_b="ends", index_b=[1],
                  stiffness=30, damping=2, rest_length=0.1)  # fmt: skip
    s.add_cable("cable", points=["ends"], index=[1, 2, 0], stiffness=40, damping=0.3,
                rest_length=0.2)  # fmt: skip
    s.add_contact("floor", points="box_corners", sdf=_engine.Plane([0, 0, 1], 0), c_f=0.3,
                  restitution=restitution, **LAW)  # fmt: skip
    skip = ("anchor", "axis", "position", "stiffness_limit")
    names = [n for n in smooth_names(s, skip) if not n.endswith(("k_n", "k_t", "c_n"))]
    check_gradients(s, 40, options(1e-3), names)


@pytest.mark.parametrize("cone", ["cone", "pyramid"])
@pytest.mark.parametrize("restitution", [0.0, 0.6])
def test_gradients_of_a_thrown_box(cone, restitution):
    """It hits the floor with a corner, slides on and tumbles."""
    s = _engine.Scene()
    add_box(s, "box", [0, 0, 0.11], velocity=[1.0, 0.3, -1.5], angular_velocity=[1.0, 2.0, -0.5],
            orientation=quat_exp(np.array([0.3, 0.2, 0.0])))  # fmt: skip
    s.add_contact("floor", points="box_corners", sdf=_engine.Plane([0.1, 0, 1], 0), c_f=0.3,
                  restitution=restitution, **LAW)  # fmt: skip
    names = [n for n in smooth_names(s) if not n.endswith(("k_n", "k_t", "c_n"))]
    r = check_gradients(s, 60, options(1e-3, friction_cone=cone), names)
    assert len(np.unique(r.modes)) > 1


@pytest.mark.parametrize("kind", ["sphere", "box"])
def test_gradients_of_contact_between_two_bodies(kind):
    """A ball strikes a body that carries a surface; both are parts of one tree or free."""
    s = _engine.Scene()
    rng = np.random.default_rng(3)
    add_link(s, "a", [0, 0, 0], rng)
    add_link(s, "b", [0.1, 0, 0], rng)
    join(s, "j", "ball", "a", "b", [0.05, 0, 0])
    add_ball(s, "ball", [0.12, 0.01, 0.13], velocity=[0, 0.1, -2.0])
    sdf = _engine.Sphere(0.06) if kind == "sphere" else _engine.Box([0.05, 0.05, 0.05])
    s.add_contact("hit", points="ball_centre", sdf=sdf, carrier="b", c_f=0.4, restitution=0.3,
                  **LAW)  # fmt: skip
    skip = ("anchor", "axis", "j.position", "k_n", "k_t", "c_n")
    r = check_gradients(s, 60, options(1e-3), smooth_names(s, skip))
    assert np.abs(r.contact_force).max() > 0


@pytest.mark.parametrize("cone", ["cone", "pyramid"])
def test_gradients_of_sliding_over_a_round_surface(cone):
    """The tangents turn with the normal, also about it: a pyramid's forces follow them."""
    s = _engine.Scene()
    add_ball(s, "ball", [0.2, 0.3, np.sqrt(0.55**2 - 0.13) + 1e-4], velocity=[0.5, -0.9, 0.1])
    s.add_contact("hill", points="ball_centre", sdf=_engine.Sphere(0.5), c_f=0.15, **LAW)
    names = [n for n in smooth_names(s) if not n.endswith(("k_n", "k_t", "c_n"))]
    r = check_gradients(s, 60, options(1e-3, friction_cone=cone), names)
    assert (r.modes == 2).any()  # slips


def test_gradients_of_a_tree_whose_links_touch():
    """Feet of a chain on a floor: sticking and slipping, with a motor."""
    s = _engine.Scene()
    rng = np.random.default_rng(5)
    add_link(s, "base", [0, 0, 0.2], rng)
    for k, x in enumerate((-0.1, 0.1)):
        add_link(s, f"leg{k}", [x, 0, 0.12], rng)
        join(s, f"hip{k}", "hinge", "base", f"leg{k}", [x, 0, 0.18])
        s.add_points(f"foot{k}", bodies=[f"leg{k}"], local=np.array([[0.0, 0.01, 0.02]]),
                     radius=0.1)  # fmt: skip
        s.add_contact(f"floor{k}", points=f"foot{k}", sdf=_engine.Plane([0, 0, 1], 0), c_f=0.4,
                      **LAW)  # fmt: skip
        s.add_motor(f"m{k}", joint=f"hip{k}", keys=[0.2, -0.1], interval=0.1, stiffness=3.0,
                    damping=0.05)  # fmt: skip
    skip = ("anchor", "axis", "hip0.position", "hip1.position", "k_n", "k_t", "c_n")
    r = check_gradients(s, 80, options(1e-3), smooth_names(s, skip))
    assert len(np.unique(r.modes)) >= 2


def test_gradients_of_a_plate_that_moves():
    s = _engine.Scene()
    s.add_kinematic_body("plate", interval=0.05, radius=0.1,
                         position=[[0, 0, 0], [0.01, 0, 0.01], [0.02, 0.01, 0.0]])  # fmt: skip
    add_box(s, "box", [0, 0, 0.0501])
    s.add_contact("on", points="box_corners", sdf=_engine.Plane([0, 0, 1], 0), carrier="plate",
                  c_f=0.5, **LAW)  # fmt: skip
    names = [n for n in smooth_names(s) if not n.endswith(("k_n", "k_t", "c_n"))]
    check_gradients(s, 60, options(1e-3), names)


def test_outputs_report_hard_contacts():
    """Force, torque and normal force of a block that slides; the pull on a weld."""
    angle = 0.4
    s, _ = incline(angle, 0.2)
    r = run(s, 20, outputs=["floor.force", "floor.normal_force", "floor.torque"])
    n = np.array([np.sin(angle), 0, np.cos(angle)])
    normal, force = r.outputs["floor.normal_force"][-1], r.outputs["floor.force"][-1]
    np.testing.assert_allclose(normal, 0.4 * G * np.cos(angle) * n, rtol=1e-5, atol=1e-6)
    up = np.array([-np.cos(angle), 0, np.sin(angle)])
    np.testing.assert_allclose(force - normal, 0.2 * 0.4 * G * np.cos(angle) * up, atol=1e-5)
    np.testing.assert_allclose(force, r.contact_force[-1].sum(0), atol=1e-9)
    np.testing.assert_allclose(r.outputs["floor.torque"][-1], 0, atol=1e-3)


@pytest.mark.parametrize("record_every", [1, 7, 100])
def test_fewer_checkpoints_give_the_same_bits(record_every):
    s = ball(0.5, height=0.02, velocity=[1.0, 0, 0])
    active = [s.index("ball.position.z"), s.index("floor.c_f"), s.index("ball.velocity.x")]
    found = []
    for every in (1, 2, 9, 1000):
        how = options(1e-3, record_every=record_every, checkpoint_every=every)
        for threads in (1, 2):
            r = _engine.rollout(s, s.values, 200, how, active=active, mode="checkpoint",
                                threads=threads)  # fmt: skip
            g = np.zeros((len(r.time), s.ndof))
            g[-1, :3] = [1.0, 2.0, 3.0]
            found.append(r.gradient(g, g))
    assert np.abs(found[0]).min() > 0
    assert all(np.array_equal(one, found[0]) for one in found)


def test_what_is_driven_alone_has_no_contact():
    """No force parts a driven body from the ground: its points are left out, not divided by 0."""
    s = ball(0.0, 0.0)
    s.add_kinematic_body("tool", interval=0.1, radius=0.1, position=[[1, 0, 0.02], [1, 0, -0.02]])
    s.add_points("tip", bodies=["tool"], local=np.zeros((1, 3)), radius=0.03)
    s.add_contact("press", points="tip", sdf=_engine.Plane([0, 0, 1], 0), c_f=0.3, **LAW)
    r = run(s, 50)
    assert np.isfinite(r.position).all()
    assert r.contact_force[-1][1] == pytest.approx(0, abs=0)
    assert r.position[-1, 0, 2] == pytest.approx(0.05, abs=1e-9)


def test_same_bits_again_and_by_threads():
    s = ball(0.5, 0.3)
    one, two = run(s, 300), run(s, 300)
    assert np.array_equal(one.position, two.position)
    a = run(s, 100, active=[0, 1, 2], mode="sensitivity")
    b = run(s, 100, active=[0, 1, 2], mode="sensitivity", threads=2)
    assert np.array_equal(a.dx, b.dx)


def refused(match, s, **more):
    with pytest.raises(ValueError, match=match):
        _engine.rollout(s, s.values, 1, options(1e-3), **more)


def test_what_it_cannot_move_is_refused_by_name():
    s = tree("driven body")
    refused("prescribed", s)
    s = _engine.Scene()
    rng = np.random.default_rng(0)
    add_link(s, "a", [0, 0, 0], rng)
    s.add_joint("pin", kind="ball", body_b="a", position=[0, 0, 0.1])
    refused("joint 'pin'.*maximal", s)
    s = _engine.Scene()
    add_ball(s, "ball", [0, 0, 0.05])
    s.add_contact("floor", points="ball_centre", sdf=_engine.Plane([0, 0, 1], 0), c_f=0.3,
                  c_roll=0.01, **LAW)  # fmt: skip
    refused("contact 'floor': c_roll", s)
    refused("'floor.force'", ball(0.5, 0.3), outputs=["floor.force"], active=[0], mode="store")
    s = tree()
    index = next(i for i, info in enumerate(s.parameters) if info.name == "hinge.position.x")
    refused("hinge.position.x", s, active=[index], mode="sensitivity")
    with pytest.raises(ValueError, match="must be implicit or velocity"):
        _engine.Options(stepper="explicit")
    with pytest.raises(ValueError, match="friction_cone"):
        _engine.Options(friction_cone="pyramid")
    with pytest.raises(ValueError, match=r"checkpoint_every.*velocity"):
        _engine.Options(checkpoint_every=2)
    with pytest.raises(ValueError, match="restitution"):
        ball(1.2, 0.3)


def test_impulses_of_random_problems_keep_the_laws():
    rng = np.random.default_rng(7)
    for k in range(40):
        problem, W = random_problem(rng, ("cone", "pyramid")[k % 2])
        assert problem.solve()
        assert problem.residual() <= 1e-5
        assert np.all(problem.impulses[::3] >= -1e-9)
        assert len(problem.modes) == len(W) // 3


@pytest.mark.parametrize("cone", ["cone", "pyramid"])
def test_sweeps_backwards_are_the_derivative_of_sweeps(cone):
    """[Qa Alg. 1] against differences of the sweeps themselves, long before they converge."""
    rng = np.random.default_rng(4)
    for _ in range(10):
        problem, W = random_problem(rng, cone)
        problem.sweep(6)
        bar = rng.normal(size=len(W))
        by_W, by_c0 = problem.sweep_gradient(6, bar)
        d = rng.normal(size=len(W))
        ends = []
        for sign in (1, -1):
            problem.shift(sign * 1e-6 * d)
            problem.impulses = np.zeros(len(W))
            problem.sweep(6)
            ends.append(problem.impulses @ bar)
            problem.shift(-sign * 1e-6 * d)
        assert by_c0 @ d == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-5, abs=1e-7)
        assert by_W.shape == W.shape


def test_problems_of_another_shape_are_refused():
    with pytest.raises(ValueError, match="W must be"):
        _engine.ContactProblem(np.eye(3), np.zeros(3), np.zeros(2), np.zeros(2), np.zeros(2))
    with pytest.raises(ValueError, match="mu"):
        _engine.ContactProblem(np.eye(3), np.zeros(3), np.zeros(1), -np.ones(1), np.zeros(1))
