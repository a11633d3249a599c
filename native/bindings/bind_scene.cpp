#include "../bodies/kinematics.hpp"
#include "../rotation.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

/// State at given poses and velocities, for the derivative batteries.
State make(const Scene& scene, const MatrixXd& c, const MatrixXd& theta, const MatrixXd& v,
           const MatrixXd& w) {
  State s = make_state(scene.nodes());
  for (int i = 0; i < scene.body_nodes(); ++i) {
    s.c.col(i) = c.row(i);
    s.v.col(i) = v.row(i);
    const int f = scene.nodes()[i].frame;
    if (f < 0) continue;
    s.R[f] = exp_rotation(theta.row(i));
    s.w[f] = w.row(i);
  }
  return s;
}

void check_instant(const Scene& scene, const std::vector<MatrixXd>& instant) {
  if (instant.size() != 4) {
    refuse("evaluate_element: instants", "must be (c, theta, v, omega)", instant.size());
  }
  const auto nodes = static_cast<Eigen::Index>(scene.body_nodes());
  for (const MatrixXd& part : instant) {
    if (part.rows() == nodes && part.cols() == 3) continue;
    refuse("evaluate_element: instants", "must be (" + std::to_string(nodes) + ", 3) each",
           part.size());
  }
}

MatrixXd dense(const BlockMatrix& M) {
  MatrixXd D = MatrixXd::Zero(M.pattern->ndof, M.pattern->ndof);
  M.multiply_add(MatrixXd::Identity(M.pattern->ndof, M.pattern->ndof), D);
  return D;
}

/// alpha K + B as an element joins them (Assembly::A).
MatrixXd joined(const Scene& scene, const Element& e, const Window& window, const VectorXd& p,
                Assembly to) {
  BlockMatrix M[3];
  for (BlockMatrix& m : M) m.reset(scene.pattern());
  VectorXd r = VectorXd::Zero(scene.ndof());
  to.r = &r;
  to.K = &M[0];
  to.B = &M[1];
  to.A = &M[2];
  to.alpha = window.scheme.alpha;
  to.columns = nullptr;
  e.add(window, p, to);
  return to.alpha * dense(M[0]) + dense(M[1]) + dense(M[2]);
}

/// One element's r, K, B, dr/dp at three instants given as (c, theta, v, omega), newest first.
py::dict evaluate_element(Scene& scene, const std::string& name, const VectorXd& p,
                          const std::vector<std::vector<MatrixXd>>& instants, double step, double t,
                          const std::vector<std::uint8_t>& held, double compression,
                          std::optional<double> radius, const VectorXd& multipliers) {
  scene.finalize();
  scene.check(p);
  if (!(step > 0) || !std::isfinite(step)) refuse("evaluate_element: step", "must be > 0", step);
  const int order = static_cast<int>(instants.size()) - 1;
  if (order != 1 && order != 2) refuse("evaluate_element: instants", "must be 2 or 3", order + 1);
  State state[3];
  Window window{{nullptr, nullptr, nullptr}, TimeScheme::bdf(order, step), t};
  if (radius) window.scheme = TimeScheme::generalized_alpha(*radius, order, step);
  for (int k = 0; k <= order; ++k) {
    const auto& i = instants[k];
    check_instant(scene, i);
    state[k] = make(scene, i[0], i[1], i[2], i[3]);
    window.at[k] = &state[k];
  }
  if (!held.empty() && static_cast<int>(held.size()) != scene.stick_count()) {
    refuse("evaluate_element: held", "must be one per point of hybrid friction", held.size());
  }
  state[0].stick = held;
  if (multipliers.size() > 0) {
    if (multipliers.size() > state[0].qdot.size()) {
      refuse("evaluate_element: multipliers", "must be at most the coordinates of the scene",
             multipliers.size());
    }
    state[0].qdot.tail(multipliers.size()) = multipliers;
  }
  for (const auto& e : scene.elements()) {
    if (e->name() != name) continue;
    std::vector<int> all(scene.parameters().size());
    for (std::size_t j = 0; j < all.size(); ++j) all[j] = static_cast<int>(j);
    VectorXd r = VectorXd::Zero(scene.ndof());
    BlockMatrix K, B;
    K.reset(scene.pattern());
    B.reset(scene.pattern());
    ParameterColumns columns(all);
    bool compressed = false;
    Assembly to{&r, &K, &B};
    to.columns = &columns;
    to.compressed = &compressed;
    to.compression = compression;
    e->add(window, p, to);
    py::list past;
    for (int k = 1; k <= order; ++k) {
      BlockMatrix pK, pB;
      pK.reset(scene.past_pattern());
      pB.reset(scene.past_pattern());
      if (e->looks_back()) e->add_history(window, k, p, pK, pB);
      past.append(py::make_tuple(dense(pK), dense(pB)));
    }
    std::vector<std::uint16_t> modes(e->mode_count());
    e->modes(window, p, modes.data());
    py::dict out;
    out["r"] = r;
    out["K"] = dense(K);
    out["B"] = dense(B);
    if (scene.points_only()) {
      out["joined"] = joined(scene, *e, window, p, to);
      out["alpha"] = window.scheme.alpha;
    }
    MatrixXd dr_dp = MatrixXd::Zero(scene.ndof(), scene.parameters().size());
    for (const auto& at : columns.entries()) dr_dp.col(at.column).segment<3>(at.row) += at.value;
    out["dr_dp"] = dr_dp;
    out["past"] = past;
    out["compressed"] = compressed;
    out["modes"] = modes;
    return out;
  }
  refuse("evaluate_element: name", "must be an element of the scene", "'" + name + "'");
}

/// Lumped mass of every node; what is driven has none.
VectorXd node_masses(const Scene& scene, const VectorXd& p) {
  scene.check(p);
  VectorXd m = VectorXd::Zero(static_cast<Eigen::Index>(scene.body_nodes()));
  for (const auto& body : scene.bodies()) {
    if (body->driven()) continue;
    int node = body->node();
    for (const NodeMass& mass : body->masses()) m[node++] = mass.value(p);
  }
  return m;
}

void bind_parameter_info(py::module_& m) {
  py::class_<ParameterInfo>(m, "ParameterInfo", "One named entry of the parameter vector p.")
      .def_readonly("name", &ParameterInfo::name)
      .def_readonly("unit", &ParameterInfo::unit)
      .def_readonly("lower", &ParameterInfo::lower)
      .def_readonly("upper", &ParameterInfo::upper)
      .def_readonly("initial", &ParameterInfo::initial, "Acts on the start state only.")
      .def_readonly("begin", &ParameterInfo::begin, "Acts in steps that end at or after this [s].")
      .def_readonly("end", &ParameterInfo::end, "Acts in steps that end at or before this [s].")
      .def("__repr__", [](const ParameterInfo& i) {
        return "<ParameterInfo " + i.name + " [" + i.unit + "]>";
      });
}

int index_of(const Scene& s, const std::string& name) {
  if (s.parameters().has(name)) return s.parameters().index(name);
  std::string known;
  const std::string owner = name.substr(0, name.find('.'));
  for (const auto& i : s.parameters().info()) {
    if (i.name.rfind(owner + ".", 0) == 0) known += " " + i.name;
  }
  throw py::key_error("no parameter '" + name + "'" +
                      (known.empty() ? std::string() : "; near:" + known));
}

std::pair<int, int> modes_of(const Scene& s, const std::string& name) {
  int first = 0;
  for (const auto& e : s.elements()) {
    if (e->name() == name) return {first, e->mode_count()};
    first += e->mode_count();
  }
  throw py::key_error("no element '" + name + "'; element_names lists them");
}

}  // namespace

void bind_scene(py::module_& m) {
  bind_parameter_info(m);
  py::class_<Scene> scene(m, "Scene", py::dynamic_attr(),  // `options`, where a file has them
                          "Bodies, points, springs, contacts; SI units, world frame.");
  scene.def(py::init<>())
      .def("set_gravity", &Scene::set_gravity, py::arg("g"), "Gravity [m/s^2], world.");
  bind_bodies(scene);
  bind_spring(scene);
  bind_contact(scene);
  bind_solid(scene);
  bind_bench(scene);
  bind_joint(scene);
  bind_forces(scene);
  bind_energy(scene);
  bind_statics(scene);
  bind_outputs(m, scene);
  bind_segment(m, scene);
  scene.def_property_readonly("parameters", [](const Scene& s) { return s.parameters().info(); })
      .def_property_readonly("values", &Scene::values, "Default parameter vector (np,), a copy.")
      .def("check", &Scene::check, py::arg("p"), "Raises InvalidInput for an unusable p.")
      .def("index", &index_of, py::arg("name"), "Index in p; KeyError names near ones.")
      .def(
          "set_value",
          [](Scene& s, const std::string& name, double value) {
            s.set_value(index_of(s, name), value);
          },
          py::arg("name"), py::arg("value"),
          "Change an entry of `values`; KeyError, or InvalidInput outside its bounds.")
      .def_property_readonly("body_names",
                             [](const Scene& s) {
                               std::vector<std::string> names;
                               for (const auto& b : s.bodies()) names.push_back(b->name());
                               return names;
                             })
      .def_property_readonly("contact_names",
                             [](const Scene& s) {
                               std::vector<std::string> names;
                               for (const auto* e : s.contacts()) names.push_back(e->name());
                               return names;
                             })
      .def("modes_of", &modes_of, py::arg("name"),
           "(first column, columns) of Rollout.modes that are this element's.")
      .def_property_readonly("element_names",
                             [](Scene& s) {
                               s.finalize();
                               std::vector<std::string> names;
                               for (const auto& e : s.elements()) names.push_back(e->name());
                               return names;
                             })
      .def_property_readonly("ndof",
                             [](Scene& s) {
                               if (!s.nodes().empty()) s.finalize();
                               return s.ndof();
                             })
      .def_property_readonly("body_ndof", &Scene::body_ndof,
                             "Degrees of freedom of bodies; those of joint coordinates follow.")
      .def(
          "dof_offset",
          [](const Scene& s, const std::string& body) {
            return s.nodes()[s.body(body).node()].dof;
          },
          py::arg("body"), "First degree of freedom of a body.")
      .def(
          "nodes_of",
          [](const Scene& s, const std::string& body) {
            return py::make_tuple(s.body(body).node(), s.body(body).count());
          },
          py::arg("body"), "(first, count): a body's rows in a rollout's position, velocity ...")
      .def("masses", &node_masses, py::arg("p"), "(nodes,) [kg]; zero for kinematic bodies.")
      .def("evaluate_element", &evaluate_element, py::arg("name"), py::arg("p"),
           py::arg("instants"), py::arg("step"), py::arg("t") = 0.,
           py::arg("held") = std::vector<std::uint8_t>(), py::arg("compression") = 1.,
           py::arg("spectral_radius") = py::none(), py::arg("multipliers") = VectorXd(),
           "r, K = dr/dx, B = dr/dv, dr_dp and past (K, B) of one element at given instants "
           "[(c, theta, v, omega) each (nodes, 3)], newest first; `held` per point of hybrid "
           "friction, `multipliers` of constrained joints [N, N m] now: for derivative tests.");
}

}  // namespace diffsim
