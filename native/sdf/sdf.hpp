// Signed distance functions: the obstacles contact points are held against.
#pragma once

#include <Eigen/Geometry>
#include <algorithm>
#include <limits>
#include <memory>
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

class Sdf {
 public:
  virtual ~Sdf() = default;
  /// Samples at every column of x (3, n) [m], world frame.
  virtual void evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const = 0;
  /// How many different values `region` can take.
  virtual int regions() const = 0;
  /// Smallest thickness of the solid [m], infinite for a half-space: a point that moves more than
  /// half of it in a step may pass through unnoticed.
  virtual double thickness() const = 0;
  /// A box that holds all points with g < level [m]; infinite where none is known.
  virtual Eigen::AlignedBox3d bounds(double level = 0) const = 0;

 protected:
  static Eigen::AlignedBox3d everywhere() {
    const double far = std::numeric_limits<double>::infinity();
    return {Vector3d::Constant(-far), Vector3d::Constant(far)};
  }
  /// The bounds of an exact distance to a solid in the box -half to half.
  static Eigen::AlignedBox3d about_origin(const Vector3d& half, double level) {
    return grown({-half, half}, std::max(level, 0.));
  }
  static Eigen::AlignedBox3d grown(const Eigen::AlignedBox3d& box, double by) {
    return {box.min() - Vector3d::Constant(by), box.max() + Vector3d::Constant(by)};
  }
};

constexpr double kUnbounded = std::numeric_limits<double>::infinity();

using SdfPtr = std::shared_ptr<const Sdf>;

}  // namespace diffsim
