#include "seen_surface.hpp"

#include <algorithm>
#include <limits>

namespace diffsim {
namespace {

constexpr double kLift = 1e-6;  // of a triangle's size: its own plane must not hide its centroid

// Corners' weights of a point of the triangle; exactly 0 and 1 for those that it does not lie on.
Vector3d weights_of(const TriangleTree& tree, const TriangleTree::Nearest& hit) {
  if (hit.feature >= kVertex && hit.feature < kEdge) return Vector3d::Unit(hit.feature - kVertex);
  const Vector3d& a = tree.corner(hit.triangle, 0);
  const Vector3d& b = tree.corner(hit.triangle, 1);
  const Vector3d& c = tree.corner(hit.triangle, 2);
  if (hit.feature >= kEdge) {
    const int k = hit.feature - kEdge, next = (k + 1) % 3;
    const Vector3d& from = tree.corner(hit.triangle, k);
    const Vector3d along = tree.corner(hit.triangle, next) - from;
    const double t = along.dot(hit.point - from) / along.squaredNorm();
    Vector3d weights = Vector3d::Zero();
    weights[k] = 1 - t;
    weights[next] = t;
    return weights;
  }
  const Vector3d ab = b - a, ac = c - a, ap = hit.point - a, n = ab.cross(ac);
  const double square = n.squaredNorm();
  const double v = n.dot(ap.cross(ac)) / square, w = n.dot(ab.cross(ap)) / square;
  return {1 - v - w, v, w};
}

}  // namespace

std::vector<char> seen_triangles(const TriangleTree& tree, const Vector3d& eye) {
  std::vector<char> seen(tree.triangles().size(), 0);
  for (int t = 0; t < static_cast<int>(seen.size()); ++t) {
    const Vector3d &a = tree.corner(t, 0), &b = tree.corner(t, 1), &c = tree.corner(t, 2);
    const Vector3d normal = (b - a).cross(c - a), centroid = (a + b + c) / 3;
    if (!(normal.dot(eye - centroid) > 0)) continue;
    const Vector3d start = centroid + kLift * normal / std::sqrt(normal.norm());
    seen[t] = tree.ray(start, eye - start) >= 1;
  }
  return seen;
}

std::vector<SurfaceHit> nearest_seen(const TriangleTree& tree, const Matrix3X& points,
                                     const Vector3d* eye) {
  std::vector<char> seen;
  if (eye) seen = seen_triangles(tree, *eye);
  const bool some = std::find(seen.begin(), seen.end(), 1) != seen.end();
  std::vector<SurfaceHit> hits(points.cols());
  for (Eigen::Index i = 0; i < points.cols(); ++i) {
    const auto found = tree.nearest(points.col(i), std::numeric_limits<double>::infinity(),
                                    some ? &seen : nullptr);
    hits[i] = {found.triangle, found.feature, weights_of(tree, found)};
  }
  return hits;
}

}  // namespace diffsim
