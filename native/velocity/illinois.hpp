// Zero of f between `low` and `high`, where it has values of opposite sign: regula falsi with the
// Illinois rule. f(x) says by its second value whether x will do.
#pragma once
#include <utility>

namespace diffsim {

// The last x at which f was called; `low` where no number lies between the two.
template <class F>
double illinois(double low, double f_low, double high, double f_high, int trials, F&& f) {
  double last = low;
  for (int trial = 0; trial < trials; ++trial) {
    const double x = (low * f_high - high * f_low) / (f_high - f_low);
    if (!(x > low && x < high)) break;
    const std::pair<double, bool> found = f(last = x);
    if (found.second) break;
    if ((found.first > 0) == (f_high > 0)) {
      high = x;
      f_high = found.first;
      f_low /= 2;
    } else {
      low = x;
      f_low = found.first;
      f_high /= 2;
    }
  }
  return last;
}

}  // namespace diffsim
