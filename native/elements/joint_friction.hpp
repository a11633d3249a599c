// Coulomb friction on a joint's coordinate q, smooth: phi = -c tanh(q'/s).
//
// c is the friction torque (force) of sliding; below the slip rate s it falls to zero with q', so a
// joint at rest under a load creeps at about s load/c. Viscous friction is the joint's own
// friction_damping.
#pragma once

#include "coordinate_force.hpp"

namespace diffsim {

class JointFriction : public CoordinateForce {
 public:
  /// coulomb, slip_rate: parameter indices.
  JointFriction(std::string name, const Joint* joint, int coulomb, int slip_rate)
      : CoordinateForce(std::move(name), joint), coulomb_(coulomb), slip_rate_(slip_rate) {}
  Phi phi(const Window&, const VectorXd& p, const JointCoordinate& at,
          ByParameter* by) const override;

 private:
  int coulomb_, slip_rate_;
};

/// coulomb [N m] or [N], slip_rate [rad/s] or [m/s] > 0.
void add_joint_friction(Scene& scene, const std::string& name, const std::string& joint,
                        double coulomb, double slip_rate);

}  // namespace diffsim
