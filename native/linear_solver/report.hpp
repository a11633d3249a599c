// How a linear solve ended.
#pragma once

#include <cmath>

namespace diffsim {

/// The larger of two; NaN where either is.
inline double larger(double a, double b) { return b <= a || std::isnan(a) ? a : b; }

struct SolveReport {
  bool reached = true;      // the tolerance, for every right-hand side
  int products = 0;         // products with A (two per iteration of BiCGSTAB); 0 for direct solvers
  double residual = 0;      // largest |b - A x| / |b| over the right-hand sides
  bool indefinite = false;  // ended at a direction of negative curvature
};

}  // namespace diffsim
