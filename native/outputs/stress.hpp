// Stress and strain of solids, one mean per tetrahedron.
//
//   sigma = mu F F^T / J + q I + nu (M + M^T) / J,   E = (F^T F - I)/2
// with the law's q (elements/tet_kernel.hpp) and M = F F^T F' F^T (invariant viscosity) or
// (F' + F'^T) F^T / 2 (linear): sigma = P F^T / J, symmetric. Where an element takes F or J from
// somewhere else than its own tetrahedra, so does the mean: every sample gives its part of sigma by
// its share of the tetrahedron, and the term with lambda comes from averages of J.
#pragma once

#include "../bodies/point_set.hpp"
#include "../elements/material.hpp"
#include "../elements/stencil_kernel.hpp"
#include "output.hpp"

namespace diffsim {

/// What the stress of a body's tetrahedra is made of.
struct StressLayout {
  struct Sample {  // F = sum_a x_a b_a^T
    std::vector<int> point;
    Matrix3X gradient;
  };
  struct Volume {  // J = sum of weight times J of samples; weights sum to 1
    std::vector<std::pair<int, double>> of;
  };
  struct Part {  // a sample or volume, its material, its share of the tetrahedron (sum: 1)
    int index, element;
    double share;
  };
  struct Cell {
    std::vector<Part> samples, volumes;
  };
  std::vector<Sample> sample;
  std::vector<Volume> volume;
  std::vector<Cell> cell;
  SolidMaterial of_samples, of_volumes;

  /// Adds the sample of a tetrahedron X(point); returns its place.
  int add_tetrahedron(const Matrix3X& X, const std::array<int, 4>& point);
};

/// A law's q by J and moduli, of one lane: of Psi_mu, and of Psi_lambda.
struct StressLaw {
  using Answer = Volumetric (*)(const Wide& J, const Moduli& m);
  Answer shear, volume;
  ViscosityModel viscosity;

  template <class Law>
  static StressLaw of(ViscosityModel viscosity) {
    return {[](const Wide& J, const Moduli& m) { return Law::at(J, Law::shear(m), true); },
            [](const Wide& J, const Moduli& m) { return Law::at(J, Law::volume(m), true); },
            viscosity};
  }
};

/// NAME.stress, NAME.von_mises, NAME.von_mises_max [Pa] and NAME.strain [1]. `layout` is called
/// when one of them is evaluated first.
void list_stress(const std::string& name, const PointSet* points, StressLaw law,
                 std::function<StressLayout()> layout, int cells, OutputList& to);

}  // namespace diffsim
