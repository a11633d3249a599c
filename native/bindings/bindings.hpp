// What the binding files share: one bind_* per native folder, and array conversions.
#pragma once

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "../math.hpp"

namespace diffsim {

class Scene;

/// Rows of points, (n, 3), as Python holds them.
using Points = Eigen::Matrix<double, Eigen::Dynamic, 3, Eigen::RowMajor>;

/// The same, (3, n), as the engine holds them; None gives no column.
Matrix3X columns(const pybind11::object& points);
/// A number, (n,) or (n, 3) as keys over time; `size` (1 or 3) components each.
MatrixXd key_values(const std::string& place, const pybind11::object& values, int size);
/// Rotation vector of a quaternion (x, y, z, w); refuses one without direction.
Vector3d rotation_vector(const std::string& place, const Eigen::Vector4d& orientation);

// One per builder; bind_scene calls them.
void bind_bodies(pybind11::class_<Scene>& scene);
void bind_spring(pybind11::class_<Scene>& scene);
void bind_contact(pybind11::class_<Scene>& scene);
void bind_solid(pybind11::class_<Scene>& scene);
void bind_bench(pybind11::class_<Scene>& scene);
void bind_joint(pybind11::class_<Scene>& scene);
void bind_energy(pybind11::class_<Scene>& scene);
void bind_statics(pybind11::class_<Scene>& scene);
void bind_forces(pybind11::class_<Scene>& scene);
void bind_outputs(pybind11::module_& m, pybind11::class_<Scene>& scene);
void bind_segment(pybind11::module_& m, pybind11::class_<Scene>& scene);

void bind_sdf(pybind11::module_& m);
void bind_level_set(pybind11::module_& m);
void bind_surface(pybind11::module_& m);
/// Before whatever takes options, so that signatures name them.
void bind_options(pybind11::module_& m);
void bind_scene(pybind11::module_& m);
void bind_rollout(pybind11::module_& m);
void bind_linear_solver(pybind11::module_& m);
void bind_math(pybind11::module_& m);
void bind_spatial(pybind11::module_& m);
void bind_robots(pybind11::module_& m);
void bind_articulated(pybind11::module_& m);
void bind_velocity(pybind11::module_& m);
void bind_locomotion(pybind11::module_& m);

}  // namespace diffsim
