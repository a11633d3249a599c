// Symbolic part of the Krylov solver, made once per pattern.
#pragma once

#include <vector>

#include "../block_matrix.hpp"
#include "ordering.hpp"

namespace diffsim {

/// Nodes cut into triples of degrees of freedom ("atoms": a point is one, a rigid body two), put in
/// the order of sweep_order() and gathered in groups of four uncoupled ones. A slot is a place in
/// a group; the slot after the last group stays empty (zero): padding steps multiply it by whatever
/// block comes first.
struct SweepPattern {
  explicit SweepPattern(const BlockPattern& pattern);

  /// A 3x3 part of a block: where its values start and how far its columns are apart.
  struct Source {
    int offset = 0, stride = 3;
  };
  /// One triangle of the matrix: for every group some steps of four blocks, one per lane.
  struct Triangle {
    std::vector<int> begin{0};     // per group, and the end: first step
    std::vector<int> slot;         // 4 per step: which atom the lane's block multiplies
    std::vector<Source> direct;    // 4 per step: A_ij
    std::vector<Source> mirrored;  // 4 per step: A_ji, for the transposed matrix
    int steps(int group) const { return begin[group + 1] - begin[group]; }
  };

  int groups = 0, ndof = 0;
  std::vector<int> dof;          // per slot: first degree of freedom, -1 padding
  std::vector<Source> diagonal;  // per slot
  Triangle lower, upper;         // couplings with earlier and with later groups
};

}  // namespace diffsim
