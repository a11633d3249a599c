// Elimination order of a node graph with little fill.
#pragma once

#include <vector>

#include "ordering.hpp"

namespace diffsim {

/// Position -> node: nested dissection where METIS was found when the engine was built
/// (DIFFSIM_METIS), else approximate minimum degree. Weights: degrees of freedom per node.
std::vector<int> elimination_order(const Graph& graph, const std::vector<int>& weight);

}  // namespace diffsim
