#include "bindings.hpp"

namespace {

// What the compiler was allowed to use: sums round differently with and without fused multiply-add.
const char* instruction_set() {
#if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512CD__) && \
    defined(__AVX512DQ__) && defined(__AVX512VL__)
  return "x86-64-v4";
#elif defined(__AVX2__) && defined(__FMA__) && defined(__BMI2__)
  return "x86-64-v3";
#elif defined(__SSE4_2__)
  return "x86-64-v2";
#elif defined(__x86_64__)
  return "x86-64";
#elif defined(__aarch64__)
  return "aarch64";
#else
  return "unknown";
#endif
}

}  // namespace

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
  m.def("instruction_set", &instruction_set,
        "Instruction set that the engine was compiled for: x86-64-v2, -v3, -v4 ... (its least "
        "level).");
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
