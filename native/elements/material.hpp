// Material parameters of a batch of elements: one for all, one for all times a field, or one per
// element; and Lame's constants of Young's modulus and Poisson's ratio,
//   mu = E/(2 (1 + nu)),  lambda = E nu/((1 + nu)(1 - 2 nu)).
#pragma once

#include <vector>

#include "../parameters.hpp"
#include "element.hpp"
#include "tet_kernel.hpp"

namespace diffsim {

/// One material parameter over all elements.
struct ElementParameter {
  int first = -1;             // index into p
  bool per_element = false;   // p[first + element] instead of p[first]
  int count = 1;              // parameters
  std::vector<double> field;  // per element, multiplies; empty = 1
  Wide at(const LaneIndex& element, const VectorXd& p) const;
  bool any_active(const ParameterColumns& columns) const;
  /// d(at)/dp: the field.
  Wide weight(const LaneIndex& element) const;
};

enum class MaterialPart { young, poisson, viscosity };
constexpr int kMaterialParts = 3;

struct SolidMaterial {
  ElementParameter part[kMaterialParts];  // by MaterialPart
  bool viscous(const VectorXd& p) const;
  const ElementParameter& of(MaterialPart m) const { return part[static_cast<int>(m)]; }
};

/// Moduli of every batch at given p, or their derivative by one part.
class ModuliView {
 public:
  ModuliView(const SolidMaterial& material, const VectorXd& p);
  ModuliView(const SolidMaterial& material, const VectorXd& p, MaterialPart by);
  Moduli operator()(const LaneIndex& element) const;

 private:
  const SolidMaterial* material_;
  const VectorXd* p_;
  int by_ = -1;                 // the part to differentiate by; -1: none
  double mu_ = 0, lambda_ = 0;  // of E = 1, where Poisson's ratio is one for all
};

/// Adds `name` times the field to the table; when per_element name[0], name[1] ..., which start
/// from value times the field.
ElementParameter add_element_parameter(ParameterTable& table, const std::string& name,
                                       const std::string& unit, double value, double lower,
                                       double upper, int elements, bool per_element,
                                       const std::vector<double>& field);

}  // namespace diffsim
