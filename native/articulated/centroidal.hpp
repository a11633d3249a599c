// Where links are and how they move with q; mass, centre and momentum of the whole tree.
#pragma once

#include "dynamics.hpp"

namespace diffsim {

/// Poses (4, 4), row-major, of all links in the world, one after the other.
void link_poses(const TreeBodies& tree, DynamicsWorkspace& work, const double* q, double* poses);

/// J (6, n), row-major, of a link: angular velocity, then velocity of the link's origin, by qd, in
/// axes of the world.
void link_jacobian(const TreeBodies& tree, DynamicsWorkspace& work, const double* q, int link,
                   double* J);

struct Centroidal {
  double mass;       // [kg]
  Vector3d com;      // in the world [m]; nan where nothing has mass
  Vector6 momentum;  // angular about the centre of mass, then linear; axes of the world
};

/// Also the centroidal momentum matrix A (6, n), row-major: momentum = A qd [Orin, Goswami and Lee
/// 2013].
Centroidal centroidal(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                      const double* qd, double* A);

}  // namespace diffsim
