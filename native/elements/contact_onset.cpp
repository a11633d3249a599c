#include "contact_onset.hpp"

#include <Eigen/Core>
#include <cmath>
#include <unsupported/Eigen/AutoDiff>

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
  const Jet share = last ? Jet((1. + f / (-h * at.rate * at.slope())) / 2.) : Jet(1.);
  if (first) f = f / 2. + at.d / (at.d + jet(before, 2)) * at.mean();
  if (last) f = f * share;
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

StickShare stick_share(const ContactLaw& law, double d, double rate, double before, double h) {
  StickShare share;
  if (law.onset == Onset::sampled) return share;
  if (before > 0) {
    const double reach = d + before;
    share = {0.5 + d / reach, before / (reach * reach), 0, -d / (reach * reach)};
  }
  const double y = rate < 0 ? d / (-h * rate) : 2;
  if (y < 2) {
    const double factor = y < 1 ? 1.5 * y : 2 - y / 2, by_y = y < 1 ? 1.5 : -0.5;
    share.by_d = share.by_d * factor + share.value * by_y / (-h * rate);
    share.by_rate = -share.value * by_y * y / rate;
    share.by_before *= factor;
    share.value *= factor;
  }
  return share;
}

double add_transition(FrictionSlope& s, double k_t, double speed, double limit, double q_before) {
  const double q = k_t * speed - limit;
  if (!(q * q_before < 0)) return 0;
  const double a = std::abs(q), b = std::abs(q_before), both = a + b;
  const double e = a * b / (2 * both);
  const double e_a = b * b / (2 * both * both), e_b = a * a / (2 * both * both);
  if (q < 0) {  // s = k_t (1 + E / L), a = L - k_t |v_t|
    s.s = k_t * (1 + e / limit);
    s.by_speed = speed > 0 ? -k_t * k_t * e_a / (limit * speed) : 0;
    s.by_limit = k_t * (e_a - e / limit) / limit;
    s.by_kt = 1 + (e - k_t * speed * e_a) / limit;
    return k_t * e_b / limit;
  }
  s.s = (limit + e) / speed;  // a = k_t |v_t| - L
  s.by_speed = (e_a * k_t - s.s) / (speed * speed);
  s.by_limit = (1 - e_a) / speed;
  s.by_kt = e_a;
  return -e_b / speed;
}

}  // namespace diffsim
