#include "joint_pose.hpp"

#include <cmath>

namespace diffsim {

JointPose::JointPose(const NodePair& nodes, const std::array<JointPlace, 2>& place,
                     const State& s) {
  const NodePair::Pose a = nodes.pose(0, s), b = nodes.pose(1, s);
  A = a.R * place[0].axes;
  B = b.R * place[1].axes;
  rho_a = a.R * place[0].point;
  l_b = b.R * place[1].point;
  const Vector3d apart = b.c - a.c;
  l_a = apart + l_b;
  d = l_a - rho_a;
  w_a = a.w;
  w_b = b.w;
  w = b.w - a.w;
  e = b.v - a.v + b.w.cross(l_b) - a.w.cross(l_a);
}

Matrix3x12 JointPose::d_x() const {
  Matrix3x12 D;
  D << -Matrix3d::Identity(), skew(rho_a), Matrix3d::Identity(), -skew(l_b);
  return D;
}

Matrix3x12 JointPose::e_x() const {
  const Matrix3d W = skew(w_a), hat = skew(l_b);
  Matrix3x12 D;
  D << W, Matrix3d::Zero(), -W, -skew(w) * hat;
  return D;
}

Matrix3x12 JointPose::e_v() const {
  Matrix3x12 D;
  D << -Matrix3d::Identity(), skew(l_a), Matrix3d::Identity(), -skew(l_b);
  return D;
}

Vector12 JointPose::spread(const Vector3d& G) const {
  Vector12 f;
  f << -G, -l_a.cross(G), G, l_b.cross(G);
  return f;
}

Matrix12 JointPose::spread_x(const Vector3d& G) const {
  // d l_a = d c_b - d c_a - [l_b]x d psi_b,  d l_b = -[l_b]x d psi_b
  const Matrix3d hat = skew(G), turned = hat * skew(l_b);
  Matrix12 D = Matrix12::Zero();
  D.block<3, 3>(3, 0) = -hat;
  D.block<3, 3>(3, 6) = hat;
  D.block<3, 3>(3, 9) = -turned;
  D.block<3, 3>(9, 9) = turned;
  return D;
}

Matrix3x12 JointPose::d_place() const {
  Matrix3x12 D = Matrix3x12::Zero();
  D.leftCols<3>() = -Matrix3d::Identity();
  D.middleCols<3>(6) = Matrix3d::Identity();
  return D;
}

Matrix3x12 JointPose::e_place() const {
  // l_a and l_b move with x_b
  Matrix3x12 D = Matrix3x12::Zero();
  D.middleCols<3>(6) = skew(w);
  return D;
}

Matrix12 JointPose::spread_place(const Vector3d& G) const {
  Matrix12 D = Matrix12::Zero();
  D.block<3, 3>(3, 6) = skew(G);
  D.block<3, 3>(9, 6) = -skew(G);
  return D;
}

Matrix3x12 JointPose::fixed_in_a_x(const Vector3d& a) {
  Matrix3x12 D = Matrix3x12::Zero();
  D.middleCols<3>(3) = -skew(a);
  return D;
}

Vector12 spread_torque(const Vector3d& t) {
  Vector12 f = Vector12::Zero();
  f.segment<3>(3) = -t;
  f.segment<3>(9) = t;
  return f;
}

Matrix12 spread_torque(const Matrix3x12& dt) {
  Matrix12 D = Matrix12::Zero();
  D.middleRows<3>(3) = -dt;
  D.middleRows<3>(9) = dt;
  return D;
}

Matrix3x12 cross_x(const Vector3d& a, const Vector3d& b) {
  const Matrix3d s = a.dot(b) * Matrix3d::Identity();
  Matrix3x12 D = Matrix3x12::Zero();
  D.middleCols<3>(3) = a * b.transpose() - s;
  D.middleCols<3>(9) = s - b * a.transpose();
  return D;
}

JointCoordinate joint_angle(const JointPose& j) {
  const auto a1 = j.A.col(0), a2 = j.A.col(1), b1 = j.B.col(0), b2 = j.B.col(1);
  const double S = a2.dot(b1) - a1.dot(b2), C = a1.dot(b1) + a2.dot(b2);
  const double norm = S * S + C * C;  // 0 only where the axes point against each other
  // dS = s . (d psi_a - d psi_b), dC = c . (d psi_a - d psi_b)
  const Vector3d s = a2.cross(b1) - a1.cross(b2), c = a1.cross(b1) + a2.cross(b2);
  const Vector3d n = (S * c - C * s) / norm;  // the axis, but for the joint's tilt
  const Matrix3x12 s_x = cross_x(a2, b1) - cross_x(a1, b2);
  const Matrix3x12 c_x = cross_x(a1, b1) + cross_x(a2, b2);
  Matrix3x12 n_x = (S * c_x - C * s_x) / norm;
  const Matrix3d more =
      (c * s.transpose() - s * c.transpose() - 2 * n * (S * s + C * c).transpose()) / norm;
  n_x.middleCols<3>(3) += more;
  n_x.middleCols<3>(9) -= more;
  return {std::atan2(S, C), n.dot(j.w), spread_torque(n), spread_torque(n_x),
          n_x.transpose() * j.w};
}

JointCoordinate joint_displacement(const JointPose& j, int column) {
  const Vector3d a = j.A.col(column);
  const Matrix3x12 a_x = JointPose::fixed_in_a_x(a);
  const Matrix3x12 e_v = j.e_v();
  return {a.dot(j.d), a.dot(j.e), j.spread(a),
          j.spread_x(a) + Matrix12(e_v.transpose().lazyProduct(a_x)),
          j.e_x().transpose() * a + a_x.transpose() * j.e};
}

CoordinateSlopes joint_angle_place(const JointCoordinate& at) {
  // Only axes enter, and they turn with their bodies.
  return {at.g, at.rate_x, at.g_x};
}

CoordinateSlopes joint_displacement_place(const JointPose& j, int column) {
  const Vector3d a = j.A.col(column);
  const Matrix3x12 a_y = JointPose::fixed_in_a_x(a);
  return {j.d_place().transpose() * a + a_y.transpose() * j.d,
          j.e_place().transpose() * a + a_y.transpose() * j.e,
          j.spread_place(a) + Matrix12(j.e_v().transpose().lazyProduct(a_y))};
}

void add_freedom_force(const CoordinateFreedom& at, double phi, double by_q, double by_rate,
                       const Assembly& out) {
  (*out.r)[at.dof] -= at.ratio * phi;
  if (!out.K) return;
  const int diagonal = at.offset * (at.size + 1);
  out.K->block(at.node)[diagonal] -= at.ratio * at.ratio * by_q;
  out.B->block(at.node)[diagonal] -= at.ratio * at.ratio * by_rate;
}

void add_freedom_column(const CoordinateFreedom& at, double dphi, int parameter,
                        ParameterColumns& out) {
  // Entries have three rows, of which here the last one counts.
  const int column = out.column(parameter);
  if (column >= 0) out.add(at.dof - 2, column, Vector3d(0, 0, -at.ratio * dphi));
}

void add_coordinate_force(const NodePair& nodes, const JointCoordinate& at, double phi, double by_q,
                          double by_rate, const Assembly& out) {
  nodes.add(phi * at.g, *out.r);
  if (!out.K) return;
  const Vector12 by_x = by_q * at.g + by_rate * at.rate_x;
  nodes.add(at.g * by_x.transpose() + phi * at.g_x, *out.K);
  nodes.add(by_rate * at.g * at.g.transpose(), *out.B);
}

}  // namespace diffsim
