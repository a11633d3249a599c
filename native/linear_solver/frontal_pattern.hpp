// Symbolic part of the multifrontal factorization, made once per pattern.
#pragma once

#include <vector>

#include "../block_matrix.hpp"

namespace diffsim {

/// Elimination tree of fronts (relaxed supernodes), children before parents. A front is a dense
/// matrix over its p pivots and u later unknowns ("updates") they couple with,
///   F = [F11 F12; F21 F22],
/// whose columns [F11; F21] ("panel", (p + u) x p) and F12 (p x u) become factors and whose F22 is
/// handed on to the parent.
struct FrontalPattern {
  explicit FrontalPattern(const BlockPattern& pattern);

  /// Consecutive unknowns: `length` from `from` on go to `to` on.
  struct Run {
    int from, to, length;
  };
  struct Entry {
    int source, stride;  // block in the matrix, its rows
    int target, ld;      // its place in the factor, column stride there
    int columns;
  };
  struct Front {
    int pivots, updates;  // p, u
    int first;            // of the pivots, in elimination order
    int panel, upper;     // where factor values start
    int contribution;     // where F22 starts in the work space
    std::vector<int> children;
    std::vector<Run> to_parent;  // updates -> unknowns of the parent's front
    std::vector<Run> rows;       // updates -> elimination order
    std::vector<Entry> entries;  // blocks of the matrix that enter here
  };

  std::vector<Front> fronts;
  std::vector<Run> order;                          // degrees of freedom -> elimination order
  int ndof = 0, values = 0, work = 0, widest = 0;  // widest: max of p + u
};

}  // namespace diffsim
