#include "point_masses.hpp"

namespace diffsim {

void PointMasses::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& now = window.now();
  for (std::size_t n = 0; n < index_.size(); ++n) {
    const int i = index_[n];
    const double m = masses_[n].value(p);
    const Vector3d rho = points_->moment_arm(i, now, p);
    Vector3d a = -p.segment<3>(p_gravity_);
    for (int k = 0; k <= window.depth(); ++k) {
      const State& s = *window.at[k];
      a += window.scheme.rate[k] * points_->velocity(i, s, points_->moment_arm(i, s, p));
    }
    add_force(*points_, i, -m * a, rho, *out.r);
    if (out.K) {
      const PointJacobian J = point_jacobian(*points_, i, now, rho, rho);
      const double rate = -m * window.scheme.rate[0];
      const ForceJacobian df =
          force_jacobian(*points_, i, J, Matrix3d::Zero(), rate * Matrix3d::Identity());
      const int block = points_->node[i];
      add_force_jacobian(*points_, i, rho, true, df, 1, block, out);
      add_arm_jacobian(*points_, i, J, -m * a, block, out);
    }
    if (out.columns) add_columns(static_cast<int>(n), a, rho, p, *out.columns);
  }
}

void PointMasses::add_columns(int n, const Vector3d& acceleration, const Vector3d& rho,
                              const VectorXd& p, ParameterColumns& out) const {
  const int i = index_[n];
  const Vector3d zero = Vector3d::Zero();
  masses_[n].for_each_slope(p, [&](int parameter, double dm) {
    const int c = out.column(parameter);
    if (c >= 0) add_force_column(*points_, i, zero, -dm * acceleration, rho, zero, c, out);
  });
  for (int axis = 0; axis < 3; ++axis) {
    const int c = out.column(p_gravity_ + axis);
    if (c < 0) continue;
    const Vector3d weight = masses_[n].value(p) * Vector3d::Unit(axis);
    add_force_column(*points_, i, zero, weight, rho, zero, c, out);
  }
}

void PointMasses::add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                              BlockMatrix& B) const {
  Assembly out;
  out.K = &K;
  out.B = &B;
  const State& past = *window.at[k];
  for (std::size_t n = 0; n < index_.size(); ++n) {
    const int i = index_[n];
    const Vector3d rho = points_->moment_arm(i, past, p);
    const PointJacobian J = point_jacobian(*points_, i, past, rho, rho);
    const double rate = -masses_[n].value(p) * window.scheme.rate[k];
    const ForceJacobian df =
        force_jacobian(*points_, i, J, Matrix3d::Zero(), rate * Matrix3d::Identity());
    add_force_jacobian(*points_, i, points_->moment_arm(i, window.now(), p), true, df, 1,
                       points_->node[i], out);
  }
}

}  // namespace diffsim
