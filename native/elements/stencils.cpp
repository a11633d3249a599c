#include "stencils.hpp"

#include <algorithm>
#include <numeric>

namespace diffsim {

Stencils::Stencils(std::vector<StencilSpec> specs)
    : points_(specs.empty() ? 0 : static_cast<int>(specs[0].weight.size())) {
  // Stencils of like size share a batch; then by place, for the memory's sake.
  std::stable_sort(specs.begin(), specs.end(), [](const StencilSpec& a, const StencilSpec& b) {
    if (a.point.size() != b.point.size()) return a.point.size() < b.point.size();
    return *std::min_element(a.point.begin(), a.point.end()) <
           *std::min_element(b.point.begin(), b.point.end());
  });
  for (std::size_t begin = 0; begin < specs.size(); begin += kLanes) {
    std::vector<const StencilSpec*> lanes;
    for (std::size_t k = begin; k < std::min(begin + kLanes, specs.size()); ++k) {
      lanes.push_back(&specs[k]);
    }
    append(lanes);
  }
}

void Stencils::append(const std::vector<const StencilSpec*>& lanes) {
  Batch b;
  b.lanes = static_cast<int>(lanes.size());
  b.nodes = static_cast<int>(lanes.back()->point.size());  // the largest
  b.at = static_cast<int>(at_.size());
  b.gradient = static_cast<int>(gradient_.size());
  b.weight = static_cast<int>(weight_.size());
  b.pair = 0;
  at_.resize(at_.size() + b.nodes);
  gradient_.resize(gradient_.size() + b.nodes * points_, zero3());
  weight_.resize(weight_.size() + points_);
  for (int lane = 0; lane < kLanes; ++lane) {
    const StencilSpec& spec = *lanes[std::min(lane, b.lanes - 1)];
    const int n = static_cast<int>(spec.point.size());
    std::vector<int> order(n);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(),
              [&](int i, int j) { return spec.point[i] < spec.point[j]; });
    b.element[lane] = spec.element;
    for (int a = 0; a < b.nodes; ++a) {
      // Padding repeats the last node, with no gradient.
      at_[b.at + a][lane] = 3 * spec.point[order[std::min(a, n - 1)]];
      for (int q = 0; q < points_ && a < n; ++q) {
        for (int i = 0; i < 3; ++i) {
          gradient_[b.gradient + q * b.nodes + a][i][lane] = spec.gradient[q](i, order[a]);
        }
      }
    }
    for (int q = 0; q < points_; ++q) weight_[b.weight + q].value[lane] = spec.weight[q];
  }
  batch_.push_back(b);
}

void Stencils::append_pairs(std::vector<std::pair<int, int>>& pairs) const {
  for (const Batch& b : batch_) {
    for (int lane = 0; lane < b.lanes; ++lane) {
      for (int a = 0; a < b.nodes; ++a) {
        for (int c = a + 1; c < b.nodes; ++c) {
          const int i = at_[b.at + a][lane] / 3, j = at_[b.at + c][lane] / 3;
          if (i != j) pairs.emplace_back(i, j);
        }
      }
    }
  }
}

void Stencils::bind(const EdgeBlocks& edges) {
  pair_.clear();
  for (Batch& b : batch_) {
    b.pair = static_cast<int>(pair_.size());
    for (int a = 0; a < b.nodes; ++a) {
      for (int c = a + 1; c < b.nodes; ++c) {
        pair_.emplace_back();
        for (int lane = 0; lane < kLanes; ++lane) {
          const int i = at_[b.at + a][lane] / 3, j = at_[b.at + c][lane] / 3;
          pair_.back()[lane] = i == j ? 0 : edges.find(i, j);  // padding adds zero anywhere
        }
      }
    }
  }
}

void Stencils::gather_nodes(const double* from, const Batch& b, Wide3* to) const {
  for (int a = 0; a < b.nodes; ++a) to[a] = gather3(from, at_[b.at + a].data());
}

}  // namespace diffsim
