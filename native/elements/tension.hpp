// Tension of a spring or cable of length l that stretches at the rate l', and its derivatives.
//
//   linear        T = k (l - l_0) + c l'                         pushes and pulls, c in N s/m
//   tension only  T = k d max(0, 1 + c l'), d = max(l - l_0, 0)  a string: c in s/m
// The string's damping grows from nothing as it tightens, so T never jumps, and it never pushes
// (the law of continuous contact damping, engine.md (10)).
#pragma once

#include <algorithm>

namespace diffsim {

struct Tension {
  double T = 0, by_l = 0, by_rate = 0, by_k = 0, by_c = 0;  // by_rest = -by_l
  unsigned char mode = 0;  // strings: 0 slack, 1 taut, 5 taut and clamped
};

inline Tension linear_tension(double k, double c, double stretch, double rate) {
  return {k * stretch + c * rate, k, c, stretch, rate, 1};
}

inline Tension string_tension(double k, double c, double stretch, double rate) {
  if (!(stretch > 0)) return {};
  const double grip = 1 + c * rate;
  if (grip < 0) return {0, 0, 0, 0, 0, 5};
  return {k * stretch * grip, k * grip, k * stretch * c, stretch * grip, k * stretch * rate, 1};
}

}  // namespace diffsim
