"""Generalized-alpha with joints that hold exactly, by coordinates or rows: order, forces, S."""

import numpy as np
import pytest

from diffsim_ros import _engine
from tests.native.gradients import check_gradients, check_outputs
from tests.native.links import KINDS
from tests.native.loops import GRAVITY, MASSES, four_bar, four_bar_reference, places, ring
from tests.native.reduced import smooth_names, tree

BASES = ["world", "free body", "driven body"]
RADII = [0.0, 0.5, 0.8, 0.95]


def options(radius, step=0.01):
    return _engine.Options(step=step, spectral_radius=radius, stagnate=True, record_modes=True)


def rolled(s, radius, step, time=0.4, **more):
    at = _engine.Options(step=step, spectral_radius=radius, tolerance=1e-10)
    r = _engine.rollout(s, s.values, round(time / step), at, **more)
    assert r.ok, r.message
    return r


@pytest.mark.parametrize("tree", [True, False])
@pytest.mark.parametrize("radius", RADII)
def test_four_bar_linkage_of_order_2_towards_its_own_equations(radius, tree):
    """Motion, its derivative by gravity, and the force that closes the loop, where it has settled
    and 15 steps after the start."""
    time, e = np.linspace(0, 0.4, 101), 1e-3
    q, v, lam = four_bar_reference(time)
    up, down = (four_bar_reference(time, None, GRAVITY + d)[0][-1] for d in (e, -e))
    errors = []
    for step in (2e-3, 1e-3):
        s = four_bar(tree=tree)
        r = rolled(s, radius, step, mode="sensitivity", active=[s.index("gravity.y")],
                   outputs=["B.force"])  # fmt: skip
        at, rate = places(s, r)
        dx = np.stack([r.dx[-1, 6 * i : 6 * i + 6, 0][[0, 1, 5]] for i in range(3)])
        force = np.abs(r.outputs["B.force"][:: round(4e-3 / step), :2] - lam).max(1)
        errors.append([
            np.abs(at[-1] - q[-1]).max(), np.abs(rate[-1] - v[-1]).max(),
            np.abs(-dx - (up - down) / (2 * e)).max(), force[50:].max(),
        ])  # fmt: skip
        assert s.joint_motion("B", s.values, r)["opening"].max() < 1e-12
        assert force[8:].max() < 4e3 * step**2 * np.abs(lam).max()
    orders = np.log2(np.divide(*errors))
    assert np.all((orders > 1.75) | (np.array(errors[1]) < 1e-6)), (errors, orders)


def test_energy_is_kept_better_than_by_bdf():
    drift = {}
    for radius in (None, 0.8):
        s = four_bar()
        energy = s.energies(rolled(s, radius, 2e-3, 2.0))["total"]
        drift[radius] = np.abs(energy - energy[0]).max()
    assert 3 * drift[0.8] < drift[None]


@pytest.mark.parametrize("joint", ["A", "B"])
def test_forces_of_joints_in_trees_and_of_rows_balance_the_coupler(joint):
    """Rate of momentum = weight + forces of both its hinges, without ringing."""
    s = four_bar()
    r = rolled(s, 0.8, 1e-3, outputs=["A.force", "B.force"])
    a = np.gradient(r.velocity[:, 1], 1e-3, axis=0)
    weight = np.array([0, -GRAVITY * MASSES["coupler"], 0])
    total = r.outputs["A.force"] + r.outputs["B.force"] + weight
    settled = slice(15, -15)
    assert np.abs(total - MASSES["coupler"] * a)[settled].max() < 1e-3 * np.abs(total).max()
    force = r.outputs[f"{joint}.force"]
    assert np.abs(np.diff(force, 2, axis=0))[settled].max() < 1e-2 * np.abs(force).max()


def some(s, seed, *also):
    names = smooth_names(s)
    chosen = np.random.default_rng(seed).choice(names, 4, replace=False).tolist()
    return list(dict.fromkeys([*chosen, *also]))


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_of_loops(kind):
    """Through BDF's first steps, those of growing spectral radius, and after them."""
    i = KINDS.index(kind)
    s = ring(kind, BASES[i % 3], i)
    names = some(s, 40 + i, "end.anchor_b.x", "two.position.y", "c.position.z", "d.mass")
    check_gradients(s, 20, options([0.3, 0.8, 0.95][(i + 1) % 3]), names)


def driven(closed):
    s = ring("hinge", "free body", 4) if closed else tree("driven body", seed=5)
    joint = "end" if closed else "hinge"
    if closed:
        s.add_motor("servo", joint=joint, keys=[0.0, 0.4], interval=0.2, stiffness=3.0,
                    damping=0.05)  # fmt: skip
        s.add_armature("rotor", joint=joint, inertia=0.01)
    return s, [joint + ".anchor_a.x", "servo.target[1]", "rotor.inertia", "c.mass", "a.velocity.y"]


@pytest.mark.parametrize("closed", [True, False])
def test_outputs_and_gradients_with_drives_and_armature(closed):
    s, names = driven(closed)
    joint = "end" if closed else "universal"
    outputs = [f"{joint}.force", f"{joint}.torque", "servo.torque", "weld.force", "one.torque"]
    known = {o.name for o in s.outputs}
    check_outputs(s, 18, options(0.8, 5e-3), names, [n for n in outputs if n in known])
    check_gradients(s, 18, options(0.5, 5e-3), names, 3e-6)


def test_steps_that_are_halved_begin_anew():
    s = ring("ball", seed=2)
    o = _engine.Options(step=0.04, spectral_radius=0.8, max_iterations=4, max_halvings=8,
                        tolerance=1e-12, record_modes=True)  # fmt: skip
    r = check_gradients(s, 20, o, ["d.mass", "end.anchor_b.x", "gravity.z"], 1e-5)
    assert r.halvings > 0


@pytest.mark.parametrize("make", [four_bar, lambda: tree(forces=False)])
def test_a_radius_at_which_forces_ring_for_ever_is_refused(make):
    s = make()
    for radius in (0.96, 1.0):
        with pytest.raises(ValueError, match=rf"at most 0\.95.*exactly.*got {radius:g}"):
            _engine.rollout(s, s.values, 1, _engine.Options(step=0.01, spectral_radius=radius))
