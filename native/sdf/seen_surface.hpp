// Measured points and the nearest points of a moving surface, of which a camera sees one side.
#pragma once

#include <vector>

#include "triangle_tree.hpp"

namespace diffsim {

/// The nearest point of the surface: weights of the triangle's corners.
struct SurfaceHit {
  int triangle = -1, feature = kFace;
  Vector3d weights;
};

/// Whether each triangle turns its front to the eye and its centroid is not hidden from it.
std::vector<char> seen_triangles(const TriangleTree& tree, const Vector3d& eye);

/// Nearest points of the triangles that `eye` sees (null: of all). Where none is seen, of all.
std::vector<SurfaceHit> nearest_seen(const TriangleTree& tree, const Matrix3X& points,
                                     const Vector3d* eye);

}  // namespace diffsim
