"""Exponential coordinates: values and derivatives, also where series take over and near 2 pi."""

import numpy as np
import pytest
from scipy.linalg import expm

from diffsim_ros import _engine as e

ANGLES = [0.0, 1e-9, 1e-4, 0.3, 0.499, 0.501, 1.0, 2.5, np.pi - 1e-3, np.pi, 3.6, 6.0]


def hat(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


@pytest.fixture(params=ANGLES)
def theta(request):
    axis = np.array([0.36, -0.48, 0.8])
    return request.param * axis


def test_rotation_is_the_matrix_exponential(theta):
    assert e.exp_rotation(theta) == pytest.approx(expm(hat(theta)), abs=1e-13)


def test_log_inverts_exp(theta):
    R = e.exp_rotation(theta)
    assert e.exp_rotation(e.log_rotation(R)) == pytest.approx(R, abs=1e-14)
    assert np.linalg.norm(e.log_rotation(R)) <= np.pi + 1e-12


def test_left_jacobian_is_the_derivative_of_the_rotation(theta):
    """dR = [J_l dtheta]x R, in the WORLD frame [G A.1.2]."""
    J, eps = e.left_jacobian(theta), 1e-6
    for axis in np.eye(3):
        dR = (e.exp_rotation(theta + eps * axis) - e.exp_rotation(theta - eps * axis)) / (2 * eps)
        assert dR @ e.exp_rotation(theta).T == pytest.approx(hat(J @ axis), abs=1e-9)


def test_inverse_left_jacobian(theta):
    product = e.left_jacobian(theta) @ e.left_jacobian_inverse(theta)
    assert product == pytest.approx(np.eye(3), abs=1e-12)


def test_derivative_of_the_left_jacobian(theta):
    u, eps = np.array([0.7, 0.2, -1.1]), 1e-6
    D = e.left_jacobian_derivative(theta, u)
    for i, axis in enumerate(np.eye(3)):
        slope = (e.left_jacobian(theta + eps * axis) - e.left_jacobian(theta - eps * axis)) @ u
        assert D[:, i] == pytest.approx(slope / (2 * eps), abs=1e-9)
