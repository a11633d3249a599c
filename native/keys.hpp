// A control given by keys over time, one parameter (or three) each.
//
// Linear between keys (every `interval` seconds), constant before the first and after the last.
#pragma once

#include "parameters.hpp"

namespace diffsim {

struct KeyValues {
  double interval;  // between keys [s]; not used by a single key
  MatrixXd values;  // (1 or 3, keys)
};

class Keys {
 public:
  Keys() = default;
  /// Adds name[k], or name[k].x .y .z, with their supports; refuses what holds no keys. `memory`:
  /// for how many intervals after its own a key is still asked for.
  Keys(ParameterTable& table, const std::string& name, const std::string& unit,
       const KeyValues& keys, int memory = 0);

  /// value = sum share_i p[first_i], i = 0, 1.
  struct Piece {
    int first[2];
    double share[2];
    double value(const VectorXd& p) const {
      return share[0] * p[first[0]] + share[1] * p[first[1]];
    }
    Vector3d value3(const VectorXd& p) const {
      return share[0] * p.segment<3>(first[0]) + share[1] * p.segment<3>(first[1]);
    }
  };
  Piece at(double t) const;
  /// Rate of three numbers just after t = 0, per second.
  Vector3d rate_at_start(const VectorXd& p) const {
    if (count_ < 2) return Vector3d::Zero();
    return (p.segment<3>(parameter(1)) - p.segment<3>(parameter(0))) / interval_;
  }
  int count() const { return count_; }
  int parameter(int key) const { return first_ + size_ * key; }  // its index, or its x's
  double interval() const { return count_ > 1 ? interval_ : kInfinity; }

 private:
  int first_ = 0, size_ = 1, count_ = 0;
  double interval_ = 1;
};

}  // namespace diffsim
