#include "banded_matrix.hpp"

namespace diffsim {

BandedMatrix::BandedMatrix(std::vector<int> sizes, int travel, bool periodic)
    : sizes_(std::move(sizes)), start_(1, 0), travel_(travel), periodic_(periodic) {
  for (std::size_t s = 0; s < sizes_.size(); ++s) {
    start_.push_back(start_.back() + sizes_[s]);
    sample_.insert(sample_.end(), sizes_[s], static_cast<int>(s));
  }
  const int count = static_cast<int>(sizes_.size());
  chain_ = periodic ? count - 2 : count;
  border_at_ = start_[chain_];
  border_ = size() - border_at_;
  for (int s = 0; s < chain_; ++s) {
    Column c;
    c.rows[0] = 0;
    c.rows[1] = sizes_[s];
    c.rows[2] = c.rows[1] + (s + 1 < chain_ ? sizes_[s + 1] : 0);
    c.rows[3] = c.rows[2] + (s + 2 < chain_ ? sizes_[s + 2] : 0);
    c.lower.setZero(c.rows[3] + border_, sizes_[s]);
    columns_.push_back(c);
  }
  factor_ = columns_;
  corner_.setZero(border_, border_);
}

void BandedMatrix::set_zero() {
  for (Column& c : columns_) c.lower.setZero();
  corner_.setZero();
}

void BandedMatrix::add(int row, int column, double value) {
  if (row < column) std::swap(row, column);
  if (column >= border_at_) {
    corner_(row - border_at_, column - border_at_) += value;
    return;
  }
  const int s = sample_[column];
  Column& c = columns_[s];
  const int own = column - start_[s];
  if (row >= border_at_) {
    c.lower(c.rows[3] + row - border_at_, own) += value;
    return;
  }
  const int t = sample_[row], apart = t - s;
  if (apart > 2) refuse("banded matrix", "samples at most two apart", apart);
  c.lower(c.rows[apart] + row - start_[t], own) += value;
}

double BandedMatrix::diagonal(int i) const {
  if (i >= border_at_) return corner_(i - border_at_, i - border_at_);
  const int s = sample_[i];
  return columns_[s].lower(i - start_[s], i - start_[s]);
}

bool BandedMatrix::factor(double damping) {
  // The part of the matrix that is not eliminated yet, as far as the next columns reach.
  for (int s = 0; s < chain_; ++s) factor_[s].lower = columns_[s].lower;
  corner_factor_ = corner_;
  corner_factor_.diagonal().array() += damping;
  for (int s = 0; s < chain_; ++s) {
    MatrixXd& L = factor_[s].lower;
    const int* rows = factor_[s].rows;
    const int n = sizes_[s], below = static_cast<int>(L.rows()) - n;
    if (n == 0) continue;
    auto own = L.topRows(n);
    own.diagonal().array() += damping;
    const Eigen::LLT<Eigen::Ref<MatrixXd>> pivot(own);
    if (pivot.info() != Eigen::Success) return false;
    auto panel = L.bottomRows(below);
    pivot.matrixL().transpose().solveInPlace<Eigen::OnTheRight>(panel);
    const int next = rows[2] - rows[1], second = rows[3] - rows[2];
    const auto P1 = L.middleRows(rows[1], next), P2 = L.middleRows(rows[2], second),
               B = L.bottomRows(border_);
    if (next) {
      MatrixXd& to = factor_[s + 1].lower;
      to.topRows(next).selfadjointView<Eigen::Lower>().rankUpdate(P1, -1);
      if (second) to.middleRows(factor_[s + 1].rows[1], second).noalias() -= P2 * P1.transpose();
      if (border_) to.bottomRows(border_).noalias() -= B * P1.transpose();
    }
    if (second) {
      MatrixXd& to = factor_[s + 2].lower;
      to.topRows(second).selfadjointView<Eigen::Lower>().rankUpdate(P2, -1);
      if (border_) to.bottomRows(border_).noalias() -= B * P2.transpose();
    }
    if (border_) corner_factor_.selfadjointView<Eigen::Lower>().rankUpdate(B, -1);
  }
  if (!border_) return true;
  const Eigen::LLT<Eigen::Ref<MatrixXd>> last(corner_factor_);
  return last.info() == Eigen::Success;
}

void BandedMatrix::solve(VectorXd& x) const {
  for (int s = 0; s < chain_; ++s) {
    const Column& c = factor_[s];
    if (sizes_[s] == 0) continue;
    auto own = x.segment(start_[s], sizes_[s]);
    c.lower.topRows(sizes_[s]).triangularView<Eigen::Lower>().solveInPlace(own);
    const int inner = c.rows[3] - c.rows[1];
    if (inner) x.segment(start_[s + 1], inner) -= c.lower.middleRows(c.rows[1], inner) * own;
    if (border_) x.tail(border_) -= c.lower.bottomRows(border_) * own;
  }
  if (border_) {
    auto last = x.tail(border_);
    corner_factor_.triangularView<Eigen::Lower>().solveInPlace(last);
    corner_factor_.triangularView<Eigen::Lower>().transpose().solveInPlace(last);
  }
  for (int s = chain_ - 1; s >= 0; --s) {
    const Column& c = factor_[s];
    if (sizes_[s] == 0) continue;
    auto own = x.segment(start_[s], sizes_[s]);
    const int inner = c.rows[3] - c.rows[1];
    if (inner) {
      own -= c.lower.middleRows(c.rows[1], inner).transpose() * x.segment(start_[s + 1], inner);
    }
    if (border_) own -= c.lower.bottomRows(border_).transpose() * x.tail(border_);
    c.lower.topRows(sizes_[s]).triangularView<Eigen::Lower>().transpose().solveInPlace(own);
  }
}

MatrixXd BandedMatrix::dense() const {
  MatrixXd out = MatrixXd::Zero(size(), size());
  for (int s = 0; s < chain_; ++s) {
    const Column& c = columns_[s];
    const int inner = c.rows[3];
    out.block(start_[s], start_[s], inner, sizes_[s]) = c.lower.topRows(inner);
    out.block(border_at_, start_[s], border_, sizes_[s]) = c.lower.bottomRows(border_);
  }
  out.bottomRightCorner(border_, border_) = corner_;
  return out.selfadjointView<Eigen::Lower>();
}

}  // namespace diffsim
