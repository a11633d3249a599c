// A solid cone frustum about z: radius `bottom` at z = -half_height, `top` at +half_height.
//
// Its meridian is a convex polygon: side, lower and upper face, and the two rims between them (a
// radius of 0 makes that rim the apex). Distance is exact; inside, the nearest face counts.
#pragma once

#include <Eigen/Core>
#include <cmath>

#include "sdf.hpp"

namespace diffsim {

class Cone : public Sdf {
 public:
  Cone(double half_height, double bottom, double top) {
    if (!(half_height > 0) || !std::isfinite(half_height)) {
      refuse("cone: half_height", "must be > 0 and finite [m]", half_height);
    }
    if (!(std::min(bottom, top) >= 0) || !(bottom + top > 0) || !std::isfinite(bottom + top)) {
      refuse("cone: radii", "must be >= 0, one of them > 0, and finite [m]", std::min(bottom, top));
    }
    add_size("height", 2 * half_height);
    add_size("bottom_radius", bottom, 0);
    add_size("top_radius", top, 0);
  }

  void evaluate(const Matrix3X& x, const double* sizes,
                std::vector<SdfSample>& out) const override {
    const Outline cone(sizes);
    out.resize(x.cols());
    for (int i = 0; i < x.cols(); ++i) out[i] = cone.at(x.col(i));
  }
  /// Of each part as it follows the two ends of the side in the meridian plane.
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override {
    const Outline cone(sizes);
    const SdfSample s = cone.at(x);
    using Move = Eigen::Vector2d;  // of an end, (rho, z)
    by[0] = cone.slope(x, s, Move(0, -0.5), Move(0, 0.5));
    by[1] = cone.slope(x, s, Move(1, 0), Move(0, 0));
    by[2] = cone.slope(x, s, Move(0, 0), Move(1, 0));
    return s;
  }
  int regions() const override { return 5; }  // side, lower and upper face, lower and upper rim
  double thickness(const double* sizes) const override {  // of the middle: an apex has none
    return std::min(sizes[0], (sizes[1] + sizes[2]) * Outline(sizes).cos_);
  }
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override {
    const double radius = std::max(sizes[1], sizes[2]);
    return about_origin({radius, radius, sizes[0] / 2}, level);
  }

 private:
  struct Outline {  // of the meridian
    explicit Outline(const double* sizes)
        : half_height_(sizes[0] / 2), bottom_(sizes[1]), top_(sizes[2]) {
      slant_ = std::hypot(bottom_ - top_, 2 * half_height_);
      cos_ = 2 * half_height_ / slant_;  // outward normal of the side: (cos, sin) in (rho, z)
      sin_ = (bottom_ - top_) / slant_;
    }
    SdfSample at(const Vector3d& x) const {
      const double rho = std::hypot(x.x(), x.y()), z = x.z();
      const Vector3d e_rho = rho > 0 ? Vector3d(x.x() / rho, x.y() / rho, 0) : Vector3d::UnitX();
      const double side = (rho - bottom_) * cos_ + (z + half_height_) * sin_;
      const double along = (z + half_height_) * cos_ - (rho - bottom_) * sin_;  // up the side
      const double face = std::abs(z) - half_height_;
      const bool upper = z > 0;
      const double radius = upper ? top_ : bottom_;
      if (face <= 0 && side <= 0) {
        return side > face ? flat(rho, e_rho, side, cos_, sin_, 0) : lid(face, upper);
      }
      if (along >= 0 && along <= slant_ && side > 0) return flat(rho, e_rho, side, cos_, sin_, 0);
      if (rho <= radius) return lid(face, upper);
      const bool high = along > slant_ / 2;  // a wide rim is nearest to places below its half, too
      const double a = rho - (high ? top_ : bottom_), b = z - (high ? half_height_ : -half_height_);
      return rim(a, b, rho, e_rho, high);
    }
    SizeSlope slope(const Vector3d& x, const SdfSample& s, const Eigen::Vector2d& low,
                    const Eigen::Vector2d& high) const {
      const double rho = std::hypot(x.x(), x.y());
      const Vector3d e_rho = rho > 0 ? Vector3d(x.x() / rho, x.y() / rho, 0) : Vector3d::UnitX();
      const auto in_space = [&](const Eigen::Vector2d& d) {
        return Vector3d(d[0] * e_rho + d[1] * Vector3d::UnitZ());
      };
      if (s.region != 0) {  // a face and a rim follow their own end
        const Vector3d d = in_space(s.region % 2 == 0 ? high : low);
        return {-s.n.dot(d), -s.kappa * d};
      }
      const Eigen::Vector2d across(cos_, sin_), up(-sin_, cos_),
          at(rho - bottom_, x.z() + half_height_);
      const double share = at.dot(up) / slant_, turn = across.dot(high - low) / slant_;
      return {-across.dot((1 - share) * low + share * high), in_space(-turn * up)};
    }
    static SdfSample lid(double face, bool upper) {
      SdfSample s;
      s.g = face;
      s.n = Vector3d::UnitZ() * (upper ? 1 : -1);
      s.region = upper ? 2 : 1;
      return s;
    }
    static SdfSample flat(double rho, const Vector3d& e_rho, double g, double by_rho, double by_z,
                          int region) {
      SdfSample s;
      s.g = g;
      s.n = by_rho * e_rho + by_z * Vector3d::UnitZ();
      const Vector3d e_phi(-e_rho.y(), e_rho.x(), 0);
      if (rho > 0) s.kappa = by_rho / rho * e_phi * e_phi.transpose();
      s.region = region;
      return s;
    }
    // Nearest to the circle that lies (a, b) away in the meridian plane.
    static SdfSample rim(double a, double b, double rho, const Vector3d& e_rho, bool upper) {
      const double q = std::hypot(a, b);
      SdfSample s = flat(rho, e_rho, q, a / q, b / q, upper ? 4 : 3);
      const Vector3d across = (-b * e_rho + a * Vector3d::UnitZ()) / q;
      s.kappa += across * across.transpose() / q;
      return s;
    }

    double half_height_, bottom_, top_, cos_, sin_, slant_;
  };
};

}  // namespace diffsim
