#include "start_coordinates.hpp"

#include <cmath>

namespace diffsim {
namespace {

StartCoordinates::Scalar angle(const Joint& joint, const JointPose& j) {
  const JointCoordinate at = joint_angle(j);
  return {joint.from_start(at.q), at.rate, at.g, at.rate_x, at.g, at.rate_x};
}

StartCoordinates::Scalar displacement(const JointPose& j, int axis) {
  const JointCoordinate at = joint_displacement(j, axis);
  const CoordinateSlopes by = joint_displacement_place(j, axis);
  return {at.q, at.rate, at.g, at.rate_x, by.q, by.rate};
}

// An angle of the relative rotation M = A^T B, with dq = n . phi for dM = [phi]x M, n_phi =
// dn/dphi.
StartCoordinates::Scalar angle_of(const JointPose& j, double q, const Vector3d& n,
                                  const Matrix3d& n_phi) {
  const Vector3d w = j.A.transpose() * j.w;
  const Vector12 by_pose = spread_torque(Vector3d(j.A * n));
  // phi = A^T (psi_b - psi_a), d(A^T w) = A^T (w x psi_a)
  Vector12 rate = spread_torque(Vector3d(j.A * (n_phi.transpose() * w)));
  rate.segment<3>(3) += (j.A * n).cross(j.w);
  return {q, n.dot(w), by_pose, rate, by_pose, rate};
}

std::vector<StartCoordinates::Scalar> universal(const JointPose& j) {
  const Matrix3d M = j.A.transpose() * j.B;
  Matrix3d first_phi = Matrix3d::Zero(), second_phi = Matrix3d::Zero();
  // M = R_z(q_1) R_x(q_2): q_1 from its first column, q_2 from its last row.
  const double x = M(0, 0), y = M(1, 0), z = M(2, 0), norm = x * x + y * y;
  const Vector3d first(-z * x / norm, -z * y / norm, 1);
  const double s = M(2, 1), c = M(2, 2), size = s * s + c * c;
  const double a = c * M(1, 1) - s * M(1, 2), b = c * M(0, 1) - s * M(0, 2);
  const Vector3d second(a / size, -b / size, 0);
  for (int k = 0; k < 3; ++k) {
    const Matrix3d d = skew(Vector3d::Unit(k)) * M;
    const double dx = d(0, 0), dy = d(1, 0), dz = d(2, 0), dn = 2 * (x * dx + y * dy);
    first_phi(0, k) = -(dz * x + z * dx) / norm + z * x * dn / (norm * norm);
    first_phi(1, k) = -(dz * y + z * dy) / norm + z * y * dn / (norm * norm);
    const double ds = d(2, 1), dc = d(2, 2), dsize = 2 * (s * ds + c * dc);
    const double da = dc * M(1, 1) + c * d(1, 1) - ds * M(1, 2) - s * d(1, 2);
    const double db = dc * M(0, 1) + c * d(0, 1) - ds * M(0, 2) - s * d(0, 2);
    second_phi(0, k) = da / size - a * dsize / (size * size);
    second_phi(1, k) = -db / size + b * dsize / (size * size);
  }
  return {angle_of(j, std::atan2(y, x), first, first_phi),
          angle_of(j, std::atan2(s, c), second, second_phi)};
}

}  // namespace

StartCoordinates::StartCoordinates(const Joint& joint, const State& s, const VectorXd& p) {
  const JointPose j(joint.nodes(), joint.place(p), s);
  const std::string kind = joint.kind().name;
  if (kind == "hinge") scalar = {angle(joint, j)};
  if (kind == "slider") scalar = {displacement(j, 2)};
  if (kind == "planar") scalar = {displacement(j, 0), displacement(j, 1), angle(joint, j)};
  if (kind == "universal") scalar = universal(j);
  if (kind != "ball") return;
  turn.value = j.A.transpose() * j.B;
  turn.rate = j.A.transpose() * j.w;
  turn.by_pose = Matrix3x12::Zero();
  turn.by_pose.middleCols<3>(3) = -j.A.transpose();
  turn.by_pose.middleCols<3>(9) = j.A.transpose();
  turn.rate_by_pose = Matrix3x12::Zero();
  turn.rate_by_pose.middleCols<3>(3) = j.A.transpose() * skew(j.w);
}

}  // namespace diffsim
