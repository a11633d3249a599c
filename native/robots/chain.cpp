#include "chain.hpp"

#include <cmath>

namespace diffsim {
namespace {

// R * exp([axis]x angle), column by column: Rodrigues without a product of matrices.
Matrix3d turned(const Matrix3d& R, const Vector3d& axis, double angle) {
  const double s = std::sin(angle), c = std::cos(angle), d = 1 - c;
  const double x = axis.x(), y = axis.y(), z = axis.z();
  Matrix3d own;
  own << c + d * x * x, d * x * y - s * z, d * x * z + s * y,  //
      d * x * y + s * z, c + d * y * y, d * y * z - s * x,     //
      d * x * z - s * y, d * y * z + s * x, c + d * z * z;
  return R * own;
}

}  // namespace

Chain::Chain(std::vector<ChainJoint> joints, const LinkPose& tip)
    : joints_(std::move(joints)), tip_(tip), length_(tip.at.norm()) {
  if (joints_.empty() || size() > most_joints) {
    refuse("chain", "from 1 to " + std::to_string(most_joints) + " joints", size());
  }
  for (const ChainJoint& joint : joints_) {
    if (!(std::abs(joint.axis.norm() - 1) < 1e-9)) refuse("chain", "unit axes", joint.axis.norm());
    length_ += joint.origin.at.norm();
  }
}

LinkPose Chain::pose(const JointValues& q, ChainJacobian* J) const {
  LinkPose here;
  Eigen::Matrix<double, 3, most_joints> axes, places;
  for (int i = 0; i < size(); ++i) {
    const ChainJoint& joint = joints_[i];
    here.at += here.turn * joint.origin.at;
    here.turn = here.turn * joint.origin.turn;
    if (J) axes.col(i) = here.turn * joint.axis;
    if (joint.turns) {
      here.turn = turned(here.turn, joint.axis, q[i]);
    } else {
      here.at += here.turn * (q[i] * joint.axis);
    }
    if (J) places.col(i) = here.at;
  }
  here.at += here.turn * tip_.at;
  here.turn = here.turn * tip_.turn;
  if (!J) return here;
  J->resize(6, size());
  for (int i = 0; i < size(); ++i) {
    const Vector3d axis = axes.col(i);
    if (joints_[i].turns) {
      J->col(i) << axis.cross(here.at - places.col(i)), axis;
    } else {
      J->col(i) << axis, Vector3d::Zero();
    }
  }
  return here;
}

}  // namespace diffsim
