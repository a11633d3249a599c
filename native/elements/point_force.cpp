#include "point_force.hpp"

#include "../scene.hpp"
#include "point_shape.hpp"

namespace diffsim {

void PointForce::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  const Keys::Piece key = force_.at(window.t);
  const Vector3d F = key.value3(p), zero = Vector3d::Zero();
  for (std::size_t k = 0; k < index_.size(); ++k) {
    const int i = index_[k];
    Matrix3d turn = shares_[static_cast<Eigen::Index>(k)] * Matrix3d::Identity();
    if (body_fixed_) turn *= s.R[points_->nodes[points_->node[i]].frame];
    const Vector3d f = turn * F, rho = points_->moment_arm(i, s, p);
    add_force(*points_, i, f, rho, *out.r);
    if (out.K && points_->on_frame(i)) add_jacobian(i, f, rho, s, out);
    if (!out.columns) continue;
    for (int end = 0; end < 2; ++end) {
      for (int a = 0; a < 3; ++a) {
        const int c = out.columns->column(key.first[end] + a);
        if (c < 0) continue;
        add_force_column(*points_, i, f, key.share[end] * turn.col(a), rho, zero, c, *out.columns);
      }
    }
    for_each_shape_column(*points_, i, s, *out.columns,
                          [&](int c, const Vector3d& drho, const Vector3d&) {
                            add_force_column(*points_, i, f, zero, rho, drho, c, *out.columns);
                          });
  }
}

void PointForce::add_jacobian(int i, const Vector3d& f, const Vector3d& rho, const State& s,
                              const Assembly& out) const {
  const int block = points_->node[i];  // diagonal blocks come first
  const PointJacobian J = point_jacobian(*points_, i, s, rho, rho);
  add_arm_jacobian(*points_, i, J, f, block, out);
  if (!body_fixed_) return;
  ForceJacobian df;  // df = d psi x f
  df.x << Matrix3d::Zero(), -skew(f);
  df.v.setZero();
  add_force_jacobian(*points_, i, rho, true, df, 1, block, out);
}

void add_point_force(Scene& scene, const std::string& name, const PointForceSpec& spec) {
  scene.check_new("point force", name);
  const std::string place = "point force '" + name + "'";
  const PointSet& points = scene.point_set(spec.points);
  const std::vector<int> index = chosen_points(place, points, spec.index, false);
  for (int i : index) {
    if (spec.body_fixed && !points.on_frame(i)) {
      refuse(place + ": frame", "'body' needs points of rigid bodies or kinematic bodies",
             "point " + std::to_string(i) + " of a particle or deformable body", "use 'world'");
    }
  }
  const auto n = static_cast<Eigen::Index>(index.size());
  const VectorXd shares = spec.shares.size() ? spec.shares : VectorXd::Ones(n);
  if (shares.size() != n || !shares.allFinite()) {
    refuse(place + ": shares", "must be " + std::to_string(n) + " finite numbers, one per point",
           shares.transpose());
  }
  const Keys force(scene.table(), name + ".force", "N", spec.force);
  scene.add_element(
      std::make_unique<PointForce>(name, &points, index, shares, spec.body_fixed, force));
}

}  // namespace diffsim
