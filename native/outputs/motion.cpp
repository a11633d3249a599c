#include "motion.hpp"

#include "../elements/joint.hpp"

namespace diffsim {
namespace {

// f(state, node, y): three numbers of a node; slopes(state, node, row, by): their derivatives.
template <class Value, class Slopes>
Output of_nodes(const Scene& scene, const Body& body, const std::string& word,
                const std::string& unit, Value value, Slopes slopes) {
  const std::vector<Node>* nodes = &scene.nodes();
  const int first = body.node(), count = body.count();
  return {body.name() + "." + word, unit, xyz(), count > 1 ? count : 0,
          [=](const Window& window, const VectorXd&, double* y, OutputJacobian* by) {
            for (int i = 0; i < count; ++i) {
              const Node& node = (*nodes)[first + i];
              Vector3d::Map(y + 3 * i) = value(window.now(), first + i, node);
              if (by) slopes(window.now(), node, 3 * i, *by);
            }
          }};
}

void add_body(const Scene& scene, const Body& body, OutputList& to) {
  const Matrix3d one = Matrix3d::Identity();
  to.push_back(of_nodes(
      scene, body, "position", "m",
      [](const State& s, int i, const Node&) { return Vector3d(s.c.col(i)); },
      [one](const State&, const Node& n, int row, OutputJacobian& by) {
        by.add_x(row, n.dof, one);
      }));
  to.push_back(of_nodes(
      scene, body, "velocity", "m/s",
      [](const State& s, int i, const Node&) { return Vector3d(s.v.col(i)); },
      [one](const State&, const Node& n, int row, OutputJacobian& by) {
        by.add_v(row, n.dof, one);
      }));
  if (body.kind() != NodeKind::frame) return;
  for (int k = 0; k < 3; ++k) {
    to.push_back(of_nodes(
        scene, body, std::string(1, "xyz"[k]) + "_axis", "1",
        [k](const State& s, int, const Node& n) { return Vector3d(s.R[n.frame].col(k)); },
        [k](const State& s, const Node& n, int row, OutputJacobian& by) {
          by.add_x(row, n.turn(), Matrix3d(-skew(s.R[n.frame].col(k))));  // psi x axis
        }));
  }
  to.push_back(of_nodes(
      scene, body, "angular_velocity", "rad/s",
      [](const State& s, int, const Node& n) { return s.w[n.frame]; },
      [one](const State&, const Node& n, int row, OutputJacobian& by) {
        by.add_v(row, n.turn(), one);
      }));
}

Output of_joint(const Joint& joint, bool rate) {
  const bool turns = joint.kind().coordinate == JointKind::Coordinate::angle;
  const std::string unit = turns ? "rad" : "m";
  return {joint.name() + (rate ? ".rate" : ".coordinate"),
          rate ? unit + "/s" : unit,
          {},
          0,
          [&joint, rate](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
            const JointCoordinate at = joint.driven_coordinate(window.now(), p);
            *y = rate ? at.rate : at.q;
            if (by) joint.add_coordinate_slopes(0, window.now(), p, at, !rate, rate, *by);
          }};
}

}  // namespace

OutputList motion_outputs(const Scene& scene) {
  OutputList all;
  for (const auto& body : scene.bodies()) add_body(scene, *body, all);
  for (const auto& element : scene.elements()) {
    const auto* joint = dynamic_cast<const Joint*>(element.get());
    if (!joint || joint->kind().coordinate == JointKind::Coordinate::none) continue;
    all.push_back(of_joint(*joint, false));
    all.push_back(of_joint(*joint, true));
  }
  return all;
}

}  // namespace diffsim
