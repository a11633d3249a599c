// Spatial inertias, which take motions to forces: of rigid and of articulated bodies.
#pragma once

#include "plucker.hpp"
#include "symmetric3.hpp"

namespace diffsim {

using Vector10 = Eigen::Matrix<double, 10, 1>;

/// [I, h x; -h x, m 1]: ten numbers, linear in them.
struct RigidInertia {
  double m = 0;                   // mass [kg]
  Vector3d h = Vector3d::Zero();  // first moment, mass times centre [kg m]
  Symmetric3 I;                   // about the frame's origin, not the centre [kg m^2]

  /// From the centre of mass [m] and the inertia about it, in the frame's axes.
  static RigidInertia about_center(double mass, const Vector3d& center, const Matrix3d& inertia) {
    RigidInertia out{mass, mass * center, Symmetric3::upper(inertia)};
    out.I.add_parallel_axis(center, out.h);
    return out;
  }
  /// m, h, I xx yy zz xy xz yz; a gradient by an inertia has the same order.
  static RigidInertia from_parameters(const Vector10& p) {
    return {p(0), p.segment<3>(1), {p(4), p(5), p(6), p(7), p(8), p(9)}};
  }
  Vector10 parameters() const { return (Vector10() << m, h, I.entries()).finished(); }

  RigidInertia& operator+=(const RigidInertia& b) { return m += b.m, h += b.h, I += b.I, *this; }
};

/// [I, H; H^T, M], symmetric.
struct ArticulatedInertia {
  Symmetric3 I;
  Matrix3d H = Matrix3d::Zero();
  Symmetric3 M;

  ArticulatedInertia() = default;
  ArticulatedInertia(const Symmetric3& I, const Matrix3d& H, const Symmetric3& M)
      : I(I), H(H), M(M) {}
  explicit ArticulatedInertia(const RigidInertia& b)
      : I(b.I), H(skew(b.h)), M(Symmetric3::diagonal(b.m)) {}
  /// The upper triangle of A; the lower one is not looked at.
  static ArticulatedInertia upper(const Matrix6& A) {
    return {Symmetric3::upper(A.topLeftCorner<3, 3>()), A.topRightCorner<3, 3>(),
            Symmetric3::upper(A.bottomRightCorner<3, 3>())};
  }

  ArticulatedInertia& operator+=(const ArticulatedInertia& b) {
    return I += b.I, H += b.H, M += b.M, *this;
  }
  ArticulatedInertia& operator+=(const RigidInertia& b) {
    return I += b.I, H += skew(b.h), M += Symmetric3::diagonal(b.m), *this;
  }
  /// Adds s U U^T; articulated bodies have U = IA S and s = -1 / (S^T U).
  ArticulatedInertia& add_square(const ForceVector& U, double s) {
    I.add_square(U.n, s), M.add_square(U.f, s);
    H += (s * U.n) * U.f.transpose();
    return *this;
  }
};

DIFFSIM_INLINE ForceVector operator*(const RigidInertia& b, const MotionVector& m) {
  // By coordinates, as cross_sum.
  const Symmetric3& I = b.I;
  const Vector3d &h = b.h, &w = m.w, &v = m.v;
  return {{I.xx * w.x() + I.xy * w.y() + I.xz * w.z() + h.y() * v.z() - h.z() * v.y(),
           I.xy * w.x() + I.yy * w.y() + I.yz * w.z() + h.z() * v.x() - h.x() * v.z(),
           I.xz * w.x() + I.yz * w.y() + I.zz * w.z() + h.x() * v.y() - h.y() * v.x()},
          {b.m * v.x() - h.y() * w.z() + h.z() * w.y(), b.m * v.y() - h.z() * w.x() + h.x() * w.z(),
           b.m * v.z() - h.x() * w.y() + h.y() * w.x()}};
}
DIFFSIM_INLINE ForceVector operator*(const ArticulatedInertia& A, const MotionVector& m) {
  return {A.I * m.w + A.H * m.v, A.H.transpose() * m.w + A.M * m.v};
}

inline Matrix6 matrix(const RigidInertia& b) {
  Matrix6 out;
  out << b.I.matrix(), skew(b.h), -skew(b.h), b.m * Matrix3d::Identity();
  return out;
}
inline Matrix6 matrix(const ArticulatedInertia& A) {
  Matrix6 out;
  out << A.I.matrix(), A.H, A.H.transpose(), A.M.matrix();
  return out;
}

/// X^T I X: an inertia in B, told in A  (^B X_A; child to parent in a tree).
DIFFSIM_INLINE RigidInertia apply_transpose(const Plx& X, const RigidInertia& b) {
  const Vector3d h = X.E.transpose() * b.h, shift = b.m * X.r;
  RigidInertia out{b.m, h + shift, congruent_transposed(X.E, b.I)};
  out.I.add_parallel_axis(X.r, 2 * h + shift);
  return out;
}

/// X^-T I X^-1: an inertia in A, told in B.
DIFFSIM_INLINE RigidInertia apply_inverse_transpose(const Plx& X, const RigidInertia& b) {
  const Vector3d shift = b.m * X.r;
  Symmetric3 I = b.I;
  I.add_parallel_axis(X.r, shift - 2 * b.h);
  return {b.m, X.E * (b.h - shift), congruent(X.E, I)};
}

/// The inertia A in a frame of the same axes whose origin is at -r.
DIFFSIM_INLINE ArticulatedInertia translated(const ArticulatedInertia& A, const Vector3d& r) {
  ArticulatedInertia out = A;
  const Matrix3d M = A.M.matrix();
  for (int i = 0; i < 3; ++i) out.H.col(i) += r.cross(Vector3d(M.col(i)));
  // I + r x H^T - H' r x, symmetric: row i of the last is r x (row i of H').
  const Vector3d old[3] = {A.H.row(0), A.H.row(1), A.H.row(2)};
  const Vector3d turned[3] = {r.cross(old[0]), r.cross(old[1]), r.cross(old[2])};
  const Vector3d x = r.cross(Vector3d(out.H.row(0))), y = r.cross(Vector3d(out.H.row(1)));
  const Vector3d z = r.cross(Vector3d(out.H.row(2)));
  out.I.xx += turned[0].x() + x.x(), out.I.yy += turned[1].y() + y.y();
  out.I.zz += turned[2].z() + z.z(), out.I.xy += turned[1].x() + x.y();
  out.I.xz += turned[2].x() + x.z(), out.I.yz += turned[2].y() + y.z();
  return out;
}

/// X^T A X: an articulated inertia in B, told in A  [Qa (52): shift].
DIFFSIM_INLINE ArticulatedInertia apply_transpose(const Plx& X, const ArticulatedInertia& A) {
  const ArticulatedInertia turned{congruent_transposed(X.E, A.I), X.E.transpose() * A.H * X.E,
                                  congruent_transposed(X.E, A.M)};
  return translated(turned, X.r);
}

/// X^-T A X^-1: an articulated inertia in A, told in B.
DIFFSIM_INLINE ArticulatedInertia apply_inverse_transpose(const Plx& X,
                                                          const ArticulatedInertia& A) {
  const ArticulatedInertia moved = translated(A, -X.r);
  return {congruent(X.E, moved.I), X.E * moved.H * X.E.transpose(), congruent(X.E, moved.M)};
}

/// The same of right-associative transforms.
template <class Inertia>
DIFFSIM_INLINE Inertia apply_transpose(const Plxb& Y, const Inertia& b) {
  return apply_transpose(to_plx(Y), b);
}
template <class Inertia>
DIFFSIM_INLINE Inertia apply_inverse_transpose(const Plxb& Y, const Inertia& b) {
  return apply_inverse_transpose(to_plx(Y), b);
}

/// m x* I - I m x: the rate of an inertia that is carried along by m.
inline Matrix6 inertia_rate(const MotionVector& m, const Matrix6& A) {
  return crossf_matrix(m) * A - A * crossm_matrix(m);
}

}  // namespace diffsim
