// Symmetric 3 x 3 matrices as their six entries: blocks of spatial inertias.
#pragma once

#include "../inline.hpp"
#include "../math.hpp"

namespace diffsim {

/// A gradient by a Symmetric3 is by its six entries, each of which stands for both places of an
/// off-diagonal pair.
struct Symmetric3 {
  double xx = 0, yy = 0, zz = 0, xy = 0, xz = 0, yz = 0;

  static Symmetric3 diagonal(double d) { return {d, d, d, 0, 0, 0}; }
  /// The upper triangle of m; the lower one is not looked at.
  static Symmetric3 upper(const Matrix3d& m) {
    return {m(0, 0), m(1, 1), m(2, 2), m(0, 1), m(0, 2), m(1, 2)};
  }
  Matrix3d matrix() const {
    Matrix3d m;
    m << xx, xy, xz, xy, yy, yz, xz, yz, zz;
    return m;
  }
  /// xx yy zz xy xz yz
  Vector6 entries() const { return (Vector6() << xx, yy, zz, xy, xz, yz).finished(); }

  Symmetric3& operator+=(const Symmetric3& b) {
    xx += b.xx, yy += b.yy, zz += b.zz, xy += b.xy, xz += b.xz, yz += b.yz;
    return *this;
  }
  /// Adds s a a^T.
  Symmetric3& add_square(const Vector3d& a, double s) {
    const Vector3d b = s * a;
    xx += a.x() * b.x(), yy += a.y() * b.y(), zz += a.z() * b.z();
    xy += a.x() * b.y(), xz += a.x() * b.z(), yz += a.y() * b.z();
    return *this;
  }
  /// Adds -([a]x [b]x + [b]x [a]x) / 2 = (a . b) 1 - (a b^T + b a^T) / 2.
  Symmetric3& add_parallel_axis(const Vector3d& a, const Vector3d& b) {
    const Vector3d d = a.cwiseProduct(b);
    xx += d.y() + d.z(), yy += d.x() + d.z(), zz += d.x() + d.y();
    xy -= 0.5 * (a.x() * b.y() + a.y() * b.x());
    xz -= 0.5 * (a.x() * b.z() + a.z() * b.x());
    yz -= 0.5 * (a.y() * b.z() + a.z() * b.y());
    return *this;
  }
};

DIFFSIM_INLINE Vector3d operator*(const Symmetric3& s, const Vector3d& a) {
  return {s.xx * a.x() + s.xy * a.y() + s.xz * a.z(), s.xy * a.x() + s.yy * a.y() + s.yz * a.z(),
          s.xz * a.x() + s.yz * a.y() + s.zz * a.z()};
}

/// E S E^T.
DIFFSIM_INLINE Symmetric3 congruent(const Matrix3d& E, const Symmetric3& s) {
  const Vector3d x = s * Vector3d(E.row(0)), y = s * Vector3d(E.row(1)), z = s * Vector3d(E.row(2));
  return {E.row(0).dot(x), E.row(1).dot(y), E.row(2).dot(z),
          E.row(0).dot(y), E.row(0).dot(z), E.row(1).dot(z)};
}

/// E^T S E.
DIFFSIM_INLINE Symmetric3 congruent_transposed(const Matrix3d& E, const Symmetric3& s) {
  const Vector3d x = s * Vector3d(E.col(0)), y = s * Vector3d(E.col(1)), z = s * Vector3d(E.col(2));
  return {E.col(0).dot(x), E.col(1).dot(y), E.col(2).dot(z),
          E.col(0).dot(y), E.col(0).dot(z), E.col(1).dot(z)};
}

}  // namespace diffsim
