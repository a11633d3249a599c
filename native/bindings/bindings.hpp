// What the binding files share: one bind_* per native folder, and array conversions.
#pragma once

#include <pybind11/eigen.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include "../math.hpp"

namespace diffsim {

/// Rows of points, (n, 3), as Python holds them.
using Points = Eigen::Matrix<double, Eigen::Dynamic, 3, Eigen::RowMajor>;

void bind_sdf(pybind11::module_& m);
void bind_level_set(pybind11::module_& m);
void bind_scene(pybind11::module_& m);
void bind_rollout(pybind11::module_& m);
void bind_math(pybind11::module_& m);

}  // namespace diffsim
