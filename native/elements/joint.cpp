#include "joint.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {

struct Joint::Values {
  double k, c, k_r, c_r, friction;
};

// E(s), s = a.b: its first two derivatives, with the damper c_r on s where there is one.
struct Joint::Pair {
  Vector3d a, b, n;         // n = a x b
  double slope, curvature;  // E' + c_r s', E''
  double by_k_r, by_c_r;    // of slope
  double by_rate;           // of slope, by s'
};

Joint::Values Joint::values(const VectorXd& p) const {
  auto value = [&](int i) { return i < 0 ? 0. : p[i]; };
  return {value(params_.stiffness), value(params_.damping), value(params_.rotational_stiffness),
          value(params_.rotational_damping), value(params_.friction_damping)};
}

int Joint::pairs(const JointPose& j, const Values& v, Pair out[3]) const {
  auto linear = [&](int i, double share) {
    const Vector3d a = j.A.col(i), b = j.B.col(i);
    return Pair{a, b, a.cross(b), -share * v.k_r, 0, -share, 0, 0};
  };
  switch (kind_.pairs) {
    case JointKind::Pairs::none:
      return 0;
    case JointKind::Pairs::axis:
      out[0] = linear(2, 1);
      return 1;
    case JointKind::Pairs::all:
      for (int i = 0; i < 3; ++i) out[i] = linear(i, 0.5);
      return 3;
    case JointKind::Pairs::cross:
      break;
  }
  const Vector3d a = j.A.col(2), b = j.B.col(0), n = a.cross(b);
  const double s = a.dot(b), rate = -n.dot(j.w);
  out[0] = {a, b, n, v.k_r * s + v.c_r * rate, v.k_r, s, rate, v.c_r};
  return 1;
}

void Joint::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  if (acts_on_freedom()) {
    const JointCoordinate at = driven_coordinate(window.now(), p);
    const double c = p[params_.friction_damping];
    add_coordinate_force(window.now(), p, at, -c * at.rate, 0, -c, out);
    if (out.columns) {
      add_coordinate_column(at, -at.rate, params_.friction_damping, *out.columns);
    }
    return;
  }
  if (constrained()) add_rows(window, p, out);
  if (!maximal() && params_.friction_damping < 0) return;  // a weld
  const JointPose j(nodes_, place(p), window.now());
  const Values v = values(p);
  const Vector3d a = j.A.col(2);
  Pair pair[3];
  const int count = pairs(j, v, pair);
  const Vector3d G =
      kind_.translation(a, v.k * j.d + v.c * j.e) + kind_.free_slide(a, v.friction * j.e);
  Vector3d tau = kind_.rotation(a, v.c_r * j.w) + kind_.free_rotation(a, v.friction * j.w);
  for (int i = 0; i < count; ++i) tau -= pair[i].slope * pair[i].n;
  nodes_.add(-(j.spread(G) + spread_torque(tau)), *out.r);
  if (out.K) add_jacobian(j, v, G, pair, count, out);
  if (!out.columns) return;
  add_columns(j, pair, count, *out.columns);
  if (!place_is_active(*out.columns)) return;
  const Matrix12 df = force_change(j, v, pair, count, j.d_place(), j.e_place(), j.spread_place(G));
  add_place_columns(-df * place_by_parameters(window.now(), p), *out.columns);
}

void Joint::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  if (!maximal()) return;  // what holds exactly stores nothing
  to.springs += report(s, p).energy;
}

void Joint::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  if (!maximal()) return;
  add_rest_forces(s, p, Energy::kSprings, by);
  const auto add = [&](int parameter) {  // the energy is linear in both stiffnesses
    if (parameter < 0) return;
    VectorXd one = p;
    one[params_.stiffness] = 0;
    if (params_.rotational_stiffness >= 0) one[params_.rotational_stiffness] = 0;
    one[parameter] = 1;
    by.add_p(Energy::kSprings, parameter, report(s, one).energy);
  };
  add(params_.stiffness);
  add(params_.rotational_stiffness);
  const JointPose j(nodes_, place(p), s);
  Values v = values(p);
  v.c_r = 0;
  Pair pair[3];
  const int count = pairs(j, v, pair);
  const Vector3d a = j.A.col(2), G = kind_.translation(a, v.k * j.d);
  const double turn = kind_.translation.beta * v.k * a.dot(j.d);  // of a, by d.P d/2
  Vector12 dE = j.d_place().transpose() * G;
  dE += turn * JointPose::fixed_in_a_x(a).transpose() * j.d;
  for (int i = 0; i < count; ++i) {
    dE.segment<3>(3) += pair[i].slope * pair[i].n;
    dE.segment<3>(9) -= pair[i].slope * pair[i].n;
  }
  add_place_slopes(Energy::kSprings, dE.transpose() * place_by_parameters(s, p), by);
}

namespace {

// d(P x) for P = alpha I + beta a a^T.
Matrix3x12 along_x(const JointKind::Along& P, const Vector3d& a, const Matrix3x12& a_x,
                   const Vector3d& x, const Matrix3x12& x_x) {
  Matrix3x12 D = P.matrix(a).lazyProduct(x_x);
  if (P.beta == 0) return D;
  const Matrix3d turn = a * x.transpose() + a.dot(x) * Matrix3d::Identity();
  return D + P.beta * turn.lazyProduct(a_x);
}

}  // namespace

// Of the generalized force (its sign turned) by twelve directions of poses or places, where w and
// the moment arms' velocities are kept; spread_x: of spread(G) at fixed G.
Matrix12 Joint::force_change(const JointPose& j, const Values& v, const Pair* pair, int count,
                             const Matrix3x12& d_x, const Matrix3x12& e_x,
                             const Matrix12& spread_x) const {
  const Vector3d a = j.A.col(2);
  const Matrix3x12 a_x = JointPose::fixed_in_a_x(a), zero = Matrix3x12::Zero();
  const Matrix3x12 G_x =
      along_x(kind_.translation, a, a_x, v.k * j.d + v.c * j.e, v.k * d_x + v.c * e_x) +
      along_x(kind_.free_slide, a, a_x, v.friction * j.e, v.friction * e_x);
  Matrix3x12 tau_x = along_x(kind_.rotation, a, a_x, v.c_r * j.w, zero) +
                     along_x(kind_.free_rotation, a, a_x, v.friction * j.w, zero);
  for (int i = 0; i < count; ++i) {
    const Pair& q = pair[i];
    // s' = -n.w
    const Matrix3x12 n_x = cross_x(q.a, q.b);
    tau_x -= q.slope * n_x;
    if (q.by_rate != 0) tau_x += q.by_rate * q.n * (j.w.transpose() * n_x);
    const Matrix3d bend = q.curvature * q.n * q.n.transpose();  // ds = n.(psi_a - psi_b)
    tau_x.middleCols<3>(3) -= bend;
    tau_x.middleCols<3>(9) += bend;
  }
  Matrix12 df = spread_x;
  df += j.e_v().transpose().lazyProduct(G_x);
  df.middleRows<3>(3) -= tau_x;
  df.middleRows<3>(9) += tau_x;
  return df;
}

void Joint::add_jacobian(const JointPose& j, const Values& v, const Vector3d& G, const Pair* pair,
                         int count, const Assembly& out) const {
  nodes_.add(-force_change(j, v, pair, count, j.d_x(), j.e_x(), j.spread_x(G)), *out.K);
  const Vector3d a = j.A.col(2);
  const Matrix3x12 e_v = j.e_v();
  const Matrix3d G_e = v.c * kind_.translation.matrix(a) + v.friction * kind_.free_slide.matrix(a);
  Matrix3d tau_w = v.c_r * kind_.rotation.matrix(a) + v.friction * kind_.free_rotation.matrix(a);
  for (int i = 0; i < count; ++i) {
    tau_w += pair[i].by_rate * pair[i].n * pair[i].n.transpose();
  }
  const Matrix3x12 G_v = G_e.lazyProduct(e_v);
  Matrix12 df = e_v.transpose().lazyProduct(G_v);
  df.block<3, 3>(3, 3) += tau_w;
  df.block<3, 3>(3, 9) -= tau_w;
  df.block<3, 3>(9, 3) -= tau_w;
  df.block<3, 3>(9, 9) += tau_w;
  nodes_.add(-df, *out.B);
}

void Joint::add_columns(const JointPose& j, const Pair* pair, int count,
                        ParameterColumns& out) const {
  const Vector3d a = j.A.col(2), zero = Vector3d::Zero();
  Vector3d by_k_r = zero, by_c_r = kind_.rotation(a, j.w);
  for (int i = 0; i < count; ++i) {
    by_k_r -= pair[i].by_k_r * pair[i].n;
    by_c_r -= pair[i].by_c_r * pair[i].n;
  }
  auto add = [&](int parameter, const Vector3d& G, const Vector3d& tau) {
    const int c = out.column(parameter);
    if (c >= 0) nodes_.add(-(j.spread(G) + spread_torque(tau)), c, out);
  };
  add(params_.stiffness, kind_.translation(a, j.d), zero);
  add(params_.damping, kind_.translation(a, j.e), zero);
  add(params_.rotational_stiffness, zero, by_k_r);
  add(params_.rotational_damping, zero, by_c_r);
  add(params_.friction_damping, kind_.free_slide(a, j.e), kind_.free_rotation(a, j.w));
}

JointCoordinate Joint::coordinate(const State& s, const VectorXd& p) const {
  const JointPose j(nodes_, place(p), s);
  if (kind_.coordinate != JointKind::Coordinate::angle) return joint_displacement(j);
  JointCoordinate at = joint_angle(j);
  const bool counted = counted_ >= 0 && s.angles.size() > 0;
  at.q = nearest_turn(at.q, counted ? s.angles[counted_] : start_.angle);
  return at;
}

JointReport Joint::report(const State& s, const VectorXd& p) const {
  const JointPose j(nodes_, place(p), s);
  const Values v = values(p);
  const Vector3d a = j.A.col(2);
  JointReport report;
  report.q = report.rate = std::nan("");
  report.tilt = 0;
  if (kind_.coordinate != JointKind::Coordinate::none) {
    const JointCoordinate at = coordinate(s, p);
    report.q = at.q;
    report.rate = at.rate;
  }
  const Vector3d held = kind_.translation(a, j.d);
  report.opening = held.norm();
  report.energy = 0.5 * v.k * j.d.dot(held);
  report.force =
      -(kind_.translation(a, v.k * j.d + v.c * j.e) + kind_.free_slide(a, v.friction * j.e));
  report.torque = -(kind_.rotation(a, v.c_r * j.w) + kind_.free_rotation(a, v.friction * j.w));
  Pair pair[3];
  const int count = pairs(j, v, pair);
  Vector3d sine = Vector3d::Zero();
  double energy = 0;  // per k_r: 1 - cos(tilt), or s^2/2
  for (int i = 0; i < count; ++i) {
    const double s = pair[i].a.dot(pair[i].b), share = -pair[i].by_k_r;
    report.torque += pair[i].slope * pair[i].n;
    if (kind_.pairs == JointKind::Pairs::cross) {
      energy = 0.5 * s * s;
      report.tilt = std::asin(std::min(std::abs(s), 1.));
    } else {
      energy += share * (1 - s);
      sine += share * pair[i].n;
      report.tilt = std::atan2(sine.norm(), 1 - energy);
    }
  }
  report.energy += v.k_r * energy;
  return report;
}

}  // namespace diffsim
