"""A whole scene at rest: against its elements one by one, and mass against differences."""

import numpy as np
import pytest

from diffsim_ros import _engine
from diffsim_ros.meshes import box
from diffsim_ros.rotation import quat_exp, quat_log, quat_multiply

SPAN = 0.1


def mixed():
    """A soft block glued to a rigid body with a payload, a joint with armature, a contact."""
    s = _engine.Scene()
    s.set_gravity([0.3, 0.2, -9.81])
    for i, name in enumerate("ab"):
        s.add_rigid_body(name, mass=0.4 + i, inertia=[0.01, 0.012, 0.015, 1e-3, -2e-3, 5e-4],
                         radius=0.1, position=[0.3 * i, 0, 0.1],
                         orientation=[0.1 * i, 0.2, 0, 1])  # fmt: skip
    s.add_kinematic_body("hand", interval=1.0, position=[0, 0, 0.5], rotation=[0, 0, 0.1],
                         radius=0.1)  # fmt: skip
    s.add_joint("hinge", kind="hinge", body_a="a", body_b="b", position=[0.15, 0, 0.1],
                axis=[0, 1, 0], stiffness=2e3)  # fmt: skip
    s.add_armature("rotor", joint="hinge", inertia=0.02)
    s.add_payload("load", body="b", mass=0.2, first_moment=[0.01, 0.02, 0.0],
                  inertia=[2e-3, 2e-3, 2e-3, 0, 0, 0])  # fmt: skip
    vertices, tets = box((SPAN, SPAN, SPAN), (1, 1, 1))
    held = np.flatnonzero(vertices[:, 2] > SPAN / 2 - 1e-9)
    s.add_solid("block", vertices=vertices, tets=tets, density=800.0, young=1e5, poisson=0.3,
                mass="consistent", position=[0, 0, 0.03], glued=[("a", held)])  # fmt: skip
    s.add_contact("floor", points="block", sdf=_engine.Plane([0, 0, 1], 0.0), k_n=500.0,
                  k_t=5.0, c_f=0.3)  # fmt: skip
    return s


def dense(triplets, shape):
    found = np.zeros(shape)
    np.add.at(found, (triplets[0], triplets[1]), triplets[2])
    return found


def at(s):
    position, orientation, _ = s.start_pose(s.values, [])
    return position, orientation


def moved(s, pose, step):
    position, orientation = pose[0].copy(), pose[1].copy()
    dofs = s.node_dofs
    for i, first in enumerate(dofs[:-1]):
        position[i] += step[first : first + 3]
        if dofs[i + 1] - first == 6:
            orientation[i] = quat_multiply(quat_exp(step[first + 3 : first + 6]), orientation[i])
    return position, orientation


def test_a_scene_at_rest_is_the_sum_of_its_elements():
    s = mixed()
    pose, p, n = at(s), s.values, s.ndof
    found = s.evaluate_at_rest(p, *pose)
    still = np.zeros_like(pose[0])
    instant = (pose[0], quat_log(pose[1]), still, still)
    parts = [s.evaluate_element(name, p, [instant, instant], 0.01) for name in s.element_names]
    assert found["r"] == pytest.approx(sum(e["r"] for e in parts), abs=1e-12)
    K = sum(e["K"] for e in parts)
    assert dense(found["K"], (n, n)) == pytest.approx(K, abs=1e-12 * np.abs(K).max())
    M = -0.01 * sum(e["past"][0][1] for e in parts)
    assert dense(found["M"], (n, n)) == pytest.approx(M, abs=1e-14)
    assert M == pytest.approx(M.T) and np.linalg.eigvalsh(M).min() > -1e-15
    by_p = sum(e["dr_dp"] for e in parts)
    assert dense(found["dr_dp"], by_p.shape) == pytest.approx(by_p, abs=1e-12)
    assert len(found["modes"]) > 0
    bare = s.evaluate_at_rest(p, *pose, derivatives=False)
    assert np.array_equal(bare["r"], found["r"]) and "K" not in bare


def test_momentum_by_pose_and_parameters():
    s = mixed()
    pose, p, n = at(s), s.values, s.ndof
    rate = np.random.default_rng(0).normal(size=n)

    def momentum(values, step):
        there = moved(s, pose, step)
        return dense(s.evaluate_at_rest(values, *there)["M"], (n, n)) @ rate

    by_x, by_p = s.momentum_derivatives(p, *pose, rate)
    by_x, by_p = dense(by_x, (n, n)), dense(by_p, (n, len(p)))
    eps, zero = 1e-6, np.zeros(n)
    for j in range(n):
        step = np.eye(n)[j] * eps
        difference = (momentum(p, step) - momentum(p, -step)) / (2 * eps)
        assert by_x[:, j] == pytest.approx(difference, abs=1e-8)
    for j in range(len(p)):
        if s.parameters[j].initial or "poisson" in s.parameters[j].name:
            continue
        change = np.eye(len(p))[j] * 1e-4
        if "axis_rotation" in s.parameters[j].name:
            difference = (momentum(p + change, zero) - momentum(p - change, zero)) / 2e-4
        else:  # one-sided, as mass is linear and some start at 0
            difference = (momentum(p + change, zero) - momentum(p, zero)) / 1e-4
        assert by_p[:, j] == pytest.approx(difference, abs=1e-8), s.parameters[j].name
    assert np.abs(by_x).max() > 1e-3


def test_the_start_moves_with_its_parameters():
    s = mixed()
    p, active = s.values, [s.index("a.rotation.y"), s.index("block.position.z")]
    by = s.start_pose(p, active)[2]
    for column, j in enumerate(active):
        high, low = p.copy(), p.copy()
        high[j] += 1e-6
        low[j] -= 1e-6
        a, b = (s.start_pose(q, [])[0] for q in (high, low))
        for i, first in enumerate(s.node_dofs[:-1]):
            assert by[first : first + 3, column] == pytest.approx((a - b)[i] / 2e-6, abs=1e-8)
    assert np.abs(by).max() > 0.9


def test_what_statics_has_of_a_scene():
    s = mixed()
    assert sum(s.driven_dofs) == 6
    first = s.dof_offset("hand")
    assert np.flatnonzero(s.driven_dofs).tolist() == list(range(first, first + 6))
    assert s.node_dofs[-1] == s.ndof == len(s.residual_scale)
    assert s.dof_name(first + 1) == "hand.position.y"


def test_wrong_shapes_are_refused():
    s = mixed()
    position, orientation = at(s)
    with pytest.raises(ValueError, match="statics: position: must have"):
        s.evaluate_at_rest(s.values, position[1:], orientation)
    with pytest.raises(ValueError, match=r"statics: rate: must be \(ndof,\)"):
        s.momentum_derivatives(s.values, position, orientation, np.zeros(3))
