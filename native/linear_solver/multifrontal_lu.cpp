#include "multifrontal_lu.hpp"

#include <cmath>

#include "dense_lu.hpp"

namespace diffsim {
namespace {

using Eigen::OuterStride;

template <class S>
using ConstView =
    Eigen::Map<const Eigen::Matrix<S, Eigen::Dynamic, Eigen::Dynamic>, 0, OuterStride<>>;

// use(from, to, column) for every pair of rows in the runs, column by column.
template <class Runs, class Use>
void for_each_entry(const Runs& runs, Eigen::Index columns, Use use) {
  for (Eigen::Index c = 0; c < columns; ++c) {
    for (const auto& run : runs) {
      for (int k = 0; k < run.length; ++k) use(run.from + k, run.to + k, c);
    }
  }
}

}  // namespace

// Blocks of the matrix and the children's F22, summed up.
template <class Scalar>
void MultifrontalLU<Scalar>::assemble(const Front& front, const double* A) {
  const int p = front.pivots, u = front.updates, n = p + u;
  Scalar* panel = values_.data() + front.panel;
  Scalar* upper = values_.data() + front.upper;
  Scalar* own = scratch_.work.data() + front.contribution;
  std::fill(panel, panel + n * p, Scalar(0));
  std::fill(upper, upper + p * u, Scalar(0));
  std::fill(own, own + u * u, Scalar(0));
  for (const auto& e : front.entries) {
    const double* from = A + e.source;
    Scalar* to = values_.data() + e.target;
    for (int c = 0; c < e.columns; ++c, from += e.stride, to += e.ld) {
      for (int r = 0; r < e.stride; ++r) to[r] += static_cast<Scalar>(from[r]);
    }
  }
  for (int child : front.children) {
    const Front& c = P_->fronts[child];
    const Scalar* given = scratch_.work.data() + c.contribution;
    for (const auto& columns : c.to_parent) {
      for (int k = 0; k < columns.length; ++k) {
        const Scalar* from = given + (columns.from + k) * c.updates;
        const int j = columns.to + k;
        // Where rows 0 and p of the front would start in this column.
        Scalar* top = j < p ? panel + j * n : upper + (j - p) * p;
        Scalar* bottom = j < p ? top : own + (j - p) * u - p;
        for (const auto& rows : c.to_parent) {
          Scalar* to = (rows.to < p ? top : bottom) + rows.to;
          for (int r = 0; r < rows.length; ++r) to[r] += from[rows.from + r];
        }
      }
    }
  }
}

template <class Scalar>
bool MultifrontalLU<Scalar>::eliminate(const Front& front) {
  const int p = front.pivots, u = front.updates, n = p + u;
  Scalar* panel = values_.data() + front.panel;
  if (!factor_panel(panel, n, p, &swap_[front.first])) return false;
  if (u == 0) return true;
  Scalar* upper = values_.data() + front.upper;
  swap_rows(upper, p, u, &swap_[front.first], p);
  solve_unit_lower(panel, n, p, upper, p, u);
  subtract_product(panel + p, n, upper, p, scratch_.work.data() + front.contribution, u, u, p, u);
  return true;
}

template <class Scalar>
bool MultifrontalLU<Scalar>::factor(const BlockMatrix& A) {
  values_.resize(P_->values);
  swap_.resize(P_->ndof);
  scratch_.work.resize(P_->work);
  for (const Front& front : P_->fronts) {
    assemble(front, A.values.data());
    if (!eliminate(front)) return false;
  }
  return true;
}

template <class Scalar>
void MultifrontalLU<Scalar>::permute(const MatrixXd& from) {
  Matrix& x = scratch_.x;
  x.resize(from.rows(), from.cols());
  for_each_entry(P_->order, from.cols(),
                 [&](int i, int k, Eigen::Index c) { x(k, c) = static_cast<Scalar>(from(i, c)); });
}

template <class Scalar>
void MultifrontalLU<Scalar>::restore(MatrixXd& to) const {
  for_each_entry(P_->order, to.cols(),
                 [&](int i, int k, Eigen::Index c) { to(i, c) = scratch_.x(k, c); });
}

template <class Scalar>
void MultifrontalLU<Scalar>::gather(const Front& front) {
  for_each_entry(front.rows, scratch_.x.cols(),
                 [&](int i, int k, Eigen::Index c) { scratch_.rest(i, c) = scratch_.x(k, c); });
}

template <class Scalar>
void MultifrontalLU<Scalar>::scatter(const Front& front) {
  for_each_entry(front.rows, scratch_.x.cols(),
                 [&](int i, int k, Eigen::Index c) { scratch_.x(k, c) = scratch_.rest(i, c); });
}

template <class Scalar>
void MultifrontalLU<Scalar>::solve(MatrixXd& b) {
  permute(b);
  Matrix& x = scratch_.x;
  scratch_.rest.resize(P_->widest, b.cols());
  for (const Front& f : P_->fronts) {
    const int p = f.pivots, u = f.updates;
    const ConstView<Scalar> panel(values_.data() + f.panel, p + u, p, OuterStride<>(p + u));
    auto own = x.middleRows(f.first, p);
    swap_rows(own.data(), x.rows(), x.cols(), &swap_[f.first], p);
    panel.topRows(p).template triangularView<Eigen::UnitLower>().solveInPlace(own);
    if (u == 0) continue;
    gather(f);
    scratch_.rest.topRows(u).noalias() -= panel.bottomRows(u) * own;
    scatter(f);
  }
  for (auto f = P_->fronts.rbegin(); f != P_->fronts.rend(); ++f) {
    const int p = f->pivots, u = f->updates;
    const ConstView<Scalar> panel(values_.data() + f->panel, p + u, p, OuterStride<>(p + u));
    auto own = x.middleRows(f->first, p);
    if (u > 0) {
      gather(*f);
      const ConstView<Scalar> upper(values_.data() + f->upper, p, u, OuterStride<>(p));
      own.noalias() -= upper * scratch_.rest.topRows(u);
    }
    panel.topRows(p).template triangularView<Eigen::Upper>().solveInPlace(own);
  }
  restore(b);
}

template <class Scalar>
void MultifrontalLU<Scalar>::solve_transposed(MatrixXd& b) {
  permute(b);
  Matrix& x = scratch_.x;
  scratch_.rest.resize(P_->widest, b.cols());
  for (const Front& f : P_->fronts) {
    const int p = f.pivots, u = f.updates;
    const ConstView<Scalar> panel(values_.data() + f.panel, p + u, p, OuterStride<>(p + u));
    auto own = x.middleRows(f.first, p);
    panel.topRows(p).transpose().template triangularView<Eigen::Lower>().solveInPlace(own);
    if (u == 0) continue;
    gather(f);
    const ConstView<Scalar> upper(values_.data() + f.upper, p, u, OuterStride<>(p));
    scratch_.rest.topRows(u).noalias() -= upper.transpose() * own;
    scatter(f);
  }
  for (auto f = P_->fronts.rbegin(); f != P_->fronts.rend(); ++f) {
    const int p = f->pivots, u = f->updates;
    const ConstView<Scalar> panel(values_.data() + f->panel, p + u, p, OuterStride<>(p + u));
    auto own = x.middleRows(f->first, p);
    if (u > 0) {
      gather(*f);
      own.noalias() -= panel.bottomRows(u).transpose() * scratch_.rest.topRows(u);
    }
    panel.topRows(p).transpose().template triangularView<Eigen::UnitUpper>().solveInPlace(own);
    swap_rows_back(own.data(), x.rows(), x.cols(), &swap_[f->first], p);
  }
  restore(b);
}

template class MultifrontalLU<double>;
template class MultifrontalLU<float>;

}  // namespace diffsim
