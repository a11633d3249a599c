#include "csg.hpp"

#include <Eigen/Geometry>

namespace diffsim {

Transformed::Transformed(SdfPtr inner, const Vector3d& position, const Eigen::Vector4d& quaternion)
    : inner_(std::move(inner)), position_(position) {
  if (!inner_) refuse("transform: sdf", "must be given", "none");
  if (!position.allFinite()) {
    refuse("transform: position", "must be finite [m]", position.transpose());
  }
  if (!quaternion.allFinite() || quaternion.norm() < 1e-9) {
    refuse("transform: orientation", "must be a finite, non-zero quaternion (x, y, z, w)",
           quaternion.transpose());
  }
  R_ = Eigen::Quaterniond(quaternion).normalized().toRotationMatrix();
}

void Transformed::evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const {
  const Matrix3X local = R_.transpose() * (x.colwise() - position_);
  inner_->evaluate(local, out);
  for (SdfSample& s : out) {
    s.n = R_ * s.n;
    s.kappa = R_ * s.kappa * R_.transpose();
  }
}

Union::Union(std::vector<SdfPtr> members) : members_(std::move(members)), regions_(0) {
  if (members_.empty()) refuse("union: members", "must hold at least one sdf", "none");
  for (const SdfPtr& m : members_) {
    if (!m) refuse("union: members", "must all be given", "none");
    regions_ += m->regions();
  }
}

void Union::evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const {
  members_[0]->evaluate(x, out);
  std::vector<SdfSample> other;
  int first = members_[0]->regions();
  for (std::size_t m = 1; m < members_.size(); ++m) {
    members_[m]->evaluate(x, other);
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (!(other[i].g < out[i].g)) continue;
      out[i] = other[i];
      out[i].region += first;
    }
    first += members_[m]->regions();
  }
}

}  // namespace diffsim
