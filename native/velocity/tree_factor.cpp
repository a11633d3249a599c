#include "tree_factor.hpp"

#include <cmath>

namespace diffsim {

void TreeFactor::set_pattern(const std::vector<int>& parent) {
  n_ = static_cast<int>(parent.size());
  first_.assign(1, 0);
  runs_.clear();
  for (int row = 0; row < n_; ++row) {
    for (int end = parent[row]; end >= 0;) {
      int begin = end;
      while (parent[begin] == begin - 1 && begin > 0) --begin;
      runs_.push_back({begin, end + 1});
      end = parent[begin];
    }
    first_.push_back(static_cast<int>(runs_.size()));
  }
  values_.assign(static_cast<std::size_t>(n_) * n_, 0.);
  inverse_.assign(n_, 0.);
}

bool TreeFactor::factor() {
  for (int k = n_ - 1; k >= 0; --k) {
    double* L_k = values_.data() + k * n_;
    if (!(L_k[k] > 0)) return false;
    const double inverse = inverse_[k] = 1 / std::sqrt(L_k[k]);
    each_run(k, [&](Run run) {
      for (int i = run.begin; i < run.end; ++i) L_k[i] *= inverse;
    });
    each_run(k, [&](Run run) {
      for (int i = run.end - 1; i >= run.begin; --i) {
        double* L_i = values_.data() + i * n_;
        const double by = L_k[i];
        L_i[i] -= by * by;
        each_run(i, [&](Run own) {
          for (int j = own.begin; j < own.end; ++j) L_i[j] -= by * L_k[j];
        });
      }
    });
  }
  return true;
}

void TreeFactor::solve_transposed(double* x) const {
  for (int k = n_ - 1; k >= 0; --k) {
    if (x[k] == 0) continue;  // most, where x is of a contact
    const double* L_k = values_.data() + k * n_;
    const double own = x[k] *= inverse_[k];
    each_run(k, [&](Run run) {
      for (int i = run.begin; i < run.end; ++i) x[i] -= own * L_k[i];
    });
  }
}

void TreeFactor::solve_lower(double* x) const {
  for (int k = 0; k < n_; ++k) {
    const double* L_k = values_.data() + k * n_;
    double own = x[k];
    each_run(k, [&](Run run) {
      for (int i = run.begin; i < run.end; ++i) own -= L_k[i] * x[i];
    });
    x[k] = own * inverse_[k];
  }
}

}  // namespace diffsim
