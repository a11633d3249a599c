// SolidQuadratic: a body of quadratic tetrahedra.
//
// Element p2 takes J at every quadrature point, and is too stiff near Poisson's ratio 1/2 on coarse
// cells. Element p2_p0 takes the mean of J over each tetrahedron in the term with lambda
// (Psi_lambda of tet_kernel.hpp): quadratic displacements with one pressure per tetrahedron, which
// hardly lock.
//
// Ten nodes: the four vertices, then the middles of the edges 01 12 02 03 13 23 (VTK's order),
// which may lie off the edges' middles (isoparametric). Four quadrature points, exact for quadratic
// integrands; places and weights: Hammer, Marlowe, Stroud (1956).
#pragma once

#include "solid_body.hpp"

namespace diffsim {

using TenNodes = std::array<int, 10>;

template <Dilatation kDilatation>
class SolidQuadratic : public SolidBody<SolidQuadratic<kDilatation>> {
 public:
  /// X as for Solid.
  SolidQuadratic(std::string name, const PointSet* points, const Matrix3X& X,
                 const std::vector<TenNodes>& tets, SolidMatter matter);

 private:
  using Base = SolidBody<SolidQuadratic<kDilatation>>;
  friend Base;
  static constexpr bool kJoins = false;
  using Base::cells_;
  using Base::edges_;
  using Base::matter_;
  using Base::X_;
  template <class Law, class Sink>
  void forces(const BodyPoints::View& view, const VectorXd& p, DerivativeBy by,
              ViscosityModel viscosity, Sink&& sink) const {
    stencils_.template forces<Law, kDilatation>(view, moduli_of(matter_.material, p, by), viscosity,
                                                sink);
  }
  template <class Law, ViscosityModel kViscosity>
  void blocks(const BodyPoints::View& view, const VectorXd& p,
              const EdgeBlocks::Buffer& buffer) const {
    stencils_.template blocks<Law, kViscosity, kDilatation>(view, ModuliView(matter_.material, p),
                                                            buffer);
  }
  template <class Law, class Sink>
  void energy(const BodyPoints::View& view, const VectorXd& p, DerivativeBy by, Sink&& sink) const {
    stencils_.template energy<Law, kDilatation>(view, moduli_of(matter_.material, p, by), sink);
  }

  StressLayout stress_layout() const;

  std::vector<TenNodes> cell_;
  Stencils stencils_;
};

/// Weights [m^3] and gradients of the shape functions at the quadrature points; a weight <= 0 where
/// the element is folded.
StencilSpec quadratic_stencil(const Matrix3X& X, const TenNodes& tet, int element);

/// Share of a straight tetrahedron's mass on a vertex and on a middle node: the diagonal of the
/// consistent matrix, scaled to the whole mass (Hinton, Rock, Zienkiewicz 1976).
constexpr double kVertexShare = 1. / 36, kMiddleShare = 4. / 27;

}  // namespace diffsim
