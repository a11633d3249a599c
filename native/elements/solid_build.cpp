#include "solid_build.hpp"

#include <algorithm>
#include <cmath>

#include "../rotation.hpp"
#include "../scene.hpp"
#include "solid_mesh.hpp"
#include "solid_smoothed.hpp"

namespace diffsim {
namespace {

void check_field(const std::string& place, const std::vector<double>& field, std::size_t elements,
                 bool may_be_zero) {
  if (!field.empty() && field.size() != elements) {
    refuse(place, "must have one number per tetrahedron (" + std::to_string(elements) + ")",
           field.size());
  }
  for (std::size_t e = 0; e < field.size(); ++e) {
    if (std::isfinite(field[e]) && (field[e] > 0 || (may_be_zero && field[e] == 0))) continue;
    refuse(place + "[" + std::to_string(e) + "]",
           may_be_zero ? "must be finite and >= 0" : "must be finite and > 0", field[e]);
  }
}

// Which of `names` was given.
int choose(const std::string& place, const std::string& got,
           const std::vector<std::string>& names) {
  std::string known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (got == names[i]) return static_cast<int>(i);
    known += (i == 0 ? "" : ", ") + names[i];
  }
  refuse(place, "must be one of [" + known + "]", "'" + got + "'");
}

SolidMaterial make_material(ParameterTable& table, const std::string& name, const SolidSpec& spec,
                            int elements) {
  const char* parts[] = {"young", "poisson", "viscosity"};
  for (const std::string& p : spec.per_element) {
    if (std::find(parts, parts + kMaterialParts, p) == parts + kMaterialParts) {
      refuse("solid '" + name + "': fields", "must be of young, poisson, viscosity", "'" + p + "'");
    }
    if (spec.element == "p1_fbar") {
      refuse("solid '" + name + "': fields", "must be empty for p1_fbar", "'" + p + "'",
             "use p1, p2 or p2_p0, whose elements have materials of their own");
    }
  }
  auto per_element = [&](const char* part) {
    return std::find(spec.per_element.begin(), spec.per_element.end(), part) !=
           spec.per_element.end();
  };
  SolidMaterial m;
  m.part[0] = add_element_parameter(table, name + ".young", "Pa", spec.young, 1e-9, kInfinity,
                                    elements, per_element(parts[0]), spec.young_field);
  m.part[1] = add_element_parameter(table, name + ".poisson", "1", spec.poisson, -0.99, 0.49999,
                                    elements, per_element(parts[1]), {});
  m.part[2] =
      add_element_parameter(table, name + ".viscosity", "Pa s", spec.viscosity, 0, kInfinity,
                            elements, per_element(parts[2]), spec.viscosity_field);
  return m;
}

}  // namespace

void add_solid(Scene& scene, const std::string& name, const SolidSpec& spec) {
  scene.check_new("solid", name);
  const std::string place = "solid '" + name + "'";
  choose(place + ": element", spec.element, {"p1", "p1_fbar", "p2", "p2_p0"});
  const bool consistent = choose(place + ": mass", spec.mass, {"lumped", "consistent"}) == 1;
  const bool quadratic = spec.element == "p2" || spec.element == "p2_p0";
  const SolidMesh mesh(place, spec.vertices, spec.tets, quadratic);
  const std::size_t count = mesh.tets.size();
  check_field(place + ": young_field", spec.young_field, count, false);
  check_field(place + ": viscosity_field", spec.viscosity_field, count, true);
  check_field(place + ": density_field", spec.density_field, count, false);
  SolidMatter matter;
  matter.model = choose(place + ": model", spec.model, {"neo_hookean", "neo_hookean_safe"}) == 0
                     ? SolidModel::neo_hookean
                     : SolidModel::neo_hookean_safe;
  matter.viscosity =
      choose(place + ": viscosity_model", spec.viscosity_model, {"invariant", "linear"}) == 0
          ? ViscosityModel::invariant
          : ViscosityModel::linear;
  const PointSet* points =
      add_deformable(scene, place, name,
                     {spec.vertices,
                      {"density", "kg/m^3", spec.density, mesh.lumped(spec.density_field)},
                      spec.start,
                      spec.glued});
  matter.material = make_material(scene.table(), name, spec, static_cast<int>(count));
  if (consistent) {
    scene.add_element(std::make_unique<ConsistentMass>(
        name + " (mass)", points, mesh.beyond_lumped(spec.density_field),
        scene.table().index(name + ".density"), scene.table().index("gravity.x")));
  }
  // The linear viscosity compares directions of the rest shape and of the world: they meet in the
  // orientation the body is built with.
  const Matrix3X X = exp_rotation(spec.start.rotation) * spec.vertices;
  if (spec.element == "p2") {
    using Quadratic = SolidQuadratic<Dilatation::of_points>;
    scene.add_element(std::make_unique<Quadratic>(name, points, X, mesh.ten, matter));
  } else if (spec.element == "p2_p0") {
    using Mixed = SolidQuadratic<Dilatation::mean>;
    scene.add_element(std::make_unique<Mixed>(name, points, X, mesh.ten, matter));
  } else if (spec.element == "p1") {
    scene.add_element(std::make_unique<Solid>(name, points, X, mesh.tets, matter));
  } else {
    scene.add_element(std::make_unique<SolidSmoothed>(name, points, X, mesh.tets, matter));
  }
}

}  // namespace diffsim
