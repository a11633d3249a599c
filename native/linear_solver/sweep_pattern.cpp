#include "sweep_pattern.hpp"

#include <algorithm>
#include <map>

namespace diffsim {
namespace {

using Source = SweepPattern::Source;

struct Atoms {
  std::vector<int> dof, first;                   // per atom; per node: its first atom
  std::map<std::pair<int, int>, Source> source;  // per coupled pair of atoms, diagonal included
  std::vector<std::pair<int, int>> pairs;        // the same without the diagonal
};

Atoms cut(const BlockPattern& pattern) {
  Atoms atoms;
  for (int i = 0; i < pattern.nodes(); ++i) {
    if (pattern.size[i] % 3 != 0) {
      refuse("Krylov solver", "needs nodes of 3 or 6 degrees of freedom", pattern.size[i],
             "use the direct solver");
    }
    atoms.first.push_back(static_cast<int>(atoms.dof.size()));
    for (int k = 0; k < pattern.size[i]; k += 3) atoms.dof.push_back(pattern.dof[i] + k);
  }
  for (int b = 0; b < pattern.blocks(); ++b) {
    const int i = pattern.row[b], j = pattern.col[b], stride = pattern.size[i];
    for (int l = 0; l < pattern.size[j]; l += 3) {
      for (int k = 0; k < stride; k += 3) {
        const std::pair<int, int> at{atoms.first[i] + k / 3, atoms.first[j] + l / 3};
        atoms.source[at] = {pattern.offset[b] + l * stride + k, stride};
        if (at.first != at.second) atoms.pairs.push_back(at);
      }
    }
  }
  return atoms;
}

}  // namespace

SweepPattern::SweepPattern(const BlockPattern& pattern) : ndof(pattern.ndof) {
  const Atoms atoms = cut(pattern);
  const Graph graph = make_graph(static_cast<int>(atoms.dof.size()), atoms.pairs);
  const std::vector<int> at = group_by_four(graph, sweep_order(graph));
  groups = static_cast<int>(at.size()) / 4;
  std::vector<int> slot_of(graph.nodes());
  for (int s = 0; s < 4 * groups; ++s) {
    const int i = at[s];
    dof.push_back(i < 0 ? -1 : atoms.dof[i]);
    diagonal.push_back(i < 0 ? Source{} : atoms.source.at({i, i}));
    if (i >= 0) slot_of[i] = s;
  }
  const int empty = 4 * groups;
  for (int g = 0; g < groups; ++g) {
    for (const bool below : {true, false}) {
      Triangle& triangle = below ? lower : upper;
      std::vector<int> partner[4];
      std::size_t steps = 0;
      for (int lane = 0; lane < 4; ++lane) {
        const int i = at[4 * g + lane];
        for (int k = i < 0 ? 0 : graph.begin[i]; k < (i < 0 ? 0 : graph.begin[i + 1]); ++k) {
          const int j = graph.neighbour[k];
          if ((slot_of[j] < 4 * g) == below) partner[lane].push_back(j);
        }
        // What was computed last is used last.
        std::sort(partner[lane].begin(), partner[lane].end(),
                  [&](int a, int b) { return (slot_of[a] < slot_of[b]) == below; });
        steps = std::max(steps, partner[lane].size());
      }
      for (std::size_t k = 0; k < 4 * steps; ++k) {
        const int lane = static_cast<int>(k % 4), i = at[4 * g + lane];
        const auto& list = partner[lane];
        // Short lists are padded in front, again so that late results are used late.
        const std::size_t skip = steps - list.size();
        const int j = k / 4 < skip ? -1 : list[k / 4 - skip];
        triangle.slot.push_back(j < 0 ? empty : slot_of[j]);
        triangle.direct.push_back(j < 0 ? Source{} : atoms.source.at({i, j}));
        triangle.mirrored.push_back(j < 0 ? Source{} : atoms.source.at({j, i}));
      }
      triangle.begin.push_back(static_cast<int>(triangle.slot.size() / 4));
    }
  }
}

}  // namespace diffsim
