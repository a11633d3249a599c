// Signed distance functions made of others: placed in the world, grown, and combined.
#pragma once

#include "sdf.hpp"

namespace diffsim {

/// `inner` carried by a rigid transform: x_inner = R^T (x - position).
class Transformed : public Sdf {
 public:
  /// quaternion: (x, y, z, w), normalised here; zero or non-finite is refused.
  Transformed(SdfPtr inner, const Vector3d& position, const Eigen::Vector4d& quaternion);
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return inner_->regions(); }
  double thickness(const double* sizes) const override { return inner_->thickness(sizes); }
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override;

 private:
  SdfPtr inner_;
  Matrix3d R_;
  Vector3d position_;
};

/// `inner` grown by `distance` (shrunk where negative): g = g_inner - distance. Growth rounds the
/// convex edges of an exact distance by that radius.
class Offset : public Sdf {
 public:
  Offset(SdfPtr inner, double distance);
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return inner_->regions(); }
  double thickness(const double* sizes) const override {
    return inner_->thickness(sizes) + 2 * distance(sizes);
  }
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override {
    return inner_->bounds(level + distance(sizes), sizes);
  }

 private:
  double distance(const double* sizes) const { return sizes[inner_->sizes().size()]; }
  SdfPtr inner_;
};

/// What a Boolean does: difference takes all further members away from the first; complement is
/// the outside of the union of its members (the walls of a container).
enum class Operation { union_, intersection, difference, complement };

/// Members combined, sharply (width 0) or with a blend of the given width.
///
/// Sharp: min of the gaps for a union, max for an intersection, max(a, -b) for a difference. These
/// are exact distances on the side where the nearest surface point is on a member's own surface
/// (outside a union, inside an intersection) and bounds of the true distance elsewhere.
///
/// Blended, pair after pair, with t = max(0, 1 - |a - b|/width) and [C2 everywhere]
///   g = min(a, b) - width t^3 / 6,       w_far = t^2 / 2 (1 - w_far for the nearer member),
///   n = w_a n_a + w_b n_b,   kappa = w_a kappa_a + w_b kappa_b - t / width (n_a - n_b)(n_a -
///   n_b)^T
/// for a union; the others by max(a, b) = -min(-a, -b). The blend adds (union) or removes
/// (intersection) at most width / 6 where a = b. There g is a bound and |n| < 1.
class Boolean : public Sdf {
 public:
  Boolean(Operation operation, std::vector<SdfPtr> members, double width);
  void evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const override;
  SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const override;
  int regions() const override { return regions_; }
  /// Least of the members that are not taken away: an upper bound where members cut each other.
  double thickness(const double* sizes) const override;
  Eigen::AlignedBox3d bounds(double level, const double* sizes) const override;

 private:
  bool turned(std::size_t member) const {
    return operation_ == Operation::intersection ||
           (operation_ == Operation::difference && member == 0);
  }
  void load(std::size_t member, const Matrix3X& x, const double* sizes,
            std::vector<SdfSample>& out) const;

  Operation operation_;
  std::vector<SdfPtr> members_;
  double width_;
  std::vector<int> count_;          // pieces of the first m + 1 members combined
  std::vector<std::size_t> first_;  // of each member's sizes
  int regions_ = 0;
};

}  // namespace diffsim
