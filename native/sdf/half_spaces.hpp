// A convex solid as the intersection of half-spaces, with its exact distance.
//
// Inside, g = max_i (n_i . x - o_i). Outside, g is the distance to the nearest point of the solid,
// which lies on a face (x projected on a violated plane meets all others), on an edge (two planes,
// clipped by the others; a whole line or a ray where the set is unbounded) or at a vertex.
#pragma once

#include "sdf.hpp"

namespace diffsim {

class HalfSpaces : public Sdf {
 public:
  /// normals: outward, normalised here, (3, m), m <= 64; offsets (m) [m], of the unit normals.
  HalfSpaces(const Matrix3X& normals, const VectorXd& offsets);
  void evaluate(const Matrix3X& x, const double*, std::vector<SdfSample>& out) const override;
  /// Planes, then edges, then vertices.
  int regions() const override;
  /// Twice the radius of the largest ball inside (at most the least width).
  double thickness(const double*) const override { return 2 * radius_; }
  Eigen::AlignedBox3d bounds(double level, const double*) const override;

 private:
  struct Edge {
    Vector3d point, along;  // the edge is point + t along, low <= t <= high
    double low, high;
    int vertex_low, vertex_high;  // -1: unbounded that way
  };
  void add_edge(int i, int j);
  int add_vertex(const Vector3d& at);
  SdfSample at(const Vector3d& x) const;
  bool nearest_on_face(const Vector3d& x, const VectorXd& gap, SdfSample& s) const;
  SdfSample nearest_on_edges(const Vector3d& x) const;

  Matrix3X normals_;
  VectorXd offsets_;
  double tolerance_;  // length below which points coincide [m]
  double radius_;
  std::vector<Edge> edges_;
  std::vector<Vector3d> vertices_;
};

}  // namespace diffsim
