// Plücker transforms kept as (E, r): Plx, left-associative, and Plxb, right-associative [S].
//
//   X = plx(E, r) = ^B X_A   E: coordinates in A -> coordinates in B; r: origin of B, in A [m]
//                            motion matrix [E 0; -E r x, E]; X1 X2 acts first by X2
//   Y = plxb(E, r)           E: coordinates in B -> coordinates in A; r: as above. That is the pose
//   of
//                            B in A: x_A = E x_B + r. Motion matrix [E^T 0; -E^T r x, E^T];
//                            Y1 Y2 acts first by Y1, and multiplies as poses do.
// plx(E, r) and plxb(E^T, r) are the same change of coordinates. Forces change by the dual, X^-T.
//
//   function                  on              matrix   takes
//   apply                     MotionVector    X        motions, A -> B
//   apply_inverse             MotionVector    X^-1     motions, B -> A
//   apply_transpose           ForceVector     X^T      forces,  B -> A
//   apply_inverse_transpose   ForceVector     X^-T     forces,  A -> B
// Nobody checks that E is a rotation: as with [Qa App. G], each formula is used for whatever E
// holds.
#pragma once

#include "vectors.hpp"

namespace diffsim {

struct Plx {
  Matrix3d E = Matrix3d::Identity();
  Vector3d r = Vector3d::Zero();
};

struct Plxb {
  Matrix3d E = Matrix3d::Identity();
  Vector3d r = Vector3d::Zero();
};

/// The same change of coordinates in the other notation.
DIFFSIM_INLINE Plxb to_plxb(const Plx& X) { return {X.E.transpose(), X.r}; }
DIFFSIM_INLINE Plx to_plx(const Plxb& Y) { return {Y.E.transpose(), Y.r}; }

// --- left-associative ---------------------------------------------------------------------------

DIFFSIM_INLINE MotionVector apply(const Plx& X, const MotionVector& m) {  // [Qa (28)]
  return {X.E * m.w, X.E * (m.v - X.r.cross(m.w))};
}
DIFFSIM_INLINE MotionVector apply_inverse(const Plx& X, const MotionVector& m) {  // [Qa (30)]
  const Vector3d w = X.E.transpose() * m.w;
  return {w, X.E.transpose() * m.v + X.r.cross(w)};
}
DIFFSIM_INLINE ForceVector apply_transpose(const Plx& X, const ForceVector& g) {  // [Qa (32)]
  const Vector3d f = X.E.transpose() * g.f;
  return {X.E.transpose() * g.n + X.r.cross(f), f};
}
/// [Qa (34)] with E where it prints E^T.
DIFFSIM_INLINE ForceVector apply_inverse_transpose(const Plx& X, const ForceVector& g) {
  return {X.E * (g.n - X.r.cross(g.f)), X.E * g.f};
}

/// ^C X_B ^B X_A = ^C X_A  [Qa (36)].
DIFFSIM_INLINE Plx operator*(const Plx& X1, const Plx& X2) {
  return {X1.E * X2.E, X2.r + X2.E.transpose() * X1.r};
}
DIFFSIM_INLINE Plx inverse(const Plx& X) { return {X.E.transpose(), -(X.E * X.r)}; }

/// X on motions (omega, v)  [Qa (50): st2sd].
inline Matrix6 motion_matrix(const Plx& X) {
  Matrix6 out;
  out << X.E, Matrix3d::Zero(), -X.E * skew(X.r), X.E;
  return out;
}
/// X^-T, on forces (n, f).
inline Matrix6 force_matrix(const Plx& X) {
  Matrix6 out;
  out << X.E, -X.E * skew(X.r), Matrix3d::Zero(), X.E;
  return out;
}

// --- right-associative --------------------------------------------------------------------------

DIFFSIM_INLINE MotionVector apply(const Plxb& Y, const MotionVector& m) {
  return {Y.E.transpose() * m.w, Y.E.transpose() * (m.v - Y.r.cross(m.w))};
}
DIFFSIM_INLINE MotionVector apply_inverse(const Plxb& Y, const MotionVector& m) {
  const Vector3d w = Y.E * m.w;
  return {w, Y.E * m.v + Y.r.cross(w)};
}
DIFFSIM_INLINE ForceVector apply_transpose(const Plxb& Y, const ForceVector& g) {
  const Vector3d f = Y.E * g.f;
  return {Y.E * g.n + Y.r.cross(f), f};
}
DIFFSIM_INLINE ForceVector apply_inverse_transpose(const Plxb& Y, const ForceVector& g) {
  return {Y.E.transpose() * (g.n - Y.r.cross(g.f)), Y.E.transpose() * g.f};
}

/// Y of B in A times Y of C in B: Y of C in A.
DIFFSIM_INLINE Plxb operator*(const Plxb& Y1, const Plxb& Y2) {
  return {Y1.E * Y2.E, Y1.r + Y1.E * Y2.r};
}
DIFFSIM_INLINE Plxb inverse(const Plxb& Y) { return {Y.E.transpose(), -(Y.E.transpose() * Y.r)}; }

inline Matrix6 motion_matrix(const Plxb& Y) { return motion_matrix(to_plx(Y)); }
inline Matrix6 force_matrix(const Plxb& Y) { return force_matrix(to_plx(Y)); }

}  // namespace diffsim
