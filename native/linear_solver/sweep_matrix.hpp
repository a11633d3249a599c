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
  /// Of A or, transposed, of A^T. False where a diagonal block is singular or not finite. kept: all
  /// but diagonal blocks are those of the last call, which succeeded.
  bool prepare(const SweepPattern& pattern, const VectorXd& values, bool transposed,
               bool kept = false);

  /// S, T, S^-1 of a group.
  bool scale_nodes(const SweepPattern& pattern, const VectorXd& values, bool transposed, int group);

  bool definite = false;                         // every diagonal block's symmetric part
  std::vector<FourBlocks> lower, upper;          // -L, -U by step
  std::vector<FourBlocks> left, right, unscale;  // S, T, S^-1 by group
  std::vector<char> changed;                     // by group: S or T, in the last prepare()
};

}  // namespace diffsim
