// Torsion: a spring and damper between the orientations of two frames, or of one and the world.
//
//   tau_a = k/2 sum_i a_i x b_i + c (omega_b - omega_a),   tau_b = -tau_a
// with a_i, b_i three axes fixed in each that are equal at rest. The spring's part comes from the
// energy k/2 sum_i (1 - a_i.b_i) = k (1 - cos angle): k angle^2/2 for small angles, smooth at all.
#pragma once

#include "../outputs/energy.hpp"
#include "../outputs/wrench.hpp"
#include "joint_pose.hpp"

namespace diffsim {

class Torsion : public Element {
 public:
  /// stiffness, damping: parameter indices.
  Torsion(std::string name, NodePair nodes, std::array<JointPlace, 2> place, int stiffness,
          int damping)
      : Element(std::move(name)),
        nodes_(std::move(nodes)),
        place_(std::move(place)),
        stiffness_(stiffness),
        damping_(damping) {}
  std::vector<std::pair<int, int>> couplings() const override { return nodes_.couplings(); }
  void bind(const BlockPattern& pattern, const BlockPattern&) override { nodes_.bind(pattern); }

  void add(const Window& window, const VectorXd& p, const Assembly& out) const override {
    const JointPose j(nodes_, place_, window.now());
    const double k = p[stiffness_], c = p[damping_];
    Vector3d turn = Vector3d::Zero();  // of a by the spring, per k
    for (int i = 0; i < 3; ++i) turn += j.A.col(i).cross(j.B.col(i)) / 2;
    nodes_.add(Vector12(-spread_torque(Vector3d(k * turn + c * j.w))), *out.r);
    if (out.K) {
      Matrix3x12 by_x = Matrix3x12::Zero(), by_v = Matrix3x12::Zero();
      for (int i = 0; i < 3; ++i) by_x += k / 2 * cross_x(j.A.col(i), j.B.col(i));
      by_v.middleCols<3>(3) = -c * Matrix3d::Identity();
      by_v.middleCols<3>(9) = c * Matrix3d::Identity();
      nodes_.add(Matrix12(-spread_torque(by_x)), *out.K);
      nodes_.add(Matrix12(-spread_torque(by_v)), *out.B);
    }
    if (!out.columns) return;
    for (const auto& [parameter, by] : {std::pair{stiffness_, turn}, {damping_, j.w}}) {
      const int column = out.columns->column(parameter);
      if (column >= 0) nodes_.add(Vector12(-spread_torque(by)), column, *out.columns);
    }
  }
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override {
    const JointPose j(nodes_, place_, s);
    to.springs += p[stiffness_] * per_stiffness(j);
  }
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override {
    add_rest_forces(s, p, Energy::kSprings, by);
    by.add_p(Energy::kSprings, stiffness_, per_stiffness(JointPose(nodes_, place_, s)));
  }
  /// NAME.torque on body b.
  void list_outputs(const Scene& scene, OutputList& to) const override {
    to.push_back(wrench(name() + ".torque", scene, WrenchPart::torque, {{this}, {nodes_.node(1)}}));
    to.push_back(energy_of(name(), {this}));
  }

 private:
  static double per_stiffness(const JointPose& j) {
    return (3 - (j.A.array() * j.B.array()).sum()) / 2;
  }

  NodePair nodes_;
  std::array<JointPlace, 2> place_;
  int stiffness_, damping_;
};

/// At rest as the scene starts; body_a "" is the world. Parameters NAME.stiffness, NAME.damping.
inline void add_torsion(Scene& scene, const std::string& name, const std::string& body_a,
                        const std::string& body_b, double stiffness, double damping) {
  scene.check_new("torsion", name);
  const std::string bodies[2] = {body_a, body_b};
  int node[2];
  for (int m = 0; m < 2; ++m) {
    node[m] = bodies[m].empty() ? -1 : scene.node_of(bodies[m]);
    if (node[m] >= 0 ? scene.nodes()[node[m]].kind == NodeKind::point : m == 1) {
      refuse("torsion '" + name + "'", "acts between bodies that turn", "'" + bodies[m] + "'");
    }
  }
  NodePair nodes(scene.nodes(), node[0], node[1]);
  const State start = scene.start(scene.values());
  std::array<JointPlace, 2> place;
  for (int m = 0; m < 2; ++m) {
    place[m] = {Vector3d::Zero(), nodes.pose(m, start).R.transpose()};
  }
  const int k = scene.table().add(name + ".stiffness", "N m/rad", stiffness, 0, kInfinity);
  const int c = scene.table().add(name + ".damping", "N m s/rad", damping, 0, kInfinity);
  scene.add_element(std::make_unique<Torsion>(name, std::move(nodes), place, k, c));
}

}  // namespace diffsim
