#include "../elements/contact.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Text = const std::string&;
using Shape = std::shared_ptr<Sdf>;

template <class T>
T value_of(Text key, const py::handle& value) {
  try {
    return value.cast<T>();
  } catch (const py::cast_error&) {
    throw py::type_error("contact: " + key + " cannot be " + py::repr(value).cast<std::string>());
  }
}

template <class E>
E choice(Text key, const py::handle& value, const std::vector<std::pair<std::string, E>>& known) {
  const auto got = value_of<std::string>(key, value);
  std::string names;
  for (const auto& [name, one] : known) {
    if (got == name) return one;
    names += (names.empty() ? "'" : ", '") + name + "'";
  }
  refuse("contact: " + key, "must be one of " + names, "'" + got + "'");
}

/// The law of add_contact's keywords: its parameters by name, friction and damping.
ContactLaw law_of(const py::kwargs& given) {
  ContactLaw law;
  law.rolls = given.contains("c_roll") || given.contains("c_spin");
  law.bounces = given.contains("restitution");
  py::dict rest(given);
  const auto take = [&](Text key) {
    return rest.contains(key) ? rest.attr("pop")(key) : py::object();
  };
  for (const LawParameter& one : law_parameters()) {
    const py::object value = take(one.name);
    if (value) law.*one.value = value_of<double>(one.name, value);
    if (!value && one.required) {
      throw py::type_error(std::string("contact: missing keyword argument ") + one.name);
    }
  }
  if (const py::object value = take("friction")) {
    law.friction = choice<Friction>(
        "friction", value,
        {{"linear", Friction::linear}, {"tanh", Friction::tanh}, {"hybrid", Friction::hybrid}});
  }
  if (const py::object value = take("damping")) {
    law.damping = choice<Damping>("damping", value,
                                  {{"continuous", Damping::continuous},
                                   {"ramped", Damping::ramped},
                                   {"thesis", Damping::thesis}});
  }
  if (const py::object value = take("onset")) {
    law.onset = choice<Onset>("onset", value,
                              {{"integrated", Onset::integrated}, {"sampled", Onset::sampled}});
  }
  for (const auto& unknown : rest) {
    throw py::type_error("contact: unexpected keyword argument " +
                         py::str(unknown.first).cast<std::string>());
  }
  return law;
}

std::string with_law(std::string doc) {
  doc += "\nThe law's parameters, 0 where nothing is said: ";
  for (const LawParameter& one : law_parameters()) {
    doc += std::string(one.name) + " [" + one.unit + "]" + (one.required ? " (required), " : ", ");
  }
  return doc +
         "friction ('linear', 'tanh', 'hybrid'), damping ('continuous', 'ramped', 'thesis') and "
         "onset ('integrated', 'sampled').";
}

VectorXd given(const py::object& weights) {
  return weights.is_none() ? VectorXd() : weights.cast<VectorXd>();
}

}  // namespace

void bind_contact(py::class_<Scene>& scene) {
  scene.def(
      "add_contact",
      [](Scene& s, Text name, Text points, const Shape& sdf, Text carrier,
         const py::object& weights, const py::kwargs& law) {
        add_contact(s, name, {points, sdf, carrier, given(weights)}, law_of(law));
      },
      py::arg("name"), py::kw_only(), py::arg("points"), py::arg("sdf"), py::arg("carrier") = "",
      py::arg("weights") = py::none(),
      with_law("Points against an sdf, given in the frame of the rigid body or kinematic body "
               "`carrier` (\"\" = the world); k_n and k_t are totals of the set, shared by weights "
               "(sum 1). NAME.surface_scale and NAME.surface_offset scale the sdf about the origin "
               "of its frame, then grow it; NAME.surface.SIZE are its `sizes`.")
          .c_str());
  scene.def(
      "add_contact_pair",
      [](Scene& s, Text name, Text points_a, const Shape& sdf_a, Text body_a, Text points_b,
         const Shape& sdf_b, Text body_b, const py::object& weights_a, const py::object& weights_b,
         const py::kwargs& law) {
        add_contact_pair(s, name, {points_a, sdf_b, body_b, given(weights_a)},
                         {points_b, sdf_a, body_a, given(weights_b)}, law_of(law));
      },
      py::arg("name"), py::kw_only(), py::arg("points_a"), py::arg("sdf_a"), py::arg("body_a"),
      py::arg("points_b"), py::arg("sdf_b"), py::arg("body_b"), py::arg("weights_a") = py::none(),
      py::arg("weights_b") = py::none(),
      with_law("Two rigid bodies, each with points on it against the other's sdf (in that body's "
               "frame): each direction carries half of k_n and k_t. Contacts `name.a` (of "
               "points_a) and `name.b`.")
          .c_str());
}

}  // namespace diffsim
