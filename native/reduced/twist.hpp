// Spatial vectors as columns of matrices: twists (omega, v) and wrenches (n, f) about one point O,
// in world axes (spatial/vectors.hpp).
#pragma once

#include <cmath>

#include "../spatial/vectors.hpp"

namespace diffsim {

/// A turn about an axis through a place, and a slide.
inline Vector6 twist(const Vector3d& turn, const Vector3d& through, const Vector3d& slide) {
  return MotionVector(turn, through.cross(turn) + slide).vector();
}

/// M <- M R_axis(q).
inline void turn_about(int axis, double q, Matrix3d& M) {
  const int i = (axis + 1) % 3, j = (axis + 2) % 3;
  const double c = std::cos(q), s = std::sin(q);
  const Vector3d first = M.col(i), second = M.col(j);
  M.col(i) = c * first + s * second;
  M.col(j) = c * second - s * first;
}

/// a x b: the rate of b where it moves with a.
inline Vector6 cross(const Vector6& a, const Vector6& b) {
  return crossm(MotionVector(a), MotionVector(b)).vector();
}

/// a x* F: b . (a x* F) = -(a x b) . F.
inline Vector6 cross_force(const Vector6& a, const Vector6& F) {
  return crossf(MotionVector(a), ForceVector(F)).vector();
}

/// cross(a, .) as a matrix.
inline Matrix6 cross_matrix(const Vector6& a) { return crossm_matrix(MotionVector(a)); }

}  // namespace diffsim
