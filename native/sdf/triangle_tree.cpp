#include "triangle_tree.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

namespace diffsim {
namespace {

constexpr int kLeaf = 4;

// Nearest point of a triangle and the feature it lies on [Ericson, Real-Time Collision Detection].
Vector3d nearest_on_triangle(const Vector3d& x, const Vector3d& a, const Vector3d& b,
                             const Vector3d& c, int& feature) {
  const Vector3d ab = b - a, ac = c - a, ax = x - a, bx = x - b, cx = x - c;
  const double d1 = ab.dot(ax), d2 = ac.dot(ax), d3 = ab.dot(bx), d4 = ac.dot(bx), d5 = ab.dot(cx),
               d6 = ac.dot(cx);
  if (d1 <= 0 && d2 <= 0) return feature = kVertex, a;
  if (d3 >= 0 && d4 <= d3) return feature = kVertex + 1, b;
  if (d6 >= 0 && d5 <= d6) return feature = kVertex + 2, c;
  const double vc = d1 * d4 - d3 * d2, vb = d5 * d2 - d1 * d6, va = d3 * d6 - d5 * d4;
  if (vc <= 0 && d1 >= 0 && d3 <= 0) return feature = kEdge, a + d1 / (d1 - d3) * ab;
  if (vb <= 0 && d2 >= 0 && d6 <= 0) return feature = kEdge + 2, a + d2 / (d2 - d6) * ac;
  if (va <= 0 && d4 >= d3 && d5 >= d6) {
    const double t = (d4 - d3) / ((d4 - d3) + (d5 - d6));
    return feature = kEdge + 1, b + t * (c - b);
  }
  feature = kFace;
  const double share = 1 / (va + vb + vc);
  return a + vb * share * ab + vc * share * ac;
}

}  // namespace

TriangleTree::TriangleTree(std::vector<Vector3d> vertices, std::vector<Triangle> triangles)
    : vertices_(std::move(vertices)), triangles_(std::move(triangles)) {
  order_.resize(triangles_.size());
  std::iota(order_.begin(), order_.end(), 0);
  nodes_.emplace_back();
  build(0, 0, static_cast<int>(order_.size()));
}

void TriangleTree::build(int node, int first, int count) {
  auto centroid = [&](int t) -> Vector3d {
    return (corner(t, 0) + corner(t, 1) + corner(t, 2)) / 3;
  };
  Eigen::AlignedBox3d box, centres;
  for (int i = first; i < first + count; ++i) {
    for (int k = 0; k < 3; ++k) box.extend(corner(order_[i], k));
    centres.extend(centroid(order_[i]));
  }
  nodes_[node].box = box;
  if (count <= kLeaf) {
    nodes_[node].first = first;
    nodes_[node].count = count;
    return;
  }
  int axis;
  centres.sizes().maxCoeff(&axis);
  const auto begin = order_.begin() + first;
  std::nth_element(begin, begin + count / 2, begin + count, [&](int s, int t) {
    const double a = centroid(s)[axis], b = centroid(t)[axis];
    return a < b || (a == b && s < t);
  });
  const int children = static_cast<int>(nodes_.size());
  nodes_[node].first = children;
  nodes_.resize(children + 2);
  build(children, first, count / 2);
  build(children + 1, first + count / 2, count - count / 2);
}

void TriangleTree::nearest_in(const Node& leaf, const Vector3d& x, const std::vector<char>* allowed,
                              Nearest& best) const {
  for (int i = leaf.first; i < leaf.first + leaf.count; ++i) {
    const int t = order_[i];
    if (allowed && !(*allowed)[t]) continue;
    int feature;
    const Vector3d p = nearest_on_triangle(x, corner(t, 0), corner(t, 1), corner(t, 2), feature);
    const double squared = (x - p).squaredNorm();
    if (squared < best.squared) best = {squared, t, feature, p};
  }
}

TriangleTree::Nearest TriangleTree::nearest(const Vector3d& x, double within,
                                            const std::vector<char>* allowed) const {
  Nearest best;
  best.squared = within * within * (1 + 1e-12);
  int stack[64], top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node& node = nodes_[stack[--top]];
    if (!(node.box.squaredExteriorDistance(x) < best.squared)) continue;
    if (node.count > 0) {
      nearest_in(node, x, allowed, best);
      continue;
    }
    const double left = nodes_[node.first].box.squaredExteriorDistance(x);
    const double right = nodes_[node.first + 1].box.squaredExteriorDistance(x);
    const int nearer = left <= right ? 0 : 1;
    stack[top++] = node.first + 1 - nearer;
    stack[top++] = node.first + nearer;
  }
  return best;
}

// Moeller, Trumbore.
double TriangleTree::ray(const Vector3d& from, const Vector3d& along) const {
  const Eigen::Array3d inverse = along.array().inverse();
  double hit = std::numeric_limits<double>::infinity();
  int stack[64], top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node& node = nodes_[stack[--top]];
    const Eigen::Array3d a = (node.box.min() - from).array() * inverse;
    const Eigen::Array3d b = (node.box.max() - from).array() * inverse;
    const double enter = a.min(b).maxCoeff(), leave = a.max(b).minCoeff();
    if (enter > leave || leave < 0 || enter > hit) continue;
    if (node.count == 0) {
      stack[top++] = node.first;
      stack[top++] = node.first + 1;
      continue;
    }
    for (int i = node.first; i < node.first + node.count; ++i) {
      const int t = order_[i];
      const Vector3d e1 = corner(t, 1) - corner(t, 0), e2 = corner(t, 2) - corner(t, 0);
      const Vector3d p = along.cross(e2), s = from - corner(t, 0), q = s.cross(e1);
      const double det = e1.dot(p);
      if (det == 0) continue;
      const double u = s.dot(p) / det, v = along.dot(q) / det, at = e2.dot(q) / det;
      if (u >= 0 && v >= 0 && u + v <= 1 && at > 0) hit = std::min(hit, at);
    }
  }
  return hit;
}

}  // namespace diffsim
