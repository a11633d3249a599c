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
  /// Adds to entry (row, column) and its mirror image (once on the diagonal). Refused: samples
  /// farther apart.
  void add(int row, int column, double value);
  double diagonal(int i) const;
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
  int sample_of(int i) const { return sample_[i]; }

  std::vector<int> sizes_;
  std::vector<int> start_, sample_;
  int travel_, chain_, border_at_, border_ = 0;
  bool periodic_;
  std::vector<Column> columns_, factor_;
  MatrixXd corner_, corner_factor_;
};

}  // namespace diffsim
