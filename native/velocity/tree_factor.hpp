// Cholesky factor M = L^T L of a mass matrix whose coordinates form a tree: L has no entries but
// those of a coordinate and what it is carried by, as M [Featherstone 2008, 6.5].
#pragma once

#include <algorithm>
#include <vector>

#include "../math.hpp"

namespace diffsim {

class TreeFactor {
 public:
  /// parent: the coordinate before each, which has a smaller number, -1: none.
  void set_pattern(const std::vector<int>& parent);
  int size() const { return n_; }

  /// M to be factored: its lower triangle, of coordinates carried by others.
  void set_zero() { std::fill(values_.begin(), values_.end(), 0.); }
  double& entry(int row, int column) { return values_[row * n_ + column]; }
  /// False where M is not positive definite.
  bool factor();

  /// x <- L^-T x, and x <- L^-1 x: both, in this order, are M^-1.
  void solve_transposed(double* x) const;
  void solve_lower(double* x) const;
  void solve(double* x) const {
    solve_transposed(x);
    solve_lower(x);
  }
  void solve(MatrixXd& rows) const {
    for (Eigen::Index c = 0; c < rows.cols(); ++c) solve(rows.col(c).data());
  }

 private:
  struct Run {  // of coordinates with numbers in a row
    int begin, end;
  };
  template <class F>
  void each_run(int row, F&& f) const {
    for (int r = first_[row]; r < first_[row + 1]; ++r) f(runs_[r]);
  }

  int n_ = 0;
  std::vector<int> first_;     // of each row's runs
  std::vector<Run> runs_;      // what carries a row, the last first
  std::vector<double> values_;  // by rows; of L, but for its diagonal
  std::vector<double> inverse_;  // of that
};

}  // namespace diffsim
