// Equations of motion of a tree with points that touch: what inverse dynamics with contact is made
// of. M qdd + h = tau + J^T f, with J qd the points' velocities and J qdd + bias the accelerations
// that contact holds at zero.
#pragma once

#include "dynamics.hpp"

namespace diffsim {

/// A ball of some radius about a point of a link; radius 0: the point itself. It touches at the
/// centre less radius times the world's z.
struct ContactBall {
  int link;
  Vector3d centre;  // link frame [m]
  double radius;    // [m]
};

struct ContactDynamics {
  RowMatrix M;         // (n, n)
  VectorXd h;          // (n) Coriolis, centrifugal and gravity forces
  RowMatrix J;         // (3 m, n)
  RowMatrix point;     // (m, 3) where balls touch, in the world
  RowMatrix bias;      // (m, 3) of a ball that rolls: its centre's less that of rolling
  RowMatrix velocity;  // (m, 3) of the material point that touches
};

/// Of a ball that rolls without slip its centre's acceleration is alpha x (radius z): J qdd + bias
/// is what is left of that, and vanishes.
void contact_dynamics(const TreeBodies& tree, DynamicsWorkspace& work,
                      const std::vector<ContactBall>& balls, const double* q, const double* qd,
                      ContactDynamics& out);

}  // namespace diffsim
