#include "tree_factor.hpp"

#include <cmath>

namespace diffsim {

void TreeFactor::set_pattern(const std::vector<int>& parent) {
  n_ = static_cast<int>(parent.size());
  first_.assign(1, 0);
  column_.clear();
  for (int row = 0; row < n_; ++row) {
    if (parent[row] >= 0) {
      const int begin = first_[parent[row]], end = first_[parent[row] + 1];
      for (int e = begin; e < end; ++e) column_.push_back(column_[e]);
    }
    column_.push_back(row);
    first_.push_back(static_cast<int>(column_.size()));
  }
  values_.assign(column_.size(), 0.);
  inverse_.assign(n_, 0.);
}

bool TreeFactor::factor() {
  for (int k = n_ - 1; k >= 0; --k) {
    double* own = values_.data() + first_[k];
    const int* column = column_.data() + first_[k];
    const int count = depth(k);
    if (!(own[count] > 0)) return false;
    const double inverse = inverse_[k] = 1 / std::sqrt(own[count]);
    for (int a = 0; a < count; ++a) own[a] *= inverse;
    for (int a = 0; a < count; ++a) {
      double* row = values_.data() + first_[column[a]];
      const double by = own[a];
      for (int b = 0; b <= a; ++b) row[b] -= by * own[b];
    }
  }
  return true;
}

double TreeFactor::square(const double* x) const {
  double sum = 0;
  for (int k = 0; k < n_; ++k) {
    const double* own = values_.data() + first_[k];
    const int* column = column_.data() + first_[k];
    double row = x[k] / inverse_[k];
    for (int a = depth(k) - 1; a >= 0; --a) row += own[a] * x[column[a]];
    sum += row * row;
  }
  return sum;
}

void TreeFactor::solve_transposed(double* x) const {
  for (int k = n_ - 1; k >= 0; --k) {
    if (x[k] == 0) continue;  // most, where x is of a contact
    const double* own = values_.data() + first_[k];
    const int* column = column_.data() + first_[k];
    const double by = x[k] *= inverse_[k];
    for (int a = depth(k) - 1; a >= 0; --a) x[column[a]] -= by * own[a];
  }
}

void TreeFactor::solve_lower(double* x) const {
  for (int k = 0; k < n_; ++k) {
    const double* own = values_.data() + first_[k];
    const int* column = column_.data() + first_[k];
    double sum = x[k];
    for (int a = depth(k) - 1; a >= 0; --a) sum -= own[a] * x[column[a]];
    x[k] = sum * inverse_[k];
  }
}

}  // namespace diffsim
