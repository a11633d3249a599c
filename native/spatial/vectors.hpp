// Motion and force vectors of six coordinates [Featherstone 2008, ch. 2], and their cross products.
//
// Conventions of native/spatial, those of Featherstone:
//   motion (omega, v)  angular part first; v is the velocity of the body-fixed point that is at the
//                      frame's origin [rad/s, m/s]
//   force (n, f)       n is the moment about the frame's origin [N m, N]
//   power              dot(m, f) = omega . n + v . f [W], the same in every frame
// Both parts are in the axes of one frame. M6 and F6 are dual spaces: the gradient of a number by a
// motion is a force and the other way round, so every adjoint (..._bar) has the dual type.
#pragma once

#include "../inline.hpp"
#include "../math.hpp"

namespace diffsim {

/// Both halves. (GCC 12 takes a comma initializer of them for an overflow.)
DIFFSIM_INLINE Vector6 stacked(const Vector3d& angular, const Vector3d& linear) {
  Vector6 all;
  all.head<3>() = angular;
  all.tail<3>() = linear;
  return all;
}

struct MotionVector {
  Vector3d w = Vector3d::Zero();  // angular
  Vector3d v = Vector3d::Zero();  // linear

  MotionVector() = default;
  MotionVector(const Vector3d& angular, const Vector3d& linear) : w(angular), v(linear) {}
  explicit MotionVector(const Vector6& m) : w(m.head<3>()), v(m.tail<3>()) {}
  Vector6 vector() const { return stacked(w, v); }

  MotionVector& operator+=(const MotionVector& b) { return w += b.w, v += b.v, *this; }
  MotionVector& operator-=(const MotionVector& b) { return w -= b.w, v -= b.v, *this; }
};

struct ForceVector {
  Vector3d n = Vector3d::Zero();  // moment
  Vector3d f = Vector3d::Zero();  // force

  ForceVector() = default;
  ForceVector(const Vector3d& moment, const Vector3d& force) : n(moment), f(force) {}
  explicit ForceVector(const Vector6& g) : n(g.head<3>()), f(g.tail<3>()) {}
  Vector6 vector() const { return stacked(n, f); }

  ForceVector& operator+=(const ForceVector& b) { return n += b.n, f += b.f, *this; }
  ForceVector& operator-=(const ForceVector& b) { return n -= b.n, f -= b.f, *this; }
};

DIFFSIM_INLINE MotionVector operator+(const MotionVector& a, const MotionVector& b) {
  return {a.w + b.w, a.v + b.v};
}
DIFFSIM_INLINE MotionVector operator-(const MotionVector& a, const MotionVector& b) {
  return {a.w - b.w, a.v - b.v};
}
DIFFSIM_INLINE MotionVector operator-(const MotionVector& a) { return {-a.w, -a.v}; }
DIFFSIM_INLINE MotionVector operator*(const MotionVector& a, double s) {
  return {s * a.w, s * a.v};
}

DIFFSIM_INLINE ForceVector operator+(const ForceVector& a, const ForceVector& b) {
  return {a.n + b.n, a.f + b.f};
}
DIFFSIM_INLINE ForceVector operator-(const ForceVector& a, const ForceVector& b) {
  return {a.n - b.n, a.f - b.f};
}
DIFFSIM_INLINE ForceVector operator-(const ForceVector& a) { return {-a.n, -a.f}; }
DIFFSIM_INLINE ForceVector operator*(const ForceVector& a, double s) { return {s * a.n, s * a.f}; }

/// Power [W] of a force on a motion. Two motions, or two forces, have no product.
DIFFSIM_INLINE double dot(const MotionVector& m, const ForceVector& f) {
  return m.w.dot(f.n) + m.v.dot(f.f);
}

/// a x b + c x d. By coordinates: Eigen's vectors in between would go through memory, at four times
/// the cost of the sum itself.
DIFFSIM_INLINE Vector3d cross_sum(const Vector3d& a, const Vector3d& b, const Vector3d& c,
                                  const Vector3d& d) {
  return {a.y() * b.z() - a.z() * b.y() + (c.y() * d.z() - c.z() * d.y()),
          a.z() * b.x() - a.x() * b.z() + (c.z() * d.x() - c.x() * d.z()),
          a.x() * b.y() - a.y() * b.x() + (c.x() * d.y() - c.y() * d.x())};
}

/// m1 x m2: the rate of a motion m2 that is carried along by m1  [Qa (38)].
DIFFSIM_INLINE MotionVector crossm(const MotionVector& m1, const MotionVector& m2) {
  return {m1.w.cross(m2.w), cross_sum(m1.w, m2.v, m1.v, m2.w)};
}

/// m x* f: the rate of a force that is carried along by m  [Qa (40)].
DIFFSIM_INLINE ForceVector crossf(const MotionVector& m, const ForceVector& f) {
  return {cross_sum(m.w, f.n, m.v, f.f), m.w.cross(f.f)};
}

/// crossm(m, .) as a matrix.
inline Matrix6 crossm_matrix(const MotionVector& m) {
  Matrix6 out;
  out << skew(m.w), Matrix3d::Zero(), skew(m.v), skew(m.w);
  return out;
}

/// crossf(m, .) as a matrix: -crossm_matrix(m)^T.
inline Matrix6 crossf_matrix(const MotionVector& m) { return -crossm_matrix(m).transpose(); }

}  // namespace diffsim
