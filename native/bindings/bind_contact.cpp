#include "../elements/contact.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

template <class E>
E choice(const std::string& key, const std::string& got,
         const std::vector<std::pair<std::string, E>>& known) {
  std::string names;
  for (const auto& [name, value] : known) {
    if (got == name) return value;
    names += (names.empty() ? "'" : ", '") + name + "'";
  }
  refuse("contact: " + key, "must be one of " + names, "'" + got + "'");
}

void make_contact(Scene& scene, const std::string& name, const std::string& points,
                  std::shared_ptr<Sdf> sdf, const py::object& weights, double k_n, double k_t,
                  double c_f, double c_n, double k_d, double d_0, double c_s, double f_0,
                  const std::string& friction, const std::string& damping) {
  ContactSet set{
      points, sdf, {}, k_n, k_t, c_f, 0, d_0, c_s, f_0, Friction::linear, Damping::continuous};
  if (!weights.is_none()) set.weights = weights.cast<VectorXd>();
  set.friction = choice<Friction>("friction", friction,
                                  {{"linear", Friction::linear}, {"tanh", Friction::tanh}});
  set.law = choice<Damping>("damping", damping,
                            {{"continuous", Damping::continuous},
                             {"ramped", Damping::ramped},
                             {"thesis", Damping::thesis}});
  const bool continuous = set.law == Damping::continuous;
  if ((continuous ? k_d : c_n) != 0) {
    refuse("contact '" + name + "'",
           "damping '" + damping + (continuous ? "' takes c_n, not k_d" : "' takes k_d, not c_n"),
           continuous ? k_d : c_n);
  }
  if ((set.law == Damping::ramped) != (d_0 != 0)) {
    refuse("contact '" + name + "': d_0", "must be > 0 [m] for damping 'ramped', 0 otherwise", d_0);
  }
  if (!(f_0 >= 0) || ((c_s != 0) != (f_0 != 0))) {
    refuse("contact '" + name + "': f_0", "must be > 0 [N] with c_s, 0 without", f_0);
  }
  set.damping = continuous ? c_n : k_d;
  add_contact(scene, name, set);
}

}  // namespace

void bind_contact(py::class_<Scene>& scene) {
  scene.def("add_contact", &make_contact, py::arg("name"), py::kw_only(), py::arg("points"),
            py::arg("sdf"), py::arg("weights") = py::none(), py::arg("k_n"), py::arg("k_t"),
            py::arg("c_f"), py::arg("c_n") = 0., py::arg("k_d") = 0., py::arg("d_0") = 0.,
            py::arg("c_s") = 0., py::arg("f_0") = 0., py::arg("friction") = "linear",
            py::arg("damping") = "continuous",
            "Points against an sdf; k_n [N/m] and k_t [N s/m] are totals of the set, shared by "
            "weights (sum 1).");
}

}  // namespace diffsim
