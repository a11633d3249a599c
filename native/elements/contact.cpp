#include "contact.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "../parameters.hpp"
#include "contact_touch.hpp"

namespace diffsim {
bool Contact::touch(int i, const Window& window, const VectorXd& p, const SdfSample& sample,
                    Touch& t) const {
  t.radius = points_->radius(p);
  t.d = t.radius - sample.g;
  if (!(t.d > 0)) return false;
  t.point = i;
  t.sdf = sample;
  evaluate_geometry(window.now(), p, t);
  evaluate_law(window, p, t);
  return true;
}

void Contact::evaluate_geometry(const State& s, const VectorXd& p, Touch& t) const {
  const int i = t.point;
  t.node = points_->node[i];
  t.frame = points_->on_frame(i);
  Vector3d& n = t.sdf.n;
  if (carrier_.node >= 0) {
    const Matrix3d& R = s.R[carrier_.frame];
    n = R * n;
    t.sdf.kappa = R * t.sdf.kappa * R.transpose();
  }
  t.rho = points_->moment_arm(i, s, p);
  const bool point = t.node >= 0 && !t.frame;
  t.offset = point ? 0 : at_surface() ? t.sdf.g : t.radius;
  t.rho_c = t.rho - t.offset * n;
  t.omega_a = t.frame ? s.w[points_->nodes[t.node].frame] : Vector3d::Zero();
  t.w = points_->velocity(i, s, t.rho_c);
  t.omega_b.setZero();
  if (carrier_.node >= 0) {
    t.omega_b = s.w[carrier_.frame];
    t.sigma = t.rho - s.c.col(carrier_.node);
    if (t.node >= 0) t.sigma += s.c.col(t.node);
    t.sigma_c = t.sigma - t.offset * n;
    t.w -= s.v.col(carrier_.node) + t.omega_b.cross(t.sigma_c);
  }
}

void Contact::evaluate_law(const Window& window, const VectorXd& p, Touch& t) const {
  const ContactLaw law = law_at(law_, p, weights_[t.point]);
  evaluate_tangent_velocity(t);
  t.rate = -t.sdf.n.dot(t.w);
  t.before = 0;
  const bool integral = integrates(window);
  const int began = integral ? evaluate_before(window, p, t) : kTouched;
  t.left = false;
  const double h = window.scheme.h;
  t.normal = integral ? onset_force(law, t.d, t.rate, t.before, h) : normal_force(law, t.d, t.rate);
  const bool after = t.normal.onset && end_ == FrictionEnd::after;
  t.load = after ? onset_force(law, t.d, t.rate, t.before, 0) : t.normal;
  t.limit = friction_limit(law, t.load.f);
  evaluate_friction(window, p, law, began, t);
  t.f = t.normal.f * t.sdf.n - t.slope.s * t.v_t;
  if (rolls()) t.rolling = rolling_torque(law, t.m, t.omega_a - t.omega_b, t.normal.f);
}

void Contact::evaluate_tangent_velocity(Touch& t) {
  t.m = t.sdf.n;
  t.m_x = t.sdf.kappa;
  if (const double squared = t.m.squaredNorm(); std::abs(squared - 1) > 1e-12) {
    t.m /= std::sqrt(squared);
    t.m_x = (t.sdf.kappa - t.m * (t.m.transpose() * t.sdf.kappa)) / std::sqrt(squared);
  }
  t.v_t = t.w - t.m.dot(t.w) * t.m;
  t.v_t -= t.m.dot(t.v_t) * t.m;  // what rounding has left, which a sticking point would feel
}

void Contact::evaluate_friction(const Window& window, const VectorXd& p, const ContactLaw& law,
                                int began, Touch& t) const {
  const int i = t.point;
  const std::vector<std::uint8_t>& stick = window.now().stick;
  t.stick = StickState(hybrid() && !stick.empty() ? stick[first_stick() + i] : 0);
  t.k_t = law.k_t;
  if (hybrid()) {
    t.k_t = std::max(law.k_t, kSlipMass * mass_[i] * window.scheme.gamma[0]);
    t.k_t *= std::pow(kStiffening, t.stick.releases());
  }
  const double speed = t.v_t.norm();
  t.past.reset();
  t.by_sampled = t.by_d = t.by_rate = t.by_before = t.by_past_pull = t.by_past_limit = 0;
  if (!hybrid() && integrates(window)) {
    evaluate_touched(window, p, law, began, t);
  } else if (t.stick.sticks() || (t.stick.binds() && speed <= kStickSpeed)) {
    t.slope = stick_slope(t.limit.f);
  } else {
    const double k_t = t.stick.binds() ? kInfinity : t.k_t;
    t.slope = friction_slope(k_t, law.friction, speed, t.limit.f);
  }
  if (hybrid() && t.k_t > law.k_t) t.slope.by_kt = 0;
  t.by_fn = t.slope.by_limit * t.limit.by_fn;
}

Vector3d Contact::in_frame_of_sdf(const State& s, const Vector3d& x) const {
  if (carrier_.node < 0) return x;
  return s.R[carrier_.frame].transpose() * (x - s.c.col(carrier_.node));
}

void Contact::to_frame_of_sdf(const State& s, Matrix3X& x) const {
  if (carrier_.node < 0) return;
  x = s.R[carrier_.frame].transpose() * (x.colwise() - s.c.col(carrier_.node)).eval();
}

void Contact::sample(const Matrix3X& x, const VectorXd& p, std::vector<SdfSample>& out) const {
  const double scale = surface_scale(p), offset = surface_offset(p);
  if (scale == 1) {
    sdf_->evaluate(x, surface_sizes(p), out);
  } else {
    sdf_->evaluate(x / scale, surface_sizes(p), out);
  }
  if (scale == 1 && offset == 0) return;
  for (SdfSample& s : out) {
    s.g = scale * s.g - offset;
    s.kappa /= scale;
  }
}

void Contact::gather(int begin, int count, const State& s, const VectorXd& p,
                     const Eigen::AlignedBox3d* box, Near& near) const {
  Matrix3X& x = near.x;
  x.resize(3, count);
  if (only_point_nodes_) {
    for (int i = 0; i < count; ++i) x.col(i) = s.c.col(points_->node[begin + i]);
  } else {
    for (int i = 0; i < count; ++i) x.col(i) = points_->position(begin + i, s, p);
  }
  to_frame_of_sdf(s, x);
  near.point.resize(count);
  if (!box) {
    std::iota(near.point.begin(), near.point.end(), begin);
    return;
  }
  const Eigen::Array3d low = box->min(), high = box->max();
  int kept = 0;
  for (int i = 0; i < count; ++i) {
    near.point[kept] = begin + i;
    const Eigen::Array3d at = x.col(i);
    kept += !((at < low) || (at > high)).any();
  }
  near.point.resize(kept);
  if (kept == count) return;
  for (int k = 0; k < kept; ++k) x.col(k) = x.col(near.point[k] - begin).eval();
  x.conservativeResize(3, kept);
}

void Contact::add_residual(const Touch& t, VectorXd& r) const {
  add_force(*points_, t.point, t.f, t.rho_c, r);
  if (rolls(t) && t.frame) r.segment<3>(points_->dof(t.point) + 3) -= t.rolling.tau;
  if (carrier_.node < 0) return;
  const int dof = carrier_.dof;
  r.segment<3>(dof) += t.f;
  r.segment<3>(dof + 3) += t.sigma_c.cross(t.f);
  if (rolls(t)) r.segment<3>(dof + 3) += t.rolling.tau;
}

void Contact::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  for_each_force(window, p, [&](const Touch& t) {
    add_residual(t, *out.r);
    if (out.K && t.left) add_gap_jacobian(t, p, blocks_, *out.K);
    if (out.K && !t.left) add_jacobian(t, p, blocks_, *out.K, *out.B);
    if (out.symmetric) *out.symmetric = false;
    if (out.columns) add_columns(t, window, p, *out.columns);
  });
}

bool Contact::limit_step(const State& from, const Window& window, const VectorXd& p, VectorXd& u,
                         std::vector<unsigned char>& used) const {
  constexpr unsigned char kMost = 3;  // per node and step: without a bound Newton may cycle
  thread_local Matrix3X x;
  thread_local std::vector<SdfSample> sample;
  bool any = false;
  Window at = window;
  at.at[0] = &from;
  for_each_touch(window, p, [&](const Touch& t) {
    const int node = points_->node[t.point];
    if (node < 0 || t.frame || t.stick.sticks() || used[node] >= kMost) return;
    x.resize(3, 1);
    x.col(0) = points_->position(t.point, from, p);
    to_frame_of_sdf(from, x);
    this->sample(x, p, sample);
    Touch before;
    if (touch(t.point, at, p, sample[0], before)) {
      const double slip = before.limit.f / before.k_t;
      const Vector3d change = t.v_t - before.v_t;
      const double along = -before.v_t.dot(change) / change.squaredNorm();
      if (!(before.v_t.norm() > slip) || t.v_t.dot(before.v_t) >= 0) return;
      if ((before.v_t + along * change).norm() > slip) return;
    }
    u.segment<3>(points_->dof(t.point)) -= t.v_t;
    ++used[node];
    any = true;
  });
  return any;
}

std::string Contact::tunnelling(const Window& window, const VectorXd& p) const {
  const double thickness =
      surface_scale(p) * sdf_->thickness(surface_sizes(p)) + 2 * surface_offset(p);
  if (thickness == kUnbounded) return {};
  thread_local Near now, before;
  thread_local std::vector<SdfSample> sample;
  for (int begin = 0; begin < points_->size(); begin += kChunk) {
    const int count = std::min(kChunk, points_->size() - begin);
    gather(begin, count, window.now(), p, nullptr, now);
    gather(begin, count, *window.at[1], p, nullptr, before);
    for (int i = 0; i < count; ++i) {
      const double moved = (now.x.col(i) - before.x.col(i)).norm();
      if (!(moved > thickness / 2)) continue;
      this->sample(before.x.col(i), p, sample);
      if (sample[0].g - points_->radius(p) > moved) continue;
      std::ostringstream text;
      text << "point " << begin + i << " moved " << 1e3 * moved
           << " mm and may have passed through an obstacle " << 1e3 * thickness
           << " mm thick; use a step below " << window.scheme.h * thickness / 2 / moved << " s";
      return text.str();
    }
  }
  return {};
}

void Contact::modes(const Window& window, const VectorXd& p, std::uint16_t* out) const {
  std::fill(out, out + points_->size(), std::uint16_t{0});
  if (window.now().hard_contacts) return hard_modes(window.now(), out);
  for_each_touch(window, p, [&](const Touch& t) {
    unsigned code = t.slope.slip ? kSlip : t.stick.binds() ? kStatic : kStick;
    if (t.normal.clamped) code |= kClamped;
    if (t.normal.onset) code |= kOnset;
    if (rolls()) {
      if (t.rolling.rolling.slip) code |= kRolls;
      if (t.rolling.spinning.slip) code |= kSpins;
    }
    out[t.point] = static_cast<std::uint16_t>(code + kRegion * (1 + t.sdf.region));
  });
}

void Contact::forces(const Window& window, const VectorXd& p, Matrix3X& force,
                     Matrix3X& point) const {
  force.setZero(3, points_->size());
  point.resize(3, points_->size());
  for (int i = 0; i < points_->size(); ++i) {
    point.col(i) = points_->position(i, window.now(), p);
  }
  if (window.now().hard_contacts) return hard_forces(window.now(), force, point);
  for_each_force(window, p, [&](const Touch& t) {
    force.col(t.point) = t.f;
    point.col(t.point) -= t.radius * t.sdf.n;
  });
}

int Contact::stick_count() const { return hybrid() ? points_->size() : 0; }

void Contact::begin_stick(const Window& last, const VectorXd& p, std::uint8_t* stick) const {
  for_each_touch(last, p, [&](const Touch& t) {
    if (t.stick.binds() && !t.slope.slip && t.limit.f > 0) stick[t.point] = StickState().next();
  });
}

bool Contact::update_stick(const Window& now, const VectorXd& p, VectorXd& u,
                           std::uint8_t* stick) const {
  std::vector<std::uint8_t> next(stick, stick + points_->size());  // `stick` is read until the end
  bool any = false;
  for_each_touch(now, p, [&](const Touch& t) {
    const bool sticks = !t.stick.binds() && !t.slope.slip && t.limit.f > 0;
    const bool breaks = t.stick.sticks() && t.v_t.norm() > kStickSpeed;  // |f_t| > limit
    if (!sticks && !breaks) return;
    any = true;
    next[t.point] = t.stick.next();
    if (sticks && t.node >= 0 && !t.frame) u.segment<3>(points_->dof(t.point)) -= t.v_t;
  });
  std::copy(next.begin(), next.end(), stick);
  return any;
}

}  // namespace diffsim
