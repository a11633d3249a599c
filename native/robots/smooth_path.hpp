// The smoothest joint motion among those that keep a link on its path: for arms with joints to
// spare.
#pragma once

#include <vector>

#include "inverse_kinematics.hpp"

namespace diffsim {

/// Limits of the joints (n,); infinite where there are none.
struct MotionLimits {
  VectorXd lower, upper, velocity, acceleration, jerk;
};

/// q (n, keys), which reaches every key, made smoother: little acceleration and jerk, both measured
/// by their limits, and some room within all limits, where that can be.
///
/// Levenberg-Marquardt over the whole path at once (a banded system: derivatives are differences of
/// up to four keys); every step is brought back onto the keys. `at_rest`: the joints stand still
/// before the first key and after the last.
MatrixXd smooth_path(const Chain& chain, const PoseTask& task, const std::vector<LinkPose>& keys,
                     const VectorXd& times, const MotionLimits& limits, bool at_rest,
                     const MatrixXd& q, int iterations);

}  // namespace diffsim
