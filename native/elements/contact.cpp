#include "contact.hpp"

#include <algorithm>

#include "contact_touch.hpp"

namespace diffsim {

ContactStiffness Contact::stiffness(int i, const VectorXd& p) const {
  const double weight = weights_[i];
  const double damping = p[params_.damping];
  auto optional = [&](int parameter) { return parameter < 0 ? 0 : p[parameter]; };
  return {p[params_.k_n] * weight,
          p[params_.k_t] * weight,
          params_.law == Damping::continuous ? damping : damping * weight,
          optional(params_.d_0),
          p[params_.c_f],
          optional(params_.c_s),
          optional(params_.f_0)};
}

RollingStiffness Contact::rolling(int i, const VectorXd& p) const {
  return {p[params_.c_roll], p[params_.c_spin], weights_[i] * p[params_.k_roll]};
}

bool Contact::touch(int i, const State& s, const VectorXd& p, const SdfSample& sample,
                    Touch& t) const {
  t.radius = points_->radius(p);
  t.d = t.radius - sample.g;
  if (!(t.d > 0)) return false;
  t.point = i;
  t.node = points_->node[i];
  t.frame = points_->on_frame(i);
  t.sdf = sample;
  Vector3d& n = t.sdf.n;
  if (carrier_.node >= 0) {
    const Matrix3d& R = s.R[carrier_.frame];
    n = R * sample.n;
    t.sdf.kappa = R * sample.kappa * R.transpose();
  }
  t.rho = points_->lever(i, s, p);
  t.reach = t.node >= 0 && !t.frame ? 0 : t.radius;
  t.rho_c = t.rho - t.reach * n;
  t.omega_a = t.frame ? s.w[points_->nodes[t.node].frame] : Vector3d::Zero();
  t.w = points_->velocity(i, s, t.rho_c);
  t.omega_b.setZero();
  if (carrier_.node >= 0) {
    t.omega_b = s.w[carrier_.frame];
    t.sigma = t.rho - s.c.col(carrier_.node);
    if (t.node >= 0) t.sigma += s.c.col(t.node);
    t.sigma_c = t.sigma - t.reach * n;
    t.w -= s.v.col(carrier_.node) + t.omega_b.cross(t.sigma_c);
  }
  t.rate = -n.dot(t.w);
  t.v_t = t.w + t.rate * n;
  const ContactStiffness k = stiffness(i, p);
  t.normal = normal_force(k, params_.law, t.d, t.rate);
  t.limit = friction_limit(k, t.normal.f);
  t.slope = friction_slope(k.k_t, params_.friction, t.v_t.norm(), t.limit.f);
  t.by_fn = t.slope.by_limit * t.limit.by_fn;
  t.f = t.normal.f * n - t.slope.s * t.v_t;
  if (params_.k_roll >= 0) {
    t.rolling =
        rolling_torque(rolling(i, p), params_.friction, n, t.omega_a - t.omega_b, t.normal.f);
  }
  return true;
}

void Contact::to_frame_of_sdf(const State& s, Matrix3X& x) const {
  if (carrier_.node < 0) return;
  x = s.R[carrier_.frame].transpose() * (x.colwise() - s.c.col(carrier_.node)).eval();
}

template <class F>
void Contact::for_each_touch(const State& s, const VectorXd& p, F&& f) const {
  thread_local Matrix3X x;
  thread_local std::vector<SdfSample> samples;
  x.resize(3, points_->size());
  for (int i = 0; i < points_->size(); ++i) x.col(i) = points_->position(i, s, p);
  to_frame_of_sdf(s, x);
  sdf_->evaluate(x, samples);
  Touch t;
  for (int i = 0; i < points_->size(); ++i) {
    if (touch(i, s, p, samples[i], t)) f(t);
  }
}

void Contact::add_residual(const Touch& t, VectorXd& r) const {
  add_force(*points_, t.point, t.f, t.rho_c, r);
  const bool rolls = params_.k_roll >= 0;
  if (rolls && t.frame) r.segment<3>(points_->dof(t.point) + 3) -= t.rolling.tau;
  if (carrier_.node < 0) return;
  const int dof = carrier_.dof;
  r.segment<3>(dof) += t.f;
  r.segment<3>(dof + 3) += t.sigma_c.cross(t.f);
  if (rolls) r.segment<3>(dof + 3) += t.rolling.tau;
}

void Contact::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  for_each_touch(s, p, [&](const Touch& t) {
    add_residual(t, *out.r);
    if (out.K) add_jacobian(t, p, out);
    if (out.symmetric) *out.symmetric = false;
    if (out.columns) add_columns(t, s, p, *out.columns);
  });
}

bool Contact::guard(const State& from, const State& to, const VectorXd& p, VectorXd& u,
                    std::vector<unsigned char>& used) const {
  constexpr unsigned char kMost = 3;  // per node and step: without a bound Newton may cycle
  thread_local Matrix3X x;
  thread_local std::vector<SdfSample> sample;
  bool any = false;
  for_each_touch(to, p, [&](const Touch& t) {
    const int node = points_->node[t.point];
    if (node < 0 || t.frame || used[node] >= kMost) return;
    x.resize(3, 1);
    x.col(0) = points_->position(t.point, from, p);
    to_frame_of_sdf(from, x);
    sdf_->evaluate(x, sample);
    Touch before;
    if (touch(t.point, from, p, sample[0], before)) {
      const double slip = before.limit.f / stiffness(t.point, p).k_t;
      const Vector3d way = t.v_t - before.v_t;
      const double along = -before.v_t.dot(way) / way.squaredNorm();
      if (!(before.v_t.norm() > slip) || t.v_t.dot(before.v_t) >= 0) return;
      if ((before.v_t + along * way).norm() > slip) return;
    }
    u.segment<3>(points_->dof(t.point)) -= t.v_t;
    ++used[node];
    any = true;
  });
  return any;
}

void Contact::modes(const Window& window, const VectorXd& p, std::uint16_t* out) const {
  std::fill(out, out + points_->size(), std::uint16_t{0});
  for_each_touch(window.now(), p, [&](const Touch& t) {
    unsigned code = t.slope.slip ? kSlip : kStick;
    if (t.normal.clamped) code |= kClamped;
    if (params_.k_roll >= 0) {
      if (t.rolling.rolling.slip) code |= kRolls;
      if (t.rolling.spinning.slip) code |= kSpins;
    }
    out[t.point] = static_cast<std::uint16_t>(code + kRegion * (1 + t.sdf.region));
  });
}

void Contact::forces(const State& s, const VectorXd& p, Matrix3X& force, Matrix3X& place) const {
  force.setZero(3, points_->size());
  place.resize(3, points_->size());
  for (int i = 0; i < points_->size(); ++i) place.col(i) = points_->position(i, s, p);
  for_each_touch(s, p, [&](const Touch& t) {
    force.col(t.point) = t.f;
    place.col(t.point) -= t.radius * t.sdf.n;
  });
}

}  // namespace diffsim
