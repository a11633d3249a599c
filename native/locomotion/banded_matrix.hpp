// The Hessian of a plan: symmetric, blocks of samples that are at most two apart, around the end of
// a periodic motion too, and the travel that all of them may depend on.
#pragma once

#include <vector>

#include "../math.hpp"

namespace diffsim {

class BandedMatrix {
 public:
  /// sizes: unknowns of every sample; travel: further ones; periodic: the first samples follow the
  /// last.
  BandedMatrix(std::vector<int> sizes, int travel, bool periodic);

  int size() const { return static_cast<int>(start_.back()) + travel_; }
  void set_zero();
  /// Adds a^T b to the rows from `row` and columns from `column` on, and to their mirror image;
  /// each range lies within one sample or the travel, and they are equal or do not meet. Refused:
  /// samples farther apart.
  template <class A, class B>
  void add(int row, int column, const A& a, const B& b) {
    if (row < column) {
      block(column, row, static_cast<int>(b.cols()), static_cast<int>(a.cols())).noalias() +=
          b.transpose() * a;
    } else {
      block(row, column, static_cast<int>(a.cols()), static_cast<int>(b.cols())).noalias() +=
          a.transpose() * b;
    }
  }
  /// Cholesky of this plus `damping` on the diagonal; false where that is not positive definite.
  bool factor(double damping);
  void solve(VectorXd& x) const;  // after factor()
  MatrixXd dense() const;

 private:
  // Lower triangle in the order of elimination: samples of the chain, then the border (of periodic
  // motions the last two samples and the travel). A chain sample has one block of rows: its own,
  // those of the next two of the chain, the border's.
  struct Column {
    MatrixXd lower;  // (own + next two + border, own)
    int rows[4];     // where own, next, second and border begin
  };
  Eigen::Block<MatrixXd> block(int row, int column, int rows, int columns);

  std::vector<int> sizes_;
  std::vector<int> start_, sample_;
  int travel_, chain_, border_at_, border_ = 0;
  bool periodic_;
  std::vector<Column> columns_, factor_;
  MatrixXd corner_, corner_factor_;
};

}  // namespace diffsim
