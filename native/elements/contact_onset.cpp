#include "contact_onset.hpp"

#include <Eigen/Core>
#include <cmath>
#include <unsupported/Eigen/AutoDiff>

#include "../parameters.hpp"

namespace diffsim {
namespace {

// A value and its derivatives by d, d', before, k_n, c_n, k_d, d_0.
using Jet = Eigen::AutoDiffScalar<Eigen::Matrix<double, 7, 1>>;

struct Law {
  Damping damping;
  Jet d, rate, k_n, c_n, k_d, d_0;

  Jet force() const {
    if (damping == Damping::continuous) return k_n * d * (1. + c_n * rate);
    if (damping == Damping::thesis) return k_n * d + k_d * rate;
    return k_n * d + k_d * rate * d / (d + d_0);
  }
  // df/dd
  Jet slope() const {
    if (damping == Damping::continuous) return k_n * (1. + c_n * rate);
    if (damping == Damping::thesis) return k_n;
    return k_n + k_d * rate * d_0 / ((d + d_0) * (d + d_0));
  }
  // Mean over depths from 0 to d at this rate.
  Jet mean() const {
    if (damping == Damping::continuous) return force() / 2.;
    if (damping == Damping::thesis) return k_n * d / 2. + k_d * rate;
    const Jet x = d / d_0;
    // 1 - ln(1 + x) / x, of which the closed form loses digits for small x
    const Jet share = x.value() < 1e-3 ? Jet(x * (0.5 - x * (1. / 3 - x * (0.25 - x * 0.2))))
                                       : Jet(1. - log(1. + x) / x);
    return k_n * d / 2. + k_d * rate * share;
  }
};

}  // namespace

NormalForce onset_force(const ContactLaw& law, double d, double rate, double before, double h) {
  const NormalForce now = normal_force(law, d, rate);
  if (now.clamped) return now;
  const bool first = before > 0, last = rate < 0 && now.f < -h * rate * now.by_d;
  if (!first && !last) return now;
  const auto jet = [](double value, int place) { return Jet(value, 7, place); };
  const Law at{law.damping,     jet(d, 0),       jet(rate, 1),   jet(law.k_n, 3),
               jet(law.c_n, 4), jet(law.k_d, 5), jet(law.d_0, 6)};
  Jet f = at.force();
  const Jet to = last ? Jet(f / (-h * at.rate * at.slope()) * f / 2.) : Jet(f / 2.);
  f = to + (first ? Jet(at.d / (at.d + jet(before, 2)) * at.mean()) : Jet(f / 2.));
  NormalForce n{};
  n.onset = true;
  n.clamped = f.value() <= 0;
  if (n.clamped) return n;
  const auto& by = f.derivatives();
  n.f = f.value();
  n.by_d = by[0];
  n.by_rate = by[1];
  n.by_before = by[2];
  n.by_k_n = by[3];
  n.by_c_n = by[4];
  n.by_k_d = by[5];
  n.by_d_0 = by[6];
  return n;
}

LeftSlope left_slope(double k_t, double speed, double limit, double d, double gap) {
  const double y = d / (d + gap), q = k_t * speed;
  double s = 0, by_y = 0;
  LeftSlope to{};
  if (q > limit) {
    s = (y - 1) / 2 * limit / speed;
    by_y = limit / (2 * speed);
    to.slope = {s, -s / (speed * speed), 0, 0, true};
    to.by_limit = (y - 1) / (2 * speed);
  } else {
    const double load = q > 0 ? q / limit : 0;
    s = k_t * (y - 0.5 - y * load / 2);
    by_y = k_t * (1 - load / 2);
    const double by_speed = speed > 0 ? -y * k_t * load / (2 * speed * speed) : 0;
    to.slope = {s, by_speed, 0, y - 0.5 - y * load, false};
    to.by_limit = q > 0 ? y * k_t * load / (2 * limit) : 0;
  }
  to.by_d = by_y * gap / ((d + gap) * (d + gap));
  to.by_gap = -by_y * d / ((d + gap) * (d + gap));
  return to;
}

namespace {

// A value and its derivatives by k_t, |v_t|, L*, L, d, d', before, q', L*'.
using Pull = Eigen::AutoDiffScalar<Eigen::Matrix<double, 9, 1>>;

struct Quantities {
  Pull k_t, speed, sampled, limit, x, y, past_pull, past_limit;
  bool first, passes;
  double mobility;
};

Pull excess(const Pull& a, const Pull& b) { return a * b / (2. * (a + b)); }

// |f_t| / |v_t|
Pull sticking(const Quantities& of) {
  const Pull pull = of.k_t * of.speed;
  Pull share(1.);
  if (of.first) share += of.x - 0.5;
  if (of.y.value() < 1) share += of.y - 0.5;
  Pull s = of.k_t * share;
  if (pull.value() > 0) s -= of.k_t * (share - of.limit / of.sampled) * pull / of.sampled;
  const Pull left = of.sampled - pull;
  if (const double y = of.y.value(); y >= 1 && y < 2) {
    const Pull next = pull - of.sampled * (1. - 1. / of.y);
    if (next.value() > 0) s += (2. - of.y) * of.y * left * next / (2. * of.sampled * of.speed);
  }
  if (!of.passes) return s;
  const Pull most = of.past_pull.value() < of.sampled.value() ? of.past_pull : of.sampled;
  return s + of.k_t * excess(left, of.past_pull - of.past_limit) / most;
}

Pull sliding(const Quantities& of) {
  if (!of.passes) return of.limit / of.speed;
  // Held by k_t the point had q - give (q - |f_t|) in place of q: |f_t| = L* + E, a = that - L*
  const Pull over = of.k_t * of.speed - of.sampled, b = of.past_limit - of.past_pull;
  const Pull give = of.k_t * of.mobility / (1. + of.k_t * of.mobility);
  const Pull half = (1. - give / 2.) * b - (1. - give) * over;
  const Pull a = (sqrt(half * half + 4. * (1. - give) * over * b) - half) / 2.;
  const Pull e = excess(a, b);
  return (of.limit + (of.y.value() < 1 ? Pull(e * of.y) : e)) / of.speed;
}

}  // namespace

TouchedSlope touched_slope(double k_t, Friction law, double speed, const TouchedStep& step) {
  TouchedSlope to;
  const bool ahead = step.end == FrictionEnd::ahead;
  const double y = ahead && step.rate < 0 ? step.d / (-step.h * step.rate) : 2;
  const bool first = step.before > 0, slides = k_t * speed > step.sampled;
  const bool whole = step.limit == step.sampled;
  if (law == Friction::tanh) {
    const double share = whole ? 1 : step.limit / step.sampled;
    to.slope = friction_slope(share * k_t, law, speed, step.limit);
    if (whole) return to;
    to.slope.by_limit += to.slope.by_kt * k_t / step.sampled;
    to.by_sampled = -to.slope.by_kt * k_t * share / step.sampled;
    to.slope.by_kt *= share;
    return to;
  }
  if (!step.passes && (slides || (whole && !first && y >= 2))) {
    to.slope = friction_slope(slides ? kInfinity : k_t, law, speed, step.limit);
    return to;
  }
  const auto jet = [](double value, int place) { return Pull(value, 9, place); };
  const Pull d = jet(step.d, 4);
  const Quantities of{jet(k_t, 0),
                      jet(speed, 1),
                      jet(step.sampled, 2),
                      jet(step.limit, 3),
                      first ? Pull(d / (d + jet(step.before, 6))) : Pull(1.),
                      y < 2 ? Pull(d / (-step.h * jet(step.rate, 5))) : Pull(2.),
                      jet(step.past_pull, 7),
                      jet(step.past_limit, 8),
                      first,
                      step.passes,
                      ahead ? 0 : step.mobility};
  const Pull s = slides ? sliding(of) : sticking(of);
  const auto& by = s.derivatives();
  to.slope = {s.value(), speed > 0 ? by[1] / speed : 0, by[3], by[0], slides};
  to.by_sampled = by[2];
  to.by_d = by[4];
  to.by_rate = by[5];
  to.by_before = by[6];
  to.by_past_pull = by[7];
  to.by_past_limit = by[8];
  return to;
}

}  // namespace diffsim
