// How a set's own shape parameters (scale, radius) move its points: shared by forces at points.
#pragma once

#include "../bodies/point_set.hpp"

namespace diffsim {

/// Calls f(column, d rho, d xdot) for each active shape parameter of point i's set.
template <class F>
void for_each_shape_column(const PointSet& set, int i, const State& s, const ParameterColumns& out,
                           F&& f) {
  for (const bool scale : {true, false}) {
    const int c = out.column(scale ? set.p_scale : set.p_radius);
    if (c < 0) continue;
    const Vector3d drho = scale ? set.arm_by_scale(i, s) : set.arm_by_radius(i, s);
    Vector3d dv = Vector3d::Zero();
    if (set.on_frame(i)) dv = s.w[set.nodes[set.node[i]].frame].cross(drho);
    f(c, drho, dv);
  }
}

/// Refuses points outside the set and, unless `world`, points fixed to the world; an empty list
/// means all points.
std::vector<int> chosen_points(const std::string& place, const PointSet& set,
                               const std::vector<int>& index, bool world);

}  // namespace diffsim
