// Where a point was when the step began that brought it into contact, and the derivatives by that.
#include "contact.hpp"
#include "contact_touch.hpp"

namespace diffsim {

int Contact::evaluate_before(const Window& window, const VectorXd& p, Touch& t) const {
  constexpr double kLipschitz = 1.25;  // of any sdf: 1, but for what level sets interpolate
  const State& past = *window.at[1];
  const bool known = !past.touching.empty();
  if (known && past.touching[first_point() + t.point] != kOpen) {
    return past.touching[first_point() + t.point];
  }
  thread_local Matrix3X x(3, 1);
  thread_local std::vector<SdfSample> found;
  const Vector3d place = points_->position(t.point, past, p);
  x.col(0) = in_frame_of_sdf(past, place);
  if (!known) {
    const Vector3d here = points_->position(t.point, window.now(), p);
    const double moved = (x.col(0) - in_frame_of_sdf(window.now(), here)).norm();
    if (t.d >= kLipschitz * moved) return kTouched;
  }
  sample(x, p, found);
  t.before = std::max(found[0].g - t.radius, 0.);
  if (t.before == 0) return kTouched;
  set_other_end(past, p, place, found[0].n, t);
  return kOpen;
}

bool Contact::past_touch(int i, const Window& window, const VectorXd& p, Touch& t) const {
  const State& past = *window.at[1];
  Matrix3X x(3, 1);
  std::vector<SdfSample> found;
  x.col(0) = in_frame_of_sdf(past, points_->position(i, past, p));
  sample(x, p, found);
  const Window then{{&past, nullptr, nullptr}, window.scheme, window.t - window.scheme.h};
  return touch(i, then, p, found[0], t);
}

bool Contact::leave(int i, const Window& window, const VectorXd& p, Touch& t) const {
  if (end_ == FrictionEnd::ahead || !past_touch(i, window, p, t)) return false;
  const State& now = window.now();
  Matrix3X x(3, 1);
  std::vector<SdfSample> found;
  const Vector3d place = points_->position(i, now, p);
  x.col(0) = in_frame_of_sdf(now, place);
  sample(x, p, found);
  t.left = true;
  t.before = std::max(found[0].g - t.radius, 0.);
  set_other_end(now, p, place, found[0].n, t);
  const LeftSlope to = left_slope(t.k_t, t.v_t.norm(), t.limit.f, t.d, t.before);
  const double by_fn = to.by_limit * t.limit.by_fn;
  t.slope = to.slope;
  t.sampled = t.normal;
  t.sampled_limit = t.limit;
  t.by_sampled = to.by_limit;
  t.by_d = to.by_d + by_fn * t.sampled.by_d;
  t.by_rate = by_fn * t.sampled.by_rate;
  t.by_before = to.by_gap;
  t.by_fn = 0;  // all follows from the touch as it was
  t.normal = t.load = NormalForce{};
  t.f = -t.slope.s * t.v_t;
  return true;
}

void Contact::set_other_end(const State& s, const VectorXd& p, const Vector3d& place,
                            const Vector3d& n, Touch& t) const {
  t.n_before = n;
  t.rho_before = points_->moment_arm(t.point, s, p);
  if (carrier_.node < 0) return;
  t.n_before = s.R[carrier_.frame] * n;
  t.sigma_before = place - s.c.col(carrier_.node);
}

void Contact::evaluate_touched(const Window& window, const VectorXd& p, const ContactLaw& law,
                               int began, Touch& t) const {
  const double speed = t.v_t.norm(), pull = t.k_t * speed;
  t.sampled = normal_force(law, t.d, t.rate);
  t.sampled_limit = friction_limit(law, t.sampled.f);
  TouchedStep step{t.before, t.d, t.rate, window.scheme.h, t.sampled_limit.f, t.limit.f, end_};
  const bool slides = pull > step.sampled;
  if (law.friction == Friction::linear && began != kOpen &&
      began != static_cast<int>(slides ? kSlip : kStick)) {
    auto past = std::make_shared<Touch>();
    if (past_touch(t.point, window, p, *past)) {
      step.past_pull = past->k_t * past->v_t.norm();
      step.past_limit = past->limit.f;
      step.passes = (pull - step.sampled) * (step.past_pull - step.past_limit) < 0;
    }
    if (step.passes) t.past = std::move(past);
    const double mass = mass_[t.point];
    if (mass > 0) step.mobility = 1 / (mass * window.scheme.gamma[0]);
  }
  const TouchedSlope to = touched_slope(t.k_t, law.friction, speed, step);
  t.slope = to.slope;
  t.by_sampled = to.by_sampled;
  const double by_fn = to.by_sampled * t.sampled_limit.by_fn;
  t.by_d = to.by_d + by_fn * t.sampled.by_d;
  t.by_rate = to.by_rate + by_fn * t.sampled.by_rate;
  t.by_before = to.by_before;
  t.by_past_pull = to.by_past_pull;
  t.by_past_limit = to.by_past_limit;
}

void Contact::touching(const Window& now, const VectorXd& p, std::uint8_t* out) const {
  if (!looks_back()) return;
  for_each_touch(now, p, [&](const Touch& t) { out[t.point] = t.slope.slip ? kSlip : kStick; });
}

}  // namespace diffsim
