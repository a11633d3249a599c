// A point mass.
#pragma once

#include "body.hpp"

namespace diffsim {

class Particle : public Body {
 public:
  Particle(const std::string& name, int node, ParameterTable& table, double mass,
           const Vector3d& position, const Vector3d& velocity);
  NodeKind kind() const override { return NodeKind::point; }
  double radius() const override { return 1; }
  NodeMass mass() const override { return {mass_, -1}; }
  void start(const VectorXd& p, const Node& node, State& s) const override;
  void start_sensitivity(const VectorXd& p, const Node& node, const std::vector<int>& column_of,
                         MatrixXd& X, MatrixXd& V) const override;

 private:
  int mass_, position_, velocity_;
};

}  // namespace diffsim
