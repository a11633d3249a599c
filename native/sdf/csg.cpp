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
  add_sizes("of", *inner_);
}

namespace {

void turn(const Matrix3d& R, SdfSample& s) {
  s.n = R * s.n;
  s.kappa = R * s.kappa * R.transpose();
}

}  // namespace

SdfSample Transformed::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  SdfSample s = inner_->slopes(R_.transpose() * (x - position_), sizes, by);
  turn(R_, s);
  for (std::size_t k = 0; k < this->sizes().size(); ++k) by[k].n = R_ * by[k].n;
  return s;
}

void Transformed::evaluate(const Matrix3X& x, const double* sizes,
                           std::vector<SdfSample>& out) const {
  const Matrix3X local = R_.transpose() * (x.colwise() - position_);
  inner_->evaluate(local, sizes, out);
  for (SdfSample& s : out) turn(R_, s);
}

Eigen::AlignedBox3d Transformed::bounds(double level, const double* sizes) const {
  const Eigen::AlignedBox3d inner = inner_->bounds(level, sizes);
  if (!inner.sizes().allFinite()) return everywhere();
  const Vector3d half = R_.cwiseAbs() * inner.sizes() / 2, centre = R_ * inner.center() + position_;
  return {centre - half, centre + half};
}

Offset::Offset(SdfPtr inner, double distance) : inner_(std::move(inner)) {
  if (!inner_) refuse("offset: sdf", "must be given", "none");
  if (!std::isfinite(distance)) refuse("offset: distance", "must be finite [m]", distance);
  add_sizes("of", *inner_);
  add_size("distance", distance, -kUnbounded);
  if (!(Sdf::thickness() > 0)) {
    refuse("offset: distance", "must leave something of the sdf [m]", distance,
           "its smallest thickness is " + std::to_string(inner_->thickness()) + " m");
  }
}

SdfSample Offset::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  SdfSample s = inner_->slopes(x, sizes, by);
  s.g -= distance(sizes);
  by[inner_->sizes().size()] = {-1, Vector3d::Zero()};
  return s;
}

void Offset::evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const {
  inner_->evaluate(x, sizes, out);
  for (SdfSample& s : out) s.g -= distance(sizes);
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

// Shares of a and b in the least of both, blended over `width`; by_apart = d of_a/d(a.g - b.g).
struct Shares {
  double t, of_a, by_apart;
  Shares(const SdfSample& a, const SdfSample& b, double width) {
    const double apart = a.g - b.g;
    t = width > 0 ? std::max(1 - std::abs(apart) / width, 0.) : 0;
    of_a = apart > 0 ? t * t / 2 : 1 - t * t / 2;
    by_apart = t > 0 ? -t / width : 0;
  }
};

// by_a <- by sizes of a, by_b <- by those of b, of the least.
void blend_slopes(const SdfSample& a, const SdfSample& b, double width, SizeSlope* by_a,
                  SizeSlope* by_b, SizeSlope* end) {
  const Shares share(a, b, width);
  const Vector3d between = a.n - b.n;
  for (SizeSlope* by = by_a; by < end; ++by) {
    const bool of_a = by < by_b;
    const double w = of_a ? share.of_a : 1 - share.of_a, apart = of_a ? by->g : -by->g;
    by->n = w * by->n + share.by_apart * apart * between;
    by->g *= w;
  }
}

// a <- least of a (one of `first` pieces) and b (one of `second`), blended over `width`.
void least(SdfSample& a, const SdfSample& b, double width, int first, int second) {
  const Shares share(a, b, width);
  const double t = share.t, w_a = share.of_a, w_b = 1 - w_a;
  if (!(t > 0)) {
    if (w_a > 0) return;
    a = b;
    a.region += first;
    return;
  }
  const Vector3d between = a.n - b.n;
  const long long pair = 1LL * a.region * second + b.region;
  a.g = std::min(a.g, b.g) - width * t * t * t / 6;
  a.n = w_a * a.n + w_b * b.n;
  a.kappa = w_a * a.kappa + w_b * b.kappa + share.by_apart * between * between.transpose();
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
    first_.push_back(sizes().size());
    add_sizes("of[" + std::to_string(first_.size() - 1) + "]", *m);
  }
}

double Boolean::thickness(const double* sizes) const {
  if (operation_ == Operation::complement) return kUnbounded;
  double least = members_[0]->thickness(sizes);
  if (operation_ == Operation::difference) return least;
  for (std::size_t m = 1; m < members_.size(); ++m) {
    least = std::min(least, members_[m]->thickness(sizes + first_[m]));
  }
  return least;
}

Eigen::AlignedBox3d Boolean::bounds(double level, const double* sizes) const {
  if (operation_ == Operation::complement) return everywhere();
  if (operation_ == Operation::difference) return members_[0]->bounds(level, sizes);
  const bool all = operation_ == Operation::union_;
  if (all) level += width_ / 6 * static_cast<double>(members_.size() - 1);  // what blends add
  Eigen::AlignedBox3d box = members_[0]->bounds(level, sizes);
  for (std::size_t m = 1; m < members_.size(); ++m) {
    const Eigen::AlignedBox3d other = members_[m]->bounds(level, sizes + first_[m]);
    box = all ? box.merged(other) : box.intersection(other);
  }
  return box;
}

// Everything is a least of members, some of them turned inside out: max(a, -b) = -min(-a, b).
void Boolean::load(std::size_t member, const Matrix3X& x, const double* sizes,
                   std::vector<SdfSample>& out) const {
  members_[member]->evaluate(x, sizes + first_[member], out);
  if (!turned(member)) return;
  for (SdfSample& s : out) negate(s);
}

SdfSample Boolean::slopes(const Vector3d& x, const double* sizes, SizeSlope* by) const {
  SdfSample s;
  const auto negate_all = [&](SdfSample& sample, SizeSlope* begin, SizeSlope* end) {
    negate(sample);
    for (; begin < end; ++begin) *begin = {-begin->g, -begin->n};
  };
  for (std::size_t m = 0; m < members_.size(); ++m) {
    SizeSlope *own = by + first_[m], *end = own + members_[m]->sizes().size();
    SdfSample other = members_[m]->slopes(x, sizes + first_[m], own);
    if (turned(m)) negate_all(other, own, end);
    if (m == 0) {
      s = other;
      continue;
    }
    blend_slopes(s, other, width_, by, own, end);
    least(s, other, width_, count_[m - 1], members_[m]->regions());
  }
  if (operation_ != Operation::union_) negate_all(s, by, by + this->sizes().size());
  return s;
}

void Boolean::evaluate(const Matrix3X& x, const double* sizes, std::vector<SdfSample>& out) const {
  load(0, x, sizes, out);
  std::vector<SdfSample> other;
  for (std::size_t m = 1; m < members_.size(); ++m) {
    load(m, x, sizes, other);
    for (std::size_t i = 0; i < out.size(); ++i) {
      least(out[i], other[i], width_, count_[m - 1], members_[m]->regions());
    }
  }
  if (operation_ == Operation::union_) return;
  for (SdfSample& s : out) negate(s);
}

}  // namespace diffsim
