#include <optional>

#include "../sdf/cone.hpp"
#include "../sdf/csg.hpp"
#include "../sdf/ellipsoid.hpp"
#include "../sdf/half_spaces.hpp"
#include "../sdf/height_field.hpp"
#include "../sdf/outline.hpp"
#include "../sdf/primitives.hpp"
#include "../sdf/revolved.hpp"
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

// By each size, at its own sizes: of g (n, sizes), of n (n, sizes, 3).
py::tuple slopes(const Sdf& sdf, const Points& x) {
  const py::ssize_t n = x.rows(), count = static_cast<py::ssize_t>(sdf.sizes().size());
  py::array_t<double> g({n, count}), normal({n, count, py::ssize_t{3}});
  std::vector<SizeSlope> by(count);
  for (py::ssize_t i = 0; i < n; ++i) {
    sdf.slopes(x.row(i).transpose(), sdf.own(), by.data());
    for (py::ssize_t k = 0; k < count; ++k) {
      g.mutable_at(i, k) = by[k].g;
      for (int a = 0; a < 3; ++a) normal.mutable_at(i, k, a) = by[k].n[a];
    }
  }
  return py::make_tuple(g, normal);
}

py::dict sizes(const Sdf& sdf) {
  py::dict found;
  for (const SdfSize& size : sdf.sizes()) found[py::str(size.name)] = size.value;
  return found;
}

// Surface within a box, by default a little more than the sdf's bounds.
py::tuple outline_of(const Sdf& sdf, std::optional<Vector3d> low, std::optional<Vector3d> high,
                     int cells) {
  Eigen::AlignedBox3d box = sdf.bounds();
  const Vector3d margin = Vector3d::Constant(2 * box.sizes().maxCoeff() / (std::max(cells, 5) - 4));
  box = {low.value_or(box.min() - margin), high.value_or(box.max() + margin)};
  const Outline found = outline(sdf, box, cells);
  py::array_t<double> vertices({found.vertices.size(), std::size_t{3}});
  py::array_t<int> triangles({found.triangles.size(), std::size_t{3}});
  for (std::size_t i = 0; i < found.vertices.size(); ++i) {
    for (int a = 0; a < 3; ++a) vertices.mutable_at(i, a) = found.vertices[i][a];
  }
  for (std::size_t i = 0; i < found.triangles.size(); ++i) {
    for (int a = 0; a < 3; ++a) triangles.mutable_at(i, a) = found.triangles[i][a];
  }
  return py::make_tuple(vertices, triangles);
}

using Members = std::vector<std::shared_ptr<Sdf>>;

// A function NAME(members, width) of the module.
void bind_operation(py::module_& m, const char* name, Operation operation, const char* doc) {
  m.def(
      name,
      [operation](const Members& members, double width) {
        return std::make_shared<Boolean>(
            operation, std::vector<SdfPtr>(members.begin(), members.end()), width);
      },
      py::arg("members"), py::arg("width") = 0., doc);
}

void bind_combinations(py::module_& m) {
  py::class_<Transformed, Sdf, std::shared_ptr<Transformed>>(
      m, "Transformed", "An sdf placed at position [m] with orientation (x, y, z, w).")
      .def(py::init([](std::shared_ptr<Sdf> inner, const Vector3d& position,
                       const Eigen::Vector4d& orientation) {
             return std::make_shared<Transformed>(inner, position, orientation);
           }),
           py::arg("sdf"), py::arg("position"),
           py::arg("orientation") = Eigen::Vector4d(0, 0, 0, 1));
  py::class_<Offset, Sdf, std::shared_ptr<Offset>>(m, "Offset", "An sdf grown by distance [m].")
      .def(py::init([](std::shared_ptr<Sdf> inner, double distance) {
             return std::make_shared<Offset>(inner, distance);
           }),
           py::arg("sdf"), py::arg("distance"));
  py::class_<Boolean, Sdf, std::shared_ptr<Boolean>>(
      m, "Boolean", "Made by Union, Intersection, Difference, Complement.");
  bind_operation(m, "Union", Operation::union_,
                 "Inside any of the members; blended where two gaps differ by less than width.");
  bind_operation(m, "Intersection", Operation::intersection,
                 "Inside all members; blended where two gaps differ by less than width.");
  bind_operation(m, "Difference", Operation::difference,
                 "Inside the first and outside all other members; blended likewise.");
  bind_operation(m, "Complement", Operation::complement,
                 "Outside all members: the walls of a container.");
}

}  // namespace

void bind_sdf(py::module_& m) {
  py::class_<Sdf, std::shared_ptr<Sdf>>(m, "Sdf", "Signed distance function, world frame.")
      .def("evaluate", &evaluate, py::arg("x"),
           "x (n, 3) [m] -> gap g (n,) [m], < 0 inside; normal (n, 3); curvature (n, 3, 3) [1/m]; "
           "region (n,), the smooth piece a point lies on.")
      .def_property_readonly("regions", &Sdf::regions)
      .def_property_readonly("sizes", &sizes, "Its sizes [m] by name; parameters of a contact.")
      .def("slopes", &slopes, py::arg("x"),
           "x (n, 3) [m] -> derivatives by each of `sizes`, of gaps (n, sizes) and of normals "
           "(n, sizes, 3) [1/m].")
      .def_property_readonly("thickness", py::overload_cast<>(&Sdf::thickness, py::const_),
                             "Smallest thickness [m]; infinite for a half-space.")
      .def(
          "bounds",
          [](const Sdf& s, double level) {
            const Eigen::AlignedBox3d box = s.bounds(level);
            return py::make_tuple(Vector3d(box.min()), Vector3d(box.max()));
          },
          py::arg("level") = 0.,
          "Corners (low, high) of a box that holds all points with g < level [m]; infinite where "
          "none is known.")
      .def("outline", &outline_of, py::arg("low") = py::none(), py::arg("high") = py::none(),
           py::arg("cells") = 48,
           "The surface as (vertices (n, 3) [m], triangles (m, 3)), for pictures; cells along the "
           "longest side of the box, which a surface without bounds needs.");
  py::class_<Plane, Sdf, std::shared_ptr<Plane>>(m, "Plane", "g = n.x - offset [m].")
      .def(py::init<const Vector3d&, double>(), py::arg("normal"), py::arg("offset") = 0.);
  py::class_<Sphere, Sdf, std::shared_ptr<Sphere>>(m, "Sphere", "Sphere about its origin.")
      .def(py::init<double>(), py::arg("radius"));
  py::class_<Box, Sdf, std::shared_ptr<Box>>(m, "Box", "Box about its origin, exact distance.")
      .def(py::init<const Vector3d&>(), py::arg("half_extents"));
  py::class_<Capsule, Sdf, std::shared_ptr<Capsule>>(
      m, "Capsule", "Within radius of the segment from -half_length to half_length along z.")
      .def(py::init<double, double>(), py::arg("half_length"), py::arg("radius"));
  py::class_<Cylinder, Sdf, std::shared_ptr<Cylinder>>(
      m, "Cylinder", "Solid cylinder about z with sharp rims, exact distance.")
      .def(py::init<double, double>(), py::arg("half_height"), py::arg("radius"));
  py::class_<Torus, Sdf, std::shared_ptr<Torus>>(m, "Torus", "Ring about z, exact distance.")
      .def(py::init<double, double>(), py::arg("ring_radius"), py::arg("tube_radius"));
  py::class_<Cone, Sdf, std::shared_ptr<Cone>>(
      m, "Cone", "Solid cone about z, whole or cut off, exact distance; one radius may be 0.")
      .def(py::init<double, double, double>(), py::arg("half_height"), py::arg("bottom"),
           py::arg("top") = 0.);
  py::class_<Ellipsoid, Sdf, std::shared_ptr<Ellipsoid>>(
      m, "Ellipsoid", "Ellipsoid about its origin, exact distance.")
      .def(py::init<const Vector3d&>(), py::arg("half_axes"));
  py::class_<HeightField, Sdf, std::shared_ptr<HeightField>>(
      m, "HeightField",
      "Ground below heights (nx, ny) [m] on a grid from (-half_x, -half_y) to (half_x, half_y), "
      "smooth between them and level beyond.")
      .def(py::init<const MatrixXd&, double, double>(), py::arg("heights"), py::arg("half_x"),
           py::arg("half_y"));
  py::class_<HalfSpaces, Sdf, std::shared_ptr<HalfSpaces>>(
      m, "HalfSpaces", "Convex solid normals.x <= offsets, exact distance; normals (m, 3).")
      .def(py::init([](const Points& normals, const VectorXd& offsets) {
             return std::make_shared<HalfSpaces>(normals.transpose(), offsets);
           }),
           py::arg("normals"), py::arg("offsets"));
  bind_combinations(m);
}

}  // namespace diffsim
