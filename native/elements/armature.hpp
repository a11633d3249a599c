// Armature: the inertia of what turns with a joint's coordinate q alone, as a geared motor's rotor.
//
//   phi = -I q'',   q'' = sum_k gamma_k q'_{n-k}   (BDF's gamma: TimeScheme::rate)
// With g = dq/dx this is the exact Lagrangian force of the energy I q'^2/2: g changes along the
// motion as the gradient of one function does, so no gyroscopic term is left over.
#pragma once

#include "joint.hpp"

namespace diffsim {

class Armature : public Element {
 public:
  /// inertia: parameter index.
  Armature(std::string name, const Joint* joint, int inertia)
      : Element(std::move(name)), joint_(joint), past_(joint->nodes()), inertia_(inertia) {}
  std::vector<std::pair<int, int>> couplings() const override { return joint_->couplings(); }
  void bind(const BlockPattern&, const BlockPattern& past) override {
    if (!joint_->acts_on_freedom()) past_.bind(past);
  }
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;
  void add_energy(const State& s, const VectorXd& p, Energy& to) const override;
  void add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const override;
  const Joint& joint() const { return *joint_; }
  int parameter() const { return inertia_; }
  bool looks_back() const override { return true; }
  bool differences() const override { return true; }
  void add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                   BlockMatrix& B) const override;

 private:
  const Joint* joint_;
  NodePair past_;  // with the blocks of the history
  int inertia_;
};

/// inertia: reflected to the joint, gear ratio squared times the rotor's [kg m^2], of sliders [kg].
void add_armature(Scene& scene, const std::string& name, const std::string& joint, double inertia);

}  // namespace diffsim
