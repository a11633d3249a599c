#include "solid_build.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "../rotation.hpp"
#include "../scene.hpp"
#include "solid.hpp"

namespace diffsim {
namespace {

using Tets = std::vector<std::array<int, 4>>;

// Six times the volume over the cube of the root-mean-square edge: sqrt(1/2) for a regular
// tetrahedron, 0 for a flat one.
constexpr double kSliver = 1e-3;

double quality(const Matrix3X& X, const std::array<int, 4>& t, double volume) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) sum += (X.col(t[i]) - X.col(t[j])).squaredNorm();
  }
  return 6 * volume / std::pow(sum / 6, 1.5);
}

double volume_of(const Matrix3X& X, const std::array<int, 4>& t) {
  const Vector3d a = X.col(t[1]) - X.col(t[0]), b = X.col(t[2]) - X.col(t[0]);
  return a.dot(b.cross(X.col(t[3]) - X.col(t[0]))) / 6;
}

Tets checked_tets(const std::string& place, const SolidSpec& spec) {
  const Matrix3X& X = spec.vertices;
  const auto n = static_cast<int>(X.cols());
  if (!X.allFinite()) refuse(place + ": vertices", "must be finite [m]", "nan or inf");
  if (spec.tets.rows() == 0) refuse(place + ": tets", "must hold at least one tetrahedron", 0);
  if (spec.tets.cols() != 4) {
    refuse(place + ": tets", "must have 4 vertices each", spec.tets.cols());
  }
  Tets tets;
  std::vector<bool> used(n, false);
  std::map<std::array<int, 4>, Eigen::Index> seen;
  for (Eigen::Index e = 0; e < spec.tets.rows(); ++e) {
    const std::string here = place + ": tets[" + std::to_string(e) + "]";
    std::array<int, 4> t;
    for (int a = 0; a < 4; ++a) {
      t[a] = spec.tets(e, a);
      if (t[a] < 0 || t[a] >= n) {
        refuse(here, "vertex index must be in [0, " + std::to_string(n - 1) + "]", t[a]);
      }
      used[t[a]] = true;
    }
    std::array<int, 4> sorted = t;
    std::sort(sorted.begin(), sorted.end());
    if (std::unique(sorted.begin(), sorted.end()) != sorted.end()) {
      refuse(here, "must have four different vertices", spec.tets.row(e));
    }
    if (const auto [twin, fresh] = seen.emplace(sorted, e); !fresh) {
      refuse(here, "must differ from all others",
             "the vertices of tets[" + std::to_string(twin->second) + "]", "remove one of the two");
    }
    const double volume = volume_of(X, t), q = quality(X, t, volume);
    if (q < 0) {
      refuse(here, "must be positively oriented: (x1 - x0).((x2 - x0) x (x3 - x0)) > 0",
             std::to_string(volume * 6) + " m^3", "swap two of its vertices");
    }
    if (!(q >= kSliver)) {
      refuse(here, "must not be flat: 6 volume/(rms edge)^3 >= 1e-3 (0.71 for a regular one)", q,
             "mesh again or merge vertices");
    }
    tets.push_back(t);
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused != used.end()) {
    refuse(place + ": vertices[" + std::to_string(unused - used.begin()) + "]",
           "must belong to a tetrahedron", "none", "remove unused vertices");
  }
  return tets;
}

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

template <class Enum>
Enum choice(const std::string& place, const std::string& got, const char* first, Enum one,
            const char* second, Enum other) {
  if (got == first) return one;
  if (got == second) return other;
  refuse(place, std::string("must be ") + first + " or " + second, "'" + got + "'");
}

SolidMaterial make_material(ParameterTable& table, const std::string& name, const SolidSpec& spec,
                            int elements) {
  const char* parts[] = {"young", "poisson", "viscosity"};
  for (const std::string& p : spec.per_element) {
    if (std::find(parts, parts + kMaterialParts, p) == parts + kMaterialParts) {
      refuse("solid '" + name + "': fields", "must be of young, poisson, viscosity", "'" + p + "'");
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
  const Tets tets = checked_tets(place, spec);
  check_field(place + ": young_field", spec.young_field, tets.size(), false);
  check_field(place + ": viscosity_field", spec.viscosity_field, tets.size(), true);
  check_field(place + ": density_field", spec.density_field, tets.size(), false);
  const auto model = choice(place + ": model", spec.model, "neo_hookean", SolidModel::neo_hookean,
                            "neo_hookean_safe", SolidModel::neo_hookean_safe);
  const auto viscosity = choice(place + ": viscosity_model", spec.viscosity_model, "invariant",
                                ViscosityModel::invariant, "linear", ViscosityModel::linear);
  VectorXd share = VectorXd::Zero(spec.vertices.cols());  // nodal volumes
  for (std::size_t e = 0; e < tets.size(); ++e) {
    const double weight = spec.density_field.empty() ? 1 : spec.density_field[e];
    for (int v : tets[e]) share[v] += weight * volume_of(spec.vertices, tets[e]) / 4;
  }
  const PointSet* points = add_deformable(
      scene, place, name,
      {spec.vertices, {"density", "kg/m^3", spec.density, share}, spec.start, spec.glued});
  const SolidMaterial material =
      make_material(scene.table(), name, spec, static_cast<int>(tets.size()));
  // The linear viscosity compares directions of the rest shape and of the world: they meet in the
  // orientation the body is built with.
  scene.add_element(std::make_unique<Solid>(name, points,
                                            exp_rotation(spec.start.rotation) * spec.vertices, tets,
                                            material, model, viscosity));
}

}  // namespace diffsim
