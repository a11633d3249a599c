// A solid cone frustum about z: radius `bottom` at z = -half_height, `top` at +half_height.
//
// Its meridian is a convex polygon: side, lower and upper face, and the two rims between them (a
// radius of 0 makes that rim the apex). Distance is exact; inside, the nearest face counts.
#pragma once

#include <cmath>

#include "sdf.hpp"

namespace diffsim {

class Cone : public Sdf {
 public:
  Cone(double half_height, double bottom, double top)
      : half_height_(half_height), bottom_(bottom), top_(top) {
    if (!(half_height > 0) || !std::isfinite(half_height)) {
      refuse("cone: half_height", "must be > 0 and finite [m]", half_height);
    }
    if (!(std::min(bottom, top) >= 0) || !(bottom + top > 0) || !std::isfinite(bottom + top)) {
      refuse("cone: radii", "must be >= 0, one of them > 0, and finite [m]", std::min(bottom, top));
    }
    const double slant = std::hypot(bottom - top, 2 * half_height);
    cos_ = 2 * half_height / slant;  // outward normal of the side: (cos, sin) in (rho, z)
    sin_ = (bottom - top) / slant;
    slant_ = slant;
  }

  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override {
    out.resize(x.cols());
    for (int i = 0; i < x.cols(); ++i) out[i] = at(x.col(i));
  }
  int regions() const override { return 5; }  // side, lower and upper face, lower and upper rim
  double thickness() const override {         // of the middle: an apex has none
    return std::min(2 * half_height_, (bottom_ + top_) * cos_);
  }
  Eigen::AlignedBox3d bounds(double level) const override {
    const double radius = std::max(bottom_, top_);
    return about_origin({radius, radius, half_height_}, level);
  }

 private:
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

}  // namespace diffsim
