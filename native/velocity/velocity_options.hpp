// What a rollout chooses of the velocity stepper.
#pragma once

namespace diffsim {

enum class FrictionCone { cone, pyramid };

struct VelocityOptions {
  FrictionCone cone = FrictionCone::cone;
  int sweeps = 2000;  // of projected Gauss-Seidel, at most
};

}  // namespace diffsim
