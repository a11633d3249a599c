#include "material.hpp"

namespace diffsim {
namespace {

template <class T>
T mu_of(const T& nu) {
  return 0.5 / (1.0 + nu);
}

template <class T>
T lambda_of(const T& nu) {
  return nu / ((1.0 + nu) * (1.0 - 2.0 * nu));
}

template <class T>
T mu_slope(const T& nu) {
  return -0.5 / ((1.0 + nu) * (1.0 + nu));
}

template <class T>
T lambda_slope(const T& nu) {
  const T bottom = (1.0 + nu) * (1.0 - 2.0 * nu);
  return (1.0 + 2.0 * nu * nu) / (bottom * bottom);
}

}  // namespace

Wide ElementParameter::at(const LaneIndex& element, const VectorXd& p) const {
  if (!per_element) return p[first] * weight(element);
  Wide value;
  for (int lane = 0; lane < kLanes; ++lane) value[lane] = p[first + element[lane]];
  return value * weight(element);
}

Wide ElementParameter::weight(const LaneIndex& element) const {
  return field.empty() ? wide(1) : gather(field.data(), element.data());
}

bool ElementParameter::any_active(const ParameterColumns& columns) const {
  for (int i = first; i < first + count; ++i) {
    if (columns.column(i) >= 0) return true;
  }
  return false;
}

bool SolidMaterial::viscous(const VectorXd& p) const {
  const ElementParameter& v = of(MaterialPart::viscosity);
  return p.segment(v.first, v.count).any();
}

ModuliView::ModuliView(const SolidMaterial& material, const VectorXd& p)
    : material_(&material), p_(&p) {
  const ElementParameter& poisson = material.of(MaterialPart::poisson);
  if (poisson.per_element) return;
  mu_ = mu_of(p[poisson.first]);
  lambda_ = lambda_of(p[poisson.first]);
}

ModuliView::ModuliView(const SolidMaterial& material, const VectorXd& p, MaterialPart by)
    : ModuliView(material, p) {
  by_ = static_cast<int>(by);
  const ElementParameter& poisson = material.of(MaterialPart::poisson);
  if (by != MaterialPart::poisson || poisson.per_element) return;
  mu_ = mu_slope(p[poisson.first]);
  lambda_ = lambda_slope(p[poisson.first]);
}

Moduli ModuliView::operator()(const LaneIndex& element) const {
  const auto by = static_cast<MaterialPart>(by_);
  const ElementParameter& young = material_->of(MaterialPart::young);
  const ElementParameter& poisson = material_->of(MaterialPart::poisson);
  const ElementParameter& viscosity = material_->of(MaterialPart::viscosity);
  if (by_ >= 0 && by == MaterialPart::viscosity) {
    return {wide(0), wide(0), viscosity.weight(element)};
  }
  const Wide E =
      by_ >= 0 && by == MaterialPart::young ? young.weight(element) : young.at(element, *p_);
  const Wide eta = by_ >= 0 ? wide(0) : viscosity.at(element, *p_);
  if (!poisson.per_element) return {mu_ * E, lambda_ * E, eta};
  const Wide nu = poisson.at(element, *p_);
  if (by_ >= 0 && by == MaterialPart::poisson) {
    return {mu_slope(nu) * E, lambda_slope(nu) * E, eta};
  }
  return {mu_of(nu) * E, lambda_of(nu) * E, eta};
}

ElementParameter add_element_parameter(ParameterTable& table, const std::string& name,
                                       const std::string& unit, double value, double lower,
                                       double upper, int elements, bool per_element,
                                       const std::vector<double>& field) {
  ElementParameter result;
  result.first = table.size();
  result.per_element = per_element;
  result.count = per_element ? elements : 1;
  if (!per_element) {
    result.field = field;
    table.add(name, unit, value, lower, upper);
    return result;
  }
  for (int e = 0; e < elements; ++e) {
    const double own = field.empty() ? value : value * field[e];
    table.add(name + "[" + std::to_string(e) + "]", unit, own, lower, upper);
  }
  return result;
}

}  // namespace diffsim
