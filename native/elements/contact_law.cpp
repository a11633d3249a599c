#include "contact_law.hpp"

#include <cmath>

#include "../parameters.hpp"

namespace diffsim {

const std::vector<LawParameter>& law_parameters() {
  using L = ContactLaw;
  using P = ContactParameters;
  const auto always = [](const L&) { return true; };
  const auto continuous = [](const L& law) { return law.damping == Damping::continuous; };
  const auto dashpot = [](const L& law) { return law.damping != Damping::continuous; };
  const auto ramped = [](const L& law) { return law.damping == Damping::ramped; };
  const auto by_load = [](const L& law) { return law.f_0 > 0; };
  const auto rolls = [](const L& law) { return law.k_roll > 0; };
  const auto bounces = [](const L& law) { return law.bounces; };
  static const std::vector<LawParameter> all{
      {"k_n", "N/m", true, 0, &L::k_n, &P::k_n, always},
      {"k_t", "N s/m", true, 0, &L::k_t, &P::k_t, always},
      {"c_n", "s/m", false, 0, &L::c_n, &P::c_n, continuous},
      {"k_d", "N s/m", false, 0, &L::k_d, &P::k_d, dashpot},
      {"d_0", "m", false, 1e-9, &L::d_0, &P::d_0, ramped},
      {"c_f", "1", true, 0, &L::c_f, &P::c_f, always},
      {"c_s", "1", false, 0, &L::c_s, &P::c_s, by_load},
      {"f_0", "N", false, 1e-9, &L::f_0, &P::f_0, by_load},
      {"c_roll", "m", false, 0, &L::c_roll, &P::c_roll, rolls},
      {"c_spin", "m", false, 0, &L::c_spin, &P::c_spin, rolls},
      {"k_roll", "N m s", false, 0, &L::k_roll, &P::k_roll, rolls},
      {"restitution", "1", false, 0, &L::restitution, &P::restitution, bounces, 1},
  };
  return all;
}

void check_law(const std::string& place, const ContactLaw& law) {
  const char* damping[] = {"continuous", "ramped", "thesis"};
  const bool continuous = law.damping == Damping::continuous;
  const double unused = continuous ? law.k_d : law.c_n;
  if (unused != 0) {
    refuse(place,
           std::string("damping '") + damping[static_cast<int>(law.damping)] +
               (continuous ? "' takes c_n, not k_d" : "' takes k_d, not c_n"),
           unused);
  }
  if ((law.damping == Damping::ramped) != (law.d_0 != 0)) {
    refuse(place + ": d_0", "must be > 0 [m] for damping 'ramped', 0 otherwise", law.d_0);
  }
  if (!(law.f_0 >= 0) || ((law.c_s != 0) != (law.f_0 != 0))) {
    refuse(place + ": f_0", "must be > 0 [N] with c_s, 0 without", law.f_0);
  }
}

ContactParameters add_law(ParameterTable& table, const std::string& name, const ContactLaw& law) {
  ContactParameters at;
  at.friction = law.friction;
  at.damping = law.damping;
  at.onset = law.onset;
  for (const LawParameter& one : law_parameters()) {
    if (!one.used(law)) continue;
    at.*one.index =
        table.add(name + "." + one.name, one.unit, law.*one.value, one.lower, one.upper);
  }
  return at;
}

NormalForce normal_force(const ContactLaw& law, double d, double rate) {
  if (law.damping == Damping::continuous) {
    const double factor = 1 + law.c_n * rate;
    if (factor <= 0) return {0, 0, 0, 0, 0, 0, 0, true};
    return {law.k_n * d * factor,
            law.k_n * factor,
            law.k_n * d * law.c_n,
            d * factor,
            law.k_n * d * rate,
            0,
            0,
            false};
  }
  const bool ramped = law.damping == Damping::ramped;
  const double reach = d + law.d_0;
  const double ramp = ramped ? d / reach : 1, ramp_d = ramped ? law.d_0 / (reach * reach) : 0;
  const double f = law.k_n * d + law.k_d * ramp * rate;
  if (f <= 0) return {0, 0, 0, 0, 0, 0, 0, true};
  return {f,           law.k_n + law.k_d * ramp_d * rate,           law.k_d * ramp, d, 0,
          ramp * rate, ramped ? -law.k_d * rate * ramp / reach : 0, false};
}

FrictionLimit friction_limit(const ContactLaw& law, double f_n) {
  if (!(law.f_0 > 0)) return {law.c_f * f_n, law.c_f, f_n, 0, 0};
  const double x = f_n / law.f_0, low = std::exp(-x);
  const double c = law.c_f + (law.c_s - law.c_f) * low;
  return {c * f_n, c - (law.c_s - law.c_f) * low * x, (1 - low) * f_n, low * f_n,
          (law.c_s - law.c_f) * low * x * x};
}

FrictionSlope stick_slope(double limit) {
  return {limit / kStickSpeed, 0, 1 / kStickSpeed, 0, false};
}

FrictionSlope friction_slope(double k_t, Friction law, double speed, double limit) {
  if (law != Friction::tanh) {
    if (k_t * speed <= limit) return {k_t, 0, 0, 1, false};
    const double s = limit / speed;
    return {s, -s / (speed * speed), 1 / speed, 0, true};
  }
  if (!(limit > 0)) return {0, 0, speed > 0 ? 1 / speed : 0, 0, true};  // tanh is at its limit
  const double a = k_t * speed / limit;                                 // argument of tanh
  if (a < 1e-4) {  // s = k_t (1 - a^2/3): avoids 0/0 at rest
    const double slope = k_t / limit;
    return {k_t * (1 - a * a / 3), -2. / 3 * k_t * slope * slope, 2. / 3 * slope * a * a, 1 - a * a,
            false};
  }
  const double th = std::tanh(a), slope = 1 - th * th;
  const double s = limit * th / speed;
  return {s, (k_t * slope - s) / (speed * speed), (th - a * slope) / speed, slope, a > 1};
}

}  // namespace diffsim
