#include "contact_law.hpp"

#include <cmath>

namespace diffsim {

NormalForce normal_force(const ContactStiffness& k, Damping law, double d, double rate) {
  if (law == Damping::continuous) {
    const double factor = 1 + k.damping * rate;
    if (factor <= 0) return {0, 0, 0, 0, 0, 0, true};
    return {k.k_n * d * factor, k.k_n * factor, k.k_n * d * k.damping,
            d * factor,         k.k_n * d * rate, 0, false};
  }
  const bool ramped = law == Damping::ramped;
  const double reach = d + k.d_0;
  const double ramp = ramped ? d / reach : 1, ramp_d = ramped ? k.d_0 / (reach * reach) : 0;
  const double f = k.k_n * d + k.damping * ramp * rate;
  if (f <= 0) return {0, 0, 0, 0, 0, 0, true};
  return {f, k.k_n + k.damping * ramp_d * rate, k.damping * ramp, d, ramp * rate,
          ramped ? -k.damping * rate * ramp / reach : 0, false};
}

FrictionSlope friction_slope(const ContactStiffness& k, Friction law, double speed, double f_n) {
  const double limit = k.c_f * f_n;
  if (law == Friction::linear) {
    if (k.k_t * speed <= limit) return {k.k_t, 0, 0, 1, 0, false};
    const double s = limit / speed;
    return {s, -s / (speed * speed), k.c_f / speed, 0, f_n / speed, true};
  }
  if (!(limit > 0)) return {0, 0, 0, 0, 0, true};
  const double a = k.k_t * speed / limit;  // argument of tanh
  if (a < 1e-4) {                          // s = k_t (1 - a^2/3): avoids 0/0 at rest
    const double cube = k.k_t / limit;
    return {k.k_t * (1 - a * a / 3), -2. / 3 * k.k_t * cube * cube, 2. / 3 * k.k_t * a * a / f_n,
            1 - a * a, k.c_f > 0 ? 2. / 3 * k.k_t * a * a / k.c_f : 0, false};
  }
  const double th = std::tanh(a), slope = 1 - th * th;
  const double s = limit * th / speed;
  const double by_limit = (th - a * slope) / speed;
  return {s, (k.k_t * slope - s) / (speed * speed), by_limit * k.c_f, slope, by_limit * f_n,
          a > 1};
}

}  // namespace diffsim
