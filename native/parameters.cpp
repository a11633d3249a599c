#include "parameters.hpp"

#include <cmath>

namespace diffsim {
namespace {

void check_value(const ParameterInfo& info, double value) {
  if (std::isfinite(value) && value >= info.lower && value <= info.upper) return;
  std::ostringstream rule;
  rule << "must be finite and in [" << info.lower << ", " << info.upper << "] " << info.unit;
  refuse("parameter '" + info.name + "'", rule.str(), value);
}

}  // namespace

int ParameterTable::add(const std::string& name, const std::string& unit, double value,
                        double lower, double upper, bool initial) {
  if (has(name)) refuse("parameter", "names must be unique", "'" + name + "' twice");
  ParameterInfo info{name, unit, lower, upper, initial};
  check_value(info, value);
  index_[name] = size();
  info_.push_back(std::move(info));
  value_.push_back(value);
  return size() - 1;
}

int ParameterTable::add3(const std::string& name, const std::string& unit, const Vector3d& value,
                         bool initial) {
  const char* axis[] = {".x", ".y", ".z"};
  const int first = size();
  for (int i = 0; i < 3; ++i) {
    add(name + axis[i], unit, value[i], -kInfinity, kInfinity, initial);
  }
  return first;
}

void ParameterTable::assign(int index, double value) {
  check_value(info_[index], value);
  set(index, value);
}

void ParameterTable::check(const VectorXd& p) const {
  if (p.size() != size()) {
    refuse("parameter vector", "must have " + std::to_string(size()) + " entries", p.size());
  }
  for (int i = 0; i < size(); ++i) check_value(info_[i], p[i]);
}

int ParameterTable::index(const std::string& name) const { return index_.at(name); }

VectorXd ParameterTable::values() const {
  return VectorXd::Map(value_.data(), static_cast<Eigen::Index>(value_.size()));
}

}  // namespace diffsim
