#include "sweep_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace diffsim {
namespace {

using Source = SweepPattern::Source;
using SweepTriangle = SweepPattern::Triangle;

constexpr double kLeastPivot = 1e-4;  // of the largest entry

// Lower Cholesky factor of D's symmetric part. Where friction makes that part indefinite, the
// square roots of D's diagonal. Returns whether the symmetric part is definite.
bool symmetric_factor(const Matrix3d& D, double least, Matrix3d& C) {
  C.setZero();
  C(0, 0) = std::sqrt(D(0, 0));
  C(1, 0) = 0.5 * (D(1, 0) + D(0, 1)) / C(0, 0);
  C(2, 0) = 0.5 * (D(2, 0) + D(0, 2)) / C(0, 0);
  const double second = D(1, 1) - C(1, 0) * C(1, 0);
  C(1, 1) = std::sqrt(second);
  C(2, 1) = (0.5 * (D(2, 1) + D(1, 2)) - C(2, 0) * C(1, 0)) / C(1, 1);
  const double third = D(2, 2) - C(2, 0) * C(2, 0) - C(2, 1) * C(2, 1);
  C(2, 2) = std::sqrt(third);
  if (D(0, 0) > least && second > least && third > least) return true;
  C.setZero();
  const double floor = kLeastPivot * D.cwiseAbs().maxCoeff();
  for (int i = 0; i < 3; ++i) C(i, i) = std::sqrt(std::max(std::abs(D(i, i)), floor));
  return false;
}

// D = (a column-major 3x3) -> S, T, C of SweepMatrix. False when D is singular.
bool scale_block(const double* a, int stride, bool transposed, Matrix3d& S, Matrix3d& T,
                 Matrix3d& C, bool& all_definite) {
  Matrix3d D;
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) D(i, j) = a[j * stride + i];
  }
  if (transposed) D.transposeInPlace();
  const double largest = D.cwiseAbs().maxCoeff();
  if (!(largest > 0 && std::isfinite(largest))) return false;
  const double asymmetry = std::max(
      {std::abs(D(0, 1) - D(1, 0)), std::abs(D(0, 2) - D(2, 0)), std::abs(D(1, 2) - D(2, 1))});
  const bool symmetric = asymmetry < 1e-12 * largest;
  const bool definite = symmetric_factor(D, symmetric ? 0 : kLeastPivot * largest, C);
  S.setZero();
  S(0, 0) = 1 / C(0, 0);
  S(1, 1) = 1 / C(1, 1);
  S(2, 2) = 1 / C(2, 2);
  S(1, 0) = -C(1, 0) * S(0, 0) * S(1, 1);
  S(2, 1) = -C(2, 1) * S(1, 1) * S(2, 2);
  S(2, 0) = -(C(2, 0) * S(0, 0) + C(2, 1) * S(1, 0)) * S(2, 2);
  if (definite && symmetric) {
    T = S.transpose();
    return T.allFinite();
  }
  if (definite) {
    // S takes the symmetric part to 1 and the skew one, [a]x, to [w]x with w = cof(S) a.
    const Vector3d a(D(2, 1) - D(1, 2), D(0, 2) - D(2, 0), D(1, 0) - D(0, 1));
    const Vector3d w = 0.5 * S(0, 0) * S(1, 1) * S(2, 2) * (C.transpose() * a);
    Matrix3d inverse = w * w.transpose() - skew(w);  // of 1 + [w]x, times 1 + |w|^2
    inverse.diagonal().array() += 1;
    T = S.transpose() * inverse / (1 + w.squaredNorm());
    return T.allFinite();
  }
  all_definite = false;
  const Matrix3d unit = S * D * S.transpose();
  if (!(std::abs(unit.determinant()) > 1e-12)) return false;
  T = S.transpose() * unit.inverse();  // = D^-1 C
  return T.allFinite();
}

void store(const Matrix3d& m, int k, FourBlocks& out) {
  for (int c = 0; c < 3; ++c) {
    float* column = reinterpret_cast<float*>(&out.column[c]) + 4 * k;
    for (int i = 0; i < 3; ++i) column[i] = static_cast<float>(m(i, c));
    column[3] = 0;
  }
}

using V4d [[gnu::vector_size(32)]] = double;

DIFFSIM_INLINE V4d root(V4d x) {
#ifdef __AVX__
  return reinterpret_cast<V4d>(_mm256_sqrt_pd(reinterpret_cast<__m256d>(x)));
#else
  for (int k = 0; k < 4; ++k) x[k] = std::sqrt(x[k]);
  return x;
#endif
}

DIFFSIM_INLINE V4d larger_of(const V4d& a, const V4d& b) { return a > b ? a : b; }
DIFFSIM_INLINE V4d magnitude(const V4d& a) { return larger_of(a, -a); }
DIFFSIM_INLINE bool all(const V4d& true_where_1) {
  return true_where_1[0] == 1 && true_where_1[1] == 1 && true_where_1[2] == 1 &&
         true_where_1[3] == 1;
}

// A node per lane from its three rows.
DIFFSIM_INLINE FourNodes nodes_of(const V4d& x, const V4d& y, const V4d& z) {
#ifdef __AVX__
  __m128 row[4] = {_mm256_cvtpd_ps(reinterpret_cast<__m256d>(x)),
                   _mm256_cvtpd_ps(reinterpret_cast<__m256d>(y)),
                   _mm256_cvtpd_ps(reinterpret_cast<__m256d>(z)), _mm_setzero_ps()};
  _MM_TRANSPOSE4_PS(row[0], row[1], row[2], row[3]);
  Four node[4];
  for (int k = 0; k < 4; ++k) node[k].part[0] = reinterpret_cast<Four::Part>(row[k]);
  return join(node[0], node[1], node[2], node[3]);
#else
  FourNodes nodes{};
  for (int k = 0; k < 4; ++k) {
    nodes.set(4 * k, static_cast<float>(x[k]));
    nodes.set(4 * k + 1, static_cast<float>(y[k]));
    nodes.set(4 * k + 2, static_cast<float>(z[k]));
  }
  return nodes;
#endif
}

DIFFSIM_INLINE void store(const V4d m[3][3], FourBlocks& out) {
  for (int c = 0; c < 3; ++c) out.column[c] = nodes_of(m[0][c], m[1][c], m[2][c]);
}

// scale_block for a group of four at once. False, and nothing is stored, unless all are definite.
bool scale_group(const Source* diagonal, const double* values, bool transposed, FourBlocks& left,
                 FourBlocks& right, FourBlocks& unscale) {
  V4d D[3][3], S[3][3]{}, T[3][3], C[3][3]{};
  for (int j = 0; j < 3; ++j) {
    const double* a[4];
    for (int k = 0; k < 4; ++k) a[k] = values + diagonal[k].offset + j * diagonal[k].stride;
    for (int i = 0; i < 3; ++i) D[i][j] = V4d{a[0][i], a[1][i], a[2][i], a[3][i]};
  }
  V4d largest{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) largest = larger_of(largest, magnitude(D[i][j]));
  }
  // D = symmetric part + [a]x
  V4d a[3] = {D[2][1] - D[1][2], D[0][2] - D[2][0], D[1][0] - D[0][1]};
  const V4d skewness = larger_of(larger_of(magnitude(a[0]), magnitude(a[1])), magnitude(a[2]));
  const V4d least = skewness < 1e-12 * largest ? V4d{} : kLeastPivot * largest;
  for (V4d& x : a) x = least > 0 ? (transposed ? -0.5 * x : 0.5 * x) : V4d{};
  C[0][0] = root(D[0][0]);
  C[1][0] = 0.5 * (D[1][0] + D[0][1]) / C[0][0];
  C[2][0] = 0.5 * (D[2][0] + D[0][2]) / C[0][0];
  const V4d second = D[1][1] - C[1][0] * C[1][0];
  C[1][1] = root(second);
  C[2][1] = (0.5 * (D[2][1] + D[1][2]) - C[2][0] * C[1][0]) / C[1][1];
  const V4d third = D[2][2] - C[2][0] * C[2][0] - C[2][1] * C[2][1];
  C[2][2] = root(third);
  const V4d one = V4d{} + 1;
  if (!all((D[0][0] > least) & (second > least) & (third > least) ? one : V4d{})) return false;
  for (int i = 0; i < 3; ++i) S[i][i] = 1 / C[i][i];
  S[1][0] = -C[1][0] * S[0][0] * S[1][1];
  S[2][1] = -C[2][1] * S[1][1] * S[2][2];
  S[2][0] = -(C[2][0] * S[0][0] + C[2][1] * S[1][0]) * S[2][2];
  const V4d volume = S[0][0] * S[1][1] * S[2][2];
  V4d w[3];
  for (int i = 0; i < 3; ++i) {
    w[i] = volume * (C[0][i] * a[0] + C[1][i] * a[1] + C[2][i] * a[2]);
  }
  const V4d share = 1 / (1 + w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
  V4d inverse[3][3];  // of 1 + [w]x
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) inverse[i][j] = w[i] * w[j];
    inverse[i][i] += 1;
  }
  inverse[0][1] += w[2], inverse[1][0] -= w[2];
  inverse[0][2] -= w[1], inverse[2][0] += w[1];
  inverse[1][2] += w[0], inverse[2][1] -= w[0];
  V4d finite{};
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      T[i][j] =
          share * (S[0][i] * inverse[0][j] + S[1][i] * inverse[1][j] + S[2][i] * inverse[2][j]);
      finite += 0 * T[i][j];
    }
  }
  if (!all(finite == 0 ? one : V4d{})) return false;
  store(S, left);
  store(T, right);
  store(C, unscale);
  return true;
}

// Four columns in single precision, side by side.
DIFFSIM_INLINE FourNodes four_columns(const double* const* part, int first) {
  Four column[4];
  for (int k = 0; k < 4; ++k) {
    const double* a = part[k] + first;
#ifdef __AVX__
    column[k].part[0] = reinterpret_cast<Four::Part>(_mm256_cvtpd_ps(_mm256_loadu_pd(a)));
#else
    for (int i = 0; i < 4; ++i) column[k].set(i, static_cast<float>(a[i]));
#endif
  }
  return join(column[0], column[1], column[2], column[3]);
}

// Element (row, col) of A or of A^T in every place of its lane. Columns were read four wide, the
// third one place early, so that nothing outside a block is touched.
template <bool transposed, int row, int col>
FourNodes element(const FourNodes* a) {
  constexpr int r = transposed ? col : row, c = transposed ? row : col;
  return component<c == 2 ? r + 1 : r>(a[c]);
}

template <bool transposed, int col>
FourNodes scaled_column(const FourBlocks& S, const FourNodes* a) {
  return S.column[0] * element<transposed, 0, col>(a) +
         S.column[1] * element<transposed, 1, col>(a) +
         S.column[2] * element<transposed, 2, col>(a);
}

// m = -S A T for the four parts of one step; `right` holds T by slot.
template <bool transposed>
inline void scale_step(const FourBlocks& S, const Source* source, const double* values,
                       const int* slot, const FourBlocks* right, FourBlocks& m) {
  const double* part[4];
  const float* T[4];
  const int stride = source[0].stride;
  for (int k = 0; k < 4; ++k) {
    part[k] = values + source[k].offset;
    T[k] = lane(right[slot[k] / 4], 0, slot[k] % 4);
  }
  FourNodes a[3];
  bool same = true;
  for (int k = 1; k < 4; ++k) same = same && source[k].stride == stride;
  if (same) {
    for (int c = 0; c < 3; ++c) a[c] = four_columns(part, c * stride - (c == 2));
  } else {
    for (int c = 0; c < 3; ++c) {
      const double* column[4];
      for (int k = 0; k < 4; ++k) column[k] = part[k] + c * source[k].stride - (c == 2);
      a[c] = four_columns(column, 0);
    }
  }
  const FourNodes left[3] = {scaled_column<transposed, 0>(S, a), scaled_column<transposed, 1>(S, a),
                             scaled_column<transposed, 2>(S, a)};
  for (int c = 0; c < 3; ++c) {
    const FourNodes t = join(Four::load(T[0] + 16 * c), Four::load(T[1] + 16 * c),
                             Four::load(T[2] + 16 * c), Four::load(T[3] + 16 * c));
    m.column[c] =
        -(left[0] * component<0>(t) + left[1] * component<1>(t) + left[2] * component<2>(t));
  }
}

template <bool transposed>
void scale_triangle(const SweepPattern& P, const SweepTriangle& triangle, const VectorXd& values,
                    const SweepMatrix& M, std::vector<FourBlocks>& out) {
  out.resize(triangle.begin.back());
  const auto stale = [&](int g, const int* slot) {
    return M.changed[g] || M.changed[slot[0] / 4] || M.changed[slot[1] / 4] ||
           M.changed[slot[2] / 4] || M.changed[slot[3] / 4];
  };
  const auto& source = transposed ? triangle.mirrored : triangle.direct;
  for (int g = 0; g < P.groups; ++g) {
    for (int s = triangle.begin[g]; s < triangle.begin[g + 1]; ++s) {
      if (!stale(g, &triangle.slot[4 * s])) continue;
      scale_step<transposed>(M.left[g], &source[4 * s], values.data(), &triangle.slot[4 * s],
                             M.right.data(), out[s]);
    }
  }
}

}  // namespace

bool SweepMatrix::scale_nodes(const SweepPattern& P, const VectorXd& values, bool transposed,
                              int g) {
  const int first = 4 * g;
  if (*std::min_element(&P.dof[first], &P.dof[first] + 4) >= 0 &&
      scale_group(&P.diagonal[first], values.data(), transposed, left[g], right[g], unscale[g])) {
    return true;
  }
  for (int k = 0; k < 4; ++k) {
    const Source& D = P.diagonal[first + k];
    Matrix3d S = Matrix3d::Zero(), T = S, C = S;
    if (P.dof[first + k] >= 0 &&
        !scale_block(values.data() + D.offset, D.stride, transposed, S, T, C, definite)) {
      return false;
    }
    store(S, k, left[g]);
    store(T, k, right[g]);
    store(C, k, unscale[g]);
  }
  return true;
}

bool SweepMatrix::prepare(const SweepPattern& P, const VectorXd& values, bool transposed,
                          bool kept) {
  const std::size_t groups = P.groups;
  left.resize(groups + 1);
  right.resize(groups + 1);  // the last for the empty slot
  unscale.resize(groups + 1);
  changed.assign(groups + 1, !kept);
  definite = true;
  for (std::size_t g = 0; g < groups; ++g) {
    const FourBlocks before[] = {left[g], right[g]};
    if (!scale_nodes(P, values, transposed, static_cast<int>(g))) return false;
    const auto differ = [](const FourBlocks& a, const FourBlocks& b) {
      return std::memcmp(&a, &b, sizeof a) != 0;
    };
    if (kept) changed[g] = differ(before[0], left[g]) || differ(before[1], right[g]);
  }
  right[groups] = FourBlocks{};
  if (transposed) {
    scale_triangle<true>(P, P.lower, values, *this, lower);
    scale_triangle<true>(P, P.upper, values, *this, upper);
  } else {
    scale_triangle<false>(P, P.lower, values, *this, lower);
    scale_triangle<false>(P, P.upper, values, *this, upper);
  }
  return true;
}

}  // namespace diffsim
