// Adjoints of spatial inertias, and dyads: matrices of six rows and columns  [Qa App. G (42)-(52)].
//
// The gradient by a RigidInertia is by its ten parameters, that by an ArticulatedInertia a
// symmetric matrix G with d phi = <G, dA>, that by a dyad one with any entries.
#pragma once

#include "adjoint.hpp"

namespace diffsim {

// --- rigid inertias -----------------------------------------------------------------------------

/// of I m: gradients by the ten parameters and by the motion. With bar = m it is twice the gradient
/// of the kinetic energy.
DIFFSIM_INLINE std::pair<Vector10, ForceVector> multiply_adjoint(const RigidInertia& b,
                                                                 const MotionVector& m,
                                                                 const MotionVector& bar) {
  const Vector3d &p = bar.w, &w = m.w;
  Vector10 on_b;
  on_b << bar.v.dot(m.v), cross_sum(m.v, p, bar.v, w), p.cwiseProduct(w),
      p.x() * w.y() + p.y() * w.x(), p.x() * w.z() + p.z() * w.x(), p.y() * w.z() + p.z() * w.y();
  return {on_b, b * bar};
}

namespace detail {
/// Symmetric G with <G, dI> = entries . d(xx yy zz xy xz yz), and back.
inline Matrix3d symmetric_gradient(const Vector6& e) {
  Matrix3d G;
  G << e(0), e(3) / 2, e(4) / 2, e(3) / 2, e(1), e(5) / 2, e(4) / 2, e(5) / 2, e(2);
  return G;
}
inline Vector6 gradient_entries(const Matrix3d& G) {
  return (Vector6() << G.diagonal(), 2 * G(0, 1), 2 * G(0, 2), 2 * G(1, 2)).finished();
}
/// <G, add_parallel_axis(a, b)> = a . K b.
inline Matrix3d parallel_axis_gradient(const Matrix3d& G) {
  return G.trace() * Matrix3d::Identity() - G;
}
}  // namespace detail

/// of X^T I X: h' = E^T h + m r, I' = E^T I E + parallel axes of r and 2 E^T h + m r.
inline std::pair<TransformGradient, Vector10> apply_transpose_adjoint(const Plx& X,
                                                                      const RigidInertia& b,
                                                                      const Vector10& bar) {
  const Matrix3d G = detail::symmetric_gradient(bar.tail<6>()), turned = X.E * G;
  const Matrix3d K = detail::parallel_axis_gradient(G);
  const Vector3d h = X.E.transpose() * b.h, h_bar = bar.segment<3>(1), Kr = K * X.r;
  const Vector3d on_h = h_bar + 2 * Kr;
  Vector10 on_b;
  on_b << bar(0) + X.r.dot(h_bar + Kr), X.E * on_h,
      detail::gradient_entries(turned * X.E.transpose());
  return {{2 * b.I.matrix() * turned + b.h * on_h.transpose(),
           b.m * h_bar + 2 * (K * h) + 2 * b.m * Kr},
          on_b};
}

/// of X^-T I X^-1: h' = E (h - m r), I' = E Q E^T, Q = I - parallel axes of r and 2 h - m r.
inline std::pair<TransformGradient, Vector10> apply_inverse_transpose_adjoint(const Plx& X,
                                                                              const RigidInertia& b,
                                                                              const Vector10& bar) {
  const Vector3d shift = b.m * X.r, h_bar = X.E.transpose() * bar.segment<3>(1);
  Symmetric3 Q = b.I;
  Q.add_parallel_axis(X.r, shift - 2 * b.h);
  const Matrix3d turned = detail::symmetric_gradient(bar.tail<6>()) * X.E;
  const Matrix3d P = X.E.transpose() * turned, K = detail::parallel_axis_gradient(P);
  const Vector3d Kr = K * X.r;
  Vector10 on_b;
  on_b << bar(0) - X.r.dot(h_bar - Kr), h_bar - 2 * Kr, detail::gradient_entries(P);
  return {{2 * turned * Q.matrix() + bar.segment<3>(1) * (b.h - shift).transpose(),
           2 * b.m * Kr - b.m * h_bar - 2 * (K * b.h)},
          on_b};
}

// --- dyads --------------------------------------------------------------------------------------

/// M m: the product of four blocks  [Qa (42)].
DIFFSIM_INLINE ForceVector multiply(const Matrix6& M, const MotionVector& m) {
  return ForceVector(Vector6(M * m.vector()));
}
/// M^T m: what [Qa (44)] is with the off-diagonal blocks exchanged.
DIFFSIM_INLINE ForceVector multiply_transpose(const Matrix6& M, const MotionVector& m) {
  return ForceVector(Vector6(M.transpose() * m.vector()));
}
/// f g^T of two forces, such as U U^T of an articulated body  [Qa (46)].
DIFFSIM_INLINE Matrix6 outer(const ForceVector& f, const ForceVector& g) {
  return f.vector() * g.vector().transpose();
}

DIFFSIM_INLINE std::pair<Matrix6, ForceVector> multiply_adjoint(
    const Matrix6& M, const MotionVector& m, const MotionVector& bar) {  // [Qa (43)]
  return {bar.vector() * m.vector().transpose(), multiply_transpose(M, bar)};
}
DIFFSIM_INLINE std::pair<Matrix6, ForceVector> multiply_transpose_adjoint(
    const Matrix6& M, const MotionVector& m, const MotionVector& bar) {  // [Qa (45)]
  return {m.vector() * bar.vector().transpose(), multiply(M, bar)};
}
DIFFSIM_INLINE std::pair<MotionVector, MotionVector> outer_adjoint(
    const ForceVector& f, const ForceVector& g, const Matrix6& bar) {  // [Qa (47)]
  return {MotionVector(Vector6(bar * g.vector())),
          MotionVector(Vector6(bar.transpose() * f.vector()))};
}

/// X^T M X  [Qa (52)].
inline Matrix6 shift(const Plx& X, const Matrix6& M) {
  const Matrix6 x = motion_matrix(X);
  return x.transpose() * M * x;
}
inline std::pair<TransformGradient, Matrix6> shift_adjoint(const Plx& X, const Matrix6& M,
                                                           const Matrix6& bar) {
  const auto [on_x, on_M] = congruence_adjoint(motion_matrix(X), M, bar);
  return {motion_matrix_adjoint(X, on_x), on_M};
}

// --- articulated inertias -----------------------------------------------------------------------

/// of A m.
inline std::pair<Matrix6, ForceVector> multiply_adjoint(const ArticulatedInertia& A,
                                                        const MotionVector& m,
                                                        const MotionVector& bar) {
  const Matrix6 product = bar.vector() * m.vector().transpose();
  return {0.5 * (product + product.transpose()), A * bar};
}

/// of X^T A X, for a symmetric bar.
inline std::pair<TransformGradient, Matrix6> apply_transpose_adjoint(const Plx& X,
                                                                     const ArticulatedInertia& A,
                                                                     const Matrix6& bar) {
  return shift_adjoint(X, matrix(A), bar);
}

/// of X^-T A X^-1, for a symmetric bar.
inline std::pair<TransformGradient, Matrix6> apply_inverse_transpose_adjoint(
    const Plx& X, const ArticulatedInertia& A, const Matrix6& bar) {
  Matrix6 back;  // X^-1
  back << X.E.transpose(), Matrix3d::Zero(), skew(X.r) * X.E.transpose(), X.E.transpose();
  const auto [on_back, on_A] = congruence_adjoint(back, matrix(A), bar);
  const Matrix3d lower = on_back.bottomLeftCorner<3, 3>();
  const Matrix3d on_Et = on_back.topLeftCorner<3, 3>() + on_back.bottomRightCorner<3, 3>();
  return {{on_Et.transpose() + lower.transpose() * skew(X.r), skew_adjoint(lower * X.E)}, on_A};
}

// --- the same of right-associative transforms ---------------------------------------------------

template <class Inertia, class Gradient>
std::pair<TransformGradient, Gradient> apply_transpose_adjoint(const Plxb& Y, const Inertia& b,
                                                               const Gradient& bar) {
  const auto [on_X, on_b] = apply_transpose_adjoint(to_plx(Y), b, bar);
  return {on_X.transposed(), on_b};
}
template <class Inertia, class Gradient>
std::pair<TransformGradient, Gradient> apply_inverse_transpose_adjoint(const Plxb& Y,
                                                                       const Inertia& b,
                                                                       const Gradient& bar) {
  const auto [on_X, on_b] = apply_inverse_transpose_adjoint(to_plx(Y), b, bar);
  return {on_X.transposed(), on_b};
}

}  // namespace diffsim
