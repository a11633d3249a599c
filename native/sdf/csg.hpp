// Signed distance functions made of others: placed in the world, and united.
#pragma once

#include "sdf.hpp"

namespace diffsim {

/// `inner` carried by a rigid transform: x_inner = R^T (x - position).
class Transformed : public Sdf {
 public:
  /// quaternion: (x, y, z, w), normalised here; zero or non-finite is refused.
  Transformed(SdfPtr inner, const Vector3d& position, const Eigen::Vector4d& quaternion);
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override;
  int regions() const override { return inner_->regions(); }

 private:
  SdfPtr inner_;
  Matrix3d R_;
  Vector3d position_;
};

/// Union of obstacles: the member with the least gap (an exact distance outside, a bound inside).
class Union : public Sdf {
 public:
  explicit Union(std::vector<SdfPtr> members);
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const override;
  int regions() const override { return regions_; }

 private:
  std::vector<SdfPtr> members_;
  int regions_;
};

}  // namespace diffsim
