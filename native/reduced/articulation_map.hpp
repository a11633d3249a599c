// How dependent frames follow joint coordinates at one state, to first order.
//
// Twists (omega, v) and wrenches (n, f) are about one fixed point O, in world axes, so that those
// of links add up along the tree. With S_a the screw axes of step a and V_a the twist behind it,
//   dx = sum_a S_a dq_a ,  dV = sum_a S_a dq'_a + S_a x (V - V_a) dq_a
// over the steps a that move a link. Joints may be elsewhere in their bodies, too: a parameter of
// a joint's place is a step that stands still.
#pragma once

#include <utility>
#include <vector>

#include "articulation.hpp"

namespace diffsim {

class ArticulationMap {
 public:
  using Axes = Articulation::Axes;
  /// Evaluates at `s`; `at` and `nodes` must outlive this.
  void evaluate(const Articulation& at, const std::vector<Node>& nodes, const VectorXd& p,
                const State& s);

  /// Brings residuals, or right-hand sides (ndof, n), to the coordinates; those of dependent frames
  /// become zero.
  void reduce(Eigen::Ref<MatrixXd> rows) const;
  /// The transpose: rows of dependent frames from those of the others.
  void spread(MatrixXd& rows) const;
  /// F of every step: the sum of the wrenches r on all that it moves.
  const std::vector<Vector6>& wrenches(const Eigen::Ref<const VectorXd>& r) const;

  /// What a parameter of a joint's place does to the joint's link, before and after its steps.
  struct PlaceTwist {
    int parameter, link;
    Vector6 before, after;
  };
  using PlaceTwists = std::vector<PlaceTwist>;
  /// Those of active parameters. column_of: parameter -> column, -1: not active.
  PlaceTwists place_twists(const VectorXd& p, const State& s,
                           const std::vector<int>& column_of) const;
  /// Rows of dependent frames in the derivatives X, V of poses and velocities, from those of the
  /// others and from changes of places (twists, columns).
  void expand(const PlaceTwists& twists, const MatrixXd& place, MatrixXd& X, MatrixXd& V) const;
  /// The transpose, of one column each: cotangents of dependent frames become zero, those of places
  /// are returned.
  VectorXd pull(const PlaceTwists& twists, MatrixXd& x, MatrixXd& v) const;
  /// The reduced r by a place; r, K, B are not reduced.
  VectorXd place_column(const PlaceTwist& twist, const VectorXd& r, const BlockMatrix& K,
                        const BlockMatrix& B) const;

  const Articulation& articulation() const { return *at_; }
  const Axes& axes(int step) const { return S_[step]; }
  const Axes& twisted_axes(int step) const { return T_[step]; }  // V x S
  struct LinkMotion {
    Vector3d arm, w;  // from O [m], angular velocity
    Vector6 V;        // twist
  };
  const LinkMotion& link(std::size_t l) const { return links_[l]; }
  /// Scratch of ReducedPattern: per step, blocks of all that it moves.
  struct Sums {
    std::vector<Matrix6> K, B;
  };
  Sums& sums() const { return sums_; }

 private:
  struct Displacement {
    const double* rows;  // of the coordinates and free frames (ndof); null: zero
    bool held;           // driven frames stand still
    std::vector<std::pair<const PlaceTwist*, double>> places;
  };
  void displace(const Displacement& by, std::vector<Vector6>& before_step,
                std::vector<Vector6>& of_link) const;

  const Articulation* at_ = nullptr;
  const std::vector<Node>* nodes_ = nullptr;
  Vector3d origin_;
  std::vector<Axes> S_, T_;
  std::vector<Vector6> rate_, V_;  // S q', and the twist behind the step
  std::vector<LinkMotion> links_;
  mutable std::vector<Vector6> F_;
  mutable Sums sums_;
};

}  // namespace diffsim
