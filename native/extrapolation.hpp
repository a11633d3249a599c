// Extrapolation: where a sequence of vectors, equally spaced in time, goes on to.
#pragma once

#include <utility>
#include <vector>

#include "math.hpp"

namespace diffsim {

/// Polynomials through the last vectors, by their backward differences D_k: of degree d, the next
/// vector is D_0 + ... + D_d, and the last one was missed by D_{d+1}. Smooth motions are told by
/// high degrees to many digits, sudden ones better by low ones: a higher degree than 1 is taken
/// where it would have told the last vector much better.
class Extrapolation {
 public:
  /// degrees: the highest.
  explicit Extrapolation(int degrees) : most_(degrees + 2) {}

  int count() const { return static_cast<int>(difference_.size()); }  // at most degrees + 2
  void clear() { difference_.clear(); }
  void add(const VectorXd& newest) {
    VectorXd now = newest;
    for (VectorXd& difference : difference_) {
      std::swap(now, difference);
      now = difference - now;
    }
    if (count() < most_) difference_.push_back(std::move(now));
  }
  /// The degree to go on with; errors are compared after division by `scale`. Needs one vector.
  int degree(const VectorXd& scale) const {
    int best = std::min(1, count() - 1);
    double least = 0;
    for (int d = 1; d + 1 < count(); ++d) {
      const double error = difference_[d + 1].cwiseQuotient(scale).norm();
      if (d > 1 && !(error < kBetter * least)) break;
      least = error;
      best = d;
    }
    return best;
  }
  /// The next vector by a polynomial of that degree.
  void next(int degree, VectorXd& out) const {
    out = difference_[0];
    for (int k = 1; k <= degree; ++k) out += difference_[k];
  }

 private:
  static constexpr double kBetter = 0.5;  // share of a degree's error below which the next is taken
  int most_;
  std::vector<VectorXd> difference_;
};

}  // namespace diffsim
