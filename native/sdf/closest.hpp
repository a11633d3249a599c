// The sample of an exact distance from the surface's closest point.
#pragma once

#include <Eigen/LU>

#include "sdf.hpp"

namespace diffsim {

/// At x, whose closest point is y, where the surface has the outward unit normal n and the shape
/// operator S = dn/dy (S n = 0): g = n . (x - y), kappa = (I + g S)^-1 S.
inline SdfSample sample_by_closest(const Vector3d& x, const Vector3d& y, const Vector3d& n,
                                   const Matrix3d& S) {
  SdfSample s;
  s.g = n.dot(x - y);
  s.n = n;
  const Matrix3d kappa = (Matrix3d::Identity() + s.g * S).partialPivLu().solve(S);
  s.kappa = (kappa + kappa.transpose()) / 2;
  if (!s.kappa.allFinite()) s.kappa.setZero();  // on the medial axis
  return s;
}

/// The shape operator of F = 0 at a point: P F'' P / |F'|, P the projection off n = F'/|F'|.
inline Matrix3d shape_operator(const Vector3d& n, double slope, const Matrix3d& second) {
  const Matrix3d P = Matrix3d::Identity() - n * n.transpose();
  return P * second * P / slope;
}

}  // namespace diffsim
