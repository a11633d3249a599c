#include "nested_dissection.hpp"

#include <Eigen/OrderingMethods>
#include <Eigen/Sparse>
#include <mutex>

#ifdef DIFFSIM_METIS
#include <metis.h>
#endif

namespace diffsim {
namespace {

std::vector<int> minimum_degree(const Graph& graph) {
  const int n = graph.nodes();
  std::vector<Eigen::Triplet<double, int>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, 1.);
    for (int k = graph.begin[i]; k < graph.begin[i + 1]; ++k) {
      entries.emplace_back(graph.neighbour[k], i, 1.);
    }
  }
  Eigen::SparseMatrix<double> pattern(n, n);
  pattern.setFromTriplets(entries.begin(), entries.end());
  Eigen::PermutationMatrix<Eigen::Dynamic, Eigen::Dynamic, int> order;
  Eigen::AMDOrdering<int>()(pattern, order);
  return {order.indices().data(), order.indices().data() + n};
}

}  // namespace

std::vector<int> elimination_order(const Graph& graph, const std::vector<int>& weight) {
#ifdef DIFFSIM_METIS
  constexpr int kWorthwhile = 50;  // nodes; minimum degree is as good below
  if (graph.nodes() > kWorthwhile && !graph.neighbour.empty()) {
    static std::mutex one_at_a_time;  // METIS keeps the state of its random numbers globally
    const std::lock_guard<std::mutex> lock(one_at_a_time);
    idx_t n = graph.nodes(), options[METIS_NOPTIONS];
    METIS_SetDefaultOptions(options);
    options[METIS_OPTION_SEED] = 1;
    std::vector<idx_t> begin(graph.begin.begin(), graph.begin.end());
    std::vector<idx_t> neighbour(graph.neighbour.begin(), graph.neighbour.end());
    std::vector<idx_t> weights(weight.begin(), weight.end()), order(n), position(n);
    if (METIS_NodeND(&n, begin.data(), neighbour.data(), weights.data(), options, order.data(),
                     position.data()) == METIS_OK) {
      return {order.begin(), order.end()};
    }
  }
#else
  (void)weight;
#endif
  return minimum_degree(graph);
}

}  // namespace diffsim
