// Products of quaternions (x, y, z, w) and their adjoints  [Qa App. G (53)-(58)].
#pragma once

#include <utility>

#include "../math.hpp"

namespace diffsim {

using Vector4 = Eigen::Vector4d;

/// Hamilton product a b  [Qa (56)].
inline Vector4 quat_multiply(const Vector4& a, const Vector4& b) {
  const Vector3d u = a.head<3>(), v = b.head<3>();
  const Vector3d vector = a.w() * v + b.w() * u + u.cross(v);
  return {vector.x(), vector.y(), vector.z(), a.w() * b.w() - u.dot(v)};
}
inline Vector4 quat_conjugate(const Vector4& a) { return {-a.x(), -a.y(), -a.z(), a.w()}; }

/// of a b: gradients by a and by b, whose entries are free (not held to unit length). A product is
/// bilinear and multiplication by b is turned back by that with its conjugate.  [Qa (57), (58)].
inline std::pair<Vector4, Vector4> quat_multiply_adjoint(const Vector4& a, const Vector4& b,
                                                         const Vector4& bar) {
  return {quat_multiply(bar, quat_conjugate(b)), quat_multiply(quat_conjugate(a), bar)};
}

/// q (v, 0)  [Qa (53)].
inline Vector4 quat_times_vector(const Vector4& q, const Vector3d& v) {
  return quat_multiply(q, {v.x(), v.y(), v.z(), 0});
}
/// of q (v, 0): gradients by q and by v  [Qa (54), (55)].
inline std::pair<Vector4, Vector3d> quat_times_vector_adjoint(const Vector4& q, const Vector3d& v,
                                                              const Vector4& bar) {
  const auto [on_q, on_v] = quat_multiply_adjoint(q, {v.x(), v.y(), v.z(), 0}, bar);
  return {on_q, on_v.head<3>()};
}

}  // namespace diffsim
