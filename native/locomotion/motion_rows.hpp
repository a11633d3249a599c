// Rows of one constraint or objective at one place of a plan, with their derivatives by the few
// unknowns that they depend on.
#pragma once

#include <utility>
#include <vector>

#include "../math.hpp"

namespace diffsim {

class MotionRows {
 public:
  static constexpr int kRows = 6;

  explicit MotionRows(int columns) : J_(kRows, columns) {}

  void begin(int rows, bool slopes) {
    value = Eigen::Matrix<double, kRows, 1>::Zero();
    rows_ = rows;
    slopes_ = slopes;
    used_ = 0;
    blocks_.clear();
  }
  int rows() const { return rows_; }
  bool slopes() const { return slopes_; }

  /// Adds J (rows, size) to the derivative by unknowns from `at` on.
  template <class Matrix>
  void by(int at, const Matrix& J) {
    if (!slopes_) return;
    const int size = static_cast<int>(J.cols());
    for (const Block& one : blocks_) {
      if (one.at == at && one.size == size) {
        J_.block(0, one.column, rows_, size) += J;
        return;
      }
    }
    J_.block(0, used_, rows_, size) = J;
    blocks_.push_back({at, used_, size});
    used_ += size;
  }
  void by(int at, double slope) { by(at, Eigen::Matrix<double, 1, 1>(slope)); }

  struct Block {
    int at, column, size;
  };
  const std::vector<Block>& blocks() const { return blocks_; }
  int columns() const { return used_; }
  auto J() const { return J_.topLeftCorner(rows_, used_); }

  Eigen::Matrix<double, kRows, 1> value;

 private:
  Eigen::Matrix<double, kRows, Eigen::Dynamic> J_;
  std::vector<Block> blocks_;
  int rows_ = 0, used_ = 0;
  bool slopes_ = false;
};

}  // namespace diffsim
