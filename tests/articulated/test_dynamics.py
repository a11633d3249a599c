"""Recursive dynamics of trees: against Pinocchio, differences, conservation laws."""

import numpy as np
import pytest

from diffsim_ros._engine import ArticulatedModel, InvalidInput, TreeJoint, TreeLink
from validation.dynamics import random_state, random_tree, relative, robot, study

RNG = np.random.default_rng


def test_named_robots_and_random_trees_are_as_in_pinocchio():
    pytest.importorskip("pinocchio")
    figures = study(0.1)  # asserts every deviation
    assert {"ur5", "seven_axis", "solo12", "anymal_b", "humanoid", "random"} < set(figures)
    assert figures["random"]["trees"] == 20 and figures["random"]["most_coordinates"] > 64


def test_derivatives_by_q_are_those_of_motion_along_the_tangent():
    """Without Pinocchio: sixth-order differences of forward dynamics."""
    model = random_tree(RNG(5), 9)
    (q,), (qd,), _, (tau,) = random_state(model, RNG(6))
    slopes = model.forward_dynamics_derivatives(q, qd, tau)
    steps = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
    h, n = 1e-2, model.velocity_size
    wanted = np.zeros((n, n))
    for k, e in enumerate(h * np.eye(n)):
        for m, weight in steps:
            ahead, behind = (
                model.forward_dynamics(model.moved(q, s * m * e), qd, tau) for s in (1, -1)
            )
            wanted[:, k] += weight / h * (ahead - behind)
    assert relative(slopes["by_q"], wanted) < 1e-7


def test_forward_dynamics_undoes_inverse_dynamics_in_batches():
    model = random_tree(RNG(7), 30)
    q, qd, qdd, _ = random_state(model, RNG(8), 50)
    tau = model.inverse_dynamics(q, qd, qdd)
    found = model.forward_dynamics(q, qd, tau, threads=2)
    assert found == pytest.approx(qdd, abs=1e-8)
    alone = [model.forward_dynamics(*state) for state in zip(q, qd, tau, strict=True)]
    assert np.array_equal(found, alone)  # the same bits, however many at once
    shape = (5, 10, -1)
    again = model.inverse_dynamics(*(x.reshape(shape) for x in (q, qd, qdd)), threads=2)
    assert np.array_equal(again.reshape(50, -1), tau)
    slopes = model.forward_dynamics_derivatives(q, qd, tau, threads=2)
    last = model.forward_dynamics_derivatives(q[-1], qd[-1], tau[-1])
    assert np.array_equal(slopes["by_q"][-1], last["by_q"])


def test_a_robot_far_from_the_origin_loses_no_digits():
    model = robot("solo12")
    (q,), (qd,), _, (tau,) = random_state(model, RNG(1))
    near = model.forward_dynamics_derivatives(q, qd, tau)
    q[:3] += 1e6
    far = model.forward_dynamics_derivatives(q, qd, tau)
    for name, wanted in near.items():
        assert relative(far[name], wanted) < 1e-9


def _flight(model, q, qd, steps, h):
    """Classical Runge-Kutta (order 4) in tangent coordinates, without efforts."""
    zero = np.zeros(model.velocity_size)

    def rate(q, qd):
        return model.forward_dynamics(q, qd, zero)

    for _ in range(steps):
        # Each stage from the same q: a spherical joint's q moves along its body's velocity.
        k1 = rate(q, qd)
        k2 = rate(model.moved(q, h / 2 * qd), qd + h / 2 * k1)
        k3 = rate(model.moved(q, h / 2 * (qd + h / 2 * k1)), qd + h / 2 * k2)
        k4 = rate(model.moved(q, h * (qd + h / 2 * k2)), qd + h * k3)
        q = model.moved(q, h * (qd + h / 6 * (k1 + k2 + k3)))
        qd = qd + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return q, qd


def _energy(model, q, qd):
    mass, com = (model.centroidal(q, qd)[name] for name in ("mass", "com"))
    return 0.5 * qd @ model.mass_matrix(q) @ qd - mass * np.dot(model.gravity, com)


def test_energy_and_momentum_are_kept_in_free_flight():
    model = robot("solo12")
    (q,), (qd,), _, _ = random_state(model, RNG(2))
    qd *= 0.3
    before, energy = model.centroidal(q, qd), _energy(model, q, qd)
    h, steps = 1e-4, 200
    q, qd = _flight(model, q, qd, steps, h)
    after = model.centroidal(q, qd)
    assert _energy(model, q, qd) == pytest.approx(energy, rel=1e-6)
    gained = before["mass"] * np.array(model.gravity) * h * steps
    assert after["momentum"][3:] - before["momentum"][3:] == pytest.approx(gained, rel=1e-6)
    assert after["momentum"][:3] == pytest.approx(before["momentum"][:3], rel=1e-5, abs=1e-8)


def test_centroidal_quantities_and_jacobians_are_those_of_the_links():
    model = random_tree(RNG(3), 12)
    (q,), (qd,), _, _ = random_state(model, RNG(4))
    found, poses = model.centroidal(q, qd), model.link_poses(q)
    h = 1e-6
    rates = model.link_poses(model.moved(q, h * qd)) - model.link_poses(model.moved(q, -h * qd))
    total, masses = np.zeros(6), [link.mass for link in model.links]
    centres = np.array([p[:3, :3] @ x.com + p[:3, 3] for p, x in zip(poses, model.links)])  # noqa: B905
    assert found["mass"] == pytest.approx(sum(masses))
    assert found["com"] == pytest.approx(masses @ centres / sum(masses), abs=1e-12)
    for link, pose, rate, centre in zip(model.links, poses, rates / (2 * h), centres, strict=True):
        J = model.jacobian(q, link.name)
        spin, velocity = np.split(J @ qd, 2)
        turning = rate[:3, :3] @ pose[:3, :3].T
        assert turning[[2, 0, 1], [1, 2, 0]] == pytest.approx(spin, abs=1e-7)
        assert rate[:3, 3] == pytest.approx(velocity, abs=1e-7)
        impulse = link.mass * (velocity + np.cross(spin, pose[:3, :3] @ link.com))
        turned = pose[:3, :3] @ link.inertia @ pose[:3, :3].T @ spin
        total += [*(turned + np.cross(centre - found["com"], impulse)), *impulse]
    assert found["momentum"] == pytest.approx(total, abs=1e-10)
    assert found["matrix"] @ qd == pytest.approx(total, abs=1e-10)


def test_states_that_do_not_fit_are_refused():
    model = robot("solo12")
    (q,), (qd,), _, _ = random_state(model, RNG(0))
    with pytest.raises(InvalidInput, match=r"qd: an array \(..., 18\), as many rows as q, got sha"):
        model.forward_dynamics(q, q, qd)
    with pytest.raises(InvalidInput, match=r"joint 'base': a unit quaternion"):
        model.mass_matrix(1.01 * q)
    with pytest.raises(InvalidInput, match="tau: must be finite, got nan"):
        model.forward_dynamics(q, qd, np.nan * qd)
    with pytest.raises(InvalidInput, match="link: a link of the tree, got 'tail'"):
        model.jacobian(q, "tail")


def test_positions_without_an_inverse_mass_matrix_are_refused():
    """Two hinges on one axis, and nothing but a frame between them: gimbal lock."""
    x, z = np.array([1.0, 0, 0]), np.array([0, 0, 1.0])
    joints = [TreeJoint("a", "revolute", -1, axis=z), TreeJoint("b", "revolute", 0, axis=x),
              TreeJoint("c", "revolute", 1, axis=z)]  # fmt: skip
    links = [TreeLink("1"), TreeLink("2"), TreeLink("3", 1.0, [0, 0, 0], np.eye(3))]
    model = ArticulatedModel(joints, links)
    zero = np.zeros(3)
    model.forward_dynamics([0, 1.0, 0], zero, zero)
    with pytest.raises(InvalidInput, match="the mass matrix must have an inverse, to 1e-13"):
        model.forward_dynamics(zero, zero, np.ones(3))
