// Signed distance functions: the obstacles contact points are held against.
#pragma once

#include <memory>
#include <vector>

#include "../math.hpp"

namespace diffsim {

/// Gap g [m] (< 0 inside), its gradient n (unit), its Hessian kappa [1/m], and the number of the
/// smooth piece the point lies on (a face, an edge, a member of a union).
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
};

using SdfPtr = std::shared_ptr<const Sdf>;

}  // namespace diffsim
