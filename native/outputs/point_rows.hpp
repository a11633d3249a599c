// Derivatives of outputs that see material points: through their nodes and the set's own shape.
#pragma once

#include "../bodies/point_set.hpp"
#include "output.hpp"

namespace diffsim {

using Rows = Eigen::Matrix<double, Eigen::Dynamic, 3>;

/// Adds dy = by_x dx_i + by_v dv_i for rows from `row` on, x_i and v_i point i's place and
/// velocity.
inline void add_point_rows(const PointSet& set, int i, const State& s, const VectorXd& p, int row,
                           const Rows& by_x, const Rows& by_v, OutputJacobian& by) {
  const auto add_shape = [&](int parameter, const Vector3d& drho) {
    Vector3d dv = Vector3d::Zero();
    if (set.on_frame(i)) dv = s.w[set.nodes[set.node[i]].frame].cross(drho);
    by.add_p(row, parameter, VectorXd(by_x * drho + by_v * dv));
  };
  add_shape(set.p_scale, set.arm_by_scale(i, s));
  if (set.p_radius >= 0) add_shape(set.p_radius, set.arm_by_radius(i, s));
  if (set.node[i] < 0) return;
  if (!set.on_frame(i)) {
    by.add_x(row, set.dof(i), by_x);
    by.add_v(row, set.dof(i), by_v);
    return;
  }
  const Vector3d rho = set.moment_arm(i, s, p);
  const PointJacobian J = point_jacobian(set, i, s, rho, rho);
  by.add_x(row, set.dof(i), MatrixXd(by_x * J.X + by_v * J.Q));
  by.add_v(row, set.dof(i), MatrixXd(by_v * J.W));
}

}  // namespace diffsim
