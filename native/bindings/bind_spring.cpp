#include "../elements/spring.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

void make_springs(Scene& s, const std::string& name, const std::string& a,
                  const std::vector<int>& ia, const std::string& b, const std::vector<int>& ib,
                  double k, double c, const py::object& rest, const py::object& factors,
                  bool tension_only) {
  SpringBatch batch{a, b, ia, ib, k, c, 0, {}, {}, tension_only};
  const py::array_t<double, py::array::forcecast> lengths(rest);
  if (lengths.ndim() == 0) {
    batch.rest_length = rest.cast<double>();
  } else {
    batch.natural_lengths = lengths.cast<VectorXd>();
  }
  if (!factors.is_none()) batch.factors = factors.cast<VectorXd>();
  add_springs(s, name, batch);
}

}  // namespace

void bind_spring(py::class_<Scene>& scene) {
  scene.def(
      "add_springs", &make_springs, py::arg("name"), py::kw_only(), py::arg("points_a"),
      py::arg("index_a"), py::arg("points_b"), py::arg("index_b"), py::arg("stiffness"),
      py::arg("damping") = 0., py::arg("rest_length") = 0.,
      py::arg("stiffness_factors") = py::none(), py::arg("tension_only") = false,
      "Springs between points [N/m, N s/m, m]; rest_length 0 is linear in all directions. "
      "rest_length (n,): natural lengths, with the parameter NAME.rest_scale in place of "
      "NAME.rest_length; stiffness_factors (n,) scale stiffness and linear damping per spring; "
      "tension_only: strings, with damping in s/m.");
}

}  // namespace diffsim
