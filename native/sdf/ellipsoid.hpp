// A solid ellipsoid about its origin, exact distance.
#pragma once

#include <cmath>

#include "closest.hpp"

namespace diffsim {

/// The closest point of x is y_i = a_i^2 x_i / (t + a_i^2) with the one t > -min a^2 at which y is
/// on the surface: sum (a_i x_i / (t + a_i^2))^2 = 1, which falls with t.
class Ellipsoid : public Sdf {
 public:
  explicit Ellipsoid(const Vector3d& half_axes) : half_(half_axes) {
    if (!half_.allFinite() || !(half_.minCoeff() > 0)) {
      refuse("ellipsoid: half_axes", "must all be > 0 and finite [m]", half_.transpose());
    }
    square_ = half_.cwiseAbs2();
  }

  void evaluate(const Matrix3X& x, const double*, std::vector<SdfSample>& out) const override {
    out.resize(x.cols());
    for (int i = 0; i < x.cols(); ++i) out[i] = at(x.col(i));
  }
  int regions() const override { return 1; }
  double thickness(const double*) const override { return 2 * half_.minCoeff(); }
  Eigen::AlignedBox3d bounds(double level, const double*) const override {
    return about_origin(half_, level);
  }

 private:
  static constexpr int kMostIterations = 100;
  static constexpr double kOffCentre = 1e-9;  // share of the shortest axis: the centre has no side

  SdfSample at(Vector3d x) const {
    int thin;
    const double shortest = half_.minCoeff(&thin);
    if (std::abs(x[thin]) < kOffCentre * shortest) {
      x[thin] = std::copysign(kOffCentre * shortest, x[thin]);
    }
    // f(low) >= 0 >= f(high): the thin axis alone fills the sum at low, all three at high
    double low = half_[thin] * std::abs(x[thin]) - square_[thin];
    double high = half_.maxCoeff() * x.norm() - square_[thin];
    double t = low;
    for (int k = 0; k < kMostIterations; ++k) {
      const Vector3d below = (square_.array() + t).matrix();
      const Vector3d share = half_.cwiseProduct(x).cwiseQuotient(below);
      const double f = share.squaredNorm() - 1;
      (f > 0 ? low : high) = t;
      const double slope = -2 * share.cwiseAbs2().cwiseQuotient(below).sum();
      double next = t - f / slope;
      if (!(next >= low && next <= high)) next = (low + high) / 2;
      if (std::abs(next - t) <= 1e-15 * (std::abs(t) + square_[thin])) break;
      t = next;
    }
    const Vector3d y = square_.cwiseProduct(x).cwiseQuotient((square_.array() + t).matrix());
    const Vector3d slope = y.cwiseQuotient(square_);
    const Vector3d n = slope.normalized();
    const Matrix3d second = square_.cwiseInverse().asDiagonal();
    return sample_by_closest(x, y, n, shape_operator(n, slope.norm(), second));
  }

  Vector3d half_, square_;
};

}  // namespace diffsim
