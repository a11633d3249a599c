// Inertia: the rate of change of momentum, in conservative form.
//
// Momentum of a node: m v, and for a frame the angular momentum L = I_c omega, I_c = R I_0 R^T, in
// the WORLD frame. r = sum_k gamma_k momentum_{n-k}. In continuous time this is [G A.1.3]'s
// M q'' + C, multiplied by J_l^-T; in discrete time it keeps linear and angular momentum of a free
// body to solver tolerance, where differencing theta keeps them to the scheme's order only.
#pragma once

#include "../bodies/body.hpp"

namespace diffsim {

class Inertia : public Element {
 public:
  Inertia(std::vector<Node> nodes, std::vector<NodeMass> masses)
      : Element("inertia"), nodes_(std::move(nodes)), masses_(std::move(masses)) {}
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override;
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override;
  bool looks_back() const override { return true; }
  void add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                   BlockMatrix& B) const override;

 private:
  void add_columns(const Window& window, int node, const VectorXd& p,
                   ParameterColumns& columns) const;
  std::vector<Node> nodes_;
  std::vector<NodeMass> masses_;
};

}  // namespace diffsim
