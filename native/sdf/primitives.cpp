#include "primitives.hpp"

#include <cmath>

namespace diffsim {

Plane::Plane(const Vector3d& normal, double offset) {
  if (!normal.allFinite() || normal.norm() < 1e-12) {
    refuse("plane: normal", "must be finite and not zero", normal.transpose());
  }
  if (!std::isfinite(offset)) refuse("plane: offset", "must be finite [m]", offset);
  normal_ = normal.normalized();
  add_size("offset", offset, -kUnbounded);
}

SdfSample Plane::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  by[0] = {-1, Vector3d::Zero()};
  return Sdf::slopes(x, sizes, by);
}

void Plane::evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const {
  out.resize(x.cols());
  for (int i = 0; i < x.cols(); ++i) {
    out[i].g = normal_.dot(x.col(i)) - sizes[0];
    out[i].n = normal_;
    out[i].kappa.setZero();
    out[i].region = 0;
  }
}

Sphere::Sphere(double radius) {
  if (!(radius > 0) || !std::isfinite(radius)) {
    refuse("sphere: radius", "must be > 0 and finite [m]", radius);
  }
  add_size("radius", radius);
}

SdfSample Sphere::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  by[0] = {-1, Vector3d::Zero()};
  return Sdf::slopes(x, sizes, by);
}

void Sphere::evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const {
  const double radius = sizes[0];
  out.resize(x.cols());
  for (int i = 0; i < x.cols(); ++i) {
    const double d = x.col(i).norm();
    SdfSample& s = out[i];
    s.g = d - radius;
    s.region = 0;
    if (d > 1e-9 * radius) {
      s.n = x.col(i) / d;
      s.kappa = (Matrix3d::Identity() - s.n * s.n.transpose()) / d;
    } else {  // the centre has no direction: any will do, deterministically
      s.n = Vector3d::UnitZ();
      s.kappa.setZero();
    }
  }
}

Box::Box(const Vector3d& half_extents) {
  if (!half_extents.allFinite() || !(half_extents.minCoeff() > 0)) {
    refuse("box: half_extents", "must all be > 0 and finite [m]", half_extents.transpose());
  }
  const char* names[] = {"size.x", "size.y", "size.z"};
  for (int a = 0; a < 3; ++a) add_size(names[a], 2 * half_extents[a]);
}

// The gap follows |x_a| - size_a / 2.
SdfSample Box::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  const SdfSample s = at(x, half(sizes));
  for (int a = 0; a < 3; ++a) {
    const double out = x[a] < 0 ? -0.5 : 0.5;
    by[a] = {-out * s.n[a], -out * s.kappa.col(a)};
  }
  return s;
}

SdfSample Box::at(const Vector3d& x, const Vector3d& half) {
  SdfSample s;
  const Vector3d sign = x.unaryExpr([](double a) { return a < 0 ? -1. : 1.; });
  const Vector3d q = x.cwiseAbs() - half;
  if (q.maxCoeff() <= 0) {
    int axis;
    s.g = q.maxCoeff(&axis);
    s.n = Vector3d::Unit(axis) * sign[axis];
    s.region = 27 + 2 * axis + (sign[axis] > 0);
    return s;
  }
  const Vector3d out = q.cwiseMax(0);
  s.g = out.norm();
  s.n = out.cwiseProduct(sign) / s.g;
  int active = 0;
  for (int a = 0, place = 1; a < 3; ++a, place *= 3) {
    if (out[a] <= 0) continue;
    ++active;
    s.region += place * (sign[a] > 0 ? 2 : 1);
    s.kappa(a, a) = 1 / s.g;
  }
  if (active == 1) {
    s.kappa.setZero();
  } else {
    s.kappa -= s.n * s.n.transpose() / s.g;
  }
  return s;
}

void Box::evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const {
  const Vector3d half = this->half(sizes);
  out.resize(x.cols());
  for (int i = 0; i < x.cols(); ++i) out[i] = at(x.col(i), half);
}

}  // namespace diffsim
