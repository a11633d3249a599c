#include "spring.hpp"

#include <cmath>

#include "../scene.hpp"

namespace diffsim {

// One spring's kinematics, force on a, and the force's derivatives.
struct Springs::Stencil {
  Vector3d rho[2];    // levers of a, b
  Vector3d f;         // on a
  Matrix3d F_d, F_e;  // df/dd, df/dd'
  Vector3d by_k, by_c, by_rest;
};

std::vector<std::pair<int, int>> Springs::couplings() const {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < a_.size(); ++i) {
    const int na = node(a_[i]), nb = node(b_[i]);
    if (na >= 0 && nb >= 0 && na != nb) pairs.emplace_back(na, nb);
  }
  return pairs;
}

void Springs::bind(const BlockPattern& pattern, const BlockPattern&) {
  blocks_.clear();
  for (std::size_t i = 0; i < a_.size(); ++i) {
    const int n[2] = {node(a_[i]), node(b_[i])};
    std::array<int, 4> b;
    for (int r = 0; r < 2; ++r) {
      for (int c = 0; c < 2; ++c) {
        b[2 * r + c] = n[r] < 0 || n[c] < 0 ? -1 : pattern.index(n[r], n[c]);
      }
    }
    blocks_.push_back(b);
  }
}

Springs::Stencil Springs::stencil(int i, const State& s, const VectorXd& p) const {
  const PointSet &A = *sets_[a_[i].set], &B = *sets_[b_[i].set];
  Stencil t;
  t.rho[0] = A.lever(a_[i].point, s, p);
  t.rho[1] = B.lever(b_[i].point, s, p);
  const Vector3d d = B.position(b_[i].point, s, p) - A.position(a_[i].point, s, p);
  const Vector3d e = B.velocity(b_[i].point, s, t.rho[1]) - A.velocity(a_[i].point, s, t.rho[0]);
  const double k = p[params_.stiffness], c = p[params_.damping], rest = p[params_.rest_length];
  if (rest == 0) {
    t.f = k * d + c * e;
    t.F_d = k * Matrix3d::Identity();
    t.F_e = c * Matrix3d::Identity();
    t.by_k = d;
    t.by_c = e;
    t.by_rest = Vector3d::Zero();
    return t;
  }
  const double l = d.norm();
  // Two ends in one place leave the direction open; no force is the symmetric choice.
  const Vector3d u = l > 0 ? Vector3d(d / l) : Vector3d::Zero();
  const double rate = u.dot(e), tension = k * (l - rest) + c * rate;
  const Matrix3d U = u * u.transpose();
  const Matrix3d T = l > 0 ? Matrix3d((Matrix3d::Identity() - U) / l) : Matrix3d::Zero();
  t.f = tension * u;
  t.F_d = k * U + c * u * (T * e).transpose() + tension * T;
  t.F_e = c * U;
  t.by_k = (l - rest) * u;
  t.by_c = rate * u;
  t.by_rest = -k * u;
  return t;
}

void Springs::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  for (int i = 0; i < static_cast<int>(a_.size()); ++i) {
    const Stencil t = stencil(i, s, p);
    add_force(*sets_[a_[i].set], a_[i].point, t.f, t.rho[0], *out.r);
    add_force(*sets_[b_[i].set], b_[i].point, -t.f, t.rho[1], *out.r);
    if (out.K) add_jacobian(i, t, s, out);
    if (out.columns) add_columns(i, t, s, p, *out.columns);
  }
}

void Springs::add_jacobian(int i, const Stencil& t, const State& s, const Assembly& out) const {
  const End end[2] = {a_[i], b_[i]};
  PointJacobian J[2];
  ForceJacobian df[2];
  for (int m = 0; m < 2; ++m) {
    if (node(end[m]) < 0) continue;
    const PointSet& set = *sets_[end[m].set];
    J[m] = point_jacobian(set, end[m].point, s, t.rho[m], t.rho[m]);
    df[m] = force_jacobian(set, end[m].point, J[m], t.F_d, t.F_e);
  }
  for (int row = 0; row < 2; ++row) {
    if (node(end[row]) < 0) continue;
    const PointSet& set = *sets_[end[row].set];
    const double on = row == 0 ? 1 : -1;  // force on b is -f
    for (int col = 0; col < 2; ++col) {
      if (node(end[col]) < 0) continue;
      const double sign = col == 1 ? on : -on;  // d = x_b - x_a
      add_force_jacobian(set, end[row].point, t.rho[row],
                         sets_[end[col].set]->on_frame(end[col].point), df[col], sign,
                         blocks_[i][2 * row + col], out);
    }
    add_lever_jacobian(set, end[row].point, J[row], on * t.f, blocks_[i][3 * row], out);
  }
}

void Springs::add_columns(int i, const Stencil& t, const State& s, const VectorXd&,
                          ParameterColumns& out) const {
  const PointSet* set[2] = {sets_[a_[i].set], sets_[b_[i].set]};
  const int point[2] = {a_[i].point, b_[i].point};
  auto add_both = [&](int column, const Vector3d& df, const Vector3d& drho_a,
                      const Vector3d& drho_b) {
    add_force_column(*set[0], point[0], t.f, df, t.rho[0], drho_a, column, out);
    add_force_column(*set[1], point[1], -t.f, -df, t.rho[1], drho_b, column, out);
  };
  const Vector3d zero = Vector3d::Zero();
  const std::pair<int, const Vector3d*> own[] = {
      {params_.stiffness, &t.by_k}, {params_.damping, &t.by_c}, {params_.rest_length, &t.by_rest}};
  for (const auto& [parameter, df] : own) {
    if (const int c = out.column(parameter); c >= 0) add_both(c, *df, zero, zero);
  }
  // The ends' own shape parameters move the points; two ends of one set share them.
  for (int m = 0; m < 2; ++m) {
    for (const bool scale : {true, false}) {
      const int c = out.column(scale ? set[m]->p_scale : set[m]->p_radius);
      if (c < 0) continue;
      const Vector3d drho =
          scale ? set[m]->lever_by_scale(point[m], s) : set[m]->lever_by_radius(point[m], s);
      const double sign = m == 1 ? 1 : -1;
      Vector3d dv = zero;
      if (set[m]->on_frame(point[m])) {
        dv = s.w[set[m]->nodes[set[m]->node[point[m]]].frame].cross(drho);
      }
      add_both(c, sign * (t.F_d * drho + t.F_e * dv), m == 0 ? drho : zero, m == 1 ? drho : zero);
    }
  }
}

void add_springs(Scene& scene, const std::string& name, const SpringBatch& batch) {
  scene.check_new("springs", name);
  const std::string place = "springs '" + name + "'";
  const PointSet* sets[2] = {&scene.point_set(batch.points_a), &scene.point_set(batch.points_b)};
  const std::vector<int>* index[2] = {&batch.index_a, &batch.index_b};
  std::vector<Springs::End> ends[2];
  if (batch.index_a.empty() || batch.index_a.size() != batch.index_b.size()) {
    refuse(place, "index_a and index_b must have the same, non-zero length",
           batch.index_a.size() != batch.index_b.size() ? "different lengths" : "none");
  }
  for (int m = 0; m < 2; ++m) {
    for (int i : *index[m]) {
      if (i < 0 || i >= sets[m]->size()) {
        refuse(place + ": point index",
               "must be in [0, " + std::to_string(sets[m]->size() - 1) + "]", i);
      }
      ends[m].push_back({m, i});
    }
  }
  ParameterTable& table = scene.table();
  SpringParameters params;
  params.stiffness = table.add(name + ".stiffness", "N/m", batch.stiffness, 0, kInfinity);
  params.damping = table.add(name + ".damping", "N s/m", batch.damping, 0, kInfinity);
  params.rest_length = table.add(name + ".rest_length", "m", batch.rest_length, 0, kInfinity);
  scene.add_element(std::make_unique<Springs>(name, std::vector<const PointSet*>{sets[0], sets[1]},
                                              ends[0], ends[1], params));
}

}  // namespace diffsim
