// The surface g = 0 of any signed distance function as triangles, for pictures.
#pragma once

#include <array>
#include <vector>

#include "sdf.hpp"

namespace diffsim {

struct Outline {
  std::vector<Vector3d> vertices;
  std::vector<std::array<int, 3>> triangles;  // counter-clockwise seen from outside
};

/// Surface nets: one vertex in each cell of a grid that the surface crosses, at the mean of the
/// crossings of the cell's edges, then moved onto g = 0. Open where the box cuts the surface.
/// cells: along the longest side of the box, 4 to 256.
Outline outline(const Sdf& sdf, const Eigen::AlignedBox3d& box, int cells);

}  // namespace diffsim
