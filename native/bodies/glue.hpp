// Gluing by elimination: vertices of a deformable body that a rigid body or handle carries.
//
// A glued vertex is a point of the carrier's frame, x = c + R xhat with xhat = R_0^T (x_0 - c_0) at
// the scene's start values, and no node of its own: no stiff spring, no further unknown. It brings
// no mass: the carrier's own counts.
#pragma once

#include <string>
#include <vector>

#include "point_set.hpp"
#include "rigid_body.hpp"

namespace diffsim {

/// Which vertices each carrier holds.
using Glue = std::vector<std::pair<std::string, std::vector<int>>>;

struct GluedVertices {
  PointSet points;        // named `name`, one point per vertex: free nodes in order, or carried
  std::vector<int> free;  // vertices that are nodes, in the order of their nodes
};

/// Vertices X (3, n) that start from a rigid motion; free ones become the nodes from
/// scene.next_node(). Refuses carriers without a frame, vertices that are not there or held twice,
/// and a body without a free vertex.
GluedVertices glued_vertices(const Scene& scene, const std::string& place, const std::string& name,
                             const Matrix3X& X, const RigidBodyStart& start, const Glue& glue);

}  // namespace diffsim
