#include "at_rest.hpp"

#include <Eigen/Geometry>

#include "rotation.hpp"

namespace diffsim {

// The step is a power of two, which costs no digits, shorter than any interval of keys.
const TimeScheme kAtRest = [] {
  TimeScheme scheme = TimeScheme::bdf(1, 1. / (1 << 20));
  scheme.alpha = scheme.gamma[0] / kAtRestGravity;  // rows of constrained joints are then -g
  return scheme;
}();

namespace {

void check_rows(const Scene& scene, const char* key, Eigen::Index rows) {
  const auto nodes = static_cast<Eigen::Index>(scene.nodes().size());
  if (rows == nodes) return;
  refuse(std::string("statics: ") + key, "must have " + std::to_string(nodes) + " rows", rows);
}

}  // namespace

void prepare_at_rest(Scene& scene, const VectorXd& p) {
  scene.finalize();
  scene.check(p);
  for (const ContactElement* contact : scene.contacts()) {
    if (contact->stick_count() == 0) continue;
    refuse("contact '" + contact->name() + "': friction",
           "statics and modes take linear or tanh, which do not act at rest", "hybrid");
  }
}

Placement placement_of(const Scene& scene, const State& s) {
  const auto nodes = static_cast<Eigen::Index>(scene.nodes().size());
  Placement at{Points3(nodes, 3), Quaternions(nodes, 4), s.q};
  for (Eigen::Index i = 0; i < nodes; ++i) {
    const Node& n = scene.nodes()[i];
    at.position.row(i) = s.c.col(i);
    Eigen::Quaterniond q(1, 0, 0, 0);
    if (n.frame >= 0) q = Eigen::Quaterniond(s.R[n.frame]).normalized();
    at.orientation.row(i) = q.coeffs();
    if (n.multipliers) {
      at.coordinates.segment(n.first, n.count) = s.qdot.segment(n.first, n.count);
    }
  }
  return at;
}

State state_at(const Scene& scene, const VectorXd& p, const Placement& at, const VectorXd* rate) {
  check_rows(scene, "position", at.position.rows());
  check_rows(scene, "orientation", at.orientation.rows());
  State s = make_state(scene.nodes());
  if (at.coordinates.size() != s.q.size()) {
    refuse("statics: coordinates", "must be " + std::to_string(s.q.size()) + " numbers",
           at.coordinates.size());
  }
  for (int i = 0; i < static_cast<int>(scene.nodes().size()); ++i) {
    const Node& n = scene.nodes()[i];
    if (n.kind == NodeKind::coordinates) {
      const VectorXd x = at.coordinates.segment(n.first, n.count);
      (n.multipliers ? s.qdot : s.q).segment(n.first, n.count) = x;
      if (rate && !n.multipliers) s.qdot.segment(n.first, n.count) = rate->segment(n.dof, n.count);
    }
    if (n.has_place()) {
      s.c.col(i) = at.position.row(i);
      if (rate) s.v.col(i) = rate->segment<3>(n.dof);
    }
    if (!n.turns()) continue;
    const Eigen::Vector4d q = at.orientation.row(i);
    s.R[n.frame] = Eigen::Quaterniond(q).normalized().toRotationMatrix();
    if (rate) s.w[n.frame] = rate->segment<3>(n.turn());
  }
  if (scene.articulation()) scene.articulation()->place(p, s);
  s.stick.clear();
  return s;
}

Placement moved_at_rest(const Scene& scene, const VectorXd& p, const Placement& at,
                        const VectorXd& step) {
  if (step.size() != scene.ndof()) refuse("statics: step", "must be (ndof,)", step.size());
  State s = state_at(scene, p, at);
  for (int i = 0; i < static_cast<int>(scene.nodes().size()); ++i) {
    const Node& n = scene.nodes()[i];
    if (n.dependent) continue;
    if (n.kind == NodeKind::coordinates) {
      (n.multipliers ? s.qdot : s.q).segment(n.first, n.count) += step.segment(n.dof, n.count);
    }
    if (n.has_place()) s.c.col(i) += step.segment<3>(n.dof);
    if (n.turns()) s.R[n.frame] = exp_rotation(step.segment<3>(n.turn())) * s.R[n.frame];
  }
  if (scene.articulation()) scene.articulation()->place(p, s);
  return placement_of(scene, s);
}

}  // namespace diffsim
