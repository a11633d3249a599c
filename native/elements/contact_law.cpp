#include "contact_law.hpp"

#include <cmath>

namespace diffsim {

NormalForce normal_force(const ContactStiffness& k, Damping law, double d, double rate) {
  if (law == Damping::continuous) {
    const double factor = 1 + k.damping * rate;
    if (factor <= 0) return {0, 0, 0, 0, 0, 0, true};
    return {k.k_n * d * factor,
            k.k_n * factor,
            k.k_n * d * k.damping,
            d * factor,
            k.k_n * d * rate,
            0,
            false};
  }
  const bool ramped = law == Damping::ramped;
  const double reach = d + k.d_0;
  const double ramp = ramped ? d / reach : 1, ramp_d = ramped ? k.d_0 / (reach * reach) : 0;
  const double f = k.k_n * d + k.damping * ramp * rate;
  if (f <= 0) return {0, 0, 0, 0, 0, 0, true};
  return {f,
          k.k_n + k.damping * ramp_d * rate,
          k.damping * ramp,
          d,
          ramp * rate,
          ramped ? -k.damping * rate * ramp / reach : 0,
          false};
}

FrictionLimit friction_limit(const ContactStiffness& k, double f_n) {
  if (!(k.f_0 > 0)) return {k.c_f * f_n, k.c_f, f_n, 0, 0};
  const double x = f_n / k.f_0, low = std::exp(-x);
  const double c = k.c_f + (k.c_s - k.c_f) * low;
  return {c * f_n, c - (k.c_s - k.c_f) * low * x, (1 - low) * f_n, low * f_n,
          (k.c_s - k.c_f) * low * x * x};
}

FrictionSlope stick_slope(double limit) {
  return {limit / kStickSpeed, 0, 1 / kStickSpeed, 0, false};
}

FrictionSlope friction_slope(double k_t, Friction law, double speed, double limit) {
  if (law == Friction::linear) {
    if (k_t * speed <= limit) return {k_t, 0, 0, 1, false};
    const double s = limit / speed;
    return {s, -s / (speed * speed), 1 / speed, 0, true};
  }
  if (!(limit > 0)) return {0, 0, 0, 0, true};
  const double a = k_t * speed / limit;  // argument of tanh
  if (a < 1e-4) {                        // s = k_t (1 - a^2/3): avoids 0/0 at rest
    const double slope = k_t / limit;
    return {k_t * (1 - a * a / 3), -2. / 3 * k_t * slope * slope, 2. / 3 * slope * a * a, 1 - a * a,
            false};
  }
  const double th = std::tanh(a), slope = 1 - th * th;
  const double s = limit * th / speed;
  return {s, (k_t * slope - s) / (speed * speed), (th - a * slope) / speed, slope, a > 1};
}

}  // namespace diffsim
