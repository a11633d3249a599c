#include "point_shape.hpp"

#include <numeric>

namespace diffsim {

std::vector<int> chosen_points(const std::string& place, const PointSet& set,
                               const std::vector<int>& index, bool world) {
  std::vector<int> chosen = index;
  if (chosen.empty()) {
    chosen.resize(set.size());
    std::iota(chosen.begin(), chosen.end(), 0);
  }
  for (int i : chosen) {
    if (i < 0 || i >= set.size()) {
      refuse(place + ": point index", "must be in [0, " + std::to_string(set.size() - 1) + "]", i);
    }
    if (!world && set.node[i] < 0) {
      refuse(place + ": point", "must be on a body", "point " + std::to_string(i) + " of the world",
             "name the points on bodies by index");
    }
  }
  return chosen;
}

}  // namespace diffsim
