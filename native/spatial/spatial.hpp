// Spatial algebra in six dimensions: everything that recursive dynamics need. Header only.
//
// Conventions, Featherstone's (docs/explanation/spatial_algebra.md has those of other engines):
//   motion (omega, v), force (n, f)  angular part first, in the axes and about the origin of one
//   frame transform X = ^B X_A = (E, r)    E takes coordinates in A to coordinates in B, r is the
//   origin of
//                                    B in A; X1 X2 acts by X2 first. In a tree: child X parent.
//   apply(X, m)                      motion, parent -> child        X m
//   apply_inverse(X, m)              motion, child -> parent        X^-1 m
//   apply_transpose(X, f)            force, child -> parent         X^T f
//   apply_inverse_transpose(X, f)    force, parent -> child         X^-T f
//   apply_transpose(X, inertia)      inertia, child -> parent       X^T I X
//   RigidInertia                     m, h = m c, I about the frame's origin (not the centre)
//   ArticulatedInertia               [I, H; H^T, M]
//   ..._adjoint(inputs, bar)         gradients by the inputs for the gradient `bar` by the output
// Joint frames of a pose (R, p), x_parent = R x_child + p, have plx(R^T, p) = to_plx(Plxb{R, p}).
#pragma once

#include "inertia.hpp"
#include "plucker.hpp"
#include "symmetric3.hpp"
#include "vectors.hpp"
