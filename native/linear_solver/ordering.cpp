#include "ordering.hpp"

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace diffsim {
namespace {

constexpr double kHardlyFurther = 1.2;
constexpr int kWindow = 256;  // ready nodes looked at for one place; keeps grouping linear

// Breadth first from `start` over unvisited nodes, nearest degrees first; appends to `out`.
// Returns where the last level starts in `out`.
std::size_t breadth_first(const Graph& graph, int start, std::vector<char>& seen,
                          std::vector<int>& out) {
  std::size_t at = out.size(), level = at;
  out.push_back(start);
  seen[start] = 1;
  while (at < out.size()) {
    level = at;
    for (const std::size_t stop = out.size(); at < stop; ++at) {
      const std::size_t fresh = out.size();
      const int i = out[at];
      for (int k = graph.begin[i]; k < graph.begin[i + 1]; ++k) {
        const int j = graph.neighbour[k];
        if (seen[j]) continue;
        seen[j] = 1;
        out.push_back(j);
      }
      std::stable_sort(out.begin() + fresh, out.end(),
                       [&](int a, int b) { return graph.degree(a) < graph.degree(b); });
    }
  }
  return level;
}

// A node far out: the least connected of the last level, twice.
int peripheral(const Graph& graph, int start, std::vector<char>& seen) {
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<int> reached;
    const std::size_t last = breadth_first(graph, start, seen, reached);
    for (int i : reached) seen[i] = 0;
    start = *std::min_element(reached.begin() + last, reached.end(),
                              [&](int a, int b) { return graph.degree(a) < graph.degree(b); });
  }
  return start;
}

}  // namespace

Graph make_graph(int nodes, std::vector<std::pair<int, int>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  Graph graph;
  graph.begin.assign(nodes + 1, 0);
  for (auto [i, j] : pairs) {
    ++graph.begin[i + 1];
    graph.neighbour.push_back(j);
  }
  for (int i = 0; i < nodes; ++i) graph.begin[i + 1] += graph.begin[i];
  return graph;
}

std::vector<int> reverse_cuthill_mckee(const Graph& graph) {
  std::vector<int> order;
  std::vector<char> seen(graph.nodes(), 0);
  for (int i = 0; i < graph.nodes(); ++i) {
    if (!seen[i]) breadth_first(graph, peripheral(graph, i, seen), seen, order);
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<int> sweep_order(const Graph& graph) {
  std::vector<int> order = reverse_cuthill_mckee(graph), position(graph.nodes());
  for (int k = 0; k < graph.nodes(); ++k) position[order[k]] = k;
  double reach = 0, own_reach = 0;
  for (int i = 0; i < graph.nodes(); ++i) {
    for (int k = graph.begin[i]; k < graph.begin[i + 1]; ++k) {
      const int j = graph.neighbour[k];
      reach += std::abs(position[i] - position[j]);
      own_reach += std::abs(i - j);
    }
  }
  if (own_reach <= kHardlyFurther * reach) std::iota(order.begin(), order.end(), 0);
  return order;
}

std::vector<int> group_by_four(const Graph& graph, const std::vector<int>& order) {
  const int n = graph.nodes();
  std::vector<int> position(n), earlier(n, 0);
  for (int k = 0; k < n; ++k) position[order[k]] = k;
  for (int i = 0; i < n; ++i) {
    for (int k = graph.begin[i]; k < graph.begin[i + 1]; ++k) {
      earlier[i] += position[graph.neighbour[k]] < position[i];
    }
  }
  std::vector<int> missing = earlier, ready, groups;
  for (int i : order) {
    if (missing[i] == 0) ready.push_back(i);
  }
  while (!ready.empty()) {
    const int first = ready.front();
    auto unlike = [&](int i) {
      const int low = earlier[i] - earlier[first];
      const int high = graph.degree(i) - graph.degree(first) - low;
      return low * low + high * high;
    };
    const std::size_t start = groups.size();
    for (int lane = 0; lane < 4; ++lane) {
      if (ready.empty()) {
        groups.push_back(-1);
        continue;
      }
      const auto stop = ready.begin() + std::min<std::size_t>(ready.size(), kWindow);
      const auto best = std::min_element(ready.begin(), stop,
                                         [&](int a, int b) { return unlike(a) < unlike(b); });
      groups.push_back(*best);
      ready.erase(best);
    }
    const std::size_t fresh = ready.size();
    for (std::size_t g = start; g < start + 4; ++g) {
      const int i = groups[g];
      if (i < 0) continue;
      for (int k = graph.begin[i]; k < graph.begin[i + 1]; ++k) {
        const int j = graph.neighbour[k];
        if (position[j] > position[i] && --missing[j] == 0) ready.push_back(j);
      }
    }
    std::sort(ready.begin() + fresh, ready.end(),
              [&](int a, int b) { return position[a] < position[b]; });
  }
  return groups;
}

}  // namespace diffsim
