#include "../bodies/mass_points.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {

void bind_mass_points(py::class_<Scene>& scene) {
  const Vector3d zero = Vector3d::Zero();
  scene.def(
      "add_mass_points",
      [](Scene& s, const std::string& name, const Points& vertices, double mass,
         const py::object& shares, const Vector3d& position, const Eigen::Vector4d& orientation,
         const Vector3d& velocity, const Vector3d& angular_velocity, const Glue& glued) {
        const Vector3d rotation =
            rotation_vector("mass points '" + name + "': orientation", orientation);
        const VectorXd given = shares.is_none() ? VectorXd() : shares.cast<VectorXd>();
        add_mass_points(s, name,
                        {vertices.transpose(),
                         mass,
                         given,
                         {position, rotation, velocity, angular_velocity},
                         glued});
      },
      py::arg("name"), py::kw_only(), py::arg("vertices"), py::arg("mass"),
      py::arg("shares") = py::none(), py::arg("position") = zero,
      py::arg("orientation") = Eigen::Vector4d(0, 0, 0, 1), py::arg("velocity") = zero,
      py::arg("angular_velocity") = zero, py::arg("glued") = Glue(),
      "Cloth and strings: vertices (n, 3) [m] in the body frame that share a mass [kg] (`shares`, "
      "sum 1; equal); springs join the points `name`. glued: [(rigid body or handle, vertices)], "
      "which it carries and whose mass is its own.");
}

}  // namespace diffsim
