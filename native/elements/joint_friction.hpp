// Coulomb friction on a joint's coordinate q, smooth: phi = -c tanh(q'/s).
//
// c is the friction torque (force) of sliding; below the slip rate s it falls to zero with q', so a
// joint at rest under a load creeps at about s load/c. Viscous friction is the joint's own
// friction_damping.
#pragma once

#include "joint.hpp"

namespace diffsim {

class JointFriction : public Element {
 public:
  /// coulomb, slip_rate: parameter indices.
  JointFriction(std::string name, const Joint* joint, int coulomb, int slip_rate)
      : Element(std::move(name)), joint_(joint), coulomb_(coulomb), slip_rate_(slip_rate) {}
  std::vector<std::pair<int, int>> couplings() const override {
    return joint_->nodes().couplings();
  }
  void add(const Window& window, const VectorXd& p, const Assembly& out) const override;

 private:
  const Joint* joint_;
  int coulomb_, slip_rate_;
};

/// coulomb [N m] or [N], slip_rate [rad/s] or [m/s] > 0.
void add_joint_friction(Scene& scene, const std::string& name, const std::string& joint,
                        double coulomb, double slip_rate);

}  // namespace diffsim
