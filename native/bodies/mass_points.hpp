// Mass points of cloth and strings: a deformable body without elements of its own (springs join
// its points, which have its name).
#pragma once

#include "glue.hpp"

namespace diffsim {

struct MassPointsSpec {
  Matrix3X vertices;  // body frame [m]
  double mass;        // of all vertices [kg]
  VectorXd shares;    // of the mass, sum 1; empty: equal
  RigidBodyStart start;
  Glue glue;
};

/// Parameters name.mass .position .rotation .velocity .angular_velocity; point set `name`.
void add_mass_points(Scene& scene, const std::string& name, const MassPointsSpec& spec);

}  // namespace diffsim
