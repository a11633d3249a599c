#include "consistent_mass.hpp"

namespace diffsim {

ConsistentMass::ConsistentMass(std::string name, const PointSet* points, std::vector<Entry> entries,
                               int p_density, int p_gravity)
    : Element(std::move(name)),
      points_(points),
      entries_(std::move(entries)),
      row_(VectorXd::Zero(points->size())),
      p_density_(p_density),
      p_gravity_(p_gravity) {
  for (const Entry& e : entries_) row_[e.i] += e.share;
}

std::vector<std::pair<int, int>> ConsistentMass::couplings() const {
  std::vector<std::pair<int, int>> pairs;
  for (const Entry& e : entries_) {
    const int a = points_.set().node[e.i], b = points_.set().node[e.j];
    if (a >= 0 && b >= 0 && a < b) pairs.emplace_back(a, b);
  }
  return pairs;
}

void ConsistentMass::bind(const BlockPattern& pattern, const BlockPattern& past) {
  block_.clear();
  past_block_.clear();
  for (const Entry& e : entries_) {
    const int a = points_.set().node[e.i], b = points_.set().node[e.j];
    block_.push_back(a < 0 || b < 0 ? -1 : pattern.index(a, b));
    past_block_.push_back(a < 0 || b < 0 ? -1 : past.index(a, b));
  }
}

Matrix3X ConsistentMass::acceleration(const Window& window, const VectorXd& p,
                                      const double* gamma) const {
  const PointSet& set = points_.set();
  Matrix3X a = Matrix3X::Zero(3, set.size());
  for (int k = 0; k <= window.depth(); ++k) {
    const State& s = *window.at[k];
    for (int i = 0; i < set.size(); ++i) {
      a.col(i) += gamma[k] * set.velocity(i, s, set.moment_arm(i, s, p));
    }
  }
  return a;
}

void ConsistentMass::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& now = window.now();
  const PointSet& set = points_.set();
  const double density = p[p_density_];
  const Matrix3X a = acceleration(window, p, window.scheme.gamma);
  const bool two = window.scheme.keeps_force && differences();
  const Matrix3X b = two ? acceleration(window, p, window.scheme.rate) : a;
  Matrix3X r = -p.segment<3>(p_gravity_) * row_.transpose();  // for density 1
  for (const Entry& e : entries_) r.col(e.i) += e.share * (free(e) ? a : b).col(e.j);
  for (int i = 0; i < set.size(); ++i) points_.add(i, density * r.col(i), now, p, out.r->data());
  if (out.K) {
    add_rates(window, 0, p, block_, out);
    for (int i : points_.glued()) {
      if (!set.on_frame(i)) continue;
      const Vector3d rho = set.moment_arm(i, now, p);
      const PointJacobian J = point_jacobian(set, i, now, rho, rho);
      add_arm_jacobian(set, i, J, -density * r.col(i), set.node[i], out);
    }
  }
  if (!out.columns) return;
  for (int i = 0; i < set.size(); ++i) {
    if (const int c = out.columns->column(p_density_); c >= 0) {
      points_.add(i, r.col(i), now, p, c, *out.columns);
    }
    for (int axis = 0; axis < 3; ++axis) {
      const int c = out.columns->column(p_gravity_ + axis);
      if (c < 0) continue;
      points_.add(i, -density * row_[i] * Vector3d::Unit(axis), now, p, c, *out.columns);
    }
  }
}

void ConsistentMass::add_rates(const Window& window, int k, const VectorXd& p,
                               const std::vector<int>& block, const Assembly& out) const {
  const State &now = window.now(), &s = *window.at[k];
  const PointSet& set = points_.set();
  for (std::size_t n = 0; n < entries_.size(); ++n) {
    const Entry& e = entries_[n];
    const double gamma = (free(e) ? window.scheme.gamma : window.scheme.rate)[k];
    const double mass = p[p_density_] * e.share * gamma;
    if (block[n] < 0) continue;
    if (free(e)) {
      double* to = out.B->block(block[n]);
      for (int i = 0; i < 3; ++i) to[4 * i] += mass;
      continue;
    }
    const Vector3d rho = set.moment_arm(e.j, s, p);
    const PointJacobian J = point_jacobian(set, e.j, s, rho, rho);
    const ForceJacobian df =
        force_jacobian(set, e.j, J, Matrix3d::Zero(), -mass * Matrix3d::Identity());
    add_force_jacobian(set, e.i, set.moment_arm(e.i, now, p), set.on_frame(e.j), df, 1, block[n],
                       out);
  }
}

void ConsistentMass::add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                                 BlockMatrix& B) const {
  Assembly out;
  out.K = &K;
  out.B = &B;
  add_rates(window, k, p, past_block_, out);
}

}  // namespace diffsim
