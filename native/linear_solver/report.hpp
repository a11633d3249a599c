// How a linear solve ended.
#pragma once

namespace diffsim {

struct SolveReport {
  bool reached = true;  // the tolerance, for every right-hand side
  bool indefinite = false;  // met a direction of negative curvature where none was wanted
  int products = 0;     // products with A (two per iteration of BiCGSTAB); 0 for direct solvers
  double residual = 0;  // largest |b - A x| / |b| over the right-hand sides
};

}  // namespace diffsim
