#include "../elements/spring.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {

void bind_spring(py::class_<Scene>& scene) {
  scene.def(
      "add_springs",
      [](Scene& s, const std::string& name, const std::string& a, const std::vector<int>& ia,
         const std::string& b, const std::vector<int>& ib, double k, double c,
         double rest) { add_springs(s, name, {a, b, ia, ib, k, c, rest}); },
      py::arg("name"), py::kw_only(), py::arg("points_a"), py::arg("index_a"), py::arg("points_b"),
      py::arg("index_b"), py::arg("stiffness"), py::arg("damping") = 0.,
      py::arg("rest_length") = 0.,
      "Springs between points [N/m, N s/m, m]; rest_length 0 is linear in all directions.");
}

}  // namespace diffsim
