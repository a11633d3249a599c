// Scratch memory of recursive dynamics, and the step that all of them begin with: where a body is.
//
// All spatial vectors are in one frame: axes of the world, about the place of the first body (near
// the bodies, so that a robot far from the world's origin loses no digits). Nothing has to be
// transformed between bodies then; inertias, forces and momenta of subtrees are plain sums.
#pragma once

#include <vector>

#include "bodies.hpp"

namespace diffsim {

using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

struct BodyState {
  Matrix3d R;  // x = R x_body + r
  Vector3d r;
  MotionVector v, a;  // a: less gravity; without joint accelerations where these are sought
  RigidInertia I;
  ForceVector f;  // that moves it: I a + v x* I v
};

/// A coordinate's unit motion and what comes of it.
struct Coordinate {
  MotionVector S;
  ForceVector U;      // articulated inertia times S
  double inverse, u;  // 1 / (S . U), effort left for it
};

/// What derivatives need of a subtree.
struct Composite {
  RigidInertia I;
  ForceVector f;
  Matrix3d K = Matrix3d::Zero();  // 2 (tr Q 1 - Q), Q = sum of m x_dot x^T
  Vector3d p = Vector3d::Zero();  // twice the linear momentum
};

/// Of a unit motion S_j: rates of S_j as carried by its parent, and forces on what it moves.
struct Slopes {
  MotionVector first;   // v_parent x S
  MotionVector second;  // a_parent x S + v_parent x first
  MotionVector sum;     // first + dS/dt
  ForceVector T;        // composite inertia times S
  ForceVector F, G;     // changes of the composite force by q, by qd
  Vector3d W;           // of the Coriolis forces, by the angular part of a motion
};

class DynamicsWorkspace {
 public:
  explicit DynamicsWorkspace(const TreeBodies& tree)
      : states(tree.size()),
        added(tree.size()),
        articulated(tree.size()),
        composites(tree.size()),
        coordinates(tree.coordinates()),
        slopes(tree.coordinates()),
        above(tree.above),
        factor(MatrixXd::Zero(tree.coordinates(), tree.coordinates())),
        diagonal(tree.coordinates()),
        values(tree.coordinates()),
        right(RowMatrix::Zero(tree.coordinates(), 3 * tree.coordinates())) {}

  std::vector<BodyState> states;
  std::vector<MotionVector> added;  // to accelerations by joints
  std::vector<ArticulatedInertia> articulated;
  std::vector<Composite> composites;
  std::vector<Coordinate> coordinates;
  std::vector<Slopes> slopes;
  std::vector<int> above;
  Vector3d origin = Vector3d::Zero();  // of the frame, in the world
  /// Mass matrix, then its factors L^T D L with the tree's zeros (row-major lower triangle).
  RowMatrix factor;
  VectorXd diagonal;  // 1 / D
  VectorXd values;
  RowMatrix right;  // derivatives by q, by qd, by tau
};

/// Body i, whose parents are placed already: R, r and its unit motions.
DIFFSIM_INLINE void place_body(const TreeBodies& tree, int i, const double* q,
                               DynamicsWorkspace& work) {
  const TreeBody& body = tree.bodies[i];
  BodyState& state = work.states[i];
  Coordinate* at = work.coordinates.data() + body.first;
  Matrix3d R = body.R;
  Vector3d r = body.r;
  if (body.parent >= 0) {
    const BodyState& carrier = work.states[body.parent];
    R.noalias() = carrier.R * body.R;
    r.noalias() = carrier.R * body.r;
    r += carrier.r;
  } else if (i > 0) {
    r -= work.origin;
  }
  const double* own = q + body.position_at;
  switch (body.type) {
    case JointType::revolute: {
      const double c = std::cos(*own), s = std::sin(*own);
      const Vector3d x = R.col(0), y = R.col(1);
      state.R.col(0) = c * x + s * y;
      state.R.col(1) = c * y - s * x;
      state.R.col(2) = R.col(2);
      break;
    }
    case JointType::prismatic:
      state.R = R;
      r += R.col(2) * *own;
      break;
    case JointType::spherical: {
      const Vector3d e(own[0], own[1], own[2]);
      const double w = own[3], scale = 2 / (e.squaredNorm() + w * w);
      const Matrix3d cross = skew(e);
      state.R.noalias() = R * (Matrix3d::Identity() + scale * (w * cross + cross * cross));
      break;
    }
    case JointType::translation:
      state.R = R;
      r += R * Eigen::Map<const Vector3d>(own);
      break;
    case JointType::fixed:
      state.R = R;
      break;
  }
  if (i == 0) {
    work.origin = r;
    r.setZero();
  }
  state.r = r;
  switch (body.type) {
    case JointType::revolute:
      at->S = {state.R.col(2), r.cross(Vector3d(state.R.col(2)))};
      break;
    case JointType::prismatic:
      at->S = {Vector3d::Zero(), state.R.col(2)};
      break;
    case JointType::spherical:
      for (int k = 0; k < 3; ++k) at[k].S = {state.R.col(k), r.cross(Vector3d(state.R.col(k)))};
      break;
    case JointType::translation:
      for (int k = 0; k < 3; ++k) at[k].S = {Vector3d::Zero(), state.R.col(k)};
      break;
    case JointType::fixed:
      break;
  }
}

/// Its inertia in the common frame.
DIFFSIM_INLINE RigidInertia inertia_of(const TreeBody& body, const BodyState& state) {
  const Vector3d com = state.R * body.com + state.r, h = body.mass * com;
  RigidInertia I{body.mass, h, congruent(state.R, body.inertia)};
  I.I.add_parallel_axis(com, h);
  return I;
}

/// Sum of a joint's unit motions times `rates`, indexed as qd.
DIFFSIM_INLINE MotionVector joint_motion(const TreeBody& body, const Coordinate* coordinates,
                                         const double* rates) {
  if (body.count == 1) return coordinates[body.first].S * rates[body.velocity_at];
  MotionVector sum;
  for (int k = 0; k < body.count; ++k) {
    sum += coordinates[body.first + k].S * rates[body.velocity_at + k];
  }
  return sum;
}

/// Calls visit(column of qd, unit motion) for every coordinate that moves body b, after place_body.
template <class Visit>
DIFFSIM_INLINE void visit_motions(const TreeBodies& tree, const DynamicsWorkspace& work, int b,
                                  Visit visit) {
  for (; b >= 0; b = tree.bodies[b].parent) {
    const TreeBody& body = tree.bodies[b];
    for (int k = 0; k < body.count; ++k) {
      visit(body.velocity_at + k, work.coordinates[body.first + k].S);
    }
  }
}

/// Velocity and acceleration of what carries a body: the world is accelerated against gravity.
DIFFSIM_INLINE void carried(const TreeBodies& tree, const TreeBody& body,
                            const DynamicsWorkspace& work, MotionVector& v, MotionVector& a) {
  if (body.parent >= 0) {
    v = work.states[body.parent].v;
    a = work.states[body.parent].a;
  } else {
    v = {};
    a = {Vector3d::Zero(), -tree.gravity};
  }
}

/// Outwards: places, velocities, accelerations (qdd may be null: without it), inertias and forces.
DIFFSIM_INLINE void move_body(const TreeBodies& tree, int i, DynamicsWorkspace& work,
                              const double* q, const double* qd, const double* qdd) {
  place_body(tree, i, q, work);
  const TreeBody& body = tree.bodies[i];
  BodyState& state = work.states[i];
  MotionVector v, a;
  carried(tree, body, work, v, a);
  const MotionVector rate = joint_motion(body, work.coordinates.data(), qd);
  a += crossm(v, rate);
  if (qdd) a += joint_motion(body, work.coordinates.data(), qdd);
  v += rate;
  state.v = v;
  state.a = a;
  state.I = inertia_of(body, state);
  state.f = state.I * a + crossf(v, state.I * v);
}

}  // namespace diffsim
