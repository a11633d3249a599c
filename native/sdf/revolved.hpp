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
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return 3; }  // lower cap, shaft, upper cap
  double thickness(const double* sizes) const override { return 2 * sizes[1]; }
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override {
    return about_origin({sizes[1], sizes[1], sizes[0] / 2 + sizes[1]}, level);
  }
};

/// Solid cylinder with sharp rims: rho <= radius, |z| <= half_height; exact distance.
class Cylinder : public Sdf {
 public:
  Cylinder(double half_height, double radius);
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return 5; }  // side, lower and upper face, lower and upper rim
  double thickness(const double* sizes) const override { return std::min(sizes[0], 2 * sizes[1]); }
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override {
    return about_origin({sizes[1], sizes[1], sizes[0] / 2}, level);
  }
};

/// g = sqrt((rho - ring_radius)^2 + z^2) - tube_radius, tube_radius < ring_radius; exact distance.
class Torus : public Sdf {
 public:
  Torus(double ring_radius, double tube_radius);
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return 1; }
  double thickness(const double* sizes) const override { return 2 * sizes[1]; }
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override {
    const double reach = sizes[0] + sizes[1];
    return about_origin({reach, reach, sizes[1]}, level);
  }
};

}  // namespace diffsim
