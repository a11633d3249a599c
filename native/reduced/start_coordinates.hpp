// Coordinates of a joint between two frames wherever they are, with derivatives: what a motion in
// reduced coordinates starts from.
#pragma once

#include <vector>

#include "../elements/joint.hpp"

namespace diffsim {

struct StartCoordinates {
  StartCoordinates(const Joint& joint, const State& s, const VectorXd& p);

  /// By the twelve directions of NodePair, and by those of the joint's place (joint_pose.hpp);
  /// the rate by velocities is by_pose.
  struct Scalar {
    double q, rate;  // [rad] or [m], per second
    Vector12 by_pose, rate_by_pose, by_place, rate_by_place;
  };
  std::vector<Scalar> scalar;
  /// A ball's: B's axes in A's, and their angular velocity there. By places as by poses.
  struct Turn {
    Matrix3d value = Matrix3d::Identity();
    Vector3d rate = Vector3d::Zero();
    Matrix3x12 by_pose, rate_by_pose;  // of the rotation vector psi, of the rate
  } turn;
};

}  // namespace diffsim
