#include "bindings.hpp"

PYBIND11_MODULE(_engine, m) {
  m.doc() = "Differentiable simulation engine of diffsim_ros (compiled; knows no ROS).";
  pybind11::register_exception<diffsim::InvalidInput>(m, "InvalidInput", PyExc_ValueError);
  diffsim::bind_math(m);
  diffsim::bind_sdf(m);
  diffsim::bind_level_set(m);
  diffsim::bind_surface(m);
  diffsim::bind_scene(m);
  diffsim::bind_rollout(m);
  diffsim::bind_linear_solver(m);
  diffsim::bind_robots(m);
}
