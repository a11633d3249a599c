// Derivatives of recursive dynamics, exact: by q, qd, tau, by inertial parameters, by the places of
// joints.
//
// A unit change of coordinate j carries what it moves rigidly along S_j. All that belongs to the
// subtree turns with it, which leaves powers as they are; what remains is that the carrier's
// velocity v and acceleration a (less gravity) look turned back. With first = v x S,
// second = a x S + v x first, sum = first + dS/dt, and for the subtree of body i the sums of
// inertia I, force f and B = [K 0; -[p]x 0] (`Composite`; docs/explanation/articulated.md (1) to
// (5)):
//
//   d tau_i / d q_j  = S_i . (I second_j + B first_j)               of i, which j moves       (3)
//                    = S_i . (S_j x* f + I second_j + B first_j)    of j, which i carries     (4)
//   d tau_i / d qd_j = S_i . (I sum_j + B S_j)                      of the outer one          (5)
#pragma once

#include "dynamics.hpp"

namespace diffsim {

/// tau and its derivatives (n, n), row-major, by q (tangent), by qd; by qdd it is the mass matrix.
void inverse_dynamics_derivatives(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                                  const double* qd, const double* qdd, double* tau, double* by_q,
                                  double* by_qd, double* M);

/// qdd and its derivatives (n, n), row-major, by q (tangent), by qd, by tau (the inverse of M).
void forward_dynamics_derivatives(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                                  const double* qd, const double* tau, double* qdd, double* by_q,
                                  double* by_qd, double* by_tau);

/// Places, motions, composites of subtrees, T and W of all coordinates (`Slopes`).
void place_forces(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                  const double* qd, const double* qdd);

/// Derivatives of tau (n rows) at q, qd, qdd by parameters of all links and joints of a tree whose
/// bodies are its links (`TreeBodies(tree, false)`), row-major:
///   inertial (n, 10 links)  by m, m com, I xx yy zz xy xz yz about the link's origin, link axes:
///                           the regressor Y, tau = Y phi without armature
///   places (n, 6 joints)    by a turn (rotation vector) and a shift of the joint's frame, in axes
///                           of the parent's link
///   lengths (n, joints)     by the length of r, along r; 0 where r is 0
/// `inertial` or `places` may be null, `lengths` too. Of forward dynamics these are -M^-1 times as
/// much, at the qdd that it finds.
void parameter_derivatives(const Tree& tree, const TreeBodies& bodies, DynamicsWorkspace& work,
                           const double* q, const double* qd, const double* qdd, double* inertial,
                           double* places, double* lengths);

}  // namespace diffsim
