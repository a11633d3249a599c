// All points of a deformable body, whether they are nodes or glued to a frame, as one array.
//
// Kernels see 3 numbers per point and know no nodes. Where every point is a node the arrays are the
// state's own; where some are glued, positions and velocities are copied, forces are collected per
// point and close() hands them to the nodes by J^T.
#pragma once

#include "../bodies/point_set.hpp"

namespace diffsim {

class BodyPoints {
 public:
  explicit BodyPoints(const PointSet* set);
  const PointSet& set() const { return *set_; }
  int size() const { return set_->size(); }
  bool all_nodes() const { return glued_.empty(); }
  /// Points that are no nodes: on a frame, or fixed in the world.
  const std::vector<int>& glued() const { return glued_; }
  bool is_node(int i) const { return set_->node[i] >= 0 && !set_->on_frame(i); }

  struct View {
    const double *x, *v;
    double* r;  // minus forces are added here
  };
  /// Places, velocities and where to add what goes to `r` (ndof numbers). One view at a time.
  View open(const State& s, const VectorXd& p, double* r) const;
  /// Adds what was collected to r, unless it is there already.
  void close(const View& view, const State& s, const VectorXd& p, double* r) const;
  /// r += J^T f of one point, or that column of dr/dp.
  void add(int point, const Vector3d& f, const State& s, const VectorXd& p, double* r) const;
  void add(int point, const Vector3d& f, const State& s, const VectorXd& p, int column,
           ParameterColumns& out) const;

 private:
  const PointSet* set_;
  std::vector<int> glued_;
  int first_node_ = 0, first_dof_ = 0;  // where all points are nodes
};

}  // namespace diffsim
