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
  if (pivots <= 24) return share < 0.3;
  if (pivots <= 64) return share < 0.08;
  return share < 0.03;
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
        const double fresh = 2. * s.pivot_size * (p.pivot_size + p.update_size - s.update_size);
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
    std::stable_sort(children.begin(), children.end(),
                     [&](int a, int b) { return super[a].update_size < super[b].update_size; });
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

/// Numbers supernodes and their unknowns, then finds the places of everything that meets in a
/// front.
class Builder {
 public:
  Builder(const BlockPattern& pattern, FrontalPattern& out) : pattern_(pattern), out_(out) {
    const int n = pattern.nodes();
    std::vector<std::pair<int, int>> pairs;
    for (int b = n; b < pattern.blocks(); ++b) pairs.emplace_back(pattern.row[b], pattern.col[b]);
    graph_ = make_graph(n, std::move(pairs));
    initial_ = elimination_order(graph_, pattern.size);
    // Multipliers are pivots only once all that they couple with is gone.
    std::vector<bool> last(n, false);
    for (int i : pattern.multipliers) last[i] = true;
    std::stable_partition(initial_.begin(), initial_.end(), [&](int i) { return !last[i]; });
    position_.resize(n);
    for (int k = 0; k < n; ++k) position_[initial_[k]] = k;
    super_ = eliminate(graph_, initial_, position_, pattern.size);
    amalgamate(super_);
    sequence_ = postorder(super_);
    dof_.resize(n);
    local_.resize(n);
  }

  void build() {
    number();
    WorkSpace space;
    for (std::size_t f = 0; f < out_.fronts.size(); ++f) {
      place(f, space);
      for (int k : super_[sequence_[f]].pivots) enter(out_.fronts[f], k);
    }
    out_.work = space.size;
  }

 private:
  int size(int k) const { return pattern_.size[initial_[k]]; }

  // Elimination order of the unknowns, and the fronts with their children.
  void number() {
    std::vector<int> front_of(pattern_.nodes());
    int next = 0;
    for (int s : sequence_) {
      FrontalPattern::Front front{};
      front.first = next;
      front.pivots = super_[s].pivot_size;
      front.updates = super_[s].update_size;
      for (int k : super_[s].pivots) {
        dof_[k] = next;
        append(out_.order, pattern_.dof[initial_[k]], next, size(k));
        next += size(k);
      }
      for (int c : super_[s].children) front.children.push_back(front_of[c]);
      front_of[s] = static_cast<int>(out_.fronts.size());
      out_.fronts.push_back(std::move(front));
    }
    std::sort(out_.order.begin(), out_.order.end(),
              [](const Run& a, const Run& b) { return a.from < b.from; });
    // In elimination order, so that a child's updates keep their sequence in the parent.
    for (int s : sequence_) {
      updates_.push_back(super_[s].updates);
      std::sort(updates_.back().begin(), updates_.back().end(),
                [&](int a, int b) { return dof_[a] < dof_[b]; });
    }
  }

  // Room for factor and F22, and where the children's F22 go.
  void place(std::size_t f, WorkSpace& space) {
    FrontalPattern::Front& front = out_.fronts[f];
    const int p = front.pivots, u = front.updates;
    front.panel = out_.values;
    front.upper = front.panel + (p + u) * p;
    out_.values = front.upper + p * u;
    out_.widest = std::max(out_.widest, p + u);
    for (int k : super_[sequence_[f]].pivots) local_[k] = dof_[k] - front.first;
    int at = p;
    for (int k : updates_[f]) {
      local_[k] = at;
      append(front.rows, at - p, dof_[k], size(k));
      at += size(k);
    }
    front.contribution = space.take(u * u);
    for (int child : front.children) {
      FrontalPattern::Front& c = out_.fronts[child];
      int from = 0;
      for (int k : updates_[child]) {  // a run lies either in the pivots or in the updates
        append(c.to_parent, from, local_[k], size(k), local_[k] != p);
        from += size(k);
      }
      space.give_back(c.contribution, c.updates * c.updates);
    }
  }

  // Blocks of pivot node k with itself and with later nodes.
  void enter(FrontalPattern::Front& front, int k) {
    const int p = front.pivots, ld = p + front.updates;
    auto add = [&](int row, int col, int block) {
      const int r = local_[row], c = local_[col];
      const bool in_panel = c < p;
      front.entries.push_back({pattern_.offset[block], size(row),
                               in_panel ? front.panel + c * ld + r : front.upper + (c - p) * p + r,
                               in_panel ? ld : p, size(col)});
    };
    const int i = initial_[k];
    add(k, k, i);
    for (int e = graph_.begin[i]; e < graph_.begin[i + 1]; ++e) {
      const int j = graph_.neighbour[e], m = position_[j];
      if (dof_[m] < dof_[k]) continue;  // entered with the earlier of the two
      add(k, m, pattern_.index(i, j));
      add(m, k, pattern_.index(j, i));
    }
  }

  const BlockPattern& pattern_;
  FrontalPattern& out_;
  Graph graph_;
  std::vector<int> initial_, position_;  // first order of the nodes; everything below is by place
  std::vector<Supernode> super_;
  std::vector<int> sequence_;              // of supernodes
  std::vector<std::vector<int>> updates_;  // per front
  std::vector<int> dof_, local_;           // in elimination order; in the front at hand
};

}  // namespace

FrontalPattern::FrontalPattern(const BlockPattern& pattern) : ndof(pattern.ndof) {
  Builder(pattern, *this).build();
}

}  // namespace diffsim
