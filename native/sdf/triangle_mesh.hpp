// Closed triangle meshes: checks, and exact signed distances by a tree of bounding boxes.
//
// The sign is that of (x - p) . N with p the nearest point and N the normal of the face, edge or
// vertex it lies on, angle-weighted at vertices [Baerentzen, Aanaes 2005, "Signed distance
// computation using the angle weighted pseudonormal"]: right for every closed, oriented mesh.
#pragma once

#include <array>
#include <vector>

#include "sdf.hpp"
#include "triangle_tree.hpp"

namespace diffsim {

class TriangleMesh {
 public:
  /// vertices (3, n) [m]; triangles: counter-clockwise seen from outside. Equal vertices are
  /// merged. Refused: indices out of range, vertices not finite, degenerate triangles, edges not
  /// shared by exactly two triangles of opposite sense, a mesh turned inside out, triangles that
  /// pass through each other.
  TriangleMesh(const Matrix3X& vertices, const std::vector<Triangle>& triangles);

  const std::vector<Vector3d>& vertices() const { return tree_.vertices(); }
  const std::vector<Triangle>& triangles() const { return tree_.triangles(); }
  const Vector3d& low() const { return low_; }
  const Vector3d& high() const { return high_; }
  double volume() const { return volume_; }

  /// Signed distance of x [m], < 0 inside. `within`: a known upper bound of its magnitude.
  double distance(const Vector3d& x, double within = kUnbounded) const;
  /// Whether the surface is nearer than `within`.
  bool near(const Vector3d& x, double within) const;
  /// Distance straight inwards from a triangle's centroid to the opposite surface [m], taken at
  /// every triangle; the value that a twentieth of the surface falls below (edges that taper to
  /// nothing would make the least one zero).
  double thickness() const;

 private:
  static void check_indices(int vertices, const std::vector<Triangle>& triangles);
  void merge_vertices(const Matrix3X& vertices, std::vector<Triangle> triangles);
  void check_shapes() const;
  void find_normals();
  void check_crossings() const;
  void check_crossing(int s, int t) const;
  const Vector3d& corner(int triangle, int k) const { return tree_.corner(triangle, k); }

  TriangleTree tree_;
  std::vector<std::array<Vector3d, 7>> normals_;  // per triangle, by feature
  Vector3d low_, high_;
  double volume_ = 0;
};

}  // namespace diffsim
