#include "../outputs/motion.hpp"
#include "../outputs/requested.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {

void bind_outputs(py::module_& m, py::class_<Scene>& scene) {
  py::class_<Output>(m, "Output", "A quantity that a rollout can be asked for.")
      .def_readonly("name", &Output::name)
      .def_readonly("unit", &Output::unit)
      .def_readonly("parts", &Output::parts, "Names of its components; none: a number.")
      .def_readonly("items", &Output::items,
                    "Number of tetrahedra, springs ... that have one each; 0: there is one.")
      .def("__repr__", [](const Output& o) { return "<Output " + o.name + " [" + o.unit + "]>"; });
  scene.def_property_readonly(
      "outputs",
      [](Scene& s) {
        s.finalize();
        return all_outputs(s);
      },
      "What a rollout of this scene can be asked for.");
  scene.def_property_readonly(
      "motion_outputs",
      [](Scene& s) {
        s.finalize();
        return motion_outputs(s);
      },
      "Poses, velocities and joint coordinates, which it can be asked for as outputs too.");
}

}  // namespace diffsim
