#include "bindings.hpp"

PYBIND11_MODULE(_engine, m) {
  m.doc() = "Differentiable simulation engine of diffsim_ros (compiled; knows no ROS).";
  const auto errors = pybind11::module_::import("diffsim_ros.errors");
  pybind11::register_exception<diffsim::InvalidInput>(m, "InvalidInput",
                                                      errors.attr("EngineInputError"));
  // Of arguments that are looked at inside a function (py::object): pybind11 says RuntimeError.
  pybind11::register_exception_translator([](std::exception_ptr thrown) {
    try {
      if (thrown) std::rethrow_exception(thrown);
    } catch (const pybind11::cast_error& error) {
      PyErr_SetString(PyExc_TypeError, error.what());
    }
  });
  diffsim::bind_math(m);
  diffsim::bind_spatial(m);
  diffsim::bind_sdf(m);
  diffsim::bind_level_set(m);
  diffsim::bind_surface(m);
  diffsim::bind_options(m);
  diffsim::bind_scene(m);
  diffsim::bind_rollout(m);
  diffsim::bind_linear_solver(m);
  diffsim::bind_robots(m);
  diffsim::bind_articulated(m);
  diffsim::bind_velocity(m);
  diffsim::bind_locomotion(m);
}
