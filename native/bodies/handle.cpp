#include "handle.hpp"

#include <cmath>

#include "../rotation.hpp"
#include "../scene.hpp"

namespace diffsim {

Handle::Handle(const std::string& name, int node, ParameterTable& table, const HandleMotion& motion,
               double radius)
    : Body(name, NodeKind::frame, node),
      interval_(motion.interval),
      radius_(radius),
      keys_(static_cast<int>(motion.position.cols())),
      first_(table.size()) {
  for (int k = 0; k < keys_; ++k) {
    const std::string key = "[" + std::to_string(k) + "]";
    table.add3(name + ".position" + key, "m", motion.position.col(k), false);
    table.add3(name + ".rotation" + key, "rad", motion.rotation.col(k), false);
    const double end = k + 1 < keys_ ? (k + 1) * interval_ : kInfinity;
    for (int i = 0; i < 6; ++i) table.set_support(position(k) + i, (k - 1) * interval_, end);
  }
}

void Handle::check(const VectorXd& p) const {
  for (int k = 0; k < keys_; ++k) {
    const double turn = p.segment<3>(rotation(k)).norm();
    if (turn > 6.2) {
      refuse("handle '" + name() + "': rotation[" + std::to_string(k) + "]",
             "rotation vector must be shorter than 6.2 rad", turn,
             "use the equivalent vector of length <= pi");
    }
  }
}

Handle::Target Handle::target(const VectorXd& p, double t) const {
  // Times are sums of steps: a key met but for rounding is met.
  const double at = std::min(std::max(t / interval_, 0.), keys_ - 1.);
  const int key = std::min(static_cast<int>(at + 1e-9), keys_ - 1);
  const double s = std::max(at - key, 0.);
  const int next = std::min(key + 1, keys_ - 1);
  Target target;
  target.key = key;
  target.s = s;
  target.c = (1 - s) * p.segment<3>(position(key)) + s * p.segment<3>(position(next));
  target.theta = (1 - s) * p.segment<3>(rotation(key)) + s * p.segment<3>(rotation(next));
  return target;
}

void Handle::start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const {
  const Target at = target(p, 0);
  s.c.col(node()) = at.c;
  s.R[nodes[node()].frame] = exp_rotation(at.theta);
}

void Handle::start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                               const std::vector<int>& column_of, MatrixXd& X, MatrixXd&) const {
  const Matrix3d J = left_jacobian(p.segment<3>(rotation(0)));
  const int dof = nodes[node()].dof;
  for (int a = 0; a < 3; ++a) {
    if (const int c = column_of[position(0) + a]; c >= 0) X(dof + a, c) = 1;
    if (const int c = column_of[rotation(0) + a]; c >= 0) X.block<3, 1>(dof + 3, c) = J.col(a);
  }
}

void Handle::predict(const State& prev, const TimeScheme& scheme, double t, const VectorXd& p,
                     const std::vector<Node>& nodes, VectorXd& u) const {
  const Node& n = nodes[node()];
  const Target to = target(p, t);
  const Vector3d turn = log_rotation(exp_rotation(to.theta) * prev.R[n.frame].transpose());
  u.segment<3>(n.dof) =
      (to.c - prev.c.col(node()) - scheme.carry * prev.dc.col(node())) / scheme.alpha;
  u.segment<3>(n.dof + 3) = (turn - scheme.carry * prev.theta[n.frame]) / scheme.alpha;
}

void Handle::add_rows(const Window& window, const VectorXd& p, const std::vector<Node>& nodes,
                      double weight, const Assembly& out) const {
  const Node& n = nodes[node()];
  const State& s = window.now();
  const Target to = target(p, window.t);
  const Matrix3d E = s.R[n.frame] * exp_rotation(to.theta).transpose();
  const Vector3d turn = log_rotation(E);
  out.r->segment<3>(n.dof) = weight * (s.c.col(node()) - to.c);
  out.r->segment<3>(n.dof + 3) = weight * turn;
  const Matrix3d Ji = left_jacobian_inverse(turn);
  if (out.K) {
    Eigen::Map<Matrix6> k(out.K->block(node()));
    k.topLeftCorner<3, 3>() = weight * Matrix3d::Identity();
    k.bottomRightCorner<3, 3>() = weight * Ji;
  }
  if (!out.columns) return;
  // delta E = [d psi - E d psi*]x E and d psi* = J_l(theta*) d theta*
  const Matrix3d by_theta = -weight * Ji * E * left_jacobian(to.theta);
  for (int end = 0; end < 2; ++end) {
    const int key = std::min(to.key + end, keys_ - 1);
    const double share = end ? to.s : 1 - to.s;
    for (int a = 0; a < 3; ++a) {
      if (const int c = out.columns->column(position(key) + a); c >= 0) {
        out.columns->values(n.dof + a, c) -= weight * share;
      }
      if (const int c = out.columns->column(rotation(key) + a); c >= 0) {
        out.columns->values.block<3, 1>(n.dof + 3, c) += share * by_theta.col(a);
      }
    }
  }
}

void add_handle(Scene& scene, const std::string& name, const HandleMotion& motion, double radius) {
  scene.check_new("handle", name);
  const std::string place = "handle '" + name + "'";
  if (!(motion.interval > 0)) refuse(place + ": interval", "must be > 0 [s]", motion.interval);
  if (!(radius > 0)) refuse(place + ": radius", "must be > 0 [m]", radius);
  if (motion.position.cols() == 0) refuse(place + ": position", "must hold a key", 0);
  if (motion.rotation.cols() != motion.position.cols()) {
    refuse(place + ": rotation",
           "must hold one key per position (" + std::to_string(motion.position.cols()) + ")",
           motion.rotation.cols());
  }
  scene.add_body(std::make_unique<Handle>(name, scene.next_node(), scene.table(), motion, radius));
}

}  // namespace diffsim
