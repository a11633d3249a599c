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

/// The law's keywords, those of add_contact and add_contact_pair alike.
struct LawArguments {
  double k_n, k_t, c_f, c_n, k_d, d_0, c_s, f_0, c_roll, c_spin, k_roll;
  std::string friction, damping;
};

ContactLaw make_law(const std::string& name, const LawArguments& a) {
  ContactLaw law{a.k_n,
                 a.k_t,
                 a.c_f,
                 0,
                 a.d_0,
                 a.c_s,
                 a.f_0,
                 {a.c_roll, a.c_spin, a.k_roll},
                 Friction::linear,
                 Damping::continuous};
  law.friction_law = choice<Friction>(
      "friction", a.friction,
      {{"linear", Friction::linear}, {"tanh", Friction::tanh}, {"hybrid", Friction::hybrid}});
  law.damping_law = choice<Damping>("damping", a.damping,
                                    {{"continuous", Damping::continuous},
                                     {"ramped", Damping::ramped},
                                     {"thesis", Damping::thesis}});
  const bool continuous = law.damping_law == Damping::continuous;
  if ((continuous ? a.k_d : a.c_n) != 0) {
    refuse("contact '" + name + "'",
           "damping '" + a.damping + (continuous ? "' takes c_n, not k_d" : "' takes k_d, not c_n"),
           continuous ? a.k_d : a.c_n);
  }
  if ((law.damping_law == Damping::ramped) != (a.d_0 != 0)) {
    refuse("contact '" + name + "': d_0", "must be > 0 [m] for damping 'ramped', 0 otherwise",
           a.d_0);
  }
  if (!(a.f_0 >= 0) || ((a.c_s != 0) != (a.f_0 != 0))) {
    refuse("contact '" + name + "': f_0", "must be > 0 [N] with c_s, 0 without", a.f_0);
  }
  law.damping = continuous ? a.c_n : a.k_d;
  return law;
}

VectorXd given(const py::object& weights) {
  return weights.is_none() ? VectorXd() : weights.cast<VectorXd>();
}

/// Binds f(scene, name, who..., law) with the law's keywords after `who`, given by `arguments`.
template <class... Who, class F, class... Arguments>
void def_with_law(py::class_<Scene>& scene, const char* method, F f, const char* doc,
                  const Arguments&... arguments) {
  scene.def(
      method,
      [f](Scene& s, const std::string& name, Who... who, double k_n, double k_t, double c_f,
          double c_n, double k_d, double d_0, double c_s, double f_0, double c_roll, double c_spin,
          double k_roll, const std::string& friction, const std::string& damping) {
        f(s, name, who...,
          make_law(name, {k_n, k_t, c_f, c_n, k_d, d_0, c_s, f_0, c_roll, c_spin, k_roll, friction,
                          damping}));
      },
      py::arg("name"), py::kw_only(), arguments..., py::arg("k_n"), py::arg("k_t"), py::arg("c_f"),
      py::arg("c_n") = 0., py::arg("k_d") = 0., py::arg("d_0") = 0., py::arg("c_s") = 0.,
      py::arg("f_0") = 0., py::arg("c_roll") = 0., py::arg("c_spin") = 0., py::arg("k_roll") = 0.,
      py::arg("friction") = "linear", py::arg("damping") = "continuous", doc);
}

using Text = const std::string&;
using Shape = std::shared_ptr<Sdf>;

}  // namespace

void bind_contact(py::class_<Scene>& scene) {
  def_with_law<Text, Shape, Text, const py::object&>(
      scene, "add_contact",
      [](Scene& s, Text name, Text points, const Shape& sdf, Text carrier,
         const py::object& weights, const ContactLaw& law) {
        add_contact(s, name, {points, sdf, carrier, given(weights)}, law);
      },
      "Points against an sdf, given in the frame of the rigid body or kinematic body `carrier` "
      "(\"\" = the "
      "world); k_n [N/m] and k_t [N s/m] are totals of the set, shared by weights (sum 1).",
      py::arg("points"), py::arg("sdf"), py::arg("carrier") = "", py::arg("weights") = py::none());
  def_with_law<Text, Shape, Text, Text, Shape, Text, const py::object&, const py::object&>(
      scene, "add_contact_pair",
      [](Scene& s, Text name, Text points_a, const Shape& sdf_a, Text body_a, Text points_b,
         const Shape& sdf_b, Text body_b, const py::object& weights_a, const py::object& weights_b,
         const ContactLaw& law) {
        add_contact_pair(s, name, {points_a, sdf_b, body_b, given(weights_a)},
                         {points_b, sdf_a, body_a, given(weights_b)}, law);
      },
      "Two rigid bodies, each with points on it against the other's sdf (in that body's frame): "
      "each direction carries half of k_n and k_t. Contacts `name.a` (of points_a) and `name.b`.",
      py::arg("points_a"), py::arg("sdf_a"), py::arg("body_a"), py::arg("points_b"),
      py::arg("sdf_b"), py::arg("body_b"), py::arg("weights_a") = py::none(),
      py::arg("weights_b") = py::none());
}

}  // namespace diffsim
