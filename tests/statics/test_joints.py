"""Joints that hold exactly at rest: closed forms, derivatives, modes, what joints bear."""

import numpy as np
import pytest
from scipy import linalg, sparse
from scipy.optimize import brentq

from diffsim_ros import _engine
from diffsim_ros.errors import InputError, NotConverged
from diffsim_ros.statics import equilibrium, modes
from diffsim_ros.statics.sparse import SaddleFactor, lowest
from tests.native.loops import GRAVITY, LENGTHS, MASSES, four_bar, four_bar_start, inertia, ring
from tests.native.reduced import add_link, join

WIDTH, DEPTH = 0.4, 0.3  # of the hanging frame: half its span, height [m]
ROD, LOAD = 0.6, 1.5  # [kg]


def rod(s, name, a, b, mass):
    """A slender rod from a to b, its own x axis along it."""
    a, b = np.asarray(a, float), np.asarray(b, float)
    along = (b - a) / np.linalg.norm(b - a)
    half = np.array([1.0, 0, 0]) + along
    half /= np.linalg.norm(half)  # turn x to `along` about their half
    q = [*np.cross([1.0, 0, 0], half), half[0]]
    J = mass * np.linalg.norm(b - a) ** 2 / 12
    s.add_rigid_body(name, mass=mass, inertia=[1e-3 * J, J, J, 0, 0, 0],
                     radius=np.linalg.norm(b - a) / 2, position=(a + b) / 2,
                     orientation=q)  # fmt: skip


def hanging_frame():
    """Two rods from supports down to one particle, all on balls held by rows."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -GRAVITY])
    low = [0, 0, -DEPTH]
    s.add_particle("load", mass=LOAD, position=low)
    for name, x in {"left": -WIDTH, "right": WIDTH}.items():
        rod(s, name, [x, 0, 0], low, ROD)
        s.add_joint(f"{name}_top", kind="ball", body_b=name, position=[x, 0, 0], constrained=True)
        s.add_joint(f"{name}_low", kind="ball", body_a=name, body_b="load", position=low,
                    constrained=True)  # fmt: skip
    return s


def test_a_statically_determinate_frame_bears_what_moments_say():
    """Forces of supports, their derivatives by the load, and its swing out of its plane."""
    found = equilibrium(hanging_frame())
    up = (ROD + LOAD / 2) * GRAVITY
    out = WIDTH * (ROD + LOAD) * GRAVITY / (2 * DEPTH)
    names = ["left_top.force", "right_top.force"]
    force = found.outputs(names)
    assert force["left_top.force"] == pytest.approx([-out, 0, up], abs=1e-9)
    assert force["right_top.force"] == pytest.approx([out, 0, up], abs=1e-9)
    by = found.output_derivatives(names, ["load.mass", "gravity.z"])
    slope = WIDTH * GRAVITY / (2 * DEPTH)
    assert by["right_top.force"][:, 0] == pytest.approx([slope, 0, GRAVITY / 2], abs=1e-9)
    assert by["right_top.force"][:, 1] == pytest.approx([-out / GRAVITY, 0, -up / GRAVITY])
    assert found.inverse.N.shape[1] == 2  # each rod turns about itself
    assert found.scene.gap(found.forces.r) < 1e-14
    swing = modes(found.scene.scene, count=3)
    J = 1e-3 * ROD * (WIDTH**2 + DEPTH**2) / 12  # turns with it, about its own axis
    square = (LOAD + ROD) * GRAVITY * DEPTH / ((LOAD + 2 * ROD / 3) * DEPTH**2)
    assert swing.kind[:3] == ("rigid", "rigid", "vibration")
    assert swing.frequency[2] == pytest.approx(np.sqrt(square) / (2 * np.pi), rel=J + 1e-6)


def test_a_chain_of_rods_hangs_as_its_moments_say():
    """Between two points: tan(angle) of rod i is (i + 1/2 - n/2) m g/H, H by the span."""
    count, length, span, mass = 8, 0.1, 0.6, 0.2
    s = _engine.Scene()
    s.set_gravity([0, 0, -GRAVITY])
    turn = brentq(lambda t: length * np.sin(count * t / 2) / np.sin(t / 2) - span, 0.01, 0.7)
    angle = turn * (np.arange(count) - (count - 1) / 2)  # an arc to begin with
    steps = length * np.stack([np.cos(angle), 0 * angle, np.sin(angle)], 1)
    place = np.vstack([np.zeros(3), np.cumsum(steps, 0)])
    for i in range(count):
        rod(s, f"r{i}", place[i], place[i + 1], mass)
    for i in range(count + 1):
        a, b = (f"r{k}" if 0 <= k < count else "" for k in (i - 1, i))
        if not b:
            a, b = b, a
        s.add_joint(f"j{i}", kind="ball", body_a=a, body_b=b, position=place[i], constrained=True)
    found = equilibrium(s)
    weight = mass * GRAVITY * (np.arange(count) - (count - 1) / 2)

    def missing(H):
        return np.sum(length / np.sqrt(1 + (weight / H) ** 2)) - span

    H = brentq(missing, 0.1, 50.0, xtol=1e-14)
    slope = weight / H
    steps = length * np.stack([np.ones(count), 0 * slope, slope], 1)
    steps /= np.sqrt(1 + slope**2)[:, None]
    middle = np.cumsum(steps, 0) - steps / 2
    assert found.position == pytest.approx(middle, abs=1e-9)
    force = found.outputs(["j0.force"])["j0.force"]
    assert force == pytest.approx([-H, 0, mass * GRAVITY * count / 2], abs=1e-7)
    assert found.inverse.N.shape[1] == count  # rods turn about themselves


def height(angle):
    q = four_bar_start(angle)[0]
    return GRAVITY * np.array(list(MASSES.values())) @ q[:, 1]


def lowest_angle():
    """Of the crank, where the four-bar linkage is lowest, and the frequency about it [Hz]."""
    e = 1e-4

    def slope(angle):
        return (height(angle + e) - height(angle - e)) / (2 * e)

    at = brentq(slope, -2.9, -1.2, xtol=1e-12)
    bend = (slope(at + e) - slope(at - e)) / (2 * e)
    v = four_bar_start(at, spin=1.0)[1]
    m = np.array(list(MASSES.values()))
    turned = np.array([inertia(name) for name in LENGTHS])
    moment = np.sum(m * np.sum(v[:, :2] ** 2, 1) + turned * v[:, 2] ** 2)
    return at, np.sqrt(bend / moment) / (2 * np.pi)


@pytest.mark.parametrize(("kind", "tree"), [("ball", True), ("hinge", False)])
def test_a_four_bar_linkage_rests_at_its_lowest_and_swings_about_it(kind, tree):
    s = four_bar(kind, tree=tree)
    found = modes(s, count=3)
    angle, frequency = lowest_angle()
    expected = four_bar_start(angle)[0][:, :2]
    assert found.rest.position[:, :2] == pytest.approx(expected, abs=1e-7)
    assert found.rest.stable
    assert found.rest.scene.gap(found.rest.forces.r) < 1e-12
    assert found.frequency == pytest.approx([frequency], rel=1e-6)  # one way to move
    assert found.shape.shape == (1, 3, 3)
    names = ["coupler.mass", "B.anchor_a.x", "O.position.y", "coupler.inertia.zz"]
    agree_with_differences(s, names, found)


def agree_with_differences(s, names, found):
    """Derivatives of places, what joints bear and frequencies against those of whole solutions."""
    rest, p = found.rest, s.values
    outputs = [o.name for o in s.outputs if o.name.split(".")[-1] in ("force", "torque")]
    by, force_by = rest.derivatives(names), rest.output_derivatives(outputs, names)
    frequency_by = found.derivatives(names)
    rng = np.random.default_rng(1)
    dx = rng.normal(size=s.ndof)
    weights = {n: rng.normal(size=3) for n in outputs}
    whole = dx @ by + sum(weights[n] @ force_by[n] for n in outputs)
    assert rest.gradient(dx, names, outputs=weights) == pytest.approx(whole, rel=1e-10)
    rows = rest.scene.first[:-1, None] + np.arange(3)
    for j, name in enumerate(names):
        i = s.index(name)
        eps = 1e-5 * max(abs(p[i]), 0.1)
        high, low = (modes(s, p + d * np.eye(len(p))[i], found.count) for d in (eps, -eps))

        def close(exact, a, b, all_of, near, eps=eps, name=name):
            gap = np.abs((a - b) / (2 * eps) - exact).max()
            assert gap <= near * max(np.abs(exact).max(), 1e-2 * np.abs(all_of).max()), name

        close(by[rows, j], high.rest.position, low.rest.position, by[rows], 2e-6)
        forces = [f.rest.outputs(outputs) for f in (high, low)]
        for n in outputs:
            close(force_by[n][:, j], *(f[n] for f in forces), np.stack(list(force_by.values())),
                  1e-5)  # fmt: skip
        v = found.vibrations
        close(frequency_by[:, j], high.frequency[v], low.frequency[v], frequency_by, 2e-5)


@pytest.mark.parametrize("base", ["world", "driven body"])
def test_derivatives_of_a_ring_of_links(base):
    """Reduced joints of three kinds whose end is held by rows; a hand that carries it."""
    s = ring("hinge", base, 1)
    names = ["c.mass", "end.anchor_b.y", "two.position.x", "one.axis_rotation.y"]
    if base != "world":
        names.append("base.position[0].z")
        names.append("base.rotation[0].x")
    agree_with_differences(s, names, modes(s, count=4))


def springy(far=0.0):
    """Universal, ball and slider in a tree that springs hold, with a rotor on the slider."""
    s, rng = _engine.Scene(), np.random.default_rng(3)
    s.set_gravity([0.2, 0.1, -9.81])

    def at(*place):
        return np.add([far, 0, 0], place)

    for name, place in {"a": [0.2, 0, 0], "b": [0.5, 0.1, 0], "c": [0.7, 0.1, 0.1]}.items():
        add_link(s, name, at(*place), rng)
    join(s, "one", "universal", "", "a", at(0, 0, 0))
    join(s, "two", "ball", "a", "b", at(0.35, 0, 0))
    join(s, "end", "slider", "b", "c", at(0.6, 0.1, 0))
    s.add_armature("rotor", joint="end", inertia=0.3)
    s.add_points("ends", bodies=["c", "b", "a", "", "c", ""],
                 local=[[0.02, 0.01, 0], [0.03, 0, 0.05], [0, 0.1, 0], at(0.3, 0.3, 0.6),
                        [-0.02, 0.08, 0.03], at(0.9, -0.3, 0.4)])  # fmt: skip
    for k, (i, j) in enumerate([(0, 3), (1, 3), (0, 2), (0, 1), (2, 3), (4, 5)]):
        s.add_springs(f"s{k}", points_a="ends", index_a=[i], points_b="ends", index_b=[j],
                      stiffness=60.0, rest_length=0.15)  # fmt: skip
    return s


SPRINGY = ["b.mass", "two.anchor_a.x", "one.position.y", "end.axis_rotation.y", "rotor.inertia",
           "s0.stiffness", "b.inertia.xz"]  # fmt: skip


@pytest.mark.parametrize("far", [0.0, 30.0])
def test_derivatives_of_a_tree_on_springs(far):
    s = springy(far)
    agree_with_differences(s, SPRINGY if far == 0 else SPRINGY[:2], modes(s, count=4))


def test_modes_about_the_start_of_a_tree():
    s, p = springy(), springy().values
    names = ["b.mass", "two.anchor_a.x", "b.rotation.x", "end.axis_rotation.y"]
    found = modes(s, count=6, at="start")
    by, v = found.derivatives(names), found.vibrations
    assert len(v) > 1
    for j, name in enumerate(names):
        i = s.index(name)
        high, low = (modes(s, p + d * np.eye(len(p))[i], 6, at="start") for d in (1e-6, -1e-6))
        difference = (high.frequency[v] - low.frequency[v]) / 2e-6
        assert by[:, j] == pytest.approx(difference, rel=1e-5, abs=1e-6 * np.abs(by).max())


def test_a_damped_motion_ends_where_it_rests():
    s = ring("hinge", "world", 1, friction_damping=0.05)
    motion = _engine.rollout(s, s.values, 500, _engine.Options(step=0.1, order=1, tolerance=1e-12))
    assert motion.ok
    found = equilibrium(s)
    assert found.position == pytest.approx(motion.position[-1], abs=1e-8)
    force = _engine.rollout(s, s.values, 500, _engine.Options(step=0.1, order=1, tolerance=1e-12),
                            outputs=["one.force", "end.torque"]).outputs  # fmt: skip
    for name, value in found.outputs(["one.force", "end.torque"]).items():
        assert value == pytest.approx(force[name][-1], abs=1e-6)


def test_an_upright_linkage_leaves_its_balance():
    """A pendulum of two links on a table-top hinge, straight up: by coordinates or by rows."""
    for how in ("reduced", "constrained"):
        s = _engine.Scene()
        s.set_gravity([0, 0, -GRAVITY])
        for k, name in enumerate("ab"):
            rod(s, name, [0, 0, 0.2 * k], [0, 0, 0.2 * k + 0.2], 0.5)
            s.add_joint(name + "j", kind="hinge", body_a="" if k == 0 else "a", body_b=name,
                        position=[0, 0, 0.2 * k], axis=[0, 1, 0], **{how: True})  # fmt: skip
        found = equilibrium(s)
        assert found.stable
        assert found.position[:, 2] == pytest.approx([-0.1, -0.3], abs=1e-9)


def test_a_block_on_a_link_presses_on_a_table():
    """A beam on a pin whose tip stands on a soft table."""
    s = _engine.Scene()
    s.set_gravity([0, 0, -GRAVITY])
    s.add_rigid_body("arm", mass=0.4, inertia=[1e-3] * 3 + [0] * 3, radius=0.2,
                     position=[0.2, 0, 0.1])  # fmt: skip
    s.add_joint("pin", kind="hinge", body_b="arm", position=[0, 0, 0.1], axis=[0, 1, 0],
                constrained=True)  # fmt: skip
    s.add_points("tip", bodies=["arm"], local=[[0.2, 0, 0]])
    s.add_contact("table", points="tip", sdf=_engine.Plane([0, 0, 1], 0.05), k_n=1e4, k_t=5.0,
                  c_f=0.3)  # fmt: skip
    found = equilibrium(s)
    force = found.outputs(["pin.force"])["pin.force"]
    # moments about the pin: half the weight each, and the table's normal is vertical
    assert force == pytest.approx([0, 0, 0.2 * GRAVITY], abs=1e-9)
    by = found.output_derivatives(["pin.force"], ["arm.mass", "table.k_n"])["pin.force"]
    assert by[2] == pytest.approx([GRAVITY / 2, 0], abs=1e-9)


def test_what_falls_along_a_joint_is_named():
    s = _engine.Scene()
    s.set_gravity([0, 0, -GRAVITY])
    add_link(s, "a", [0, 0, 0], np.random.default_rng(0))
    join(s, "rail", "slider", "", "a", [0, 0, 0], axis=[0, 0, 1])
    with pytest.raises(NotConverged, match=r"joint 'rail' is pulled with.*rail\.coordinate"):
        equilibrium(s, most_steps=40)


def test_what_statics_cannot_do_is_refused_by_name():
    s = four_bar()
    with pytest.raises(InputError, match=r"modes: at.*start.*constrained"):
        modes(s, at="start")
    found = equilibrium(s)
    with pytest.raises(InputError, match=r"outputs.*'?C\.force'?.*an output"):
        found.outputs(["C.force"])
    start = s.rest_start(s.values)
    with pytest.raises(ValueError, match=r"coordinates.*must be 5 numbers.*0"):
        s.evaluate_at_rest(s.values, start[0], start[1])
    with pytest.raises(ValueError, match=r"position.*must have"):
        s.evaluate_at_rest(s.values, start[0][:3], start[1], True, start[2])
    with pytest.raises(ValueError, match=r"step.*must be \(ndof,\)"):
        s.rest_moved(s.values, *start, np.zeros(2))
    open_start = s.values
    for body, turn in {"crank": 1.5, "coupler": 1.2}.items():
        open_start[s.index(f"{body}.rotation.z")] += turn
    with pytest.raises(InputError, match=r"'B'.*cannot be closed"):
        equilibrium(s, open_start)


def test_lowest_modes_of_what_is_held_by_either_way():
    """Lanczos' method on a chain of masses whose ends and middle are held, one twice as far as
    another, against the dense problem along what is left; and as signs of pivots are counted."""
    n = 300
    K = sparse.diags([-np.ones(n - 1), 2.0 * np.ones(n), -np.ones(n - 1)], [-1, 0, 1], format="csc")
    M = sparse.diags(1.0 + 0.3 * np.sin(np.arange(n)), format="csc")
    G = sparse.lil_matrix((3, n))
    G[0, 0], G[1, 100], G[1, 200], G[2, n - 1] = 1.0, -2.0, 1.0, 1.0
    G = G.tocsc()
    values, vectors = lowest(K, M, 6, G)
    along = linalg.null_space(G.toarray())
    exact = linalg.eigh(along.T @ K @ along, along.T @ M @ along, eigvals_only=True)[:6]
    assert values == pytest.approx(exact, rel=1e-9)
    assert np.abs(G @ vectors).max() < 1e-12
    middle = (exact[2] + exact[3]) / 2
    assert not SaddleFactor(K, M, G, -middle).positive
    assert SaddleFactor(K, M, G, -0.9 * exact[0]).positive
    a, b = np.random.default_rng(0).normal(size=n), np.array([0.1, -0.2, 0.3])
    x, multipliers = SaddleFactor(K, M, G, 0.1).solve(a, b)
    assert (K + 0.1 * M) @ x - G.T @ multipliers == pytest.approx(a, abs=1e-10)
    assert -G @ x == pytest.approx(b, abs=1e-12)


def test_a_long_chain_on_balls_rests_in_few_steps():
    """Slender links, light about themselves, off their rest; one by coordinates, one by rows."""
    found = []
    for how in ("reduced", "constrained"):
        s = _engine.Scene()
        s.set_gravity([0, 0, -GRAVITY])
        for i in range(24):
            rod(s, f"r{i}", [0.01 * i, 0, -0.1 * i], [0.01 * i + 0.01, 0, -0.1 * i - 0.1], 0.1)
            s.add_joint(f"j{i}", kind="ball", body_a=f"r{i - 1}" if i else "", body_b=f"r{i}",
                        position=[0.01 * i, 0, -0.1 * i], **{how: True})  # fmt: skip
        found.append(equilibrium(s, most_steps=100))
    depth = np.hypot(0.01, 0.1) * (np.arange(24) + 0.5)
    for rest in found:
        assert rest.position[:, 2] == pytest.approx(-depth, abs=1e-9)
        assert np.abs(rest.position[:, :2]).max() < 1e-9
    assert found[1].scene.gap(found[1].forces.r) < 2e-12
    assert found[0].steps < 20
