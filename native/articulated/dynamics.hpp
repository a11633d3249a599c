// Recursive dynamics of a tree [Featherstone 2008], O(n) but for matrices: inverse and forward
// dynamics and the mass matrix.
//
// States are q (position_size), qd, qdd, tau (velocity_size) as `Tree` has them. Nothing here
// allocates; a workspace belongs to one thread.
#pragma once

#include "workspace.hpp"

namespace diffsim {

/// Efforts tau of the motion q, qd, qdd: recursive Newton-Euler (RNEA).
void inverse_dynamics(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                      const double* qd, const double* qdd, double* tau);

/// Accelerations under the efforts tau: articulated bodies (ABA).
void forward_dynamics(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                      const double* qd, const double* tau, double* qdd);

/// Mass matrix (n, n), both triangles: composite bodies (CRBA).
void mass_matrix(const TreeBodies& tree, DynamicsWorkspace& work, const double* q, double* M);

/// Places, unit motions and inertias of all bodies; composites[i].I are those of subtrees.
void place_composites(const TreeBodies& tree, DynamicsWorkspace& work, const double* q);

/// Factors work.factor (mass matrix in the order of bodies, lower triangle) in place: L^T D L, with
/// zeros where the tree has them [Featherstone 2008, 6.5]. False if it is not positive definite.
bool factor_mass_matrix(DynamicsWorkspace& work);
/// Least share of a coordinate's inertia that is left where the others move freely: 0 where the
/// mass matrix has no inverse. Only links without mass or moments can bring that about
/// (`may_lock`).
double least_pivot(const TreeBodies& tree, DynamicsWorkspace& work, const double* q);
/// X (n, columns, row-major, `stride` numbers a row) becomes M^-1 X.
void solve_mass_matrix(const DynamicsWorkspace& work, double* X, int columns, int stride);

}  // namespace diffsim
