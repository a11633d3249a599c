// Triangles in a tree of bounding boxes: nearest point and first hit of a ray. Any surface, open or
// not; nothing is checked.
#pragma once

#include <Eigen/Geometry>
#include <array>
#include <vector>

#include "../math.hpp"

namespace diffsim {

using Triangle = std::array<int, 3>;

/// What a nearest point lies on: the face, its corner 1, 2, 3, or the edge after corner 1, 2, 3.
enum TriangleFeature { kFace = 0, kVertex = 1, kEdge = 4 };

class TriangleTree {
 public:
  struct Nearest {
    double squared;  // distance [m^2]
    int triangle = -1, feature = kFace;
    Vector3d point;
  };

  TriangleTree() = default;
  /// triangles: indices into vertices [m].
  TriangleTree(std::vector<Vector3d> vertices, std::vector<Triangle> triangles);

  const std::vector<Vector3d>& vertices() const { return vertices_; }
  const std::vector<Triangle>& triangles() const { return triangles_; }
  const Vector3d& corner(int triangle, int k) const { return vertices_[triangles_[triangle][k]]; }

  /// Nearest point of the surface; triangle -1 if none is nearer than `within`. Only triangles with
  /// allowed[t] count, all of them if it is null.
  Nearest nearest(const Vector3d& x, double within,
                  const std::vector<char>* allowed = nullptr) const;
  /// First t > 0 at which from + t along meets the surface, infinite where it does not.
  double ray(const Vector3d& from, const Vector3d& along) const;
  /// Calls visit(t) for all triangles whose leaf meets the box.
  template <typename Visit>
  void overlapping(const Eigen::AlignedBox3d& box, Visit visit) const;

 private:
  struct Node {
    Eigen::AlignedBox3d box;
    int first = 0, count = 0;  // triangles of a leaf; count 0: children first, first + 1
  };
  void build(int node, int first, int count);
  void nearest_in(const Node& leaf, const Vector3d& x, const std::vector<char>* allowed,
                  Nearest& best) const;

  std::vector<Vector3d> vertices_;
  std::vector<Triangle> triangles_;
  std::vector<int> order_;  // triangles in the order of the leaves
  std::vector<Node> nodes_;
};

template <typename Visit>
void TriangleTree::overlapping(const Eigen::AlignedBox3d& box, Visit visit) const {
  int stack[64], top = 0;
  stack[top++] = 0;
  while (top > 0) {
    const Node& node = nodes_[stack[--top]];
    if (!node.box.intersects(box)) continue;
    if (node.count == 0) {
      stack[top++] = node.first;
      stack[top++] = node.first + 1;
    }
    for (int i = node.first; i < node.first + node.count; ++i) visit(order_[i]);
  }
}

}  // namespace diffsim
