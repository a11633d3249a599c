// Orders of a node graph: bandwidth reducing for sweeps, and rows that a sweep may do together.
#pragma once

#include <vector>

namespace diffsim {

/// Undirected graph without loops in compressed rows; neighbours ascend.
struct Graph {
  std::vector<int> begin, neighbour;
  int nodes() const { return static_cast<int>(begin.size()) - 1; }
  int degree(int i) const { return begin[i + 1] - begin[i]; }
};

/// From pairs (i, j) in both directions, i != j; repeats allowed.
Graph make_graph(int nodes, std::vector<std::pair<int, int>> pairs);

/// Reverse Cuthill-McKee: position -> node. Components follow each other.
std::vector<int> reverse_cuthill_mckee(const Graph& graph);

/// That order, or the nodes' own where couplings reach hardly further in it: blocks lie in memory
/// by node, and sweeps then read them as they lie.
std::vector<int> sweep_order(const Graph& graph);

/// Groups of up to four mutually uncoupled nodes, -1 where a group has fewer. Within every coupled
/// pair the node that comes first in `order` is in the earlier group: a triangular sweep over the
/// groups gives what a sweep in that order gives. Nodes with alike numbers of earlier and of later
/// neighbours are put together, so that padding stays small.
std::vector<int> group_by_four(const Graph& graph, const std::vector<int>& order);

}  // namespace diffsim
