#include "kinematic_body.hpp"

#include "../rotation.hpp"
#include "../scene.hpp"

namespace diffsim {

KinematicBody::KinematicBody(const std::string& name, int node, ParameterTable& table,
                             const PrescribedMotion& motion, double radius)
    : Body(name, NodeKind::frame, node),
      position_(table, name + ".position", "m", {motion.interval, motion.position}),
      rotation_(table, name + ".rotation", "rad", {motion.interval, motion.rotation}),
      radius_(radius) {}

void KinematicBody::check(const VectorXd& p) const {
  for (int k = 0; k < rotation_.count(); ++k) {
    const double turn = p.segment<3>(rotation_.parameter(k)).norm();
    if (turn > 6.2) {
      refuse("kinematic body '" + name() + "': rotation[" + std::to_string(k) + "]",
             "rotation vector must be shorter than 6.2 rad", turn,
             "use the equivalent vector of length <= pi");
    }
  }
}

void KinematicBody::start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const {
  s.c.col(node()) = position_.at(0).value3(p);
  const int f = nodes[node()].frame;
  const Vector3d theta = rotation_.at(0).value3(p);
  s.R[f] = exp_rotation(theta);
  s.v.col(node()) = position_.rate_at_start(p);
  s.w[f] = left_jacobian(theta) * rotation_.rate_at_start(p);
}

void KinematicBody::start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                                      const std::vector<int>& column_of, MatrixXd& X,
                                      MatrixXd& V) const {
  const int position = position_.parameter(0), rotation = rotation_.parameter(0);
  const Vector3d theta = p.segment<3>(rotation);
  const Matrix3d J = left_jacobian(theta);
  const int dof = nodes[node()].dof;
  for (int a = 0; a < 3; ++a) {
    if (const int c = column_of[position + a]; c >= 0) X(dof + a, c) = 1;
    if (const int c = column_of[rotation + a]; c >= 0) X.block<3, 1>(dof + 3, c) = J.col(a);
  }
  if (position_.count() < 2) return;
  // v = (c*_1 - c*_0)/T and omega = J_l(theta*_0) (theta*_1 - theta*_0)/T
  const double per = 1 / position_.interval();
  const Matrix3d turned = left_jacobian_derivative(theta, rotation_.rate_at_start(p));
  for (int key = 0; key < 2; ++key) {
    const double share = key == 0 ? -per : per;
    const int c_at = position_.parameter(key), turn_at = rotation_.parameter(key);
    for (int a = 0; a < 3; ++a) {
      if (const int c = column_of[c_at + a]; c >= 0) V(dof + a, c) = share;
      const int c = column_of[turn_at + a];
      if (c < 0) continue;
      V.block<3, 1>(dof + 3, c) = share * J.col(a);
      if (key == 0) V.block<3, 1>(dof + 3, c) += turned.col(a);
    }
  }
}

void KinematicBody::predict(const State& prev, const TimeScheme& scheme, double t,
                            const VectorXd& p, const std::vector<Node>& nodes, VectorXd& u) const {
  const Node& n = nodes[node()];
  const Vector3d c = position_.at(t).value3(p), theta = rotation_.at(t).value3(p);
  const TimeScheme plain = scheme.plain();
  const Vector3d turn = log_rotation(exp_rotation(theta) * prev.R[n.frame].transpose());
  u.segment<3>(n.dof) = (c - prev.c.col(node()) - plain.carry * prev.dc.col(node())) / plain.alpha;
  u.segment<3>(n.dof + 3) = (turn - plain.carry * prev.theta[n.frame]) / plain.alpha;
}

void KinematicBody::add_rows(const Window& window, const VectorXd& p,
                             const std::vector<Node>& nodes, double weight,
                             const Assembly& out) const {
  const Node& n = nodes[node()];
  const State& s = window.now();
  const Keys::Piece c = position_.at(window.t), rotation = rotation_.at(window.t);
  const Vector3d theta = rotation.value3(p);
  const Matrix3d E = s.R[n.frame] * exp_rotation(theta).transpose();
  const Vector3d turn = log_rotation(E);
  out.r->segment<3>(n.dof) = weight * (s.c.col(node()) - c.value3(p));
  out.r->segment<3>(n.dof + 3) = weight * turn;
  const Matrix3d Ji = left_jacobian_inverse(turn);
  if (out.K) {
    Eigen::Map<Matrix6> k(out.K->block(node()));
    k.topLeftCorner<3, 3>() = weight * Matrix3d::Identity();
    k.bottomRightCorner<3, 3>() = weight * Ji;
  }
  if (!out.columns) return;
  // delta E = [d psi - E d psi*]x E and d psi* = J_l(theta*) d theta*
  const Matrix3d by_theta = -weight * Ji * E * left_jacobian(theta);
  for (int end = 0; end < 2; ++end) {
    for (int a = 0; a < 3; ++a) {
      if (const int k = out.columns->column(c.first[end] + a); k >= 0) {
        out.columns->add(n.dof, k, -weight * c.share[end] * Vector3d::Unit(a));
      }
      if (const int k = out.columns->column(rotation.first[end] + a); k >= 0) {
        out.columns->add(n.dof + 3, k, rotation.share[end] * by_theta.col(a));
      }
    }
  }
}

void add_kinematic_body(Scene& scene, const std::string& name, const PrescribedMotion& motion,
                        double radius) {
  scene.check_new("kinematic body", name);
  const std::string place = "kinematic body '" + name + "'";
  if (!(motion.interval > 0)) refuse(place + ": interval", "must be > 0 [s]", motion.interval);
  if (!(radius > 0)) refuse(place + ": radius", "must be > 0 [m]", radius);
  if (motion.position.cols() == 0) refuse(place + ": position", "must hold a key", 0);
  if (motion.rotation.cols() != motion.position.cols()) {
    refuse(place + ": rotation",
           "must hold one key per position (" + std::to_string(motion.position.cols()) + ")",
           motion.rotation.cols());
  }
  scene.add_body(
      std::make_unique<KinematicBody>(name, scene.next_node(), scene.table(), motion, radius));
}

}  // namespace diffsim
