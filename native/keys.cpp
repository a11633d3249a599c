#include "keys.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {

Keys::Keys(ParameterTable& table, const std::string& name, const std::string& unit,
           const KeyValues& keys, int memory)
    : first_(table.size()),
      size_(static_cast<int>(keys.values.rows())),
      count_(static_cast<int>(keys.values.cols())),
      interval_(count_ > 1 ? keys.interval : 1) {
  if (count_ == 0) refuse(name, "must hold at least one key", 0);
  if (count_ > 1 && !(interval_ > 0 && std::isfinite(interval_))) {
    refuse(name + ": interval", "must be > 0 [s] where there are several keys", interval_);
  }
  for (int k = 0; k < count_; ++k) {
    const std::string key = name + "[" + std::to_string(k) + "]";
    if (size_ == 3) {
      table.add3(key, unit, keys.values.col(k), false);
    } else {
      table.add(key, unit, keys.values(0, k), -kInfinity, kInfinity);
    }
    const double begin = k > 0 ? (k - 1) * interval_ : -kInfinity;
    const double end = k + 1 < count_ ? (k + 1 + memory) * interval_ : kInfinity;
    for (int i = 0; i < size_; ++i) table.set_support(parameter(k) + i, begin, end);
  }
}

Keys::Piece Keys::at(double t) const {
  const double at = std::min(std::max(t / interval_, 0.), count_ - 1.);
  const int key = std::min(static_cast<int>(at), std::max(count_ - 2, 0));
  const int next = std::min(key + 1, count_ - 1);
  return {{parameter(key), parameter(next)}, {1 - (at - key), at - key}};
}

}  // namespace diffsim
