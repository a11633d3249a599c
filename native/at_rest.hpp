// A scene at rest: where its nodes are, without velocities, and the window that elements then see.
//
// Statics: r(x, p) = 0 with r minus all forces [docs/how-to/statics.md (1), (2)]. Constrained
// joints have multipliers lambda among the unknowns, and rows of r that are -g, what they are open:
//   r = -(forces + G^T lambda),  r_lambda = -g,   dr = [[K, -G^T], [-G, 0]] (dx, dlambda).
#pragma once

#include "bodies/kinematics.hpp"
#include "scene.hpp"

namespace diffsim {

using Quaternions = Eigen::Matrix<double, Eigen::Dynamic, 4, Eigen::RowMajor>;
using Points3 = Eigen::Matrix<double, Eigen::Dynamic, 3, Eigen::RowMajor>;

constexpr double kAtRestGravity = 9.81;  // [m/s^2], of reference loads

/// Any step does: at rest no force sees it, and mass is taken as d(momentum)/d(velocity).
extern const TimeScheme kAtRest;

/// Where a scene is: poses of all nodes, (nodes, 3), (nodes, 4), and what coordinates of joints
/// and multipliers [N, N m] are (State::q, for multipliers State::qdot).
struct Placement {
  Points3 position;
  Quaternions orientation;
  VectorXd coordinates;
};

/// The scene ready for statics, or a refusal that names what stands in the way.
void prepare_at_rest(Scene& scene, const VectorXd& p);
Placement placement_of(const Scene& scene, const State& s);
/// State at a placement; rate (ndof) or none: at rest. Dependent frames are where p has them.
State state_at(const Scene& scene, const VectorXd& p, const Placement& at,
               const VectorXd* rate = nullptr);
/// The placement that a step (ndof) leads to: displacements [m], rotation vectors [rad], what
/// coordinates and multipliers grow by; dependent frames follow.
Placement moved_at_rest(const Scene& scene, const VectorXd& p, const Placement& at,
                        const VectorXd& step);

}  // namespace diffsim
