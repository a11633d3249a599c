// Motors on the free coordinate q of a joint: a hinge's angle or a slider's displacement.
//
//   position: phi = k (q* - q) + c (q*' - q')   [G 4.5.4, as a torque on the angle itself]
//   torque, force: phi = phi*(t)
// q*' is BDF's derivative of q* (sum gamma_k q*(t - k h), TimeScheme::rate), as q' of a kinematic
// body is: with it the momentum less c q* is smooth where keys have kinks, and BDF2 keeps its
// order. phi acts on body b along the coordinate and as its reaction on body a. q*, phi* are keys
// over time (keys.hpp). Angles count whole turns (Joint::coordinate): a target may go on turning.
#pragma once

#include "../keys.hpp"
#include "coordinate_force.hpp"

namespace diffsim {

struct MotorSpec {
  std::string joint, kind;            // kind: position, torque (angles), force (displacements)
  double stiffness = 0, damping = 0;  // position only
  KeyValues keys;                     // (1, n): targets, torques or forces
};

class Motor : public CoordinateForce {
 public:
  /// stiffness, damping: parameter indices, -1 where the keys are phi* itself.
  Motor(std::string name, const Joint* joint, int stiffness, int damping, Keys keys)
      : CoordinateForce(std::move(name), joint),
        stiffness_(stiffness),
        damping_(damping),
        keys_(keys) {}
  bool differences() const override { return follows(); }
  Phi phi(const Window& window, const VectorXd& p, const JointCoordinate& at,
          ByParameter* by) const override;
  bool linear() const override { return true; }

 private:
  bool follows() const { return stiffness_ >= 0; }

  int stiffness_, damping_;
  Keys keys_;
};

void add_motor(Scene& scene, const std::string& name, const MotorSpec& spec);

}  // namespace diffsim
