// Cholesky factor M = L^T L of a mass matrix whose coordinates form a tree: L has no entries but
// those of a coordinate and what carries it, as M [Featherstone 2008, 6.5].
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

  /// M to be factored: its lower triangle, of coordinates and what carries them.
  void set_zero() { std::fill(values_.begin(), values_.end(), 0.); }
  double& entry(int row, int column) { return values_[first_[row] + depth(column)]; }
  /// False where M is not positive definite.
  bool factor();

  /// x . M x.
  double square(const double* x) const;
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
  // A row has what carries it from the root on, then itself: rows of what carries it begin alike.
  int depth(int row) const { return first_[row + 1] - first_[row] - 1; }

  int n_ = 0;
  std::vector<int> first_;                // of a row's entries
  std::vector<int> column_;               // of an entry
  std::vector<double> values_, inverse_;  // of L; of its diagonal
};

}  // namespace diffsim
