#include "sdf.hpp"

namespace diffsim {

SdfSample Sdf::slopes(const Vector3d& x, const double* sizes, SizeSlope*) const {
  thread_local std::vector<SdfSample> found;
  evaluate(x, sizes, found);
  return found[0];
}

void Sdf::add_size(const std::string& name, double value, double lower) {
  sizes_.push_back({name, value, std::min(lower, value)});
  own_.push_back(value);
}

void Sdf::add_sizes(const std::string& prefix, const Sdf& member) {
  for (const SdfSize& size : member.sizes()) {
    add_size(prefix + "." + size.name, size.value, size.lower);
  }
}

}  // namespace diffsim
