// Adjoints (reverse-mode derivatives) of the operations of spatial.hpp  [Qa App. G (28)-(41),
// (51)].
//
// ..._adjoint(inputs, bar) returns the gradients by the inputs, in their order, of a number whose
// gradient by the output is `bar`. Gradients by motions are forces, those by forces are motions, so
// most adjoints are operations of spatial.hpp themselves. The gradient by E is by its nine entries,
// as if each was free; on_displacement() turns it into one by what a frame can do.
// Several of [Qa]'s formulas are misprinted, or are by E^T: docs/explanation/spatial_algebra.md.
#pragma once

#include "matrix_adjoint.hpp"
#include "spatial.hpp"

namespace diffsim {

/// Gradient by a Plx or a Plxb.
struct TransformGradient {
  Matrix3d E = Matrix3d::Zero();
  Vector3d r = Vector3d::Zero();

  TransformGradient& operator+=(const TransformGradient& b) { return E += b.E, r += b.r, *this; }
  TransformGradient transposed() const { return {E.transpose(), r}; }
};

/// Gradient by a displacement of frame B of ^B X_A: d phi = dot(d, result) for a small motion d of
/// the frame (rotation vector, displacement; in B).
DIFFSIM_INLINE ForceVector on_displacement(const Plx& X, const TransformGradient& bar) {
  return {-skew_adjoint(bar.E * X.E.transpose()), X.E * bar.r};  // dE = -[d.w]x E, dr = E^T d.v
}

// --- transforms acting on vectors ---------------------------------------------------------------

DIFFSIM_INLINE std::pair<TransformGradient, ForceVector> apply_adjoint(
    const Plx& X, const MotionVector& m, const ForceVector& bar) {  // [Qa (29)]
  const Vector3d f = X.E.transpose() * bar.f;
  return {{bar.n * m.w.transpose() + bar.f * (m.v - X.r.cross(m.w)).transpose(), f.cross(m.w)},
          {X.E.transpose() * bar.n + X.r.cross(f), f}};
}

DIFFSIM_INLINE std::pair<TransformGradient, ForceVector> apply_inverse_adjoint(
    const Plx& X, const MotionVector& m, const ForceVector& bar) {  // [Qa (31)]
  const Vector3d n = bar.n - X.r.cross(bar.f), w = X.E.transpose() * m.w;
  return {{m.w * n.transpose() + m.v * bar.f.transpose(), w.cross(bar.f)}, {X.E * n, X.E * bar.f}};
}

DIFFSIM_INLINE std::pair<TransformGradient, MotionVector> apply_transpose_adjoint(
    const Plx& X, const ForceVector& g, const MotionVector& bar) {  // [Qa (33)]
  const Vector3d v = bar.v - X.r.cross(bar.w), f = X.E.transpose() * g.f;
  return {{g.n * bar.w.transpose() + g.f * v.transpose(), f.cross(bar.w)}, {X.E * bar.w, X.E * v}};
}

DIFFSIM_INLINE std::pair<TransformGradient, MotionVector> apply_inverse_transpose_adjoint(
    const Plx& X, const ForceVector& g, const MotionVector& bar) {  // [Qa (35)]
  const Vector3d w = X.E.transpose() * bar.w;
  return {{bar.w * (g.n - X.r.cross(g.f)).transpose() + bar.v * g.f.transpose(), w.cross(g.f)},
          {w, X.E.transpose() * bar.v + X.r.cross(w)}};
}

DIFFSIM_INLINE std::pair<TransformGradient, TransformGradient> multiply_adjoint(
    const Plx& X1, const Plx& X2, const TransformGradient& bar) {  // [Qa (37)]
  return {{bar.E * X2.E.transpose(), X2.E * bar.r},
          {X1.E.transpose() * bar.E + X1.r * bar.r.transpose(), bar.r}};
}

DIFFSIM_INLINE TransformGradient inverse_adjoint(const Plx& X, const TransformGradient& bar) {
  return {bar.E.transpose() - bar.r * X.r.transpose(), -(X.E.transpose() * bar.r)};
}

/// of motion_matrix(X)  [Qa (51)].
inline TransformGradient motion_matrix_adjoint(const Plx& X, const Matrix6& bar) {
  const Matrix3d lower = bar.bottomLeftCorner<3, 3>();
  return {bar.topLeftCorner<3, 3>() + bar.bottomRightCorner<3, 3>() + lower * skew(X.r),
          -skew_adjoint(X.E.transpose() * lower)};
}

// --- the same of right-associative transforms ---------------------------------------------------

DIFFSIM_INLINE std::pair<TransformGradient, ForceVector> apply_adjoint(const Plxb& Y,
                                                                       const MotionVector& m,
                                                                       const ForceVector& bar) {
  const auto [on_X, on_m] = apply_adjoint(to_plx(Y), m, bar);
  return {on_X.transposed(), on_m};
}
DIFFSIM_INLINE std::pair<TransformGradient, ForceVector> apply_inverse_adjoint(
    const Plxb& Y, const MotionVector& m, const ForceVector& bar) {
  const auto [on_X, on_m] = apply_inverse_adjoint(to_plx(Y), m, bar);
  return {on_X.transposed(), on_m};
}
DIFFSIM_INLINE std::pair<TransformGradient, MotionVector> apply_transpose_adjoint(
    const Plxb& Y, const ForceVector& g, const MotionVector& bar) {
  const auto [on_X, on_g] = apply_transpose_adjoint(to_plx(Y), g, bar);
  return {on_X.transposed(), on_g};
}
DIFFSIM_INLINE std::pair<TransformGradient, MotionVector> apply_inverse_transpose_adjoint(
    const Plxb& Y, const ForceVector& g, const MotionVector& bar) {
  const auto [on_X, on_g] = apply_inverse_transpose_adjoint(to_plx(Y), g, bar);
  return {on_X.transposed(), on_g};
}
DIFFSIM_INLINE std::pair<TransformGradient, TransformGradient> multiply_adjoint(
    const Plxb& Y1, const Plxb& Y2, const TransformGradient& bar) {
  return {{bar.E * Y2.E.transpose() + bar.r * Y2.r.transpose(), bar.r},
          {Y1.E.transpose() * bar.E, Y1.E.transpose() * bar.r}};
}
DIFFSIM_INLINE TransformGradient inverse_adjoint(const Plxb& Y, const TransformGradient& bar) {
  return {bar.E.transpose() - Y.r * bar.r.transpose(), -(Y.E * bar.r)};
}
inline TransformGradient motion_matrix_adjoint(const Plxb& Y, const Matrix6& bar) {
  return motion_matrix_adjoint(to_plx(Y), bar).transposed();
}
DIFFSIM_INLINE ForceVector on_displacement(const Plxb& Y, const TransformGradient& bar) {
  return on_displacement(to_plx(Y), bar.transposed());
}

// --- cross products -----------------------------------------------------------------------------

DIFFSIM_INLINE std::pair<ForceVector, ForceVector> crossm_adjoint(
    const MotionVector& m1, const MotionVector& m2, const ForceVector& bar) {  // [Qa (39)]
  return {crossf(m2, bar), -crossf(m1, bar)};
}

DIFFSIM_INLINE std::pair<ForceVector, MotionVector> crossf_adjoint(
    const MotionVector& m, const ForceVector& f, const MotionVector& bar) {  // [Qa (41)]
  return {-crossf(bar, f), crossm(bar, m)};
}

}  // namespace diffsim
