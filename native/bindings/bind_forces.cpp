#include "../elements/cable.hpp"
#include "../elements/drag.hpp"
#include "../elements/point_force.hpp"
#include "../elements/torque.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

bool body_fixed(const std::string& place, const std::string& frame) {
  if (frame != "world" && frame != "body") {
    refuse(place + ": frame", "must be 'world' or 'body'", "'" + frame + "'");
  }
  return frame == "body";
}

VectorXd optional_vector(const py::object& values) {
  return values.is_none() ? VectorXd() : values.cast<VectorXd>();
}

void make_point_force(Scene& s, const std::string& name, const std::string& points,
                      const py::object& force, const std::vector<int>& index, double interval,
                      const std::string& frame, const py::object& shares) {
  const std::string place = "point force '" + name + "'";
  add_point_force(s, name,
                  {points,
                   index,
                   body_fixed(place, frame),
                   {interval, key_values(place + ": force", force, 3)},
                   optional_vector(shares)});
}

void make_torque(Scene& s, const std::string& name, const std::string& body,
                 const py::object& torque, double interval, const std::string& frame) {
  const std::string place = "torque '" + name + "'";
  add_torque(
      s, name,
      {body, body_fixed(place, frame), {interval, key_values(place + ": torque", torque, 3)}});
}

void make_cable(Scene& s, const std::string& name, const py::object& points,
                const std::vector<int>& index, double stiffness, double damping,
                double rest_length) {
  std::vector<std::string> sets;
  if (py::isinstance<py::str>(points)) {
    sets.push_back(points.cast<std::string>());
  } else {
    sets = points.cast<std::vector<std::string>>();
  }
  add_cable(s, name, {sets, index, stiffness, damping, rest_length});
}

}  // namespace

MatrixXd key_values(const std::string& place, const py::object& values, int size) {
  const py::array_t<double, py::array::c_style | py::array::forcecast> array(values);
  const auto n = array.ndim();
  const bool single = size == 1 ? n == 0 : n == 1 && array.shape(0) == size;
  const bool many = size == 1 ? n == 1 : n == 2 && array.shape(1) == size;
  if (!single && !many) {
    refuse(place, size == 1 ? "must be a number or (n,) keys" : "must be (3,) or (n, 3) keys",
           std::to_string(n) + " dimensions");
  }
  const auto keys = single ? 1 : array.shape(0);
  const MatrixXd out = MatrixXd::Map(array.data(), size, keys);
  if (!out.allFinite()) refuse(place, "must be finite", "nan or inf");
  return out;
}

void bind_forces(py::class_<Scene>& scene) {
  const std::vector<int> all;
  scene
      .def("add_point_force", &make_point_force, py::arg("name"), py::kw_only(), py::arg("points"),
           py::arg("force"), py::arg("index") = all, py::arg("interval") = 0.,
           py::arg("frame") = "world", py::arg("shares") = py::none(),
           "force (3,) [N] or keys (n, 3) `interval` seconds apart, at each of the points, times "
           "its share (index,) where there are shares; 'body': turns with the body. Parameters "
           "NAME.force[k].x ...")
      .def("add_torque", &make_torque, py::arg("name"), py::kw_only(), py::arg("body"),
           py::arg("torque"), py::arg("interval") = 0., py::arg("frame") = "world",
           "torque (3,) [N m] or keys (n, 3) on a rigid body. Parameters NAME.torque[k].x ...")
      .def(
          "add_drag",
          [](Scene& s, const std::string& name, const std::string& points, double linear,
             double quadratic, const std::vector<int>& index, const py::object& shares,
             const Vector3d& wind) {
            add_drag(s, name, {points, index, optional_vector(shares), linear, quadratic, wind});
          },
          py::arg("name"), py::kw_only(), py::arg("points"), py::arg("c_linear") = 0.,
          py::arg("c_quadratic") = 0., py::arg("index") = all, py::arg("shares") = py::none(),
          py::arg("wind") = Vector3d(0, 0, 0),
          "-share (c_linear + c_quadratic |u|) u at each point, u its velocity less the wind; "
          "shares: 1/n each, or given (areas).")
      .def("add_cable", &make_cable, py::arg("name"), py::kw_only(), py::arg("points"),
           py::arg("index"), py::arg("stiffness"), py::arg("damping") = 0., py::arg("rest_length"),
           "Tension only, in one length along points `index` of a set (or one set per point) "
           "[N/m, s/m, m].");
}

}  // namespace diffsim
