// Dense kernels of the multifrontal LU on column-major blocks.
#pragma once

#include <Eigen/Dense>

namespace diffsim {

/// LU of the first p of n rows of an n x p panel, the other rows divided along: on return unit
/// lower L and U in the first p rows, F21 U^-1 below. Row k was swapped with swap[k] >= k; rows are
/// sought among the first p only. False when a pivot vanishes or is not finite.
template <class S>
bool factor_panel(S* panel, int n, int p, int* swap);

/// c (m x n) -= a (m x k) b (k x n), leading dimensions lda, ldb, ldc.
template <class S>
void subtract_product(const S* a, int lda, const S* b, int ldb, S* c, int ldc, int m, int k, int n);

/// b (p x count) <- L^-1 b with the unit lower triangle of `a`.
template <class S>
void solve_unit_lower(const S* a, int lda, int p, S* b, int ldb, int count);

template <class S>
void swap_rows(S* b, Eigen::Index ldb, Eigen::Index count, const int* swap, int p) {
  for (Eigen::Index c = 0; c < count; ++c, b += ldb) {
    for (int k = 0; k < p; ++k) std::swap(b[k], b[swap[k]]);
  }
}

template <class S>
void swap_rows_back(S* b, Eigen::Index ldb, Eigen::Index count, const int* swap, int p) {
  for (Eigen::Index c = 0; c < count; ++c, b += ldb) {
    for (int k = p - 1; k >= 0; --k) std::swap(b[k], b[swap[k]]);
  }
}

}  // namespace diffsim
