// Linear springs with a natural length between point nodes, eight at a time (cloth).
#pragma once

#include "element.hpp"
#include "wide.hpp"

namespace diffsim {

class WideSprings {
 public:
  struct Law {
    double k, c, rest;  // stiffness [N/m], damping [N s/m]; rest natural: the natural length [m]
  };
  struct Spring {
    int a, b;                // nodes
    double natural, factor;  // of its length; on k and c
  };
  void bind(const std::vector<Spring>& springs, const BlockPattern& pattern);
  /// Adds to r and, where asked, K and B, or A (no parameter columns).
  void add(const Law& law, const State& s, const Assembly& out) const;

 private:
  struct Batch {  // the last one repeats its last spring
    Wide natural, factor;
    LaneIndex from_a, from_b;  // offsets in c and v
    LaneIndex to_a, to_b;      // and in r
    LaneIndex aa, ab, ba, bb;  // and in K, B and A
    int lanes;
  };
  struct Motion;
  template <bool Slopes>
  void add_all(const Law& law, const State& s, const Assembly& out) const;

  std::vector<Batch> batches_;
};

}  // namespace diffsim
