// Kinematics of a joint between two frames a and b (either may be the world), and its coordinate.
//
// The joint's point and axes are fixed in both bodies; x_m is the point, A and B the axes in the
// world (third column: the joint's axis). All forces act at x_b, on both bodies, so that they are
// internal whatever the joint has opened:
//   d = x_b - x_a,  l_a = x_b - c_a,  l_b = x_b - c_b,
//   e = v_b + omega_b x l_b - v_a - omega_a x l_a   (rate of d as seen from a),  w = omega_b -
//   omega_a
#pragma once

#include <cmath>

#include "node_pair.hpp"

namespace diffsim {

/// A joint in one body's frame: its point from the node [m], and its axes as columns.
struct JointPlace {
  Vector3d point;
  Matrix3d axes;
};

struct JointPose {
  JointPose(const NodePair& nodes, const std::array<JointPlace, 2>& place, const State& s);

  Matrix3d A, B;
  Vector3d rho_a, l_a, l_b, d, e, w, w_a, w_b;

  // Derivatives by the twelve directions of NodePair; _v: by velocities.
  Matrix3x12 d_x() const;
  Matrix3x12 e_x() const;
  Matrix3x12 e_v() const;
  /// e_v^T G: the generalized force of G on b and -G on a, both at x_b; and its change at fixed G.
  Vector12 spread(const Vector3d& G) const;
  Matrix12 spread_x(const Vector3d& G) const;
  // By the joint's place, as twelve directions too: its point moved and its axes turned (rotation
  // vectors) in a, then in b, world frame.
  Matrix3x12 d_place() const;
  Matrix3x12 e_place() const;
  Matrix12 spread_place(const Vector3d& G) const;
  /// A direction fixed in a turns with it: by poses, and by places.
  static Matrix3x12 fixed_in_a_x(const Vector3d& a);
};

/// The generalized force of the torque t on b and -t on a.
Vector12 spread_torque(const Vector3d& t);
Matrix12 spread_torque(const Matrix3x12& dt);

/// n = a x b for a fixed in a and b fixed in b; s = a.b has d s = n . (d psi_a - d psi_b).
Matrix3x12 cross_x(const Vector3d& a, const Vector3d& b);

/// A scalar coordinate q of a joint: a generalized force phi on it is phi g.
struct JointCoordinate {
  double q, rate;   // [rad] or [m], per second
  Vector12 g;       // dq/dx = d rate/dv
  Matrix12 g_x;     // dg/dx
  Vector12 rate_x;  // d rate/dx
};

/// Angle of b against a about the axis: q = atan2(a_2.b_1 - a_1.b_2, a_1.b_1 + a_2.b_2), in
/// (-pi, pi]: the twist of the relative rotation, smooth but for that branch cut.
JointCoordinate joint_angle(const JointPose& j);
/// The angle plus whole turns that is nearest to another one.
inline double nearest_turn(double angle, double to) {
  return angle + 2 * M_PI * std::round((to - angle) / (2 * M_PI));
}
/// Displacement q = a . d of b along the axis, or another column of A; a is fixed in body a.
JointCoordinate joint_displacement(const JointPose& j, int column = 2);

/// Derivatives of a coordinate, its rate and g by some twelve directions or numbers.
struct CoordinateSlopes {
  Vector12 q, rate;
  Matrix12 g;
};
/// By the joint's place (see JointPose).
CoordinateSlopes joint_angle_place(const JointCoordinate& at);
CoordinateSlopes joint_displacement_place(const JointPose& j, int column = 2);

/// Where a coordinate stands that is a degree of freedom itself (reduced/articulation.hpp).
struct CoordinateFreedom {
  int node = -1, size = 0, offset = 0;  // node -1: it follows from the poses of both bodies
  int dof = 0, first = 0;               // in the motion, in State::q
  double ratio = 1, shift = 0;          // of one that follows another: q = ratio q_other + shift
  double q(const State& s) const { return ratio * s.q[first] + shift; }
  double rate(const State& s) const { return ratio * s.qdot[first]; }
};

/// Adds a generalized force phi on such a coordinate to r and, when asked, K and B.
void add_freedom_force(const CoordinateFreedom& at, double phi, double by_q, double by_rate,
                       const Assembly& out);
/// Adds dphi/dp of a parameter to its column, where it has one.
void add_freedom_column(const CoordinateFreedom& at, double dphi, int parameter,
                        ParameterColumns& out);

/// Adds a generalized force phi with derivatives by q and its rate to r and, when asked, K and B.
void add_coordinate_force(const NodePair& nodes, const JointCoordinate& at, double phi, double by_q,
                          double by_rate, const Assembly& out);

}  // namespace diffsim
