// dr/dp for the active parameters, as a list: a parameter of one element touches a few nodes, and
// there may be thousands of such parameters.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include "math.hpp"

namespace diffsim {

class ParameterColumns {
 public:
  struct Entry {  // entries of one place add up
    int row;      // first of three rows of r: a node's force or torque
    int column;
    Vector3d value;
  };

  /// column_of: parameter -> column, -1 when not active (never evaluated then). memory: any list,
  /// to be used again.
  explicit ParameterColumns(const std::vector<int>& column_of, std::vector<Entry> memory = {})
      : column_of_(&column_of), entries_(std::move(memory)) {
    entries_.clear();
  }
  int column(int parameter) const { return parameter < 0 ? -1 : (*column_of_)[parameter]; }
  const std::vector<Entry>& entries() const { return entries_; }

  void add(int row, int column, const Vector3d& value) { entries_.push_back({row, column, value}); }
  /// A whole column (ndof).
  void add(int column, const VectorXd& values) {
    const int last = static_cast<int>(values.size()) - 3;
    for (int row = 0; row < values.size(); row += 3) {
      const int shift = std::max(0, row - last);  // of the last three rows, what is new
      Vector3d value = values.segment<3>(row - shift);
      value.head(shift).setZero();
      if (!value.isZero(0)) add(row - shift, column, value);
    }
  }
  /// Forgets what `size` rows from `row` on have got.
  void clear(int row, int size) {
    const auto gone = [&](Entry& e) {
      for (int i = 0; i < 3; ++i) {
        if (row <= e.row + i && e.row + i < row + size) e.value[i] = 0;
      }
      return e.value.isZero(0);
    };
    entries_.erase(std::remove_if(entries_.begin(), entries_.end(), gone), entries_.end());
  }

  std::vector<Entry> take() { return std::move(entries_); }

 private:
  const std::vector<int>* column_of_;
  std::vector<Entry> entries_;
};

}  // namespace diffsim
