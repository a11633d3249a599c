#include <pybind11/numpy.h>

#include <cmath>
#include <optional>

#include "../sdf/seen_surface.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Triangles = Eigen::Matrix<int, Eigen::Dynamic, 3, Eigen::RowMajor>;
using Frames = py::array_t<double, py::array::c_style | py::array::forcecast>;

constexpr double kFarthest = 1e100;  // squares of what is farther are infinite, and nothing is near

void check_places(const std::string& place, const double* from, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (std::abs(from[i]) < kFarthest) continue;
    refuse(place, "must be finite, and less than 1e100 m away", from[i]);
  }
}

// Everything that nearest_on_surface reads, checked.
struct Surfaces {
  const double* positions;
  int frames, vertices;
  std::vector<Triangle> triangles;

  Surfaces(const Frames& positions_of, const Triangles& of) {
    if (positions_of.ndim() != 3 || positions_of.shape(2) != 3 || positions_of.shape(1) < 1) {
      refuse("surface: positions", "must be an array (frames, vertices, 3) [m]",
             positions_of.ndim());
    }
    positions = positions_of.data();
    frames = static_cast<int>(positions_of.shape(0));
    vertices = static_cast<int>(positions_of.shape(1));
    check_places("surface: positions", positions, positions_of.size());
    if (of.rows() < 1) refuse("surface: triangles", "must be at least one", of.rows());
    for (Eigen::Index t = 0; t < of.rows(); ++t) {
      triangles.push_back({of(t, 0), of(t, 1), of(t, 2)});
      if (of.row(t).minCoeff() < 0 || of.row(t).maxCoeff() >= vertices) {
        refuse("surface: triangles", "must name vertices 0 to " + std::to_string(vertices - 1),
               of.row(t).maxCoeff());
      }
    }
  }

  TriangleTree at(int frame) const {
    std::vector<Vector3d> x(vertices);
    const double* from = positions + std::size_t{3} * frame * vertices;
    for (int v = 0; v < vertices; ++v) x[v] = Vector3d(from + 3 * v);
    return {std::move(x), triangles};
  }
};

void fill(const Surfaces& surfaces, int frame, const std::vector<int>& rows, const Points& points,
          const std::optional<Vector3d>& eye, std::vector<SurfaceHit>& hits) {
  Matrix3X mine(3, rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i) mine.col(i) = points.row(rows[i]);
  const auto found = nearest_seen(surfaces.at(frame), mine, eye ? &*eye : nullptr);
  for (std::size_t i = 0; i < rows.size(); ++i) hits[rows[i]] = found[i];
}

py::tuple nearest_on_surface(const Frames& positions, const Triangles& triangles,
                             const Points& points, const std::vector<int>& frame,
                             const std::optional<Vector3d>& eye) {
  const Surfaces surfaces(positions, triangles);
  if (static_cast<Eigen::Index>(frame.size()) != points.rows()) {
    refuse("surface: frame", "must be one per point", frame.size());
  }
  check_places("surface: points", points.data(), points.size());
  if (eye) check_places("surface: eye", eye->data(), 3);
  std::vector<std::vector<int>> rows(surfaces.frames);
  for (std::size_t i = 0; i < frame.size(); ++i) {
    if (frame[i] < 0 || frame[i] >= surfaces.frames) {
      refuse("surface: frame", "must be 0 to " + std::to_string(surfaces.frames - 1), frame[i]);
    }
    rows[frame[i]].push_back(static_cast<int>(i));
  }
  std::vector<SurfaceHit> hits(frame.size());
  {
    py::gil_scoped_release release;
    for (int f = 0; f < surfaces.frames; ++f) {
      if (!rows[f].empty()) fill(surfaces, f, rows[f], points, eye, hits);
    }
  }
  const auto count = static_cast<py::ssize_t>(hits.size());
  py::array_t<int> triangle(count), feature(count);
  py::array_t<double> weights({count, py::ssize_t{3}});
  for (py::ssize_t i = 0; i < count; ++i) {
    triangle.mutable_at(i) = hits[i].triangle;
    feature.mutable_at(i) = hits[i].feature;
    for (int k = 0; k < 3; ++k) weights.mutable_at(i, k) = hits[i].weights[k];
  }
  return py::make_tuple(triangle, weights, feature);
}

}  // namespace

void bind_surface(py::module_& m) {
  m.def("nearest_on_surface", &nearest_on_surface, py::arg("positions"), py::arg("triangles"),
        py::arg("points"), py::arg("frame"), py::arg("eye") = py::none(),
        "Nearest points of a moving surface: positions (frames, n, 3) [m] of its vertices, "
        "triangles (m, 3), counter-clockwise seen from outside; points (k, 3) [m], each of its "
        "frame (k,). With an eye (3,) [m], of the triangles that it sees alone. Returns triangle "
        "(k,), weights (k, 3) of its corners, and feature (k,): 0 face, 1 to 3 corner, 4 to 6 "
        "edge after corner 1 to 3.");
}

}  // namespace diffsim
