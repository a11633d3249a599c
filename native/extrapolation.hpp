// Extrapolation: where a sequence of vectors, equally spaced in time, goes on to.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "math.hpp"

namespace diffsim {

/// Polynomials of degree 0 to 3 through the last vectors. Smooth motions are told by high degrees
/// to many digits, and sudden ones better by low ones: the degree is that which would have told
/// the last vector best.
class Extrapolation {
 public:
  int count() const { return static_cast<int>(past_.size()); }
  void clear() { past_.clear(); }
  void add(const VectorXd& newest) {
    if (count() < kDegrees + 2) past_.emplace_back();
    std::rotate(past_.begin(), past_.end() - 1, past_.end());
    past_[0] = newest;
  }
  /// The next vector; errors are compared after division by `scale`. Needs one vector.
  void next(const VectorXd& scale, VectorXd& out) const {
    int degree = std::min(1, count() - 1);
    double least = std::numeric_limits<double>::infinity();
    for (int d = 1; d <= kDegrees && d + 1 < count(); ++d) {
      go_on(1, d, out);
      const double error = (out - past_[0]).cwiseQuotient(scale).norm();
      if (!(error < kBetter * least)) break;
      least = error;
      degree = d;
    }
    go_on(0, degree, out);
  }

 private:
  static constexpr int kDegrees = 3;
  static constexpr double kBetter = 0.5;  // share of a degree's error below which the next is taken

  void go_on(int first, int degree, VectorXd& out) const {
    constexpr double weight[4][4] = {{1, 0, 0, 0}, {2, -1, 0, 0}, {3, -3, 1, 0}, {4, -6, 4, -1}};
    out = weight[degree][0] * past_[first];
    for (int k = 1; k <= degree; ++k) out += weight[degree][k] * past_[first + k];
  }

  std::vector<VectorXd> past_;  // newest first
};

}  // namespace diffsim
