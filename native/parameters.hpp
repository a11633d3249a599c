// The parameter vector p: every physical number of a scene is one named entry of it.
#pragma once

#include <limits>
#include <string>
#include <unordered_map>
#include <vector>

#include "math.hpp"

namespace diffsim {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

struct ParameterInfo {
  std::string name, unit;
  double lower, upper;                         // physical bounds (not an optimiser's)
  bool initial;                                // support: true = acts on the start state only
  double begin = -kInfinity, end = kInfinity;  // else: in steps that end in this span [s]
};

class ParameterTable {
 public:
  /// Adds one entry; refuses a name already taken and a value outside [lower, upper].
  int add(const std::string& name, const std::string& unit, double value, double lower,
          double upper, bool initial = false);
  /// Adds name.x, name.y, name.z; returns the index of the first.
  int add3(const std::string& name, const std::string& unit, const Vector3d& value, bool initial);

  void set(int index, double value) { value_[index] = value; }
  /// As `set`, for values from outside: refuses one that is not finite or out of bounds.
  void assign(int index, double value);
  /// Restricts a parameter to steps that end in [begin, end] seconds.
  void set_support(int index, double begin, double end) {
    info_[index].begin = begin;
    info_[index].end = end;
  }
  /// Refuses a vector of the wrong length, a non-finite entry, or one outside its bounds.
  void check(const VectorXd& p) const;
  int index(const std::string& name) const;  // throws std::out_of_range
  bool has(const std::string& name) const { return index_.count(name) > 0; }
  int size() const { return static_cast<int>(info_.size()); }

  const std::vector<ParameterInfo>& info() const { return info_; }
  VectorXd values() const;

 private:
  std::vector<ParameterInfo> info_;
  std::vector<double> value_;
  std::unordered_map<std::string, int> index_;
};

}  // namespace diffsim
