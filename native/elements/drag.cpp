#include "drag.hpp"

#include "../scene.hpp"
#include "point_shape.hpp"

namespace diffsim {

struct Drag::Stencil {
  double share, speed;
  Vector3d rho, u, f;
  Matrix3d F_w;  // df/du
};

void Drag::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  const double linear = p[params_.c_linear], quadratic = p[params_.c_quadratic];
  const Vector3d wind = p.segment<3>(params_.wind);
  for (std::size_t k = 0; k < index_.size(); ++k) {
    const int i = index_[k];
    Stencil t;
    t.share = shares_[static_cast<Eigen::Index>(k)];
    t.rho = points_->moment_arm(i, s, p);
    t.u = points_->velocity(i, s, t.rho) - wind;
    t.speed = t.u.norm();
    const double slope = t.share * (linear + quadratic * t.speed);
    t.f = -slope * t.u;
    add_force(*points_, i, t.f, t.rho, *out.r);
    if (!out.K && !out.columns) continue;
    t.F_w = -slope * Matrix3d::Identity();
    if (t.speed > 0) t.F_w -= t.share * quadratic / t.speed * t.u * t.u.transpose();
    if (out.K) add_jacobian(i, t, s, out);
    if (out.columns) add_columns(i, t, s, *out.columns);
  }
}

void Drag::add_jacobian(int i, const Stencil& t, const State& s, const Assembly& out) const {
  const int block = points_->node[i];  // diagonal blocks come first
  const PointJacobian J = point_jacobian(*points_, i, s, t.rho, t.rho);
  const Matrix3d zero = Matrix3d::Zero();
  add_force_jacobian(*points_, i, t.rho, points_->on_frame(i),
                     force_jacobian(*points_, i, J, zero, t.F_w), 1, block, out);
  add_arm_jacobian(*points_, i, J, t.f, block, out);
}

void Drag::add_columns(int i, const Stencil& t, const State& s, ParameterColumns& out) const {
  const Vector3d zero = Vector3d::Zero();
  auto add = [&](int parameter, const Vector3d& df) {
    const int c = out.column(parameter);
    if (c >= 0) add_force_column(*points_, i, t.f, df, t.rho, zero, c, out);
  };
  add(params_.c_linear, -t.share * t.u);
  add(params_.c_quadratic, -t.share * t.speed * t.u);
  for (int a = 0; a < 3; ++a) add(params_.wind + a, -t.F_w.col(a));
  for_each_shape_column(*points_, i, s, out, [&](int c, const Vector3d& drho, const Vector3d& dv) {
    add_force_column(*points_, i, t.f, t.F_w * dv, t.rho, drho, c, out);
  });
}

void add_drag(Scene& scene, const std::string& name, const DragSpec& spec) {
  scene.check_new("drag", name);
  const std::string place = "drag '" + name + "'";
  const PointSet& points = scene.point_set(spec.points);
  const std::vector<int> index = chosen_points(place, points, spec.index, false);
  const auto n = static_cast<Eigen::Index>(index.size());
  VectorXd shares = spec.shares;
  if (shares.size() == 0) shares.setConstant(n, 1. / static_cast<double>(n));
  if (shares.size() != n || !shares.allFinite() || shares.minCoeff() < 0) {
    refuse(place + ": shares", "must be " + std::to_string(n) + " numbers >= 0, one per point",
           shares.transpose());
  }
  ParameterTable& table = scene.table();
  Drag::Parameters params;
  params.c_linear = table.add(name + ".c_linear", "N s/m", spec.c_linear, 0, kInfinity);
  params.c_quadratic =
      table.add(name + ".c_quadratic", "N s^2/m^2", spec.c_quadratic, 0, kInfinity);
  params.wind = table.add3(name + ".wind", "m/s", spec.wind, false);
  scene.add_element(std::make_unique<Drag>(name, &points, index, shares, params));
}

}  // namespace diffsim
