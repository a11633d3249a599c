"""Derivatives of dynamics by inertias and by the places of joints, and the regressor."""

import numpy as np
import pytest

from diffsim_ros._engine import ArticulatedModel, TreeLink
from validation.dynamics import phi, random_state, random_tree, relative, with_place

SIXTH = ((1, 3 / 4), (2, -3 / 20), (3, 1 / 60))
"""Weights of central differences of order 6."""


def slope(function, h):
    """Derivative at 0 by differences of order 6."""
    return sum(w / h * (function(k * h) - function(-k * h)) for k, w in SIXTH)


def with_phi(model, i, change):
    """The model with other parameters of link i."""
    m, *rest = phi(model.links[i]) + change
    h, (xx, yy, zz, xy, xz, yz) = np.array(rest[:3]), rest[3:]
    c = h / m
    about = np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])
    links = list(model.links)
    inertia = about - m * (c @ c * np.eye(3) - np.outer(c, c))
    links[i] = TreeLink(links[i].name, m, c, inertia)
    return ArticulatedModel(model.joints, links, model.gravity)


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(11)
    model = random_tree(rng, 8)
    (q,), (qd,), (qdd,), (tau,) = random_state(model, rng)
    return model, q, qd, qdd, tau


def test_efforts_are_the_regressor_times_the_parameters(case):
    model, q, qd, qdd, _ = case
    Y = model.regressor(q, qd, qdd)
    armature = np.concatenate(
        [[j.armature] * {"fixed": 0, "revolute": 1, "prismatic": 1}.get(j.type, 3)
         for j in model.joints]
    )  # fmt: skip
    wanted = model.inverse_dynamics(q, qd, qdd) - armature * qdd
    assert Y @ np.concatenate([phi(x) for x in model.links]) == pytest.approx(wanted, abs=1e-10)
    assert np.array_equal(model.parameter_derivatives(q, qd, qdd)["inertial"], Y)


def test_places_and_lengths_are_as_by_differences(case):
    model, q, qd, qdd, _ = case
    found = model.parameter_derivatives(q, qd, qdd)
    wanted, along = np.zeros_like(found["places"]), np.zeros_like(found["lengths"])
    for i, joint in enumerate(model.joints):
        for k, e in enumerate(np.eye(6)):
            wanted[:, 6 * i + k] = slope(
                lambda s, i=i, e=e: with_place(model, i, s * e).inverse_dynamics(q, qd, qdd),
                1e-2,
            )
        unit = joint.r / np.linalg.norm(joint.r)
        along[:, i] = wanted[:, 6 * i + 3 : 6 * i + 6] @ unit
    assert relative(found["places"], wanted) < 1e-9
    assert relative(found["lengths"], along) < 1e-9


def test_accelerations_change_by_minus_the_inverse_mass_times_as_much(case):
    model, q, qd, _, tau = case
    ahead = model.forward_dynamics_derivatives(q, qd, tau)
    slopes = model.parameter_derivatives(q, qd, ahead["qdd"])
    i = max(k for k, link in enumerate(model.links) if link.mass > 0)
    scale = 1e-2 * np.abs(phi(model.links[i])).max() * np.eye(10)
    for k in (0, 1, 4, 7):
        wanted = slope(
            lambda s, k=k: with_phi(model, i, s * scale[k]).forward_dynamics(q, qd, tau), 1e-2
        )
        found = -ahead["by_tau"] @ slopes["inertial"][:, 10 * i + k] * scale[k, k]
        assert relative(found, wanted) < 1e-8
    wanted = [
        slope(lambda s, e=e: with_place(model, i, s * e).forward_dynamics(q, qd, tau), 1e-2)
        for e in np.eye(6)
    ]
    found = -ahead["by_tau"] @ slopes["places"][:, 6 * i : 6 * i + 6]
    assert np.abs(found).max() > 0.1 and relative(found, np.transpose(wanted)) < 1e-8
