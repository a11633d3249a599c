// A robot's joints from its base to one link: where the link is, and its Jacobian.
#pragma once

#include <vector>

#include "../math.hpp"

namespace diffsim {

/// Longest chain; matrices of this size need no memory from the heap.
constexpr int most_joints = 16;

using JointValues = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, most_joints, 1>;
using ChainJacobian = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, most_joints>;

struct LinkPose {
  Matrix3d turn = Matrix3d::Identity();
  Vector3d at = Vector3d::Zero();
};

/// One joint: its frame in the one before, then a turn about (or a shift along) a unit axis.
struct ChainJoint {
  LinkPose origin;
  Vector3d axis;
  bool turns;
};

class Chain {
 public:
  Chain(std::vector<ChainJoint> joints, const LinkPose& tip);

  int size() const { return static_cast<int>(joints_.size()); }
  /// Sum of the distances between its frames [m].
  double length() const { return length_; }
  const std::vector<ChainJoint>& joints() const { return joints_; }

  /// Pose of the link in the base's frame and, where J is given, its Jacobian: velocity of the
  /// link's origin [m/s], then angular velocity, by joint rates, in the base's axes.
  LinkPose pose(const JointValues& q, ChainJacobian* J = nullptr) const;

 private:
  std::vector<ChainJoint> joints_;
  LinkPose tip_;
  double length_;
};

}  // namespace diffsim
