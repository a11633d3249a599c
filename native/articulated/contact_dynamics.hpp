// Equations of motion of a tree with points that touch: what inverse dynamics with contact is made
// of. M qdd + h = tau + J^T f, with J qd the points' velocities and J qdd + bias the accelerations
// that contact holds at zero.
#pragma once

#include "dynamics.hpp"

namespace diffsim {

/// A ball of some radius about a point of a link, which touches at the centre less radius times the
/// world's z; radius 0: the point itself. With an axis: a thin wheel about it, which touches at its
/// lowest point. The link turns as the wheel does.
struct ContactBall {
  int link;
  Vector3d centre;  // link frame [m]
  double radius;    // [m]
  Vector3d axis;    // of a wheel, unit, link frame; 0: a ball

  bool is_wheel() const { return !axis.isZero(); }
};

struct ContactDynamics {
  RowMatrix M;         // (n, n)
  VectorXd h;          // (n) Coriolis, centrifugal and gravity forces
  RowMatrix J;         // (3 m, n)
  RowMatrix point;     // (m, 3) where they touch, in the world
  RowMatrix bias;      // (m, 3) of a ball that rolls: its centre's less that of rolling
  RowMatrix velocity;  // (m, 3) of the material point that touches
  // The lowest point as a place, which moves along a ball or rim that turns: its velocity is
  // place_J qd = place_velocity, its acceleration place_J qdd + place_bias.
  RowMatrix place_J, place_bias, place_velocity;
  // Of wheels (0: balls): axes (m, 3) in the world, speeds about them relative to a frame that only
  // steers and leans, and the rates at which that steers (m) [rad/s].
  RowMatrix axis;
  VectorXd spin, steering;
};

/// Of what rolls without slip on level ground the velocity of the material point vanishes. Its
/// derivative along the motion, with the arm from the centre to the contact as a function of the
/// wheel's axis, is J qdd + bias.
void contact_dynamics(const TreeBodies& tree, DynamicsWorkspace& work,
                      const std::vector<ContactBall>& balls, const double* q, const double* qd,
                      ContactDynamics& out);

}  // namespace diffsim
