"""Exponential map, logarithm and Jacobians against SciPy and finite differences."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from diffsim_ros import rotation as so3

ANGLES = [0.0, 1e-12, 1e-5, 0.1, 0.2999, 0.3001, 1.0, 3.0, np.pi - 1e-7]


def vectors(angle, count=5, seed=0):
    axis = np.random.default_rng(seed).normal(size=(count, 3))
    return angle * axis / np.linalg.norm(axis, axis=1, keepdims=True)


@pytest.mark.parametrize("angle", ANGLES)
def test_exp_log_and_matrix_agree_with_scipy(angle):
    theta = vectors(angle)
    q = so3.quat_exp(theta)
    peer = Rotation.from_rotvec(theta)
    np.testing.assert_allclose(so3.quat_matrix(q), peer.as_matrix(), atol=1e-15 * 8)
    np.testing.assert_allclose(so3.quat_log(q), theta, atol=1e-14)
    np.testing.assert_allclose(so3.quat_log(-q), theta, atol=1e-14)


@pytest.mark.parametrize("angle", [*ANGLES, np.pi])
def test_quaternions_of_matrices(angle):
    q = so3.quat_exp(vectors(angle, count=30))
    found = so3.quat_from_matrix(so3.quat_matrix(q).reshape(5, 6, 3, 3)).reshape(-1, 4)
    assert (found[:, 3] >= 0.0).all()
    same = np.abs(np.sum(found * q, axis=1))  # of opposite quaternions, too
    np.testing.assert_allclose(same, 1.0, atol=1e-14)
    np.testing.assert_allclose(so3.quat_matrix(found), so3.quat_matrix(q), atol=2e-15)


def test_angles_and_rotated_vectors_agree_with_scipy():
    a, b = Rotation.random(7, random_state=1), Rotation.random(7, random_state=2)
    v = np.random.default_rng(3).normal(size=(7, 3))
    np.testing.assert_allclose(so3.quat_rotate(a.as_quat(), v), a.apply(v), atol=1e-14)
    angle = so3.quat_angle(a.as_quat(), b.as_quat())
    np.testing.assert_allclose(angle, (a.inv() * b).magnitude(), atol=1e-14)


def test_product_and_inverse_agree_with_scipy():
    a, b = Rotation.random(7, random_state=1), Rotation.random(7, random_state=2)
    product = so3.quat_matrix(so3.quat_multiply(a.as_quat(), b.as_quat()))
    np.testing.assert_allclose(product, (a * b).as_matrix(), atol=1e-14)
    unit = so3.quat_multiply(a.as_quat(), so3.quat_conjugate(a.as_quat()))
    np.testing.assert_allclose(unit, np.tile([0, 0, 0, 1.0], (7, 1)), atol=1e-15)


@pytest.mark.parametrize("angle", [*ANGLES, np.pi, 4.0, 6.0])
def test_left_jacobian_and_its_inverse(angle):
    theta, d = vectors(angle), np.array([0.3, -0.5, 0.8])
    jacobian = so3.left_jacobian(theta)
    near = np.array([so3.left_jacobian_inverse(v) @ so3.left_jacobian(v) for v in theta])
    np.testing.assert_allclose(near, np.broadcast_to(np.eye(3), near.shape), atol=1e-12)
    eps = 1e-6
    plus, minus = so3.quat_exp(theta + eps * d), so3.quat_exp(theta - eps * d)
    turned = so3.quat_log(so3.quat_multiply(plus, so3.quat_conjugate(minus))) / (2 * eps)
    np.testing.assert_allclose(jacobian @ d, turned, atol=1e-9)


def test_series_meets_the_closed_form():
    below, above = (so3.left_jacobian(vectors(0.3 * (1 + s))) for s in (-1e-13, 1e-13))
    np.testing.assert_allclose(below, above, atol=1e-13)
    below, above = (so3.left_jacobian_inverse(vectors(0.3 * (1 + s))) for s in (-1e-13, 1e-13))
    np.testing.assert_allclose(below, above, atol=1e-13)
