#include "triangle_mesh.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <tuple>

namespace diffsim {
namespace {

constexpr int kLeaf = 4;
constexpr double kSliver = 1e-9;  // height over longest edge
constexpr double kThinShare = 0.05;
enum Feature { kFace = 0, kVertex = 1, kEdge = 4 };

std::string name(const char* what, int i) {
  return std::string("mesh: ") + what + "[" + std::to_string(i) + "]";
}

std::string place(const Vector3d& x) {
  std::ostringstream text;
  text << "(" << x.x() << ", " << x.y() << ", " << x.z() << ")";
  return text.str();
}

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

TriangleMesh::TriangleMesh(const Matrix3X& vertices, const std::vector<Triangle>& triangles)
    : triangles_(triangles) {
  check_indices(static_cast<int>(vertices.cols()));
  merge_vertices(vertices);
  check_shapes();
  find_normals();
  order_.resize(triangles_.size());
  std::iota(order_.begin(), order_.end(), 0);
  nodes_.emplace_back();
  build(0, 0, static_cast<int>(order_.size()));
  check_crossings();
}

void TriangleMesh::check_indices(int vertices) const {
  if (triangles_.size() < 4) {
    refuse("mesh: triangles", "must be at least 4", triangles_.size(),
           "a closed surface is needed");
  }
  for (std::size_t t = 0; t < triangles_.size(); ++t) {
    for (int v : triangles_[t]) {
      if (v < 0 || v >= vertices) {
        refuse(name("triangles", t), "must name vertices 0 to " + std::to_string(vertices - 1), v);
      }
    }
  }
}

void TriangleMesh::merge_vertices(const Matrix3X& vertices) {
  std::map<std::tuple<double, double, double>, int> known;
  std::vector<int> merged(vertices.cols());
  for (int v = 0; v < vertices.cols(); ++v) {
    if (!vertices.col(v).allFinite()) {
      refuse(name("vertices", v), "must be finite [m]", place(vertices.col(v)));
    }
    const auto key = std::make_tuple(vertices(0, v), vertices(1, v), vertices(2, v));
    const auto [entry, fresh] = known.emplace(key, static_cast<int>(vertices_.size()));
    if (fresh) vertices_.push_back(vertices.col(v));
    merged[v] = entry->second;
  }
  for (Triangle& t : triangles_) {
    for (int& v : t) v = merged[v];
  }
  low_ = vertices.rowwise().minCoeff();
  high_ = vertices.rowwise().maxCoeff();
}

void TriangleMesh::check_shapes() const {
  const double size = (high_ - low_).norm();
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) {
    const Vector3d a = corner(t, 0), b = corner(t, 1), c = corner(t, 2);
    const double longest = std::max({(b - a).norm(), (c - b).norm(), (a - c).norm()});
    const double height = longest > 0 ? (b - a).cross(c - a).norm() / longest : 0;
    if (height <= kSliver * longest || longest < 1e-12 * size) {
      refuse(name("triangles", t), "must have an area (height > 1e-9 of its longest edge)", height,
             "at " + place(a) + "; remove slivers and zero-length edges in a mesh editor");
    }
  }
}

// Needs each edge of two triangles that run along it in opposite sense.
void TriangleMesh::find_normals() {
  std::map<std::pair<int, int>, int> owner;  // directed edge -> triangle
  std::vector<Vector3d> at_vertex(vertices_.size(), Vector3d::Zero());
  normals_.resize(triangles_.size());
  const Vector3d middle = (low_ + high_) / 2;
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) {
    const Vector3d area = (corner(t, 1) - corner(t, 0)).cross(corner(t, 2) - corner(t, 0)) / 2;
    normals_[t][kFace] = area.normalized();
    volume_ += area.dot(corner(t, 0) - middle) / 3;
    for (int k = 0; k < 3; ++k) {
      const int a = triangles_[t][k], b = triangles_[t][(k + 1) % 3];
      const Vector3d to_b = corner(t, (k + 1) % 3) - corner(t, k),
                     to_c = corner(t, (k + 2) % 3) - corner(t, k);
      at_vertex[a] += std::atan2(to_b.cross(to_c).norm(), to_b.dot(to_c)) * normals_[t][kFace];
      if (!owner.emplace(std::make_pair(a, b), t).second) {
        refuse(name("triangles", t), "must not run along an edge as another triangle does",
               "edge " + place(vertices_[a]) + " to " + place(vertices_[b]) + " as in triangle " +
                   std::to_string(owner[{a, b}]),
               "orient all triangles alike and remove double ones");
      }
    }
  }
  for (const auto& [edge, t] : owner) {
    const auto other = owner.find({edge.second, edge.first});
    if (other == owner.end()) {
      refuse("mesh: surface", "must be closed",
             "a hole along the edge " + place(vertices_[edge.first]) + " to " +
                 place(vertices_[edge.second]) + " of triangle " + std::to_string(t),
             "fill holes in a mesh editor");
    }
    const int k = static_cast<int>(
        std::find(triangles_[t].begin(), triangles_[t].end(), edge.first) - triangles_[t].begin());
    normals_[t][kEdge + k] = normals_[t][kFace] + normals_[other->second][kFace];
    normals_[t][kVertex + k] = at_vertex[edge.first];
  }
  if (!(volume_ > 0)) {
    refuse("mesh: volume", "must be > 0 [m^3]", volume_,
           "it is inside out: turn all triangles (a, b, c) into (a, c, b)");
  }
}

void TriangleMesh::build(int node, int first, int count) {
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

// Whether the segment a-b passes through the inside of the triangle u, v, w. Touching is allowed.
static bool pierces(const Vector3d& a, const Vector3d& b, const Vector3d& u, const Vector3d& v,
                    const Vector3d& w) {
  constexpr double kInside = 1e-9;
  const Vector3d e = v - u, f = w - u, n = e.cross(f);
  const double above = n.dot(a - u), below = n.dot(b - u), size = n.norm() * (b - a).norm();
  if (above * below >= 0 || std::min(std::abs(above), std::abs(below)) < kInside * size) {
    return false;
  }
  const Vector3d x = a + above / (above - below) * (b - a) - u;
  const double square = n.squaredNorm();
  const double s = n.dot(x.cross(f)) / square, t = n.dot(e.cross(x)) / square;
  return s > kInside && t > kInside && s + t < 1 - kInside;
}

void TriangleMesh::check_crossing(int s, int t) const {
  for (int v : triangles_[s]) {
    for (int w : triangles_[t]) {
      if (v == w) return;  // neighbours meet anyway
    }
  }
  for (const auto& [one, other] : {std::make_pair(s, t), std::make_pair(t, s)}) {
    for (int k = 0; k < 3; ++k) {
      const Vector3d a = corner(one, k), b = corner(one, (k + 1) % 3);
      if (!pierces(a, b, corner(other, 0), corner(other, 1), corner(other, 2))) continue;
      refuse(name("triangles", one), "must not pass through another one",
             "edge " + place(a) + " to " + place(b) + " through triangle " + std::to_string(other),
             "unite overlapping parts in a mesh editor");
    }
  }
}

void TriangleMesh::check_crossings() const {
  for (int s = 0; s < static_cast<int>(triangles_.size()); ++s) {
    Eigen::AlignedBox3d box;
    for (int k = 0; k < 3; ++k) box.extend(corner(s, k));
    int stack[64], top = 0;
    stack[top++] = 0;
    while (top > 0) {
      const Node& node = nodes_[stack[--top]];
      if (!node.box.intersects(box)) continue;
      if (node.count == 0) {
        stack[top++] = node.first;
        stack[top++] = node.first + 1;
      }
      for (int i = node.first; i < node.first + node.count; ++i) {
        if (order_[i] > s) check_crossing(s, order_[i]);
      }
    }
  }
}

void TriangleMesh::nearest_in(const Node& leaf, const Vector3d& x, Nearest& best) const {
  for (int i = leaf.first; i < leaf.first + leaf.count; ++i) {
    const int t = order_[i];
    int feature;
    const Vector3d p = nearest_on_triangle(x, corner(t, 0), corner(t, 1), corner(t, 2), feature);
    const double squared = (x - p).squaredNorm();
    if (squared < best.squared) best = {squared, t, feature, p};
  }
}

TriangleMesh::Nearest TriangleMesh::nearest(const Vector3d& x, double within) const {
  Nearest best;
  best.squared = within * within * (1 + 1e-12);
  int stack[64], top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node& node = nodes_[stack[--top]];
    if (!(node.box.squaredExteriorDistance(x) < best.squared)) continue;
    if (node.count > 0) {
      nearest_in(node, x, best);
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

bool TriangleMesh::near(const Vector3d& x, double within) const {
  return nearest(x, within).triangle >= 0;
}

double TriangleMesh::distance(const Vector3d& x, double within) const {
  Nearest best = nearest(x, within);
  if (best.triangle < 0) best = nearest(x, kUnbounded);  // the bound was rounded
  const double d = std::sqrt(best.squared);
  return (x - best.point).dot(normals_[best.triangle][best.feature]) < 0 ? -d : d;
}

// First hit of a ray with the surface (Moeller, Trumbore), infinite where there is none.
double TriangleMesh::ray(const Vector3d& from, const Vector3d& along) const {
  const Eigen::Array3d inverse = along.array().inverse();
  double hit = kUnbounded;
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

double TriangleMesh::thickness() const {
  const double start = 1e-9 * (high_ - low_).norm();
  std::vector<std::pair<double, double>> found;  // thickness, area
  double total = 0;
  for (int t = 0; t < static_cast<int>(triangles_.size()); ++t) {
    const Vector3d& n = normals_[t][kFace];
    const Vector3d centroid = (corner(t, 0) + corner(t, 1) + corner(t, 2)) / 3;
    const double area = (corner(t, 1) - corner(t, 0)).cross(corner(t, 2) - corner(t, 0)).norm();
    found.emplace_back(ray(centroid - start * n, -n), area);
    total += area;
  }
  std::sort(found.begin(), found.end());
  double below = 0;
  for (const auto& [thickness, area] : found) {
    below += area;
    if (below > kThinShare * total) return thickness;
  }
  return found.back().first;
}

}  // namespace diffsim
