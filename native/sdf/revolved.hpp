// Solids of revolution about their own z axis: capsule, cylinder, torus.
//
// With rho = |(x, y)| and a meridian profile f(rho, z) = g,
//   n = f_rho e_rho + f_z e_z,
//   kappa = f_rho,rho e_rho e_rho^T + f_rho,z (e_rho e_z^T + e_z e_rho^T) + f_zz e_z e_z^T
//           + f_rho / rho e_phi e_phi^T.
// On the axis e_rho has no direction: x is taken, and the curvature about the axis left out where
// it is infinite.
#pragma once

#include "sdf.hpp"

namespace diffsim {

/// Points within `radius` of the segment from -half_length to half_length along z: exact distance.
class Capsule : public Sdf {
 public:
  Capsule(double half_length, double radius);
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override;
  int regions() const override { return 3; }  // lower cap, shaft, upper cap
  double thickness() const override { return 2 * radius_; }
  Eigen::AlignedBox3d bounds(double level) const override {
    return about_origin({radius_, radius_, half_length_ + radius_}, level);
  }

 private:
  double half_length_, radius_;
};

/// Solid cylinder with sharp rims: rho <= radius, |z| <= half_height; exact distance.
class Cylinder : public Sdf {
 public:
  Cylinder(double half_height, double radius);
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override;
  int regions() const override { return 5; }  // side, lower and upper face, lower and upper rim
  double thickness() const override { return 2 * std::min(half_height_, radius_); }
  Eigen::AlignedBox3d bounds(double level) const override {
    return about_origin({radius_, radius_, half_height_}, level);
  }

 private:
  double half_height_, radius_;
};

/// g = sqrt((rho - ring_radius)^2 + z^2) - tube_radius, tube_radius < ring_radius; exact distance.
class Torus : public Sdf {
 public:
  Torus(double ring_radius, double tube_radius);
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override;
  int regions() const override { return 1; }
  double thickness() const override { return 2 * tube_radius_; }
  Eigen::AlignedBox3d bounds(double level) const override {
    const double reach = ring_radius_ + tube_radius_;
    return about_origin({reach, reach, tube_radius_}, level);
  }

 private:
  double ring_radius_, tube_radius_;
};

}  // namespace diffsim
