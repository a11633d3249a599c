// Plane, box and sphere as signed distance functions (in their own frames).
#pragma once

#include "sdf.hpp"

namespace diffsim {

/// g = n . x - offset. The normal is normalised; a zero or non-finite one is refused.
class Plane : public Sdf {
 public:
  Plane(const Vector3d& normal, double offset);
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return 1; }
  double thickness(const double*) const override { return kUnbounded; }
  Eigen::AlignedBox3d bounds(double, const double*) const override { return everywhere(); }

 private:
  Vector3d normal_;
};

/// g = |x| - radius  ([G 4.15] prints the centre's sign and root wrongly).
class Sphere : public Sdf {
 public:
  explicit Sphere(double radius);
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return 1; }
  double thickness(const double* sizes) const override { return 2 * sizes[0]; }
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override {
    return about_origin(Vector3d::Constant(sizes[0]), level);
  }
};

/// Exact box distance: faces inside and out, rounded level sets off edges and corners.
class Box : public Sdf {
 public:
  explicit Box(const Vector3d& half_extents);
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return 33; }  // 27 outside (3 per axis), 6 faces inside
  double thickness(const double* sizes) const override { return 2 * half(sizes).minCoeff(); }
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override {
    return about_origin(half(sizes), level);
  }

  SdfSample at(const Vector3d& x) const { return at(x, half(own())); }

 private:
  static Vector3d half(const double* sizes) { return Eigen::Map<const Vector3d>(sizes) / 2; }
  static SdfSample at(const Vector3d& x, const Vector3d& half);
};

}  // namespace diffsim
