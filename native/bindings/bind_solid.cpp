#include "../elements/solid_build.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {

namespace {

using GluedVertices = std::vector<std::pair<std::string, std::vector<int>>>;

std::vector<Glue> glue_of(const GluedVertices& glued) {
  std::vector<Glue> all;
  for (const auto& [body, vertices] : glued) all.push_back({body, vertices});
  return all;
}

void bind_mass_points(py::class_<Scene>& scene) {
  const Eigen::Vector4d upright(0, 0, 0, 1);
  const Vector3d zero = Vector3d::Zero();
  scene.def(
      "add_mass_points",
      [](Scene& s, const std::string& name, const Points& vertices, double mass,
         const py::object& shares, const std::vector<std::pair<double, VectorXd>>& patches,
         const Vector3d& position, const Eigen::Vector4d& orientation, const Vector3d& velocity,
         const Vector3d& angular_velocity, const GluedVertices& glued) {
        std::vector<DeformableBody::Patch> scaled;
        for (const auto& [factor, part] : patches) scaled.push_back({factor, part});
        const Vector3d rotation =
            rotation_vector("mass points '" + name + "': orientation", orientation);
        add_mass_points(
            s, name,
            {vertices.transpose(),
             {"mass", "kg", mass, shares.is_none() ? VectorXd() : shares.cast<VectorXd>(), scaled},
             {position, rotation, velocity, angular_velocity},
             glue_of(glued)});
      },
      py::arg("name"), py::kw_only(), py::arg("vertices"), py::arg("mass"),
      py::arg("shares") = py::none(),
      py::arg("patches") = std::vector<std::pair<double, VectorXd>>(), py::arg("position") = zero,
      py::arg("orientation") = upright, py::arg("velocity") = zero,
      py::arg("angular_velocity") = zero, py::arg("glued") = GluedVertices(),
      "Mass points for cloth and strings: vertices (n, 3) [m], their mass together [kg], `shares` "
      "(n,) of it (default: alike). patches: (factor, parts of the shares (n,)) of what weighs "
      "`factor` times that, parameters NAME.patches[k].factor. They are the points `name`; start "
      "and glued as for add_solid.");
}

}  // namespace

void bind_solid(py::class_<Scene>& scene) {
  const Eigen::Vector4d upright(0, 0, 0, 1);
  const Vector3d zero = Vector3d::Zero();
  scene.def(
      "add_solid",
      [](Scene& s, const std::string& name, const Points& vertices,
         const Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic>& tets, double density,
         double young, double poisson, double viscosity, const std::string& model,
         const std::string& viscosity_model, const std::string& element, const std::string& mass,
         const Vector3d& position, const Eigen::Vector4d& orientation, const Vector3d& velocity,
         const Vector3d& angular_velocity, const std::vector<double>& young_field,
         const std::vector<double>& viscosity_field, const std::vector<double>& density_field,
         const std::vector<std::string>& fields, const GluedVertices& glued) {
        const Vector3d rotation = rotation_vector("solid '" + name + "': orientation", orientation);
        add_solid(s, name,
                  {vertices.transpose(),
                   tets,
                   density,
                   young,
                   poisson,
                   viscosity,
                   model,
                   viscosity_model,
                   element,
                   mass,
                   {position, rotation, velocity, angular_velocity},
                   young_field,
                   viscosity_field,
                   density_field,
                   fields,
                   glue_of(glued)});
      },
      py::arg("name"), py::kw_only(), py::arg("vertices"), py::arg("tets"), py::arg("density"),
      py::arg("young"), py::arg("poisson"), py::arg("viscosity") = 0.,
      py::arg("model") = "neo_hookean", py::arg("viscosity_model") = "invariant",
      py::arg("element") = "p1", py::arg("mass") = "lumped", py::arg("position") = zero,
      py::arg("orientation") = upright, py::arg("velocity") = zero,
      py::arg("angular_velocity") = zero, py::arg("young_field") = std::vector<double>(),
      py::arg("viscosity_field") = std::vector<double>(),
      py::arg("density_field") = std::vector<double>(),
      py::arg("fields") = std::vector<std::string>(), py::arg("glued") = GluedVertices(),
      "A body of tetrahedra: vertices (n, 3) [m] in the body frame, tets (m, 4), or (m, 10) in "
      "VTK's "
      "order for elements p2 and p2_p0; p2_p0 hardly locks, p1 is the fastest; density [kg/m^3], "
      "young [Pa], poisson, viscosity [Pa s]. `*_field` (m,) multiply a parameter per element; "
      "`fields` names those of young, poisson, viscosity that get a parameter per element. The "
      "start is a rigid motion of the vertices' origin; the vertices are the points `name`. glued: "
      "[(body, [vertex ...]) ...] move with a rigid body, a kinematic body or the world (\"\").");
  bind_mass_points(scene);
  scene.def(
      "set_start",
      [](Scene& s, const std::string& name, const Points& position, const Points& velocity) {
        set_start(s, name, position.transpose(), velocity.transpose());
      },
      py::arg("name"), py::kw_only(), py::arg("position"), py::arg("velocity"),
      "Starts the nodes of a solid, cloth or string at position [m], velocity [m/s] (nodes, 3), "
      "world frame; the rest shape stays as it is, and the pose and velocities of the body move "
      "this start.");
}

}  // namespace diffsim
