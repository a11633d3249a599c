// Twists (omega, v) and wrenches (n, f) about one point, in one set of axes.
#pragma once

#include "../math.hpp"

namespace diffsim {

/// A turn about an axis through a place, and a slide.
inline Vector6 twist(const Vector3d& turn, const Vector3d& through, const Vector3d& slide) {
  Vector6 s;
  s.head<3>() = turn;
  s.tail<3>() = through.cross(turn) + slide;
  return s;
}

/// a x b of twists: the rate of b where it moves with a.
inline Vector6 cross(const Vector6& a, const Vector6& b) {
  const Vector3d w = a.head<3>(), v = a.tail<3>(), bw = b.head<3>(), bv = b.tail<3>();
  Vector6 c;
  c.head<3>() = w.cross(bw);
  c.tail<3>() = w.cross(bv) + v.cross(bw);
  return c;
}

/// a x* F of a wrench: b . (a x* F) = -(a x b) . F.
inline Vector6 cross_force(const Vector6& a, const Vector6& F) {
  const Vector3d w = a.head<3>(), v = a.tail<3>(), n = F.head<3>(), f = F.tail<3>();
  Vector6 c;
  c.head<3>() = w.cross(n) + v.cross(f);
  c.tail<3>() = w.cross(f);
  return c;
}

/// cross(a, .) as a matrix.
inline Matrix6 cross_matrix(const Vector6& a) {
  Matrix6 M = Matrix6::Zero();
  M.topLeftCorner<3, 3>() = M.bottomRightCorner<3, 3>() = skew(a.head<3>());
  M.bottomLeftCorner<3, 3>() = skew(a.tail<3>());
  return M;
}

}  // namespace diffsim
