// Signed distance functions: the obstacles contact points are held against.
#pragma once

#include <Eigen/Geometry>
#include <algorithm>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "../math.hpp"

namespace diffsim {

/// Gap g [m] (< 0 inside), its gradient n, its Hessian kappa [1/m], and the number of the smooth
/// piece the point lies on (a face, an edge, a member of a union).
///
/// n is the exact gradient of g whatever g is. Where g is a distance |n| = 1; where it is a bound
/// (smooth blends, interpolated level sets near creases) |n| may differ from 1, see engine.md.
struct SdfSample {
  double g = 0;
  Vector3d n = Vector3d::Zero();
  Matrix3d kappa = Matrix3d::Zero();
  int region = 0;
};

constexpr double kUnbounded = std::numeric_limits<double>::infinity();
constexpr double kLeastSize = 1e-9;  // of what must be > 0 [m]

/// A length [m] of a solid that can be a parameter, by its key in scenes' files.
struct SdfSize {
  std::string name;
  double value, lower;
};

/// How gap and normal at a place move with one size.
struct SizeSlope {
  double g = 0;
  Vector3d n = Vector3d::Zero();  // [1/m]
};

/// A solid's shape is fixed but for its sizes, of which it has its own and takes others (a pointer
/// to one per entry of sizes(), in that order).
class Sdf {
 public:
  virtual ~Sdf() = default;
  /// Samples at every column of x (3, n) [m], world frame.
  virtual void evaluate(const Matrix3X& x, const double* sizes,
                        std::vector<SdfSample>& out) const = 0;
  void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const { evaluate(x, own(), out); }
  /// The sample at one place, and in `by` its derivatives by each size at that place.
  virtual SdfSample slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const;
  /// How many different values `region` can take.
  virtual int regions() const = 0;
  /// Smallest thickness of the solid [m], infinite for a half-space: a point that moves more than
  /// half of it in a step may pass through unnoticed.
  virtual double thickness(const double* sizes) const = 0;
  double thickness() const { return thickness(own()); }
  /// A box that holds all points with g < level [m]; infinite where none is known.
  virtual Eigen::AlignedBox3d bounds(double level, const double* sizes) const = 0;
  Eigen::AlignedBox3d bounds(double level = 0) const { return bounds(level, own()); }

  const std::vector<SdfSize>& sizes() const { return sizes_; }
  /// Values of sizes().
  const double* own() const { return own_.data(); }

 protected:
  void add_size(const std::string& name, double value, double lower = kLeastSize);
  /// Those of a solid that this one is made of, under PREFIX.NAME.
  void add_sizes(const std::string& prefix, const Sdf& member);
  static Eigen::AlignedBox3d everywhere() {
    return {Vector3d::Constant(-kUnbounded), Vector3d::Constant(kUnbounded)};
  }
  /// The bounds of an exact distance to a solid in the box -half to half.
  static Eigen::AlignedBox3d about_origin(const Vector3d& half, double level) {
    return grown({-half, half}, std::max(level, 0.));
  }
  static Eigen::AlignedBox3d grown(const Eigen::AlignedBox3d& box, double by) {
    return {box.min() - Vector3d::Constant(by), box.max() + Vector3d::Constant(by)};
  }

 private:
  std::vector<SdfSize> sizes_;
  std::vector<double> own_;
};

using SdfPtr = std::shared_ptr<const Sdf>;

}  // namespace diffsim
