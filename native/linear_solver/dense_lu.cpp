#include "dense_lu.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "pack.hpp"

namespace diffsim {
namespace {

constexpr int kBlock = 16;   // columns eliminated one by one before the rest is brought up to date
constexpr int kDepth = 192;  // inner dimension at once: the left factor stays in the second cache
// A register tile: vectors of rows, columns.
constexpr int kRows = kVectorBytes >= 64 ? 3 : 2;
constexpr int kColumns = kVectorBytes >= 64 ? 8 : 6;

template <class S>
constexpr int kDenseLanes = kVectorBytes / static_cast<int>(sizeof(S));
template <class S>
using V = Pack<S, kDenseLanes<S>>;

// acc = a (R vectors of rows, columns lda apart) times C columns of b.
template <class S, int R, int C>
DIFFSIM_INLINE void tile(const S* a, int lda, const S* b, int ldb, int k, V<S> (&acc)[C][R]) {
  for (int j = 0; j < C; ++j) {
    for (int i = 0; i < R; ++i) acc[j][i] = V<S>{};
  }
  for (int l = 0; l < k; ++l, a += lda) {
    V<S> rows[R];
    for (int i = 0; i < R; ++i) rows[i] = V<S>::load(a + i * kDenseLanes<S>);
    for (int j = 0; j < C; ++j) {
      const S factor = b[j * ldb + l];
      for (int i = 0; i < R; ++i) acc[j][i] += factor * rows[i];
    }
  }
}

// c -= a b for R vectors of rows and C columns.
template <class S, int R, int C>
DIFFSIM_INLINE void subtract_tile(const S* a, int lda, const S* b, int ldb, int k, S* c, int ldc) {
  V<S> acc[C][R];
  tile<S, R, C>(a, lda, b, ldb, k, acc);
  for (int j = 0; j < C; ++j) {
    for (int i = 0; i < R; ++i) {
      S* to = c + j * ldc + i * kDenseLanes<S>;
      (V<S>::load(to) - acc[j][i]).store(to);
    }
  }
}

// The last rows, fewer than a vector: `a` is packed with kDenseLanes rows, the surplus zero.
template <class S, int C>
DIFFSIM_INLINE void subtract_tail(const S* a, const S* b, int ldb, int k, S* c, int ldc, int rows) {
  V<S> acc[C][1];
  tile<S, 1, C>(a, kDenseLanes<S>, b, ldb, k, acc);
  for (int j = 0; j < C; ++j) {
    for (int i = 0; i < rows; ++i) c[j * ldc + i] -= acc[j][0][i];
  }
}

template <class S, int C>
void subtract_columns(const S* a, int lda, const S* tail, const S* b, int ldb, S* c, int ldc, int m,
                      int k) {
  constexpr int L = kDenseLanes<S>;
  int i = 0;
  for (; i + kRows * L <= m; i += kRows * L)
    subtract_tile<S, kRows, C>(a + i, lda, b, ldb, k, c + i, ldc);
  for (; i + L <= m; i += L) subtract_tile<S, 1, C>(a + i, lda, b, ldb, k, c + i, ldc);
  if (i < m) subtract_tail<S, C>(tail, b, ldb, k, c + i, ldc, m - i);
}

// packed (kDenseLanes rows) <- `rows` rows of a, k columns.
template <class S>
void pack_rows(const S* a, int lda, int rows, int k, S* packed) {
  for (int l = 0; l < k; ++l) {
    for (int i = 0; i < kDenseLanes<S>; ++i)
      packed[l * kDenseLanes<S> + i] = i < rows ? a[l * lda + i] : S(0);
  }
}

// inverse (kBlock rows, p columns, zeros above) of the unit lower triangle of a.
template <class S>
void invert_unit_lower(const S* a, int lda, int p, S* inverse) {
  std::fill(inverse, inverse + kBlock * p, S(0));
  for (int j = 0; j < p; ++j) {
    S* x = inverse + j * kBlock;
    x[j] = 1;
    for (int k = j; k < p; ++k) {
      for (int i = k + 1; i < p; ++i) x[i] -= a[k * lda + i] * x[k];
    }
  }
}

// Columns [first, stop) of a panel one by one, with their own row exchanges over all p columns.
template <class S>
bool factor_columns(S* panel, int n, int p, int first, int stop, int* swap) {
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
  return true;
}

}  // namespace

template <class S>
bool factor_panel(S* panel, int n, int p, int* swap) {
  for (int first = 0; first < p; first += kBlock) {
    const int stop = std::min(first + kBlock, p);
    if (!factor_columns(panel, n, p, first, stop, swap)) return false;
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
  S tail[kDenseLanes<S> * kDepth];
  for (int l = 0; l < k; l += kDepth, a += kDepth * lda, b += kDepth) {
    const int depth = std::min(kDepth, k - l), rest = m % kDenseLanes<S>;
    pack_rows(a + (m - rest), lda, rest, depth, tail);
    int j = 0;
    for (; j + kColumns <= n; j += kColumns) {
      subtract_columns<S, kColumns>(a, lda, tail, b + j * ldb, ldb, c + j * ldc, ldc, m, depth);
    }
    for (; j + 3 <= n; j += 3) {
      subtract_columns<S, 3>(a, lda, tail, b + j * ldb, ldb, c + j * ldc, ldc, m, depth);
    }
    for (; j < n; ++j) {
      subtract_columns<S, 1>(a, lda, tail, b + j * ldb, ldb, c + j * ldc, ldc, m, depth);
    }
  }
}

// By blocks of kBlock rows: the inverse of the block's triangle, then the rows below it. Rows were
// exchanged so that no entry of L exceeds 1, which keeps such small inverses harmless.
template <class S>
void solve_unit_lower(const S* a, int lda, int p, S* b, int ldb, int count) {
  constexpr int R = kBlock / kDenseLanes<S>;
  S inverse[kBlock * kBlock];
  for (int first = 0; first < p; first += kBlock) {
    const int rows = std::min(kBlock, p - first), stop = first + rows;
    const S* triangle = a + first * lda + first;
    invert_unit_lower(triangle, lda, rows, inverse);
    S* x = b + first;
    for (int j = 0; j < count; ++j, x += ldb) {
      V<S> product[1][R];
      tile<S, R, 1>(inverse, kBlock, x, ldb, rows, product);
      std::memcpy(x, product, rows * sizeof(S));
    }
    if (stop < p) {
      subtract_product(triangle + rows, lda, b + first, ldb, b + stop, ldb, p - stop, rows, count);
    }
  }
}

template bool factor_panel<double>(double*, int, int, int*);
template bool factor_panel<float>(float*, int, int, int*);
template void subtract_product<double>(const double*, int, const double*, int, double*, int, int,
                                       int, int);
template void subtract_product<float>(const float*, int, const float*, int, float*, int, int, int,
                                      int);
template void solve_unit_lower<double>(const double*, int, int, double*, int, int);
template void solve_unit_lower<float>(const float*, int, int, float*, int, int);

}  // namespace diffsim
