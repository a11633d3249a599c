// Builder of solids: checks the mesh, makes body, points and element.
#pragma once

#include <string>
#include <vector>

#include "point_masses.hpp"

namespace diffsim {

struct SolidSpec {
  Matrix3X vertices;                                        // (3, n) [m], body frame
  Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic> tets;  // (m, 4), quadratic: (m, 10)
  double density, young, poisson, viscosity;                // [kg/m^3], [Pa], [1], [Pa s]
  std::string model = "neo_hookean";                        // or neo_hookean_safe
  std::string viscosity_model = "invariant";                // or linear
  std::string element = "p1";                               // or p1_fbar, p2, p2_p0
  std::string mass = "lumped";                              // or consistent
  RigidBodyStart start;  // of the vertices' origin; spin about it
  // Per element, multiply the parameter; empty = 1.
  std::vector<double> young_field, viscosity_field, density_field;
  // Parts that have one parameter per element: of young, poisson, viscosity.
  std::vector<std::string> per_element;
  std::vector<Glue> glued;
};

void add_solid(Scene& scene, const std::string& name, const SolidSpec& spec);

}  // namespace diffsim
