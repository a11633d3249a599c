#include "spring.hpp"

#include <cmath>

#include "outputs/energy.hpp"
#include "outputs/point_rows.hpp"
#include "point_shape.hpp"

namespace diffsim {

namespace {

// Blocks aa, bb += F and ab, ba -= F.
inline void add_pair(BlockMatrix& M, const std::array<int, 4>& block, const Matrix3d& F) {
  using Block = Eigen::Map<Matrix3d>;
  Block(M.block(block[0])) += F;
  Block(M.block(block[1])) -= F;
  Block(M.block(block[2])) -= F;
  Block(M.block(block[3])) += F;
}

}  // namespace

// What all springs of a batch share at one p.
struct Springs::Law {
  double k, c, rest;
  bool all_directions;  // scalar rest length zero
};

// One spring's kinematics, force on a, and the force's derivatives.
struct Springs::Stencil {
  Vector3d d, e;      // x_b - x_a, its rate
  Vector3d rho[2];    // moment arms of a, b
  Vector3d f;         // on a
  Matrix3d F_d, F_e;  // df/dd, df/de
  Vector3d by_k, by_c, by_rest;
  unsigned char mode;
};

Springs::Springs(std::string name, std::vector<const PointSet*> sets, std::vector<End> a,
                 std::vector<End> b, SpringParameters params, VectorXd natural, VectorXd factors,
                 bool tension_only)
    : Element(std::move(name)),
      sets_(std::move(sets)),
      a_(std::move(a)),
      b_(std::move(b)),
      params_(params),
      natural_(std::move(natural)),
      factors_(std::move(factors)),
      tension_only_(tension_only) {}

std::vector<std::pair<int, int>> Springs::couplings() const {
  std::vector<std::pair<int, int>> pairs;
  for (std::size_t i = 0; i < a_.size(); ++i) {
    const int na = node(a_[i]), nb = node(b_[i]);
    if (na >= 0 && nb >= 0 && na != nb) pairs.emplace_back(na, nb);
  }
  return pairs;
}

void Springs::bind(const BlockPattern& pattern, const BlockPattern&) {
  plain_.clear();
  general_.clear();
  blocks_.clear();
  for (int i = 0; i < static_cast<int>(a_.size()); ++i) {
    const int n[2] = {node(a_[i]), node(b_[i])};
    std::array<int, 4> b;
    for (int r = 0; r < 2; ++r) {
      for (int c = 0; c < 2; ++c) {
        b[2 * r + c] = n[r] < 0 || n[c] < 0 ? -1 : pattern.index(n[r], n[c]);
      }
    }
    if (plain(a_[i]) && plain(b_[i])) {
      plain_.push_back({i, n[0], n[1], pattern.dof[n[0]], pattern.dof[n[1]], b});
    } else {
      general_.push_back(i);
      blocks_.push_back(b);
    }
  }
  std::vector<WideSprings::Spring> springs;
  for (const Plain& at : plain_) {
    springs.push_back({at.node_a, at.node_b, natural_.size() ? natural_[at.spring] : 1,
                       factors_.size() ? factors_[at.spring] : 1});
  }
  wide_.bind(springs, pattern);
}

Springs::Law Springs::law(const VectorXd& p) const {
  const double rest = p[params_.rest];
  return {p[params_.stiffness], p[params_.damping], rest, natural_.size() == 0 && rest == 0};
}

// What of the stencil follows from d and e: the force, and with Slopes its derivatives.
template <bool Slopes>
inline void Springs::evaluate(const Law& law, int i, Stencil& t) const {
  const double factor = factors_.size() ? factors_[i] : 1;
  const double k = factor * law.k, c = tension_only_ ? law.c : factor * law.c;
  if (law.all_directions) {
    t.f = k * t.d + c * t.e;
    t.mode = 1;
    if constexpr (!Slopes) return;
    t.F_d = k * Matrix3d::Identity();
    t.F_e = c * Matrix3d::Identity();
    t.by_k = factor * t.d;
    t.by_c = factor * t.e;
    t.by_rest = Vector3d::Zero();
    return;
  }
  const double natural = natural_.size() ? natural_[i] : 1;
  const double l = std::sqrt(t.d.squaredNorm());
  // Two ends in one place leave the direction open; no force is the symmetric choice.
  const double inverse = l > 0 ? 1 / l : 0;
  const Vector3d u = inverse * t.d;
  const double rate = u.dot(t.e), stretch = l - natural * law.rest;
  const Tension at =
      tension_only_ ? string_tension(k, c, stretch, rate) : linear_tension(k, c, stretch, rate);
  t.mode = at.mode;
  t.f = at.T * u;
  if constexpr (!Slopes) return;
  // du = (I - u u^T) dd / l, dT = by_l u.dd + by_rate (u.de + e.du)
  const double bend = at.T * inverse;
  const Vector3d across = inverse * (t.e - rate * u);
  t.F_d = u * ((at.by_l - bend) * u + at.by_rate * across).transpose();
  t.F_d.diagonal().array() += bend;
  t.F_e = at.by_rate * u * u.transpose();
  t.by_k = factor * at.by_k * u;
  t.by_c = (tension_only_ ? 1 : factor) * at.by_c * u;
  t.by_rest = -natural * at.by_l * u;
}

Springs::Stencil Springs::stencil(const Law& law, int i, const State& s, const VectorXd& p) const {
  const PointSet &A = *sets_[a_[i].set], &B = *sets_[b_[i].set];
  Stencil t;
  t.rho[0] = A.moment_arm(a_[i].point, s, p);
  t.rho[1] = B.moment_arm(b_[i].point, s, p);
  t.d = B.position(b_[i].point, s, p) - A.position(a_[i].point, s, p);
  t.e = B.velocity(b_[i].point, s, t.rho[1]) - A.velocity(a_[i].point, s, t.rho[0]);
  evaluate<true>(law, i, t);
  return t;
}

void Springs::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  const Law law = this->law(p);
  if (!tension_only_ && !law.all_directions) {
    wide_.add({law.k, law.c, law.rest}, s, out);
  } else if (out.K) {
    add_plain<true>(law, s, out);
  } else {
    add_plain<false>(law, s, out);
  }
  if (out.columns) add_plain_columns(law, s, *out.columns);
  for (std::size_t g = 0; g < general_.size(); ++g) {
    const int i = general_[g];
    const Stencil t = stencil(law, i, s, p);
    add_force(*sets_[a_[i].set], a_[i].point, t.f, t.rho[0], *out.r);
    add_force(*sets_[b_[i].set], b_[i].point, -t.f, t.rho[1], *out.r);
    if (out.K) add_jacobian(static_cast<int>(g), t, s, out);
    if (out.columns) add_columns(i, t, s, *out.columns);
  }
}

void Springs::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  const Law law = this->law(p);
  for (std::size_t i = 0; i < a_.size(); ++i) {
    const PointSet &A = *sets_[a_[i].set], &B = *sets_[b_[i].set];
    const Vector3d d = B.position(b_[i].point, s, p) - A.position(a_[i].point, s, p);
    double stretch = d.norm() - (natural_.size() ? natural_[i] : 1) * law.rest;
    if (tension_only_) stretch = std::max(stretch, 0.);
    to.springs += (factors_.size() ? factors_[i] : 1) * law.k * stretch * stretch / 2;
  }
}

void Springs::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  const Law law = this->law(p);
  const Rows none = Rows::Zero(1, 3);
  for (std::size_t i = 0; i < a_.size(); ++i) {
    const PointSet &A = *sets_[a_[i].set], &B = *sets_[b_[i].set];
    const Vector3d d = B.position(b_[i].point, s, p) - A.position(a_[i].point, s, p);
    const double l = d.norm(), natural = natural_.size() ? natural_[i] : 1;
    const double factor = factors_.size() ? factors_[i] : 1;
    double stretch = l - natural * law.rest;
    if (tension_only_) stretch = std::max(stretch, 0.);
    by.add_p(Energy::kSprings, params_.stiffness, factor * stretch * stretch / 2);
    by.add_p(Energy::kSprings, params_.rest, -factor * law.k * stretch * natural);
    if (!(l > 0)) continue;
    const Rows pull = (factor * law.k * stretch / l) * d.transpose();
    add_point_rows(A, a_[i].point, s, p, Energy::kSprings, -pull, none, by);
    add_point_rows(B, b_[i].point, s, p, Energy::kSprings, pull, none, by);
  }
}

// J = I at both ends: plain 3x3 blocks.
template <bool Slopes>
void Springs::add_plain(const Law& law, const State& s, const Assembly& out) const {
  Stencil t;
  for (const Plain& at : plain_) {
    t.d = s.c.col(at.node_b) - s.c.col(at.node_a);
    t.e = s.v.col(at.node_b) - s.v.col(at.node_a);
    evaluate<Slopes>(law, at.spring, t);
    out.r->segment<3>(at.dof_a) -= t.f;
    out.r->segment<3>(at.dof_b) += t.f;
    if constexpr (!Slopes) continue;
    if (out.A) {
      add_pair(*out.A, at.block, out.alpha * t.F_d + t.F_e);
      continue;
    }
    add_pair(*out.K, at.block, t.F_d);
    if (law.c != 0) add_pair(*out.B, at.block, t.F_e);
  }
}

void Springs::add_plain_columns(const Law& law, const State& s, ParameterColumns& out) const {
  Stencil t;
  for (const Plain& at : plain_) {
    t.d = s.c.col(at.node_b) - s.c.col(at.node_a);
    t.e = s.v.col(at.node_b) - s.v.col(at.node_a);
    evaluate<true>(law, at.spring, t);
    const std::pair<int, const Vector3d*> own[] = {
        {params_.stiffness, &t.by_k}, {params_.damping, &t.by_c}, {params_.rest, &t.by_rest}};
    for (const auto& [parameter, df] : own) {
      const int c = out.column(parameter);
      if (c < 0) continue;
      out.add(at.dof_a, c, -*df);
      out.add(at.dof_b, c, *df);
    }
  }
}

void Springs::add_jacobian(int g, const Stencil& t, const State& s, const Assembly& out) const {
  const End end[2] = {a_[general_[g]], b_[general_[g]]};
  const std::array<int, 4>& blocks = blocks_[g];
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
                         blocks[2 * row + col], out);
    }
    add_arm_jacobian(set, end[row].point, J[row], on * t.f, blocks[3 * row], out);
  }
}

void Springs::add_columns(int i, const Stencil& t, const State& s, ParameterColumns& out) const {
  const End end[2] = {a_[i], b_[i]};
  const Vector3d zero = Vector3d::Zero();
  auto add_both = [&](int column, const Vector3d& df, const Vector3d& drho_a,
                      const Vector3d& drho_b) {
    add_force_column(*sets_[end[0].set], end[0].point, t.f, df, t.rho[0], drho_a, column, out);
    add_force_column(*sets_[end[1].set], end[1].point, -t.f, -df, t.rho[1], drho_b, column, out);
  };
  const std::pair<int, const Vector3d*> own[] = {
      {params_.stiffness, &t.by_k}, {params_.damping, &t.by_c}, {params_.rest, &t.by_rest}};
  for (const auto& [parameter, df] : own) {
    if (const int c = out.column(parameter); c >= 0) add_both(c, *df, zero, zero);
  }
  // The ends' own shape parameters move the points; two ends of one set share them.
  for (int m = 0; m < 2; ++m) {
    const double sign = m == 1 ? 1 : -1;
    for_each_shape_column(*sets_[end[m].set], end[m].point, s, out,
                          [&](int c, const Vector3d& drho, const Vector3d& dv) {
                            add_both(c, sign * (t.F_d * drho + t.F_e * dv), m == 0 ? drho : zero,
                                     m == 1 ? drho : zero);
                          });
  }
}

void Springs::list_outputs(const Scene&, OutputList& to) const {
  to.push_back({name() + ".tension",
                "N",
                {},
                static_cast<int>(a_.size()),
                [this](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
                  const Law law = this->law(p);
                  for (int i = 0; i < static_cast<int>(a_.size()); ++i) {
                    tension(law, i, window.now(), p, y[i], by);
                  }
                }});
  to.push_back(energy_of(name(), {this}));
}

// T = u.f with u = d/l:  dT = u.df + f.du,  du = (I - u u^T) dd / l.
void Springs::tension(const Law& law, int i, const State& s, const VectorXd& p, double& T,
                      OutputJacobian* by) const {
  const Stencil t = stencil(law, i, s, p);
  const double l = t.d.norm(), inverse = l > 0 ? 1 / l : 0;
  const Vector3d u = inverse * t.d;
  T = u.dot(t.f);
  if (!by) return;
  by->add_p(i, params_.stiffness, u.dot(t.by_k));
  by->add_p(i, params_.damping, u.dot(t.by_c));
  by->add_p(i, params_.rest, u.dot(t.by_rest));
  const Rows by_d = u.transpose() * t.F_d + inverse * (t.f - T * u).transpose();
  const Rows by_e = u.transpose() * t.F_e;
  add_point_rows(*sets_[a_[i].set], a_[i].point, s, p, i, -by_d, -by_e, *by);
  add_point_rows(*sets_[b_[i].set], b_[i].point, s, p, i, by_d, by_e, *by);
}

void Springs::modes(const Window& window, const VectorXd& p, std::uint16_t* out) const {
  if (!tension_only_) return;
  const Law law = this->law(p);
  for (int i = 0; i < static_cast<int>(a_.size()); ++i) {
    out[i] = stencil(law, i, window.now(), p).mode;
  }
}

}  // namespace diffsim
