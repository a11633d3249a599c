#include "csg.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

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

Eigen::AlignedBox3d Transformed::bounds(double level) const {
  const Eigen::AlignedBox3d inner = inner_->bounds(level);
  if (!inner.sizes().allFinite()) return everywhere();
  const Vector3d half = R_.cwiseAbs() * inner.sizes() / 2, centre = R_ * inner.center() + position_;
  return {centre - half, centre + half};
}

Offset::Offset(SdfPtr inner, double distance) : inner_(std::move(inner)), distance_(distance) {
  if (!inner_) refuse("offset: sdf", "must be given", "none");
  if (!std::isfinite(distance)) refuse("offset: distance", "must be finite [m]", distance);
  if (!(thickness() > 0)) {
    refuse("offset: distance", "must leave something of the sdf [m]", distance,
           "its smallest thickness is " + std::to_string(inner_->thickness()) + " m");
  }
}

void Offset::evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const {
  inner_->evaluate(x, out);
  for (SdfSample& s : out) s.g -= distance_;
}

namespace {

constexpr int kBlendPieces = 4096;  // pairs of pieces told apart inside one blend

const char* name_of(Operation operation) {
  switch (operation) {
    case Operation::union_:
      return "union";
    case Operation::intersection:
      return "intersection";
    case Operation::difference:
      return "difference";
    default:
      return "complement";
  }
}

void negate(SdfSample& s) {
  s.g = -s.g;
  s.n = -s.n;
  s.kappa = -s.kappa;
}

int blend_pieces(int first, int second) {
  return static_cast<int>(std::min<long long>(1LL * first * second, kBlendPieces));
}

// a <- least of a (one of `first` pieces) and b (one of `second`), blended over `width`.
void least(SdfSample& a, const SdfSample& b, double width, int first, int second) {
  const double apart = a.g - b.g;
  const double t = width > 0 ? 1 - std::abs(apart) / width : 0;
  if (!(t > 0)) {
    if (!(apart > 0)) return;
    a = b;
    a.region += first;
    return;
  }
  const double w_far = t * t / 2, w_a = apart > 0 ? w_far : 1 - w_far, w_b = 1 - w_a;
  const Vector3d between = a.n - b.n;
  const long long pair = 1LL * a.region * second + b.region;
  a.g = std::min(a.g, b.g) - width * t * t * t / 6;
  a.n = w_a * a.n + w_b * b.n;
  a.kappa = w_a * a.kappa + w_b * b.kappa - t / width * between * between.transpose();
  a.region = first + second + static_cast<int>(pair % kBlendPieces);
}

}  // namespace

Boolean::Boolean(Operation operation, std::vector<SdfPtr> members, double width)
    : operation_(operation), members_(std::move(members)), width_(width) {
  const std::string name = name_of(operation);
  if (members_.empty()) refuse(name + ": members", "must hold at least one sdf", "none");
  if (!(width >= 0) || !std::isfinite(width)) {
    refuse(name + ": width", "must be >= 0 and finite [m]", width);
  }
  for (const SdfPtr& m : members_) {
    if (!m) refuse(name + ": members", "must all be given", "none");
    const int more = m->regions(), pairs = width > 0 ? blend_pieces(regions_, more) : 0;
    regions_ += more + pairs;
    count_.push_back(regions_);
  }
}

double Boolean::thickness() const {
  if (operation_ == Operation::complement) return kUnbounded;
  double least = members_[0]->thickness();
  if (operation_ == Operation::difference) return least;
  for (const SdfPtr& m : members_) least = std::min(least, m->thickness());
  return least;
}

Eigen::AlignedBox3d Boolean::bounds(double level) const {
  if (operation_ == Operation::complement) return everywhere();
  if (operation_ == Operation::difference) return members_[0]->bounds(level);
  const bool all = operation_ == Operation::union_;
  if (all) level += width_ / 6 * static_cast<double>(members_.size() - 1);  // what blends add
  Eigen::AlignedBox3d box = members_[0]->bounds(level);
  for (const SdfPtr& m : members_) {
    box = all ? box.merged(m->bounds(level)) : box.intersection(m->bounds(level));
  }
  return box;
}

// Everything is a least of members, some of them turned inside out: max(a, -b) = -min(-a, b).
void Boolean::load(std::size_t member, const Matrix3X& x, std::vector<SdfSample>& out) const {
  members_[member]->evaluate(x, out);
  const bool first = member == 0;
  if (operation_ == Operation::intersection || (operation_ == Operation::difference && first)) {
    for (SdfSample& s : out) negate(s);
  }
}

void Boolean::evaluate(const Matrix3X& x, std::vector<SdfSample>& out) const {
  load(0, x, out);
  std::vector<SdfSample> other;
  for (std::size_t m = 1; m < members_.size(); ++m) {
    load(m, x, other);
    for (std::size_t i = 0; i < out.size(); ++i) {
      least(out[i], other[i], width_, count_[m - 1], members_[m]->regions());
    }
  }
  if (operation_ == Operation::union_) return;
  for (SdfSample& s : out) negate(s);
}

}  // namespace diffsim
