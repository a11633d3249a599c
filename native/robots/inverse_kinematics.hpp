// Joint values whose link is where it should be: at one place, and along a path.
#pragma once

#include <utility>
#include <vector>

#include "chain.hpp"

namespace diffsim {

/// What of a pose counts. Errors are lengths: angles times `length` [m].
struct PoseTask {
  enum class Orientation { full, axis, free };
  Orientation orientation = Orientation::full;
  Vector3d axis = Vector3d::UnitZ();  // of the link: turns about it are free (Orientation::axis)
  double length = 0.3;

  using Slopes = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, most_joints>;

  /// Rows in use; the others are zero, so that sizes are fixed.
  int rows() const {
    return orientation == Orientation::full ? 6 : orientation == Orientation::axis ? 5 : 3;
  }
  /// want - have, and what joint rates change of `have` (exact where the error is zero).
  void error(const Chain& chain, const JointValues& q, const LinkPose& want, Vector6& e,
             Slopes& J) const;
};

struct Solving {
  double tolerance = 1e-9;  // [m]
  int iterations = 60;
  double longest_step = 0.5;  // of one joint in one iteration [rad or m]
};

/// Joint values near q that reach `want`; returns the error left [m]. Levenberg-Marquardt with
/// damping by the squared error (Sugihara 2011): steady at singularities and out of reach.
double reach(const Chain& chain, const PoseTask& task, const LinkPose& want, const Solving& how,
             JointValues& q);

/// How far along a path one start came.
struct FollowedPath {
  MatrixXd q;     // (n, keys); columns from `begin` on, or before it, as far as it came
  int first = 0;  // columns [first, last] are reached
  int last = -1;
  double error = 0;  // [m] left at the key that was not reached
  int jumped = -1;   // joint that leapt there, -1: out of reach
};

/// From q, which reaches key `begin`, forwards and backwards through all keys, without jumps. For
/// arms with no more joints than the task has rows: spare joints would drift.
FollowedPath follow(const Chain& chain, const PoseTask& task, const std::vector<LinkPose>& keys,
                    int begin, const JointValues& q);

/// Smallest and largest singular value of the task's Jacobian.
std::pair<double, double> singular_values(const Chain& chain, const PoseTask& task,
                                          const JointValues& q);

}  // namespace diffsim
