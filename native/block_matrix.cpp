#include "block_matrix.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace diffsim {
namespace {

using Eigen::Dynamic;
using Eigen::Map;

// Plain loops with compile-time sizes where blocks are 3 or 6 wide; they vectorise as well as
// Eigen's products do and compile in a fraction of the time. N = Dynamic: the size n at run time.
template <int N>
constexpr int size_of(int n) {
  return N == Dynamic ? n : N;
}

// y += sign * block * x for `count` columns of x and y, column strides ldx, ldy.
template <int R, int C>
void product(const double* block, int rows, int cols, const double* x, Eigen::Index ldx, double* y,
             Eigen::Index ldy, Eigen::Index count, double sign) {
  rows = size_of<R>(rows);
  cols = size_of<C>(cols);
  for (Eigen::Index k = 0; k < count; ++k, x += ldx, y += ldy) {
    for (int j = 0; j < cols; ++j) {
      const double factor = sign * x[j];
      for (int i = 0; i < rows; ++i) y[i] += block[j * rows + i] * factor;
    }
  }
}

// y += sign * block^T * x, likewise.
template <int R, int C>
void transposed_product(const double* block, int rows, int cols, const double* x, Eigen::Index ldx,
                        double* y, Eigen::Index ldy, Eigen::Index count, double sign) {
  rows = size_of<R>(rows);
  cols = size_of<C>(cols);
  for (Eigen::Index k = 0; k < count; ++k, x += ldx, y += ldy) {
    for (int j = 0; j < cols; ++j) {
      double sum = 0;
      for (int i = 0; i < rows; ++i) sum += block[j * rows + i] * x[i];
      y[j] += sign * sum;
    }
  }
}

using Product = void (*)(const double*, int, int, const double*, Eigen::Index, double*,
                         Eigen::Index, Eigen::Index, double);

Product product_for(int rows, int cols) {
  if (rows == 6 && cols == 6) return product<6, 6>;
  if (rows == 3 && cols == 3) return product<3, 3>;
  return product<Dynamic, Dynamic>;
}

Product transposed_product_for(int rows, int cols) {
  if (rows == 6 && cols == 6) return transposed_product<6, 6>;
  if (rows == 3 && cols == 3) return transposed_product<3, 3>;
  return transposed_product<Dynamic, Dynamic>;
}

// Gauss-Jordan with partial pivoting; fixed sizes unroll, which Eigen's general LU does not.
template <int N>
bool invert(const double* block, int n, double* inverse) {
  using Square = Eigen::Matrix<double, N, N>;
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

BlockPattern::BlockPattern(std::vector<int> sizes, const std::vector<std::pair<int, int>>& pairs,
                           std::vector<int> dofs)
    : size(std::move(sizes)), dof(std::move(dofs)) {
  const bool given = !dof.empty();
  auto add = [&](int i, int j) {
    if (!lookup_.emplace(std::make_pair(i, j), blocks()).second) return;
    row.push_back(i);
    col.push_back(j);
    offset.push_back(values);
    values += size[i] * size[j];
  };
  points_only = std::all_of(size.begin(), size.end(), [](int n) { return n == 3; });
  for (int i = 0; i < nodes(); ++i) {
    if (!given) dof.push_back(ndof);
    ndof = std::max(ndof, dof[i] + size[i]);
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
    product_for(P.size[i], P.size[j])(block(b), P.size[i], P.size[j], x.data() + P.dof[j], x.rows(),
                                      y.data() + P.dof[i], y.rows(), x.cols(), 1);
  }
}

void BlockMatrix::multiply_transposed_add(const MatrixXd& x, MatrixXd& y) const {
  const auto& P = *pattern;
  if (P.points_only && x.cols() == 1) {  // one step of lambda
    for (int b = 0; b < P.blocks(); ++b) {
      transposed_product<3, 3>(block(b), 3, 3, x.data() + P.dof[P.row[b]], 0,
                               y.data() + P.dof[P.col[b]], 0, 1, 1);
    }
    return;
  }
  for (int b = 0; b < P.blocks(); ++b) {
    const int i = P.row[b], j = P.col[b];
    transposed_product_for(P.size[i], P.size[j])(block(b), P.size[i], P.size[j],
                                                 x.data() + P.dof[i], x.rows(), y.data() + P.dof[j],
                                                 y.rows(), x.cols(), 1);
  }
}

bool BlockSymbolic::analyse(const BlockPattern& pattern, long most) {
  size_ = pattern.size;
  dof_ = pattern.dof;
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
  std::vector<bool> multiplier(n, false);
  for (int i : pattern.multipliers) multiplier[i] = true;
  std::vector<std::set<int>> waits_for(n);  // of multipliers: the others that they couple with
  for (int i : pattern.multipliers) {
    for (int j : neighbours[i]) {
      if (!multiplier[j]) waits_for[i].insert(j);
    }
  }
  std::set<std::pair<int, int>> queue;
  const auto entry = [&](int i) {
    return std::make_pair(static_cast<int>(neighbours[i].size()) + (waits_for[i].empty() ? 0 : n),
                          i);
  };
  for (int i = 0; i < n; ++i) queue.insert(entry(i));
  while (!queue.empty()) {
    const int k = queue.begin()->second;
    queue.erase(queue.begin());
    if (size_[k] == 0) continue;  // couples nothing
    Pivot pivot{k, place(k, k), inverses_, {}, {}};
    inverses_ += size_[k] * size_[k];
    const std::vector<int> rest(neighbours[k].begin(), neighbours[k].end());
    most -= static_cast<long>(rest.size()) * static_cast<long>(rest.size());
    if (most < 0) return false;
    for (int i : rest) pivot.couplings.push_back({i, place(i, k), place(k, i)});
    for (const Coupling& a : pivot.couplings) {
      for (const Coupling& b : pivot.couplings) {
        pivot.updates.push_back(
            {place(a.node, b.node), a.lower, b.upper, size_[a.node], size_[k], size_[b.node]});
      }
    }
    for (int i : rest) {
      queue.erase(entry(i));
      neighbours[i].erase(k);
      waits_for[i].erase(k);
      for (int j : rest) {
        if (j != i) neighbours[i].insert(j);
      }
      queue.insert(entry(i));
    }
    pivots_.push_back(std::move(pivot));
  }
  for (int b = 0; b < pattern.blocks(); ++b) {
    lengths_.push_back(size_[pattern.row[b]] * size_[pattern.col[b]]);
    scatter_.push_back(lengths_[b] == 0 ? 0 : at.at({pattern.row[b], pattern.col[b]}));
  }
  return true;
}

bool BlockLU::factor(const BlockMatrix& A) {
  const BlockSymbolic& S = *symbolic_;
  values_.setZero(S.values_);
  inverse_.resize(S.inverses_);
  for (std::size_t b = 0; b < S.scatter_.size(); ++b) {
    values_.segment(S.scatter_[b], S.lengths_[b]) =
        VectorXd::Map(A.block(static_cast<int>(b)), S.lengths_[b]);
  }
  VectorXd lower;
  for (const BlockSymbolic::Pivot& pivot : S.pivots_) {
    const int n = S.size_[pivot.node];
    double* inverse = inverse_.data() + pivot.inverse;
    const double* diagonal = values_.data() + pivot.diagonal;
    const bool regular = n == 3   ? invert<3>(diagonal, n, inverse)
                         : n == 6 ? invert<6>(diagonal, n, inverse)
                                  : invert<Dynamic>(diagonal, n, inverse);
    if (!regular) return false;
    for (const BlockSymbolic::Coupling& c : pivot.couplings) {
      const int rows = S.size_[c.node];
      lower.setZero(rows * n);
      product_for(rows, n)(values_.data() + c.lower, rows, n, inverse, n, lower.data(), rows, n, 1);
      values_.segment(c.lower, rows * n) = lower;
    }
    for (const BlockSymbolic::Update& u : pivot.updates) {
      product_for(u.rows, u.inner)(values_.data() + u.left, u.rows, u.inner,
                                   values_.data() + u.right, u.inner, values_.data() + u.target,
                                   u.rows, u.cols, -1);
    }
  }
  return true;
}

void BlockLU::solve(MatrixXd& x) const {
  const BlockSymbolic& S = *symbolic_;
  const Eigen::Index ld = x.rows(), count = x.cols();
  MatrixXd own;
  for (const BlockSymbolic::Pivot& p : S.pivots_) {
    const int n = S.size_[p.node];
    for (const BlockSymbolic::Coupling& c : p.couplings) {
      product_for(S.size_[c.node], n)(values_.data() + c.lower, S.size_[c.node], n,
                                      x.data() + S.dof_[p.node], ld, x.data() + S.dof_[c.node], ld,
                                      count, -1);
    }
  }
  for (auto p = S.pivots_.rbegin(); p != S.pivots_.rend(); ++p) {
    const int n = S.size_[p->node];
    own = x.middleRows(S.dof_[p->node], n);
    for (const BlockSymbolic::Coupling& c : p->couplings) {
      product_for(n, S.size_[c.node])(values_.data() + c.upper, n, S.size_[c.node],
                                      x.data() + S.dof_[c.node], ld, own.data(), n, count, -1);
    }
    x.middleRows(S.dof_[p->node], n).setZero();
    product_for(n, n)(inverse_.data() + p->inverse, n, n, own.data(), n, x.data() + S.dof_[p->node],
                      ld, count, 1);
  }
}

void BlockLU::solve_transposed(MatrixXd& x) const {
  const BlockSymbolic& S = *symbolic_;
  const Eigen::Index ld = x.rows(), count = x.cols();
  MatrixXd own;
  for (const BlockSymbolic::Pivot& p : S.pivots_) {
    const int n = S.size_[p.node];
    own = x.middleRows(S.dof_[p.node], n);
    x.middleRows(S.dof_[p.node], n).setZero();
    transposed_product_for(n, n)(inverse_.data() + p.inverse, n, n, own.data(), n,
                                 x.data() + S.dof_[p.node], ld, count, 1);
    for (const BlockSymbolic::Coupling& c : p.couplings) {
      transposed_product_for(n, S.size_[c.node])(values_.data() + c.upper, n, S.size_[c.node],
                                                 x.data() + S.dof_[p.node], ld,
                                                 x.data() + S.dof_[c.node], ld, count, -1);
    }
  }
  for (auto p = S.pivots_.rbegin(); p != S.pivots_.rend(); ++p) {
    const int n = S.size_[p->node];
    for (const BlockSymbolic::Coupling& c : p->couplings) {
      transposed_product_for(S.size_[c.node], n)(values_.data() + c.lower, S.size_[c.node], n,
                                                 x.data() + S.dof_[c.node], ld,
                                                 x.data() + S.dof_[p->node], ld, count, -1);
    }
  }
}

}  // namespace diffsim
