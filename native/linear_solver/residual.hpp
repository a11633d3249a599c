// r = b - A x in double precision, for one right-hand side or for eight at once.
#pragma once

#include "sweep_pattern.hpp"

namespace diffsim {

class Residual {
 public:
  /// r -= A x, or A^T x, for all columns.
  void subtract_product(const SweepPattern& pattern, const VectorXd& values, bool transposed,
                        const MatrixXd& x, MatrixXd& r);

 private:
  void pack(const SweepPattern& pattern, const MatrixXd& x, Eigen::Index first, int columns,
            int places);
  template <bool transposed>
  void one(const SweepPattern& pattern, const double* values, double* r);
  template <bool transposed>
  void eight(const SweepPattern& pattern, const double* values, int columns, Eigen::Index ld,
             double* r);

  VectorXd x_;  // by slot
};

}  // namespace diffsim
