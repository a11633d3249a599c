// Which active parameters act in a step: columns of dr/dp are made for those alone, so that many
// controls with short supports over many steps stay sparse.
#pragma once

#include <vector>

#include "parameters.hpp"

namespace diffsim {

class ActiveColumns {
 public:
  /// active: parameter indices, in the caller's order; refuses repeats and unknown ones.
  ActiveColumns(const ParameterTable& table, const std::vector<int>& active);

  int size() const { return static_cast<int>(active_.size()); }
  /// Parameter -> column of S in the caller's order, -1 when not active.
  const std::vector<int>& all() const { return all_; }

  /// Chooses the parameters that act in a step ending at t [s].
  void select(double t);
  const std::vector<int>& column_of() const { return column_of_; }  // parameter -> column of dr/dp
  const std::vector<int>& columns() const { return columns_; }      // column of dr/dp -> place in S

  /// S is held with columns by the beginning of their supports: at t the first `begun(t)` only
  /// differ from zero. `order[place]` is the caller's column.
  int begun(double t) const;
  const std::vector<int>& order() const { return order_; }

 private:
  struct Windowed {
    int parameter, place;
    double begin, end;
  };
  std::vector<int> active_, all_, order_, column_of_, columns_;
  std::vector<double> begin_;  // per place in S, ascending
  std::vector<Windowed> windowed_;
  std::size_t steady_ = 0;  // columns of dr/dp that every step has
};

}  // namespace diffsim
