#include "particle.hpp"

#include "../scene.hpp"

namespace diffsim {

Particle::Particle(const std::string& name, int node, ParameterTable& table, double mass,
                   const Vector3d& position, const Vector3d& velocity)
    : Body(name, NodeKind::point, node) {
  mass_ = table.add(name + ".mass", "kg", mass, 1e-12, kInfinity);
  position_ = table.add3(name + ".position", "m", position, true);
  velocity_ = table.add3(name + ".velocity", "m/s", velocity, true);
}

void Particle::start(const VectorXd& p, const std::vector<Node>&, State& s) const {
  s.c.col(node()) = p.segment<3>(position_);
  s.v.col(node()) = p.segment<3>(velocity_);
}

void Particle::start_sensitivity(const VectorXd&, const std::vector<Node>& nodes,
                                 const std::vector<int>& column_of, MatrixXd& X,
                                 MatrixXd& V) const {
  const int dof = nodes[node()].dof;
  for (int i = 0; i < 3; ++i) {
    if (const int c = column_of[position_ + i]; c >= 0) X(dof + i, c) = 1;
    if (const int c = column_of[velocity_ + i]; c >= 0) V(dof + i, c) = 1;
  }
}

void add_particle(Scene& scene, const std::string& name, double mass, const Vector3d& position,
                  const Vector3d& velocity) {
  scene.check_new("particle", name);
  const int node = scene.next_node();
  scene.add_body(std::make_unique<Particle>(name, node, scene.table(), mass, position, velocity));
}

}  // namespace diffsim
