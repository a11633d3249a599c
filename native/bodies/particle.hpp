// A point mass.
#pragma once

#include "body.hpp"

namespace diffsim {

class Scene;

class Particle : public Body {
 public:
  Particle(const std::string& name, int node, ParameterTable& table, double mass,
           const Vector3d& position, const Vector3d& velocity);
  std::vector<NodeMass> masses() const override { return {{mass_}}; }
  void start(const VectorXd& p, const std::vector<Node>& nodes, State& s) const override;
  void start_sensitivity(const VectorXd& p, const std::vector<Node>& nodes,
                         const std::vector<int>& column_of, MatrixXd& X,
                         MatrixXd& V) const override;

 private:
  int mass_, position_, velocity_;
};

void add_particle(Scene& scene, const std::string& name, double mass, const Vector3d& position,
                  const Vector3d& velocity);

}  // namespace diffsim
