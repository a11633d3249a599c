#include "triangle_mesh.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace diffsim {
namespace {

constexpr double kSliver = 1e-9;  // height over longest edge
constexpr double kThinShare = 0.05;

std::string name(const char* what, int i) {
  return std::string("mesh: ") + what + "[" + std::to_string(i) + "]";
}

std::string place(const Vector3d& x) {
  std::ostringstream text;
  text << "(" << x.x() << ", " << x.y() << ", " << x.z() << ")";
  return text.str();
}

}  // namespace

TriangleMesh::TriangleMesh(const Matrix3X& vertices, const std::vector<Triangle>& triangles) {
  check_indices(static_cast<int>(vertices.cols()), triangles);
  merge_vertices(vertices, triangles);
  check_shapes();
  find_normals();
  check_crossings();
}

void TriangleMesh::check_indices(int vertices, const std::vector<Triangle>& triangles) {
  if (triangles.size() < 4) {
    refuse("mesh: triangles", "must be at least 4", triangles.size(), "a closed surface is needed");
  }
  for (std::size_t t = 0; t < triangles.size(); ++t) {
    for (int v : triangles[t]) {
      if (v < 0 || v >= vertices) {
        refuse(name("triangles", t), "must name vertices 0 to " + std::to_string(vertices - 1), v);
      }
    }
  }
}

void TriangleMesh::merge_vertices(const Matrix3X& vertices, std::vector<Triangle> triangles) {
  std::vector<Vector3d> kept;
  std::map<std::tuple<double, double, double>, int> known;
  std::vector<int> merged(vertices.cols());
  for (int v = 0; v < vertices.cols(); ++v) {
    if (!vertices.col(v).allFinite()) {
      refuse(name("vertices", v), "must be finite [m]", place(vertices.col(v)));
    }
    const auto key = std::make_tuple(vertices(0, v), vertices(1, v), vertices(2, v));
    const auto [entry, fresh] = known.emplace(key, static_cast<int>(kept.size()));
    if (fresh) kept.push_back(vertices.col(v));
    merged[v] = entry->second;
  }
  for (Triangle& t : triangles) {
    for (int& v : t) v = merged[v];
  }
  tree_ = TriangleTree(std::move(kept), std::move(triangles));
  low_ = vertices.rowwise().minCoeff();
  high_ = vertices.rowwise().maxCoeff();
}

void TriangleMesh::check_shapes() const {
  const double size = (high_ - low_).norm();
  for (int t = 0; t < static_cast<int>(triangles().size()); ++t) {
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
  std::vector<Vector3d> at_vertex(vertices().size(), Vector3d::Zero());
  normals_.resize(triangles().size());
  const Vector3d middle = (low_ + high_) / 2;
  for (int t = 0; t < static_cast<int>(triangles().size()); ++t) {
    const Vector3d area = (corner(t, 1) - corner(t, 0)).cross(corner(t, 2) - corner(t, 0)) / 2;
    normals_[t][kFace] = area.normalized();
    volume_ += area.dot(corner(t, 0) - middle) / 3;
    for (int k = 0; k < 3; ++k) {
      const int a = triangles()[t][k], b = triangles()[t][(k + 1) % 3];
      const Vector3d to_b = corner(t, (k + 1) % 3) - corner(t, k),
                     to_c = corner(t, (k + 2) % 3) - corner(t, k);
      at_vertex[a] += std::atan2(to_b.cross(to_c).norm(), to_b.dot(to_c)) * normals_[t][kFace];
      if (!owner.emplace(std::make_pair(a, b), t).second) {
        refuse(name("triangles", t), "must not run along an edge as another triangle does",
               "edge " + place(vertices()[a]) + " to " + place(vertices()[b]) + " as in triangle " +
                   std::to_string(owner[{a, b}]),
               "orient all triangles alike and remove double ones");
      }
    }
  }
  for (const auto& [edge, t] : owner) {
    const auto other = owner.find({edge.second, edge.first});
    if (other == owner.end()) {
      refuse("mesh: surface", "must be closed",
             "a hole along the edge " + place(vertices()[edge.first]) + " to " +
                 place(vertices()[edge.second]) + " of triangle " + std::to_string(t),
             "fill holes in a mesh editor");
    }
    const int k =
        static_cast<int>(std::find(triangles()[t].begin(), triangles()[t].end(), edge.first) -
                         triangles()[t].begin());
    normals_[t][kEdge + k] = normals_[t][kFace] + normals_[other->second][kFace];
    normals_[t][kVertex + k] = at_vertex[edge.first];
  }
  if (!(volume_ > 0)) {
    refuse("mesh: volume", "must be > 0 [m^3]", volume_,
           "it is inside out: turn all triangles (a, b, c) into (a, c, b)");
  }
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
  for (int v : triangles()[s]) {
    for (int w : triangles()[t]) {
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
  for (int s = 0; s < static_cast<int>(triangles().size()); ++s) {
    Eigen::AlignedBox3d box;
    for (int k = 0; k < 3; ++k) box.extend(corner(s, k));
    tree_.overlapping(box, [&](int t) {
      if (t > s) check_crossing(s, t);
    });
  }
}

bool TriangleMesh::near(const Vector3d& x, double within) const {
  return tree_.nearest(x, within).triangle >= 0;
}

double TriangleMesh::distance(const Vector3d& x, double within) const {
  TriangleTree::Nearest best = tree_.nearest(x, within);
  if (best.triangle < 0) best = tree_.nearest(x, kUnbounded);  // the bound was rounded
  const double d = std::sqrt(best.squared);
  return (x - best.point).dot(normals_[best.triangle][best.feature]) < 0 ? -d : d;
}

double TriangleMesh::thickness() const {
  const double start = 1e-9 * (high_ - low_).norm();
  std::vector<std::pair<double, double>> found;  // thickness, area
  double total = 0;
  for (int t = 0; t < static_cast<int>(triangles().size()); ++t) {
    const Vector3d& n = normals_[t][kFace];
    const Vector3d centroid = (corner(t, 0) + corner(t, 1) + corner(t, 2)) / 3;
    const double area = (corner(t, 1) - corner(t, 0)).cross(corner(t, 2) - corner(t, 0)).norm();
    found.emplace_back(tree_.ray(centroid - start * n, -n), area);
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
