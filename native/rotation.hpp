// Exponential coordinates theta of a rotation: R = exp([theta]x)  [G 4.6.1, A.1.1].
//
// omega = J_l(theta) theta_dot is the angular velocity in the WORLD frame [G A.1.2]. All
// coefficient functions switch to Taylor series for |theta|^2 < 0.25, so values and derivatives
// are accurate to rounding at and around theta = 0 ([G]'s switch at 1e-8 is not).
#pragma once

#include "math.hpp"

namespace diffsim {

/// R = exp([theta]x), Rodrigues' formula.
Matrix3d exp_rotation(const Vector3d& theta);

/// theta with exp([theta]x) = R and |theta| <= pi.
Vector3d log_rotation(const Matrix3d& R);

/// Left Jacobian J_l(theta): delta R = [J_l delta_theta]x R  [G A.1.1.1].
Matrix3d left_jacobian(const Vector3d& theta);

/// J_l(theta)^-1, finite for |theta| < 2 pi ([G]'s form is 0/0 at pi; this one uses cot).
Matrix3d left_jacobian_inverse(const Vector3d& theta);

/// d(J_l(theta) u)/d theta for a constant u.
Matrix3d left_jacobian_derivative(const Vector3d& theta, const Vector3d& u);

}  // namespace diffsim
