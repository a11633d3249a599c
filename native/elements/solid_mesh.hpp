// The mesh of a solid: what is refused, and the masses it gives its vertices.
#pragma once

#include "consistent_mass.hpp"
#include "solid_quadratic.hpp"

namespace diffsim {

struct SolidMesh {
  Matrix3X X;
  std::vector<std::array<int, 4>> tets;  // corners
  std::vector<TenNodes> ten;             // quadratic tetrahedra only
  std::vector<double> volume;            // per tetrahedron [m^3]

  /// Refuses indices out of range, repeated, flat or inverted tetrahedra and unused vertices.
  SolidMesh(const std::string& place, const Matrix3X& X,
            const Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic>& tets, bool quadratic);
  /// Mass per vertex and what the consistent matrix has besides, for density 1 times `field`
  /// (empty = 1) per tetrahedron.
  VectorXd lumped(const std::vector<double>& field) const;
  std::vector<ConsistentMass::Entry> beyond_lumped(const std::vector<double>& field) const;

 private:
  void check_corners(const std::string& place, int element);  // and find its volume
  void check_unused(const std::string& place) const;
};

}  // namespace diffsim
