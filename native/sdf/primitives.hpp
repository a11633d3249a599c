// Plane, box and sphere as signed distance functions (in their own frames).
#pragma once

#include "sdf.hpp"

namespace diffsim {

/// g = n . x - offset. The normal is normalised; a zero or non-finite one is refused.
class Plane : public Sdf {
 public:
  Plane(const Vector3d& normal, double offset);
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override;
  int regions() const override { return 1; }
  double thickness() const override { return kUnbounded; }
  Eigen::AlignedBox3d bounds(double) const override { return everywhere(); }

 private:
  Vector3d normal_;
  double offset_;
};

/// g = |x| - radius  ([G 4.15] prints the centre's sign and root wrongly).
class Sphere : public Sdf {
 public:
  explicit Sphere(double radius);
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override;
  int regions() const override { return 1; }
  double thickness() const override { return 2 * radius_; }
  Eigen::AlignedBox3d bounds(double level) const override {
    return about_origin(Vector3d::Constant(radius_), level);
  }

 private:
  double radius_;
};

/// Exact box distance: faces inside and out, rounded level sets off edges and corners.
class Box : public Sdf {
 public:
  explicit Box(const Vector3d& half_extents);
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override;
  int regions() const override { return 33; }  // 27 outside (3 per axis), 6 faces inside
  double thickness() const override { return 2 * half_.minCoeff(); }
  Eigen::AlignedBox3d bounds(double level) const override { return about_origin(half_, level); }

  SdfSample at(const Vector3d& x) const;

 private:
  Vector3d half_;
};

}  // namespace diffsim
