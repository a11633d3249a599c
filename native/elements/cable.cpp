#include "cable.hpp"

#include "../scene.hpp"
#include "outputs/energy.hpp"
#include "outputs/point_rows.hpp"
#include "point_shape.hpp"

namespace diffsim {

struct Cable::Shape {
  Matrix3X rho, v, g, f;    // per stop
  Matrix3X u;               // per segment
  VectorXd inverse_length;  // per segment; 0 where it has none
  Tension tension;
  Matrix3X bend;  // sum_i (dg_i/dx_j)^T v_i: how L' changes with x_j

  /// dg_i/dx_j.
  Matrix3d H(int i, int j) const {
    Matrix3d sum = Matrix3d::Zero();
    for (int k = std::max(std::max(i, j) - 1, 0); k <= std::min(i, j); ++k) {
      if (k >= u.cols()) continue;
      const Matrix3d P =
          inverse_length[k] * (Matrix3d::Identity() - u.col(k) * u.col(k).transpose());
      sum += i == j ? P : Matrix3d(-P);
    }
    return sum;
  }
  /// df_i/dx_j and df_i/dv_j.
  Matrix3d F_x(int i, int j) const {
    const Vector3d dT = tension.by_l * g.col(j) + tension.by_rate * bend.col(j);
    return -g.col(i) * dT.transpose() - tension.T * H(i, j);
  }
  Matrix3d F_v(int i, int j) const { return -tension.by_rate * g.col(i) * g.col(j).transpose(); }
};

std::vector<std::pair<int, int>> Cable::couplings() const {
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < size(); ++i) {
    for (int j = 0; j < i; ++j) {
      const int a = stops_[i].node(), b = stops_[j].node();
      if (a >= 0 && b >= 0 && a != b) pairs.emplace_back(a, b);
    }
  }
  return pairs;
}

void Cable::bind(const BlockPattern& pattern, const BlockPattern&) {
  blocks_.assign(stops_.size() * stops_.size(), -1);
  for (int i = 0; i < size(); ++i) {
    for (int j = 0; j < size(); ++j) {
      const int a = stops_[i].node(), b = stops_[j].node();
      if (a >= 0 && b >= 0) blocks_[i * size() + j] = pattern.index(a, b);
    }
  }
}

Cable::Shape Cable::shape(const State& s, const VectorXd& p) const {
  const int n = size();
  Shape t;
  Matrix3X x(3, n);
  t.rho.resize(3, n);
  t.v.resize(3, n);
  for (int i = 0; i < n; ++i) {
    const Stop& stop = stops_[i];
    t.rho.col(i) = stop.set->moment_arm(stop.point, s, p);
    x.col(i) = stop.set->position(stop.point, s, p);
    t.v.col(i) = stop.set->velocity(stop.point, s, t.rho.col(i));
  }
  t.u.resize(3, n - 1);
  t.inverse_length.setZero(n - 1);
  t.g.setZero(3, n);
  double length = 0, rate = 0;
  for (int k = 0; k + 1 < n; ++k) {
    const Vector3d d = x.col(k + 1) - x.col(k);
    const double l = d.norm();
    // Two stops in one place leave the direction open; no force is the symmetric choice.
    t.u.col(k) = l > 0 ? Vector3d(d / l) : Vector3d::Zero();
    if (l > 0) t.inverse_length[k] = 1 / l;
    t.g.col(k) -= t.u.col(k);
    t.g.col(k + 1) += t.u.col(k);
    length += l;
    rate += t.u.col(k).dot(t.v.col(k + 1) - t.v.col(k));
  }
  t.tension = string_tension(p[params_.stiffness], p[params_.damping],
                             length - p[params_.rest_length], rate);
  t.f = -t.tension.T * t.g;
  return t;
}

void Cable::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  Shape t = shape(s, p);
  if (t.tension.mode != 1) return;
  for (int i = 0; i < size(); ++i) {
    add_force(*stops_[i].set, stops_[i].point, t.f.col(i), t.rho.col(i), *out.r);
  }
  if (!out.K && !out.columns) return;
  bend(t);
  if (out.K) add_jacobian(t, s, out);
  if (out.columns) add_columns(t, s, *out.columns);
}

void Cable::bend(Shape& t) {
  t.bend.setZero(3, t.v.cols());
  for (Eigen::Index k = 0; k < t.u.cols(); ++k) {
    const Vector3d u = t.u.col(k), e = t.v.col(k + 1) - t.v.col(k);
    const Vector3d turn = t.inverse_length[k] * (e - u.dot(e) * u);
    t.bend.col(k) -= turn;
    t.bend.col(k + 1) += turn;
  }
}

void Cable::list_outputs(const Scene&, OutputList& to) const {
  to.push_back(
      {name() + ".tension",
       "N",
       {},
       0,
       [this](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
         Shape t = shape(window.now(), p);
         const Tension& law = t.tension;
         *y = law.T;
         if (!by) return;
         by->add_p(0, params_.stiffness, law.by_k);
         by->add_p(0, params_.damping, law.by_c);
         by->add_p(0, params_.rest_length, -law.by_l);
         bend(t);
         for (int i = 0; i < size(); ++i) {
           const Rows by_x = (law.by_l * t.g.col(i) + law.by_rate * t.bend.col(i)).transpose();
           const Rows by_v = law.by_rate * t.g.col(i).transpose();
           add_point_rows(*stops_[i].set, stops_[i].point, window.now(), p, 0, by_x, by_v, *by);
         }
       }});
  to.push_back(energy_of(name(), {this}));
}

void Cable::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  double length = 0;
  for (int k = 0; k + 1 < size(); ++k) {
    const Stop &a = stops_[k], &b = stops_[k + 1];
    length += (b.set->position(b.point, s, p) - a.set->position(a.point, s, p)).norm();
  }
  const double stretch = std::max(length - p[params_.rest_length], 0.);
  to.springs += p[params_.stiffness] * stretch * stretch / 2;
}

void Cable::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  const Shape t = shape(s, p);
  double length = 0;
  for (Eigen::Index k = 0; k < t.inverse_length.size(); ++k) {
    if (t.inverse_length[k] > 0) length += 1 / t.inverse_length[k];
  }
  const double stretch = std::max(length - p[params_.rest_length], 0.);
  const double pull = p[params_.stiffness] * stretch;
  by.add_p(Energy::kSprings, params_.stiffness, stretch * stretch / 2);
  by.add_p(Energy::kSprings, params_.rest_length, -pull);
  for (int i = 0; i < size(); ++i) {
    add_point_rows(*stops_[i].set, stops_[i].point, s, p, Energy::kSprings,
                   pull * t.g.col(i).transpose(), Rows::Zero(1, 3), by);
  }
}

void Cable::add_jacobian(const Shape& t, const State& s, const Assembly& out) const {
  for (int j = 0; j < size(); ++j) {
    const Stop& at = stops_[j];
    if (at.node() < 0) continue;
    const Vector3d rho = t.rho.col(j);
    const PointJacobian J = point_jacobian(*at.set, at.point, s, rho, rho);
    for (int i = 0; i < size(); ++i) {
      if (stops_[i].node() < 0) continue;
      const ForceJacobian df = force_jacobian(*at.set, at.point, J, t.F_x(i, j), t.F_v(i, j));
      add_force_jacobian(*stops_[i].set, stops_[i].point, t.rho.col(i), at.set->on_frame(at.point),
                         df, 1, blocks_[i * size() + j], out);
    }
    add_arm_jacobian(*at.set, at.point, J, t.f.col(j), blocks_[j * size() + j], out);
  }
}

void Cable::add_columns(const Shape& t, const State& s, ParameterColumns& out) const {
  const Vector3d zero = Vector3d::Zero();
  const std::pair<int, double> own[] = {{params_.stiffness, t.tension.by_k},
                                        {params_.damping, t.tension.by_c},
                                        {params_.rest_length, -t.tension.by_l}};
  for (const auto& [parameter, by] : own) {
    const int c = out.column(parameter);
    if (c < 0) continue;
    for (int i = 0; i < size(); ++i) {
      add_force_column(*stops_[i].set, stops_[i].point, t.f.col(i), -by * t.g.col(i), t.rho.col(i),
                       zero, c, out);
    }
  }
  for (int j = 0; j < size(); ++j) {
    for_each_shape_column(*stops_[j].set, stops_[j].point, s, out,
                          [&](int c, const Vector3d& drho, const Vector3d& dv) {
                            for (int i = 0; i < size(); ++i) {
                              const Vector3d df = t.F_x(i, j) * drho + t.F_v(i, j) * dv;
                              add_force_column(*stops_[i].set, stops_[i].point, t.f.col(i), df,
                                               t.rho.col(i), i == j ? drho : zero, c, out);
                            }
                          });
  }
}

void Cable::modes(const Window& window, const VectorXd& p, std::uint16_t* out) const {
  *out = shape(window.now(), p).tension.mode;
}

void add_cable(Scene& scene, const std::string& name, const CableSpec& spec) {
  scene.check_new("cable", name);
  const std::string place = "cable '" + name + "'";
  if (spec.index.size() < 2)
    refuse(place + ": index", "must name two points or more", spec.index.size());
  if (spec.points.size() != 1 && spec.points.size() != spec.index.size()) {
    refuse(place + ": points", "must be one set, or one per point", spec.points.size());
  }
  std::vector<Cable::Stop> stops;
  bool moves = false;
  for (std::size_t i = 0; i < spec.index.size(); ++i) {
    const PointSet& set = scene.point_set(spec.points[spec.points.size() == 1 ? 0 : i]);
    stops.push_back({&set, chosen_points(place, set, {spec.index[i]}, true)[0]});
    moves = moves || stops.back().node() >= 0;
  }
  if (!moves) refuse(place, "must pass a point on a body", "points of the world only");
  ParameterTable& table = scene.table();
  Cable::Parameters params;
  params.stiffness = table.add(name + ".stiffness", "N/m", spec.stiffness, 0, kInfinity);
  params.damping = table.add(name + ".damping", "s/m", spec.damping, 0, kInfinity);
  params.rest_length = table.add(name + ".rest_length", "m", spec.rest_length, 0, kInfinity);
  scene.add_element(std::make_unique<Cable>(name, stops, params));
}

}  // namespace diffsim
