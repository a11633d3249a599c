#include "block_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace diffsim {
namespace {

using Eigen::Dynamic;
using Eigen::Map;
template <int R, int C>
using Block = Eigen::Matrix<double, R, C>;

// Calls f(R, C) with compile-time sizes where they are the common 3 and 6, Dynamic otherwise.
template <class F>
void with_sizes(int rows, int cols, F&& f) {
  auto columns = [&](auto r) {
    constexpr int R = decltype(r)::value;
    if (cols == 3) return f(r, std::integral_constant<int, 3>());
    if (cols == 6) return f(r, std::integral_constant<int, 6>());
    return f(std::integral_constant<int, R>(), std::integral_constant<int, Dynamic>());
  };
  if (rows == 3) return columns(std::integral_constant<int, 3>());
  if (rows == 6) return columns(std::integral_constant<int, 6>());
  return columns(std::integral_constant<int, Dynamic>());
}

template <class X>
void add_product(const double* block, int rows, int cols, const X& x, double sign,
                 Eigen::Ref<MatrixXd> y) {
  with_sizes(rows, cols, [&](auto r, auto c) {
    Map<const Block<decltype(r)::value, decltype(c)::value>> B(block, rows, cols);
    if (x.cols() == 1) {
      y.col(0).noalias() += sign * (B * x.col(0));
    } else {
      y.noalias() += sign * (B * x);
    }
  });
}

template <class X>
void add_transposed_product(const double* block, int rows, int cols, const X& x, double sign,
                            Eigen::Ref<MatrixXd> y) {
  with_sizes(rows, cols, [&](auto r, auto c) {
    Map<const Block<decltype(r)::value, decltype(c)::value>> B(block, rows, cols);
    if (x.cols() == 1) {
      y.col(0).noalias() += sign * (B.transpose() * x.col(0));
    } else {
      y.noalias() += sign * (B.transpose() * x);
    }
  });
}

// target -= left * right; aliasing is impossible (three different blocks).
void subtract_product(double* target, const double* left, const double* right, int rows, int inner,
                      int cols) {
  if (rows == 6 && inner == 6 && cols == 6) {
    Map<Matrix6>(target).noalias() -= Map<const Matrix6>(left) * Map<const Matrix6>(right);
    return;
  }
  with_sizes(rows, cols, [&](auto r, auto c) {
    constexpr int R = decltype(r)::value, C = decltype(c)::value;
    Map<Block<R, C>>(target, rows, cols).noalias() -=
        Map<const Block<R, Dynamic>>(left, rows, inner) *
        Map<const Block<Dynamic, C>>(right, inner, cols);
  });
}

// Gauss-Jordan with partial pivoting; fixed sizes unroll, which Eigen's general LU does not.
template <int N>
bool invert(const double* block, int n, double* inverse) {
  using Square = Block<N, N>;
  Square A = Map<const Square>(block, n, n);
  Map<Square> B(inverse, n, n);
  B.setIdentity();
  const double largest = A.cwiseAbs().maxCoeff();
  if (!std::isfinite(largest)) return false;
  for (int k = 0; k < n; ++k) {
    int pivot = k;
    for (int i = k + 1; i < n; ++i) {
      if (std::abs(A(i, k)) > std::abs(A(pivot, k))) pivot = i;
    }
    if (!(std::abs(A(pivot, k)) > 1e-300)) return false;
    if (pivot != k) {
      A.row(k).swap(A.row(pivot));
      B.row(k).swap(B.row(pivot));
    }
    const double scale = 1 / A(k, k);
    A.row(k) *= scale;
    B.row(k) *= scale;
    for (int i = 0; i < n; ++i) {
      const double factor = A(i, k);
      if (i == k || factor == 0) continue;
      A.row(i) -= factor * A.row(k);
      B.row(i) -= factor * B.row(k);
    }
  }
  return B.allFinite() && B.cwiseAbs().maxCoeff() * largest < 1e17;
}

}  // namespace

BlockPattern::BlockPattern(std::vector<int> sizes, const std::vector<std::pair<int, int>>& pairs)
    : size(std::move(sizes)) {
  auto add = [&](int i, int j) {
    if (!lookup_.emplace(std::make_pair(i, j), blocks()).second) return;
    row.push_back(i);
    col.push_back(j);
    offset.push_back(values);
    values += size[i] * size[j];
  };
  for (int i = 0; i < nodes(); ++i) {
    dof.push_back(ndof);
    ndof += size[i];
    add(i, i);
  }
  for (auto [i, j] : pairs) {
    add(i, j);
    add(j, i);
  }
}

void BlockMatrix::multiply_add(const MatrixXd& x, MatrixXd& y) const {
  const auto& P = *pattern;
  for (int b = 0; b < P.blocks(); ++b) {
    const int i = P.row[b], j = P.col[b];
    add_product(block(b), P.size[i], P.size[j], x.middleRows(P.dof[j], P.size[j]), 1.,
                y.middleRows(P.dof[i], P.size[i]));
  }
}

void BlockMatrix::multiply_transposed_add(const MatrixXd& x, MatrixXd& y) const {
  const auto& P = *pattern;
  for (int b = 0; b < P.blocks(); ++b) {
    const int i = P.row[b], j = P.col[b];
    add_transposed_product(block(b), P.size[i], P.size[j], x.middleRows(P.dof[i], P.size[i]), 1.,
                           y.middleRows(P.dof[j], P.size[j]));
  }
}

BlockSymbolic::BlockSymbolic(const BlockPattern& pattern)
    : size_(pattern.size), dof_(pattern.dof) {
  const int n = pattern.nodes();
  std::vector<std::set<int>> neighbours(n);
  for (int b = 0; b < pattern.blocks(); ++b) {
    if (pattern.row[b] != pattern.col[b]) neighbours[pattern.row[b]].insert(pattern.col[b]);
  }
  std::map<std::pair<int, int>, int> at;
  auto place = [&](int i, int j) {
    auto [it, fresh] = at.emplace(std::make_pair(i, j), values_);
    if (fresh) values_ += size_[i] * size_[j];
    return it->second;
  };
  // Greedy minimum degree on the elimination graph; ties by index keep it deterministic.
  std::set<std::pair<int, int>> queue;
  for (int i = 0; i < n; ++i) queue.insert({static_cast<int>(neighbours[i].size()), i});
  while (!queue.empty()) {
    const int k = queue.begin()->second;
    queue.erase(queue.begin());
    Pivot pivot{k, place(k, k), inverses_, {}, {}};
    inverses_ += size_[k] * size_[k];
    const std::vector<int> rest(neighbours[k].begin(), neighbours[k].end());
    for (int i : rest) pivot.couplings.push_back({i, place(i, k), place(k, i)});
    for (const Coupling& a : pivot.couplings) {
      for (const Coupling& b : pivot.couplings) {
        pivot.updates.push_back({place(a.node, b.node), a.lower, b.upper, size_[a.node], size_[k],
                                 size_[b.node]});
      }
    }
    for (int i : rest) {
      queue.erase({static_cast<int>(neighbours[i].size()), i});
      neighbours[i].erase(k);
      for (int j : rest) {
        if (j != i) neighbours[i].insert(j);
      }
      queue.insert({static_cast<int>(neighbours[i].size()), i});
    }
    pivots_.push_back(std::move(pivot));
  }
  for (int b = 0; b < pattern.blocks(); ++b) {
    scatter_.push_back(at.at({pattern.row[b], pattern.col[b]}));
    lengths_.push_back(size_[pattern.row[b]] * size_[pattern.col[b]]);
  }
}

bool BlockLU::factor(const BlockMatrix& A) {
  const BlockSymbolic& S = *symbolic_;
  values_.setZero(S.values_);
  inverse_.resize(S.inverses_);
  for (std::size_t b = 0; b < S.scatter_.size(); ++b) {
    values_.segment(S.scatter_[b], S.lengths_[b]) =
        VectorXd::Map(A.block(static_cast<int>(b)), S.lengths_[b]);
  }
  for (const BlockSymbolic::Pivot& pivot : S.pivots_) {
    const int n = S.size_[pivot.node];
    double* inverse = inverse_.data() + pivot.inverse;
    const double* diagonal = values_.data() + pivot.diagonal;
    const bool regular = n == 3   ? invert<3>(diagonal, n, inverse)
                         : n == 6 ? invert<6>(diagonal, n, inverse)
                                  : invert<Dynamic>(diagonal, n, inverse);
    if (!regular) return false;
    for (const BlockSymbolic::Coupling& c : pivot.couplings) {
      with_sizes(S.size_[c.node], n, [&](auto r, auto s) {
        constexpr int R = decltype(r)::value, N = decltype(s)::value;
        Map<Block<R, N>> lower(values_.data() + c.lower, S.size_[c.node], n);
        lower = (lower * Map<const Block<N, N>>(inverse, n, n)).eval();
      });
    }
    for (const BlockSymbolic::Update& u : pivot.updates) {
      subtract_product(values_.data() + u.target, values_.data() + u.left,
                       values_.data() + u.right, u.rows, u.inner, u.cols);
    }
  }
  return true;
}

void BlockLU::solve(MatrixXd& x) const {
  const BlockSymbolic& S = *symbolic_;
  for (const BlockSymbolic::Pivot& p : S.pivots_) {
    const int n = S.size_[p.node];
    for (const BlockSymbolic::Coupling& c : p.couplings) {
      add_product(values_.data() + c.lower, S.size_[c.node], n, x.middleRows(S.dof_[p.node], n), -1.,
                  x.middleRows(S.dof_[c.node], S.size_[c.node]));
    }
  }
  for (auto p = S.pivots_.rbegin(); p != S.pivots_.rend(); ++p) {
    const int n = S.size_[p->node];
    MatrixXd own = x.middleRows(S.dof_[p->node], n);
    for (const BlockSymbolic::Coupling& c : p->couplings) {
      add_product(values_.data() + c.upper, n, S.size_[c.node],
                  x.middleRows(S.dof_[c.node], S.size_[c.node]), -1., own);
    }
    x.middleRows(S.dof_[p->node], n).setZero();
    add_product(inverse_.data() + p->inverse, n, n, own, 1.,
                x.middleRows(S.dof_[p->node], n));
  }
}

void BlockLU::solve_transposed(MatrixXd& x) const {
  const BlockSymbolic& S = *symbolic_;
  for (const BlockSymbolic::Pivot& p : S.pivots_) {
    const int n = S.size_[p.node];
    const MatrixXd own = x.middleRows(S.dof_[p.node], n);
    x.middleRows(S.dof_[p.node], n).setZero();
    add_transposed_product(inverse_.data() + p.inverse, n, n, own, 1.,
                           x.middleRows(S.dof_[p.node], n));
    for (const BlockSymbolic::Coupling& c : p.couplings) {
      add_transposed_product(values_.data() + c.upper, n, S.size_[c.node],
                             x.middleRows(S.dof_[p.node], n), -1.,
                             x.middleRows(S.dof_[c.node], S.size_[c.node]));
    }
  }
  for (auto p = S.pivots_.rbegin(); p != S.pivots_.rend(); ++p) {
    const int n = S.size_[p->node];
    for (const BlockSymbolic::Coupling& c : p->couplings) {
      add_transposed_product(values_.data() + c.lower, S.size_[c.node], n,
                             x.middleRows(S.dof_[c.node], S.size_[c.node]), -1.,
                             x.middleRows(S.dof_[p->node], n));
    }
  }
}

}  // namespace diffsim
