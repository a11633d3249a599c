#include "payload.hpp"

#include "../bodies/rigid_body.hpp"
#include "../scene.hpp"

namespace diffsim {

struct Payload::Momentum {
  double m;
  Vector3d rho, v, w, P, L;
  Matrix3d J;

  /// d(P, L) by (c, psi) and by (v, omega).
  Matrix6 by_x() const {
    Matrix6 D = Matrix6::Zero();
    D.block<3, 3>(0, 3) = -skew(w) * skew(rho);
    D.block<3, 3>(3, 3) = J * skew(w) - skew(J * w) + skew(v) * skew(rho);
    return D;
  }
  Matrix6 by_v() const {
    Matrix6 D;
    D << m * Matrix3d::Identity(), -skew(rho), skew(rho), J;
    return D;
  }
};

Payload::Momentum Payload::momentum(const State& s, const VectorXd& p) const {
  const Matrix3d& R = s.R[node_.frame];
  Momentum at;
  at.m = p[params_.mass];
  at.rho = R * p.segment<3>(params_.moment);
  at.J = R * inertia_matrix(p.segment<6>(params_.inertia)) * R.transpose();
  at.v = s.v.col(index_);
  at.w = s.w[node_.frame];
  at.P = at.m * at.v + at.w.cross(at.rho);
  at.L = at.J * at.w + at.rho.cross(at.v);
  return at;
}

void Payload::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const Momentum now = momentum(window.now(), p);
  const Vector3d g = p.segment<3>(params_.gravity);
  auto r = out.r->segment<6>(node_.dof);
  r.head<3>() -= now.m * g;
  r.tail<3>() += now.v.cross(now.P) - now.rho.cross(g);
  for (int k = 0; k <= window.depth(); ++k) {
    const Momentum at = momentum(*window.at[k], p);
    r.head<3>() += window.scheme.gamma[k] * at.P;
    r.tail<3>() += window.scheme.gamma[k] * at.L;
  }
  if (out.symmetric) *out.symmetric = false;
  if (out.K) {
    const Matrix6 by_x = now.by_x(), by_v = now.by_v();
    const Matrix3d turn = skew(now.v);  // of v x P
    Eigen::Map<Matrix6> K(out.K->block(index_)), B(out.B->block(index_));
    K += window.scheme.gamma[0] * by_x;
    K.bottomRows<3>() += turn * by_x.topRows<3>();
    K.bottomRightCorner<3, 3>() -= skew(g) * skew(now.rho);
    B += window.scheme.gamma[0] * by_v;
    B.bottomRows<3>() += turn * by_v.topRows<3>();
    B.bottomLeftCorner<3, 3>() -= skew(now.P);
  }
  if (out.columns) add_columns(window, p, *out.columns);
}

void Payload::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  const Momentum at = momentum(s, p);
  // m v.v/2 + v.(omega x rho) + omega.(J omega)/2
  to.kinetic += (at.v.dot(at.P) + at.w.dot(at.L)) / 2;
  to.gravity -= (at.m * s.c.col(index_) + at.rho).dot(p.segment<3>(params_.gravity));
}

void Payload::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  const Momentum at = momentum(s, p);
  const Matrix3d& R = s.R[node_.frame];
  const Vector3d g = p.segment<3>(params_.gravity), c = s.c.col(index_);
  const Vector3d spin = R.transpose() * at.w;
  using Row = RowVector3d;
  const int dof = node_.dof;
  by.add_v(Energy::kKinetic, dof, Row(at.P.transpose()));
  by.add_v(Energy::kKinetic, dof + 3, Row(at.L.transpose()));
  // at fixed v and omega: v.(omega x (psi x rho)), and psi.(J omega x omega)
  const Vector3d turn = at.rho.cross(at.v.cross(at.w)) + (at.J * at.w).cross(at.w);
  by.add_x(Energy::kKinetic, dof + 3, Row(turn.transpose()));
  by.add_x(Energy::kGravity, dof, Row(-at.m * g.transpose()));
  by.add_x(Energy::kGravity, dof + 3, Row(-at.rho.cross(g).transpose()));
  by.add_p(Energy::kKinetic, params_.mass, at.v.squaredNorm() / 2);
  by.add_p(Energy::kGravity, params_.mass, -c.dot(g));
  for (int a = 0; a < 3; ++a) {
    by.add_p(Energy::kKinetic, params_.moment + a, at.v.dot(at.w.cross(R.col(a))));
    by.add_p(Energy::kGravity, params_.moment + a, -R.col(a).dot(g));
    by.add_p(Energy::kGravity, params_.gravity + a, -(at.m * c + at.rho)[a]);
  }
  for (int e = 0; e < 6; ++e) {
    by.add_p(Energy::kKinetic, params_.inertia + e,
             spin.dot(inertia_matrix(Vector6::Unit(e)) * spin) / 2);
  }
}

void Payload::add_columns(const Window& window, const VectorXd& p,
                          ParameterColumns& columns) const {
  const Vector3d g = p.segment<3>(params_.gravity);
  const int row = node_.dof;
  auto add = [&](int parameter, const Vector3d& force, const Vector3d& torque) {
    const int c = columns.column(parameter);
    if (c < 0) return;
    columns.add(row, c, force);
    columns.add(row + 3, c, torque);
  };
  const Vector3d zero = Vector3d::Zero();
  for (int k = 0; k <= window.depth(); ++k) {
    const State& s = *window.at[k];
    const double gamma = window.scheme.gamma[k];
    const Matrix3d& R = s.R[node_.frame];
    const Vector3d v = s.v.col(index_), w = s.w[node_.frame];
    add(params_.mass, gamma * v, zero);
    for (int a = 0; a < 3; ++a) {
      add(params_.moment + a, gamma * w.cross(R.col(a)), gamma * R.col(a).cross(v));
    }
    for (int e = 0; e < 6; ++e) {
      const Matrix3d unit = inertia_matrix(Vector6::Unit(e));
      add(params_.inertia + e, zero, gamma * (R * (unit * (R.transpose() * w))));
    }
  }
  const Momentum now = momentum(window.now(), p);
  const Matrix3d& R = window.now().R[node_.frame];
  add(params_.mass, -g, zero);  // v x v = 0
  for (int a = 0; a < 3; ++a) {
    add(params_.moment + a, zero, now.v.cross(now.w.cross(R.col(a))) - R.col(a).cross(g));
    add(params_.gravity + a, -now.m * Vector3d::Unit(a), -now.rho.cross(Vector3d::Unit(a)));
  }
}

void Payload::add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                          BlockMatrix& B) const {
  const Momentum then = momentum(*window.at[k], p);
  Eigen::Map<Matrix6>(K.block(index_)) += window.scheme.gamma[k] * then.by_x();
  Eigen::Map<Matrix6>(B.block(index_)) += window.scheme.gamma[k] * then.by_v();
}

void add_payload(Scene& scene, const std::string& name, const PayloadSpec& spec) {
  scene.check_new("payload", name);
  const int index = scene.node_of(spec.body);
  const Node& node = scene.nodes()[index];
  if (node.kind == NodeKind::point || scene.body(spec.body).driven()) {
    refuse("payload '" + name + "': body", "must be a rigid body that moves freely",
           "'" + spec.body + "'");
  }
  ParameterTable& table = scene.table();
  Payload::Parameters params;
  params.mass = table.add(name + ".mass", "kg", spec.mass, 0, kInfinity);
  params.moment = table.add3(name + ".moment", "kg m", spec.first_moment, false);
  params.inertia = table.size();
  const char* entry[] = {".xx", ".yy", ".zz", ".xy", ".xz", ".yz"};
  for (int i = 0; i < 6; ++i) {
    table.add(name + ".inertia" + entry[i], "kg m^2", spec.inertia[i], i < 3 ? 0 : -kInfinity,
              kInfinity);
  }
  params.gravity = table.index("gravity.x");
  scene.add_element(std::make_unique<Payload>(name, node, index, params));
}

}  // namespace diffsim
