#include "../sdf/level_set.hpp"
#include "../sdf/triangle_mesh.hpp"
#include "../sdf/vdb.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Triangles = Eigen::Matrix<int, Eigen::Dynamic, 3, Eigen::RowMajor>;

constexpr double kFarthest = 1e100;  // squares of what is farther are infinite

std::shared_ptr<TriangleMesh> make_mesh(const Points& vertices, const Triangles& triangles) {
  std::vector<Triangle> list(triangles.rows());
  for (Eigen::Index t = 0; t < triangles.rows(); ++t) {
    list[t] = {triangles(t, 0), triangles(t, 1), triangles(t, 2)};
  }
  return std::make_shared<TriangleMesh>(vertices.transpose(), list);
}

std::shared_ptr<LevelSet> make_level_set(const TriangleMesh& mesh, double voxel, int band,
                                         double smoothing) {
  py::gil_scoped_release release;
  return std::make_shared<LevelSet>(sample_mesh(mesh, {voxel, band, smoothing}));
}

}  // namespace

void bind_level_set(py::module_& m) {
  py::class_<TriangleMesh, std::shared_ptr<TriangleMesh>>(
      m, "TriangleMesh", "A closed, oriented surface; exact signed distances.")
      .def(py::init(&make_mesh), py::arg("vertices"), py::arg("triangles"),
           "vertices (n, 3) [m]; triangles (m, 3), counter-clockwise seen from outside.")
      .def(
          "distance",
          [](const TriangleMesh& mesh, const Points& x) {
            if (x.size() > 0 && !(x.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < kFarthest)) {
              refuse("mesh: x", "must be finite, and less than 1e100 m away", "another number");
            }
            VectorXd d(x.rows());
            for (Eigen::Index i = 0; i < x.rows(); ++i) d[i] = mesh.distance(x.row(i));
            return d;
          },
          py::arg("x"), "Signed distance of points (n, 3) [m] -> (n,) [m], < 0 inside.")
      .def_property_readonly("volume", &TriangleMesh::volume, "[m^3]")
      .def_property_readonly("low", &TriangleMesh::low, "Least corner of the bounding box [m].")
      .def_property_readonly("high", &TriangleMesh::high, "Greatest corner [m].")
      .def_property_readonly("thickness", &TriangleMesh::thickness,
                             "What a twentieth of the surface is thinner than [m].");
  py::class_<LevelSet, Sdf, std::shared_ptr<LevelSet>>(
      m, "LevelSet", "Sampled signed distance of a mesh; value, normal and curvature of a spline.")
      .def(py::init(&make_level_set), py::arg("mesh"), py::arg("voxel"), py::arg("band") = 6,
           py::arg("smoothing") = 0.,
           "voxel [m]; band: half-width of the fine grid [voxels]; smoothing: standard deviation "
           "of a Gaussian [m], at most 1.5 voxels.")
      .def_static(
          "load",
          [](const std::string& path) { return std::make_shared<LevelSet>(read_vdb(path)); },
          py::arg("path"), "A level set that `save` wrote.")
      .def(
          "save", [](const LevelSet& s, const std::string& path) { write_vdb(s.values(), path); },
          py::arg("path"), "Write a .vdb file, at once.")
      .def_property_readonly(
          "voxel", [](const LevelSet& s) { return s.values().voxel; }, "[m]")
      .def_property_readonly("band", [](const LevelSet& s) { return s.values().band; })
      .def_property_readonly("smoothing", [](const LevelSet& s) { return s.values().smoothing; })
      .def_property_readonly("low", [](const LevelSet& s) { return s.values().low; })
      .def_property_readonly("high", [](const LevelSet& s) { return s.values().high; })
      .def_property_readonly("memory", &LevelSet::memory, "Bytes held for evaluation.");
  m.attr("has_openvdb") = has_openvdb();
  m.attr("vdb_format") = kVdbFormat;
}

}  // namespace diffsim
