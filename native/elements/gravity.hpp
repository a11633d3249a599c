// Gravity: f = m g on every node.
#pragma once

#include "../bodies/body.hpp"

namespace diffsim {

class Gravity : public Element {
 public:
  /// p_gravity: index of gravity.x [m/s^2], world frame.
  Gravity(std::vector<Node> nodes, std::vector<NodeMass> masses, int p_gravity)
      : Element("gravity"),
        nodes_(std::move(nodes)),
        masses_(std::move(masses)),
        p_gravity_(p_gravity) {}
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  /// Zero at the origin of the world.
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override;
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override;

 private:
  std::vector<Node> nodes_;
  std::vector<NodeMass> masses_;
  int p_gravity_;
};

}  // namespace diffsim
