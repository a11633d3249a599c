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

namespace detail {

/// Three columns of a matrix of three rows, a register each.
struct Columns {
  using Column = Eigen::Array<double, 4, 1>;
  Column c[3];

  static Columns rows_of(const Matrix3d& m) {
    Columns out;
    for (int k = 0; k < 3; ++k) out.c[k] << m(k, 0), m(k, 1), m(k, 2), 0;
    return out;
  }
  /// this b, with b(k, j).
  template <class Entry>
  DIFFSIM_INLINE Columns times(const Entry& b) const {
    Columns out;
    for (int j = 0; j < 3; ++j) out.c[j] = c[0] * b(0, j) + c[1] * b(1, j) + c[2] * b(2, j);
    return out;
  }
  DIFFSIM_INLINE Columns times(const Symmetric3& s) const {
    return {{c[0] * s.xx + c[1] * s.xy + c[2] * s.xz, c[0] * s.xy + c[1] * s.yy + c[2] * s.yz,
             c[0] * s.xz + c[1] * s.yz + c[2] * s.zz}};
  }
  DIFFSIM_INLINE Columns operator+(const Columns& b) const {
    return {{c[0] + b.c[0], c[1] + b.c[1], c[2] + b.c[2]}};
  }
  Symmetric3 symmetric() const { return {c[0][0], c[1][1], c[2][2], c[1][0], c[2][0], c[2][1]}; }
};

}  // namespace detail

/// X^T A X: an articulated inertia in B, told in A  [Qa (52): shift].
///
/// With X^T = [E^T, F^T; 0, E^T], F^T = r x E^T. Three quarters of the time of blocks one by one. A
/// function of its own: inside a large caller GCC would no longer inline Eigen's, at twice the
/// time.
[[gnu::noinline]] inline ArticulatedInertia apply_transpose(const Plx& X,
                                                            const ArticulatedInertia& A) {
  using detail::Columns;
  Matrix3d F;
  for (int k = 0; k < 3; ++k) F.row(k) = X.r.cross(Vector3d(X.E.row(k)));
  const Columns e = Columns::rows_of(X.E), f = Columns::rows_of(F);  // E^T and F^T
  const auto transposed_H = [&](int k, int j) { return A.H(j, k); };
  const Columns upper = e.times(A.H) + f.times(A.M);  // E^T H + F^T M
  const Columns I = (e.times(A.I) + f.times(transposed_H)).times(X.E) + upper.times(F);
  const Columns H = upper.times(X.E), M = e.times(A.M).times(X.E);
  ArticulatedInertia out;
  out.I = I.symmetric(), out.M = M.symmetric();
  for (int j = 0; j < 3; ++j) out.H.col(j) = H.c[j].head<3>().matrix();
  return out;
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
