#include "support.hpp"

#include <algorithm>
#include <numeric>

namespace diffsim {
namespace {

// Times are sums of steps; a support's end met but for rounding is met.
constexpr double kSlack = 1e-9;

}  // namespace

ActiveColumns::ActiveColumns(const ParameterTable& table, const std::vector<int>& active)
    : active_(active), all_(table.size(), -1), order_(active.size()), column_of_(table.size(), -1) {
  for (int c = 0; c < size(); ++c) {
    if (active[c] < 0 || active[c] >= table.size() || all_[active[c]] >= 0) {
      refuse("active parameters", "must be distinct indices below " + std::to_string(table.size()),
             active[c]);
    }
    all_[active[c]] = c;
  }
  const auto& info = table.info();
  std::iota(order_.begin(), order_.end(), 0);
  std::stable_sort(order_.begin(), order_.end(),
                   [&](int a, int b) { return info[active[a]].begin < info[active[b]].begin; });
  for (int place = 0; place < size(); ++place) {
    const int parameter = active[order_[place]];
    const ParameterInfo& i = info[parameter];
    begin_.push_back(i.begin);
    if (i.initial) continue;
    if (i.begin > -kInfinity || i.end < kInfinity) {
      windowed_.push_back({parameter, place, i.begin, i.end});
      continue;
    }
    column_of_[parameter] = static_cast<int>(columns_.size());
    columns_.push_back(place);
  }
  steady_ = columns_.size();
}

void ActiveColumns::select(double t) {
  columns_.resize(steady_);
  for (const Windowed& w : windowed_) {
    const bool acts = t >= w.begin - kSlack && t <= w.end + kSlack;
    column_of_[w.parameter] = acts ? static_cast<int>(columns_.size()) : -1;
    if (acts) columns_.push_back(w.place);
  }
}

int ActiveColumns::begun(double t) const {
  return static_cast<int>(std::upper_bound(begin_.begin(), begin_.end(), t + kSlack) -
                          begin_.begin());
}

}  // namespace diffsim
