#include "../sdf/csg.hpp"
#include "../sdf/primitives.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

py::tuple evaluate(const Sdf& sdf, const Points& x) {
  std::vector<SdfSample> samples;
  sdf.evaluate(x.transpose(), samples);
  const py::ssize_t n = x.rows();
  py::array_t<double> g(n), normal({n, py::ssize_t{3}}), kappa({n, py::ssize_t{3}, py::ssize_t{3}});
  py::array_t<int> region(n);
  for (py::ssize_t i = 0; i < n; ++i) {
    const SdfSample& s = samples[i];
    g.mutable_at(i) = s.g;
    region.mutable_at(i) = s.region;
    for (int a = 0; a < 3; ++a) {
      normal.mutable_at(i, a) = s.n[a];
      for (int b = 0; b < 3; ++b) kappa.mutable_at(i, a, b) = s.kappa(a, b);
    }
  }
  return py::make_tuple(g, normal, kappa, region);
}

}  // namespace

void bind_sdf(py::module_& m) {
  py::class_<Sdf, std::shared_ptr<Sdf>>(m, "Sdf", "Signed distance function, world frame.")
      .def("evaluate", &evaluate, py::arg("x"),
           "x (n, 3) [m] -> gap g (n,) [m], < 0 inside; normal (n, 3); curvature (n, 3, 3) [1/m]; "
           "region (n,), the smooth piece a point lies on.")
      .def_property_readonly("regions", &Sdf::regions);
  py::class_<Plane, Sdf, std::shared_ptr<Plane>>(m, "Plane", "g = n.x - offset [m].")
      .def(py::init<const Vector3d&, double>(), py::arg("normal"), py::arg("offset") = 0.);
  py::class_<Sphere, Sdf, std::shared_ptr<Sphere>>(m, "Sphere", "Sphere about its origin.")
      .def(py::init<double>(), py::arg("radius"));
  py::class_<Box, Sdf, std::shared_ptr<Box>>(m, "Box", "Box about its origin, exact distance.")
      .def(py::init<const Vector3d&>(), py::arg("half_extents"));
  py::class_<Transformed, Sdf, std::shared_ptr<Transformed>>(
      m, "Transformed", "An sdf placed at position [m] with orientation (x, y, z, w).")
      .def(py::init([](std::shared_ptr<Sdf> inner, const Vector3d& position,
                       const Eigen::Vector4d& orientation) {
             return std::make_shared<Transformed>(inner, position, orientation);
           }),
           py::arg("sdf"), py::arg("position"),
           py::arg("orientation") = Eigen::Vector4d(0, 0, 0, 1));
  py::class_<Union, Sdf, std::shared_ptr<Union>>(m, "Union", "Least gap of several sdfs.")
      .def(py::init([](const std::vector<std::shared_ptr<Sdf>>& members) {
             return std::make_shared<Union>(std::vector<SdfPtr>(members.begin(), members.end()));
           }),
           py::arg("members"));
}

}  // namespace diffsim
