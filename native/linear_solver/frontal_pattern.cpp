#include "frontal_pattern.hpp"

#include <algorithm>
#include <map>

#include "nested_dissection.hpp"

namespace diffsim {
namespace {

using Run = FrontalPattern::Run;

/// A set of nodes eliminated together, before they are numbered.
struct Supernode {
  std::vector<int> pivots, updates;  // nodes, ascending in the initial order
  std::vector<int> children;
  int pivot_size = 0, update_size = 0;  // degrees of freedom
  double zeros = 0;                     // entries of the panel that merging made for nothing
  bool merged = false;
};

// One supernode per node, with the fill of its column; `position` is the initial order.
std::vector<Supernode> eliminate(const Graph& graph, const std::vector<int>& order,
                                 const std::vector<int>& position, const std::vector<int>& size) {
  std::vector<Supernode> super(graph.nodes());
  for (int k = 0; k < graph.nodes(); ++k) {
    Supernode& s = super[k];
    const int i = order[k];
    s.pivots = {k};
    std::vector<int> fill;
    for (int n = graph.begin[i]; n < graph.begin[i + 1]; ++n) {
      const int j = position[graph.neighbour[n]];
      if (j > k) fill.push_back(j);
    }
    for (int c : s.children) {
      fill.insert(fill.end(), super[c].updates.begin() + 1, super[c].updates.end());
    }
    std::sort(fill.begin(), fill.end());
    fill.erase(std::unique(fill.begin(), fill.end()), fill.end());
    s.updates = std::move(fill);
    s.pivot_size = size[i];
    for (int j : s.updates) s.update_size += size[order[j]];
    if (!s.updates.empty()) super[s.updates.front()].children.push_back(k);
  }
  return super;
}

// Whether a panel of that many pivots may hold that share of zeros: narrow panels waste more time
// in calls than zeros cost.
bool tolerable(int pivots, double share) {
  if (pivots <= 12) return true;
  if (pivots <= 48) return share < 0.5;
  if (pivots <= 96) return share < 0.12;
  return share < 0.05;
}

// Takes children into their parent where that pays, the cheapest first.
void amalgamate(std::vector<Supernode>& super) {
  for (Supernode& p : super) {
    for (bool changed = true; changed;) {
      changed = false;
      int best = -1;
      double least = 0;
      for (int c : p.children) {
        const Supernode& s = super[c];
        const double fresh =
            2. * s.pivot_size * (p.pivot_size + p.update_size - s.update_size);
        const double zeros = s.zeros + p.zeros + fresh;
        const double pivots = s.pivot_size + p.pivot_size;
        const double share = zeros / (pivots * (pivots + 2. * p.update_size));
        if (!tolerable(s.pivot_size + p.pivot_size, share)) continue;
        if (best < 0 || zeros < least) {
          best = c;
          least = zeros;
        }
      }
      if (best < 0) break;
      Supernode& s = super[best];
      p.pivots.insert(p.pivots.begin(), s.pivots.begin(), s.pivots.end());
      p.pivot_size += s.pivot_size;
      p.zeros = least;
      p.children.erase(std::find(p.children.begin(), p.children.end(), best));
      p.children.insert(p.children.end(), s.children.begin(), s.children.end());
      s.merged = changed = true;
    }
  }
}

void append(std::vector<Run>& runs, int from, int to, int length, bool may_join = true) {
  if (!runs.empty() && may_join) {
    Run& last = runs.back();
    if (last.from + last.length == from && last.to + last.length == to) {
      last.length += length;
      return;
    }
  }
  runs.push_back({from, to, length});
}

// Children before parents; the child with the largest F22 first, which keeps the work space small.
std::vector<int> postorder(const std::vector<Supernode>& super) {
  std::vector<int> out, stack;
  std::vector<char> opened(super.size(), 0), child(super.size(), 0);
  for (const Supernode& s : super) {
    if (s.merged) continue;
    for (int c : s.children) child[c] = 1;
  }
  for (int root = static_cast<int>(super.size()) - 1; root >= 0; --root) {
    if (!super[root].merged && !child[root]) stack.push_back(root);
  }
  while (!stack.empty()) {
    const int s = stack.back();
    if (opened[s]) {
      out.push_back(s);
      stack.pop_back();
      continue;
    }
    opened[s] = 1;
    std::vector<int> children = super[s].children;
    std::stable_sort(children.begin(), children.end(), [&](int a, int b) {
      return super[a].update_size < super[b].update_size;
    });
    stack.insert(stack.end(), children.begin(), children.end());
  }
  return out;
}

/// First-fit places in the work space for F22 blocks, which live from their front to its parent.
class WorkSpace {
 public:
  int take(int length) {
    int at = 0;
    auto next = used_.begin();
    for (; next != used_.end() && next->first < at + length; ++next) at = next->second;
    if (length > 0) used_.emplace(at, at + length);
    size = std::max(size, at + length);
    return at;
  }
  void give_back(int at, int length) {
    if (length > 0) used_.erase(at);
  }
  int size = 0;

 private:
  std::map<int, int> used_;  // start -> end
};

}  // namespace

FrontalPattern::FrontalPattern(const BlockPattern& pattern) : ndof(pattern.ndof) {
  const int n = pattern.nodes();
  std::vector<std::pair<int, int>> pairs;
  for (int b = 0; b < pattern.blocks(); ++b) {
    if (pattern.row[b] != pattern.col[b]) pairs.emplace_back(pattern.row[b], pattern.col[b]);
  }
  const Graph graph = make_graph(n, std::move(pairs));
  const std::vector<int> initial = elimination_order(graph, pattern.size);
  std::vector<int> position(n);
  for (int k = 0; k < n; ++k) position[initial[k]] = k;
  std::vector<Supernode> super = eliminate(graph, initial, position, pattern.size);
  amalgamate(super);
  const std::vector<int> sequence = postorder(super);

  std::vector<int> dof(n), owner(n), front_of(n);  // by initial position
  int next = 0;
  for (int s : sequence) {
    Front front{};
    front.first = next;
    for (int k : super[s].pivots) {
      const int i = initial[k];
      dof[k] = next;
      owner[k] = static_cast<int>(fronts.size());
      append(order, pattern.dof[i], next, pattern.size[i]);
      next += pattern.size[i];
    }
    front_of[s] = static_cast<int>(fronts.size());
    front.pivots = super[s].pivot_size;
    front.updates = super[s].update_size;
    for (int c : super[s].children) front.children.push_back(front_of[c]);
    fronts.push_back(std::move(front));
  }
  std::sort(order.begin(), order.end(), [](const Run& a, const Run& b) { return a.from < b.from; });

  // Updates of every front in elimination order, so that those of a parent keep their sequence.
  std::vector<std::vector<int>> updates(fronts.size());
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    updates[f] = super[sequence[f]].updates;
    std::sort(updates[f].begin(), updates[f].end(), [&](int a, int b) { return dof[a] < dof[b]; });
  }
  std::vector<int> local(n, -1);
  WorkSpace space;
  for (std::size_t f = 0; f < fronts.size(); ++f) {
    Front& front = fronts[f];
    front.panel = values;
    front.upper = values + (front.pivots + front.updates) * front.pivots;
    values = front.upper + front.pivots * front.updates;
    widest = std::max(widest, front.pivots + front.updates);
    int at = front.pivots;
    for (int k : super[sequence[f]].pivots) local[k] = dof[k] - front.first;
    for (int k : updates[f]) {
      local[k] = at;
      append(front.rows, at - front.pivots, dof[k], pattern.size[initial[k]]);
      at += pattern.size[initial[k]];
    }
    front.contribution = space.take(front.updates * front.updates);
    for (int c : front.children) {
      int from = 0;
      for (int k : updates[c]) {
        append(fronts[c].to_parent, from, local[k], pattern.size[initial[k]],
               local[k] != front.pivots);
        from += pattern.size[initial[k]];
      }
      space.give_back(fronts[c].contribution, fronts[c].updates * fronts[c].updates);
    }
    for (int k : super[sequence[f]].pivots) {
      auto enter = [&](int row, int col, int block) {
        const int r = local[row], c = local[col], p = front.pivots, ld = p + front.updates;
        const bool in_panel = c < p;
        front.entries.push_back({pattern.offset[block], pattern.size[pattern.row[block]],
                                 in_panel ? front.panel + c * ld + r
                                          : front.upper + (c - p) * p + r,
                                 in_panel ? ld : p, pattern.size[pattern.col[block]]});
      };
      const int i = initial[k];
      enter(k, k, i);
      for (int e = graph.begin[i]; e < graph.begin[i + 1]; ++e) {
        const int j = graph.neighbour[e], m = position[j];
        if (dof[m] < dof[k]) continue;  // entered with the earlier of the two
        enter(k, m, pattern.index(i, j));
        enter(m, k, pattern.index(j, i));
      }
    }
  }
  work = space.size;
}

}  // namespace diffsim
