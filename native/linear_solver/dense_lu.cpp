#include "dense_lu.hpp"

#include <cmath>

namespace diffsim {
namespace {

using Eigen::OuterStride;

template <class S>
using Dense = Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>;
template <class S>
using View = Eigen::Map<Dense<S>, 0, OuterStride<>>;
template <class S>
using ConstView = Eigen::Map<const Dense<S>, 0, OuterStride<>>;

constexpr int kBlock = 12;  // columns eliminated one by one before the rest is brought up to date

}  // namespace

template <class S>
bool factor_panel(S* panel, int n, int p, int* swap) {
  for (int first = 0; first < p; first += kBlock) {
    const int stop = std::min(first + kBlock, p);
    for (int k = first; k < stop; ++k) {
      S* column = panel + k * n;
      int pivot = k;
      for (int i = k + 1; i < p; ++i) {
        if (std::abs(column[i]) > std::abs(column[pivot])) pivot = i;
      }
      const S value = column[pivot];
      if (!(std::abs(value) > S(1e-30)) || !std::isfinite(value)) return false;
      swap[k] = pivot;
      if (pivot != k) {
        for (int j = 0; j < p; ++j) std::swap(panel[j * n + k], panel[j * n + pivot]);
      }
      const S scale = 1 / value;
      for (int i = k + 1; i < n; ++i) column[i] *= scale;
      for (int j = k + 1; j < stop; ++j) {
        S* other = panel + j * n;
        const S factor = other[k];
        for (int i = k + 1; i < n; ++i) other[i] -= factor * column[i];
      }
    }
    if (stop == p) break;
    S* rest = panel + stop * n;
    solve_unit_lower(panel + first * n + first, n, stop - first, rest + first, n, p - stop);
    subtract_product(panel + first * n + stop, n, rest + first, n, rest + stop, n, n - stop,
                     stop - first, p - stop);
  }
  return true;
}

template <class S>
void subtract_product(const S* a, int lda, const S* b, int ldb, S* c, int ldc, int m, int k,
                      int n) {
  const ConstView<S> A(a, m, k, OuterStride<>(lda)), B(b, k, n, OuterStride<>(ldb));
  View<S>(c, m, n, OuterStride<>(ldc)).noalias() -= A * B;
}

template <class S>
void solve_unit_lower(const S* a, int lda, int p, S* b, int ldb, int count) {
  View<S> B(b, p, count, OuterStride<>(ldb));
  ConstView<S>(a, p, p, OuterStride<>(lda))
      .template triangularView<Eigen::UnitLower>()
      .solveInPlace(B);
}

#define INSTANTIATE(S)                                                                  \
  template bool factor_panel<S>(S*, int, int, int*);                                    \
  template void subtract_product<S>(const S*, int, const S*, int, S*, int, int, int, int); \
  template void solve_unit_lower<S>(const S*, int, int, S*, int, int);
INSTANTIATE(double)
INSTANTIATE(float)
#undef INSTANTIATE

}  // namespace diffsim
