// Limits on the free coordinate q of a joint: one-sided penalties with continuous damping.
//
//   d = q - upper or lower - q where > 0,   phi = -+ k d max(0, 1 + c d')
// as in contact [engine.md (10)]: no force at d = 0 whatever the speed, and never a pull. With a
// damping depth w, c is c w / (w + d): deeper than w the damping k c w is that of a linear damper,
// and what starts beyond a limit returns with the time constant c w. An angle counts whole turns
// (Joint::coordinate).
#pragma once

#include "coordinate_force.hpp"

namespace diffsim {

struct JointLimitSpec {
  std::string joint;
  std::optional<double> lower, upper;   // [rad] or [m]
  double stiffness, damping;            // [N m/rad] or [N/m]; [s/rad] or [s/m]
  std::optional<double> damping_depth;  // [rad] or [m]
};

class JointLimit : public CoordinateForce {
 public:
  struct Parameters {
    int lower, upper, stiffness, damping, damping_depth;  // -1 where there is none
  };
  JointLimit(std::string name, const Joint* joint, Parameters params)
      : CoordinateForce(std::move(name), joint), params_(params) {}
  /// 0 free, 1 beyond upper, 2 beyond lower; + 4 where damping clamps the force at zero.
  int mode_count() const override { return 1; }
  void modes(const Window& window, const VectorXd& p, std::uint16_t* out) const override;
  Phi phi(const Window&, const VectorXd& p, const JointCoordinate& at,
          ByParameter* by) const override;

 private:
  struct Press;  // how far beyond which limit
  Press press(const JointCoordinate& at, const VectorXd& p) const;

  Parameters params_;
};

void add_joint_limit(Scene& scene, const std::string& name, const JointLimitSpec& spec);

}  // namespace diffsim
