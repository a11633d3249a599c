// Where the blocks that elements write go: into the matrices of the coordinates and free nodes.
//
// With F_a the wrench on all that step a moves,
//   r_a = S_a . F_a ,   dr_a = S_a . dF_a + (S_b x S_a) . F_a dq_b  for b before a  [Qs Alg. 2];
// blocks of single links are summed towards the root as composite bodies' are: O(steps * depth).
#pragma once

#include <vector>

#include "articulation_map.hpp"

namespace diffsim {

class ReducedPattern {
 public:
  ReducedPattern() = default;
  ReducedPattern(const Articulation& articulation, const std::vector<Node>& nodes,
                 const BlockPattern& full);
  /// Of all nodes; dependent ones have no rows.
  const BlockPattern& pattern() const { return pattern_; }
  /// K, B: derivatives of r by poses and velocities of all nodes; r is not reduced yet.
  void reduce(const ArticulationMap& at, const VectorXd& r, const BlockMatrix& K,
              const BlockMatrix& B, BlockMatrix& reduced_K, BlockMatrix& reduced_B) const;

 private:
  struct Axis {  // one screw axis of a step, one coordinate
    int step, column;
  };
  struct Pair {
    int row, column;  // axes
    int value;        // offset in the values of a reduced matrix
  };
  struct Run {  // of one axis with all degrees of freedom of an independent node
    int axis, value, stride;
  };
  struct Copied {
    int from, to, count;  // offsets of values
  };
  struct Crossed {  // a block between two nodes of which one at least depends
    int block, rows, columns;
    int row, column;          // links, -1: the node is independent
    int common = -1;          // the last step that moves both links
    std::vector<Pair> pairs;  // of axes that do not both move both links
    std::vector<Run> runs;
  };
  struct Own {
    int link, block;
  };
  class Builder;

  void add_crossed(const Crossed& crossed, const ArticulationMap& at, const BlockMatrix& K,
                   const BlockMatrix& B, BlockMatrix& reduced_K, BlockMatrix& reduced_B) const;

  std::vector<Axis> axes_;
  std::vector<int> dof_;  // per axis
  std::vector<Copied> copied_;
  std::vector<Own> own_;
  std::vector<Crossed> crossed_;
  // Per axis: with itself and those before, as rows; and these as columns, but for its own step.
  std::vector<std::vector<Pair>> above_, before_;
  BlockPattern pattern_;
};

}  // namespace diffsim
