#include <Eigen/Geometry>

#include "../bodies/kinematics.hpp"
#include "../rotation.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

Matrix3X columns(const py::object& points) {
  if (points.is_none()) return Matrix3X(3, 0);
  return points.cast<Points>().transpose();
}

void add_rigid_body(Scene& scene, const std::string& name, double mass, const Vector6& inertia,
                    const Vector3d& position, const Eigen::Vector4d& orientation,
                    const Vector3d& velocity, const Vector3d& angular_velocity, double radius) {
  if (!orientation.allFinite() || orientation.norm() < 1e-9) {
    refuse("rigid body '" + name + "': orientation",
           "must be a finite, non-zero quaternion (x, y, z, w)", orientation.transpose());
  }
  const Matrix3d R = Eigen::Quaterniond(orientation).normalized().toRotationMatrix();
  scene.add_rigid_body(name, mass, inertia, {position, log_rotation(R), velocity, angular_velocity},
                       radius);
}

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

void add_contact(Scene& scene, const std::string& name, const std::string& points,
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
  scene.add_contact(name, set);
}

/// State at given poses and velocities, for the derivative batteries.
State make(const Scene& scene, const MatrixXd& c, const MatrixXd& theta, const MatrixXd& v,
           const MatrixXd& w) {
  State s = make_state(scene.nodes());
  for (int i = 0; i < static_cast<int>(scene.nodes().size()); ++i) {
    s.c.col(i) = c.row(i);
    s.v.col(i) = v.row(i);
    const int f = scene.nodes()[i].frame;
    if (f < 0) continue;
    s.R[f] = exp_rotation(theta.row(i));
    s.w[f] = w.row(i);
  }
  return s;
}

MatrixXd dense(const BlockMatrix& M) {
  MatrixXd D = MatrixXd::Zero(M.pattern->ndof, M.pattern->ndof);
  M.multiply_add(MatrixXd::Identity(M.pattern->ndof, M.pattern->ndof), D);
  return D;
}

/// One element's r, K, B, dr/dp at three instants given as (c, theta, v, omega), newest first.
py::dict evaluate_element(Scene& scene, const std::string& name, const VectorXd& p,
                          const std::vector<std::vector<MatrixXd>>& instants, double step) {
  scene.finalize();
  const int order = static_cast<int>(instants.size()) - 1;
  if (order != 1 && order != 2) refuse("evaluate_element: instants", "must be 2 or 3", order + 1);
  State state[3];
  Window window{{nullptr, nullptr, nullptr}, TimeScheme::bdf(order, step)};
  for (int k = 0; k <= order; ++k) {
    const auto& i = instants[k];
    if (i.size() != 4)
      refuse("evaluate_element: instants", "must be (c, theta, v, omega)", i.size());
    state[k] = make(scene, i[0], i[1], i[2], i[3]);
    window.at[k] = &state[k];
  }
  for (const auto& e : scene.elements()) {
    if (e->name() != name) continue;
    std::vector<int> all(scene.parameters().size());
    for (std::size_t j = 0; j < all.size(); ++j) all[j] = static_cast<int>(j);
    VectorXd r = VectorXd::Zero(scene.ndof());
    BlockMatrix K, B;
    K.reset(scene.pattern());
    B.reset(scene.pattern());
    ParameterColumns columns{&all, MatrixXd::Zero(scene.ndof(), scene.parameters().size())};
    e->add(window, p, {&r, &K, &B, &columns});
    py::list past;
    for (int k = 1; k <= order; ++k) {
      BlockMatrix pK, pB;
      pK.reset(scene.diagonal());
      pB.reset(scene.diagonal());
      if (e->looks_back()) e->add_history(window, k, p, pK, pB);
      past.append(py::make_tuple(dense(pK), dense(pB)));
    }
    std::vector<std::uint16_t> modes(e->mode_count());
    e->modes(window, p, modes.data());
    py::dict out;
    out["r"] = r;
    out["K"] = dense(K);
    out["B"] = dense(B);
    out["dr_dp"] = columns.values;
    out["past"] = past;
    out["modes"] = modes;
    return out;
  }
  refuse("evaluate_element: name", "must be an element of the scene", "'" + name + "'");
}

void bind_builders(py::class_<Scene>& scene) {
  const Eigen::Vector4d none(0, 0, 0, 1);
  const Vector3d zero = Vector3d::Zero();
  scene.def(py::init<>())
      .def("set_gravity", &Scene::set_gravity, py::arg("g"), "Gravity [m/s^2], world.")
      .def("add_rigid_body", &add_rigid_body, py::arg("name"), py::kw_only(), py::arg("mass"),
           py::arg("inertia"), py::arg("position") = zero, py::arg("orientation") = none,
           py::arg("velocity") = zero, py::arg("angular_velocity") = zero, py::arg("radius"),
           "inertia: xx yy zz xy xz yz [kg m^2], body frame about the centre of mass; orientation "
           "(x, y, z, w); velocities in the world frame; radius [m] compares torques with forces.")
      .def("add_particle", &Scene::add_particle, py::arg("name"), py::kw_only(), py::arg("mass"),
           py::arg("position") = zero, py::arg("velocity") = zero)
      .def(
          "add_points",
          [](Scene& s, const std::string& name, const std::vector<std::string>& bodies,
             const py::object& local, const py::object& inset, double radius, double scale) {
            s.add_points(name, bodies, columns(local), columns(inset), radius, scale);
          },
          py::arg("name"), py::kw_only(), py::arg("bodies"), py::arg("local"),
          py::arg("inset") = py::none(), py::arg("radius") = 0., py::arg("scale") = 1.,
          "Points at scale * local + radius * inset (n, 3) [m] of the body named per point, \"\" = "
          "the world; radius [m] is also that of the contact spheres around them.")
      .def(
          "add_springs",
          [](Scene& s, const std::string& name, const std::string& a, const std::vector<int>& ia,
             const std::string& b, const std::vector<int>& ib, double k, double c,
             double rest) { s.add_springs(name, {a, b, ia, ib, k, c, rest}); },
          py::arg("name"), py::kw_only(), py::arg("points_a"), py::arg("index_a"),
          py::arg("points_b"), py::arg("index_b"), py::arg("stiffness"), py::arg("damping") = 0.,
          py::arg("rest_length") = 0.,
          "Springs between points [N/m, N s/m, m]; rest_length 0 is linear in all directions.")
      .def("add_contact", &add_contact, py::arg("name"), py::kw_only(), py::arg("points"),
           py::arg("sdf"), py::arg("weights") = py::none(), py::arg("k_n"), py::arg("k_t"),
           py::arg("c_f"), py::arg("c_n") = 0., py::arg("k_d") = 0., py::arg("d_0") = 0.,
           py::arg("c_s") = 0., py::arg("f_0") = 0., py::arg("friction") = "linear",
           py::arg("damping") = "continuous",
           "Points against an sdf; k_n [N/m] and k_t [N s/m] are totals of the set, shared by "
           "weights (sum 1).");
}

}  // namespace

void bind_scene(py::module_& m) {
  py::class_<ParameterInfo>(m, "ParameterInfo", "One named entry of the parameter vector p.")
      .def_readonly("name", &ParameterInfo::name)
      .def_readonly("unit", &ParameterInfo::unit)
      .def_readonly("lower", &ParameterInfo::lower)
      .def_readonly("upper", &ParameterInfo::upper)
      .def_readonly("initial", &ParameterInfo::initial, "Acts on the start state only.")
      .def("__repr__", [](const ParameterInfo& i) {
        return "<ParameterInfo " + i.name + " [" + i.unit + "]>";
      });
  py::class_<Scene> scene(m, "Scene", "Bodies, points, springs, contacts; SI units, world frame.");
  bind_builders(scene);
  scene.def_property_readonly("parameters", [](const Scene& s) { return s.parameters().info(); })
      .def_property_readonly("values", &Scene::values, "Default parameter vector (np,), a copy.")
      .def("check", &Scene::check, py::arg("p"), "Raises InvalidInput for an unusable p.")
      .def(
          "index",
          [](const Scene& s, const std::string& name) {
            if (!s.parameters().has(name)) {
              std::string known;
              const std::string owner = name.substr(0, name.find('.'));
              for (const auto& i : s.parameters().info()) {
                if (i.name.rfind(owner + ".", 0) == 0) known += " " + i.name;
              }
              throw py::key_error("no parameter '" + name + "'" +
                                  (known.empty() ? std::string() : "; near:" + known));
            }
            return s.parameters().index(name);
          },
          py::arg("name"), "Index in p; KeyError names near ones.")
      .def_property_readonly("body_names",
                             [](const Scene& s) {
                               std::vector<std::string> names;
                               for (const auto& b : s.bodies()) names.push_back(b->name());
                               return names;
                             })
      .def_property_readonly("contact_names",
                             [](const Scene& s) {
                               std::vector<std::string> names;
                               for (const Contact* c : s.contacts()) names.push_back(c->name());
                               return names;
                             })
      .def_property_readonly("element_names",
                             [](Scene& s) {
                               s.finalize();
                               std::vector<std::string> names;
                               for (const auto& e : s.elements()) names.push_back(e->name());
                               return names;
                             })
      .def_property_readonly("ndof", &Scene::ndof)
      .def(
          "dof_offset",
          [](const Scene& s, const std::string& body) { return s.nodes()[s.node_of(body)].dof; },
          py::arg("body"))
      .def("evaluate_element", &evaluate_element, py::arg("name"), py::arg("p"),
           py::arg("instants"), py::arg("step"),
           "r, K = dr/dx, B = dr/dv, dr_dp and past (K, B) of one element at given instants "
           "[(c, theta, v, omega) each (nodes, 3)], newest first: for derivative tests.");
}

}  // namespace diffsim
