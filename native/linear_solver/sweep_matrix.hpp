// Step matrix scaled by its diagonal blocks, in single precision, laid out for triangular sweeps.
#pragma once

#include <memory>
#include <vector>

#include "lanes.hpp"
#include "sweep_pattern.hpp"

namespace diffsim {

/// S A T = 1 + L + U with block diagonal S and T: with the Cholesky factor C of a diagonal block
/// D's symmetric part, S = C^-1 and T = D^-1 C (C^-T where D is symmetric). Any C gives a unit
/// diagonal, so another is taken where friction makes the symmetric part indefinite.
struct SweepMatrix {
  /// Of A or, transposed, of A^T. False where a diagonal block is singular or not finite.
  bool prepare(const SweepPattern& pattern, const VectorXd& values, bool transposed);

  bool definite = false;                         // every diagonal block's symmetric part
  std::vector<FourBlocks> lower, upper;          // -L, -U by step
  std::vector<FourBlocks> left, right, unscale;  // S, T, S^-1 by group
};

}  // namespace diffsim
