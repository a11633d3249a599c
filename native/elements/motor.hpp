// Motors on the free coordinate q of a joint: a hinge's angle or a slider's displacement.
//
//   position: phi = k (q* - q) + c (q*' - q')   [G 4.5.4, as a torque on the angle itself]
//   torque, force: phi = phi*(t)
// q*' is BDF's derivative of q* (sum gamma_k q*(t - k h), TimeScheme::rate), as q' of a kinematic
// body is: with it the momentum less c q* is smooth where keys have kinks, and BDF2 keeps its
// order. phi acts on body b along the coordinate and as its reaction on body a. q*, phi* are keys
// over time (keys.hpp). Angles count whole turns (Joint::coordinate): a target may go on turning.
// A motor with limits of its effort cuts phi off at them, whatever the law. phi depends on the
// limit alone there. It never rises with q or q'.
#pragma once

#include <optional>

#include "../keys.hpp"
#include "coordinate_force.hpp"

namespace diffsim {

struct MotorSpec {
  std::string joint, kind;            // kind: position, torque (angles), force (displacements)
  double stiffness = 0, damping = 0;  // position only
  KeyValues keys;                     // (1, n): targets, torques or forces
  std::optional<double> effort_lower, effort_upper;  // [N m] or [N]
};

class Motor : public CoordinateForce {
 public:
  struct Parameters {
    int stiffness = -1, damping = -1;          // -1 where the keys are phi* itself
    int effort_lower = -1, effort_upper = -1;  // -1 where there is no limit
  };
  Motor(std::string name, const Joint* joint, Parameters params, Keys keys)
      : CoordinateForce(std::move(name), joint), params_(params), keys_(keys) {}
  bool differences() const override { return follows(); }
  Phi phi(const Window& window, const VectorXd& p, const JointCoordinate& at,
          ByParameter* by) const override;
  bool linear() const override { return !limited(); }
  /// 0 within its limits, 1 at the upper, 2 at the lower.
  int mode_count() const override { return limited() ? 1 : 0; }
  void modes(const Window& window, const VectorXd& p, std::uint16_t* out) const override;

 private:
  bool follows() const { return params_.stiffness >= 0; }
  bool limited() const { return params_.effort_lower >= 0 || params_.effort_upper >= 0; }
  Phi unlimited(const Window& window, const VectorXd& p, const JointCoordinate& at,
                ByParameter* by) const;
  /// The parameter of the limit that a value of phi is beyond, -1: none.
  int beyond(double phi, const VectorXd& p) const;

  Parameters params_;
  Keys keys_;
};

void add_motor(Scene& scene, const std::string& name, const MotorSpec& spec);

}  // namespace diffsim
