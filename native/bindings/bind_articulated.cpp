#include <array>
#include <ctime>

#include "../articulated/centroidal.hpp"
#include "../articulated/contact_dynamics.hpp"
#include "../articulated/model.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Extents = std::vector<py::ssize_t>;
using ModelClass = py::class_<ArticulatedModel, std::shared_ptr<ArticulatedModel>>;

JointType joint_type(const std::string& name) {
  for (const JointType type : {JointType::fixed, JointType::revolute, JointType::prismatic,
                               JointType::spherical, JointType::translation}) {
    if (name == joint_type_name(type)) return type;
  }
  refuse("joint: type", "fixed, revolute, prismatic, spherical or translation", "'" + name + "'",
         "universal, planar and floating joints are two or three of these with massless links");
}

// States (..., size): what is called for every one, and how results are shaped.
class States {
 public:
  States(const ArticulatedModel& model, const Numbers& q) : model_(model) {
    const int size = model.tree.position_size();
    if (q.ndim() < 1 || q.shape(q.ndim() - 1) != size) {
      refuse("q", "an array (..., " + std::to_string(size) + ")", shape_of(q));
    }
    leading_.assign(q.shape(), q.shape() + q.ndim() - 1);
    for (const py::ssize_t extent : leading_) count_ *= static_cast<int>(extent);
    check_positions(q);
  }

  int count() const { return count_; }
  Numbers result(std::initializer_list<int> own) const {
    Extents shape = leading_;
    shape.insert(shape.end(), own.begin(), own.end());
    return Numbers(shape);
  }
  const double* velocities(const char* name, const Numbers& given) const {
    const int size = model_.tree.velocity_size();
    Extents wanted = leading_;
    wanted.push_back(size);
    if (Extents(given.shape(), given.shape() + given.ndim()) != wanted) {
      refuse(name, "an array (..., " + std::to_string(size) + "), as many rows as q",
             shape_of(given));
    }
    check_finite(name, given);
    return given.data();
  }
  template <class Work>
  void each(const TreeBodies& bodies, int threads, const Work& work) const {
    if (threads < 0) refuse("threads", "must be >= 0 (0: one a core)", threads);
    const py::gil_scoped_release release;
    each_state(bodies, count_, threads, work);
  }

 private:
  static std::string shape_of(const Numbers& a) {
    std::ostringstream text;
    text << "shape (";
    for (int i = 0; i < a.ndim(); ++i) text << (i ? ", " : "") << a.shape(i);
    text << ")";
    return text.str();
  }
  static void check_finite(const char* name, const Numbers& given) {
    for (py::ssize_t k = 0; k < given.size(); ++k) {
      if (!std::isfinite(given.data()[k])) refuse(name, "must be finite", given.data()[k]);
    }
  }
  void check_positions(const Numbers& q) const {
    check_finite("q", q);
    const Tree& tree = model_.tree;
    for (int i = 0; i < tree.size(); ++i) {
      if (tree.joint(i).type != JointType::spherical) continue;
      for (int k = 0; k < count_; ++k) {
        const double* at = q.data() + k * tree.position_size() + tree.position_at(i);
        const double length = Eigen::Map<const Eigen::Vector4d>(at).norm();
        if (std::abs(length - 1) < 1e-6) continue;
        refuse("q: joint '" + tree.joint(i).name + "'", "a unit quaternion (x, y, z, w), to 1e-6",
               length, "divide it by its length");
      }
    }
  }

  const ArticulatedModel& model_;
  Extents leading_;
  int count_ = 1;
};

// Of forward dynamics: links without mass between joints whose axes coincide have no acceleration.
void check_solvable(const ArticulatedModel& model, const States& states, const Numbers& q,
                    int threads) {
  if (!model.bodies.may_lock) return;
  const int nq = model.tree.position_size();
  const double* at = q.data();
  std::vector<double> pivots(states.count());
  states.each(model.bodies, threads, [&](int k, DynamicsWorkspace& work) {
    pivots[k] = least_pivot(model.bodies, work, at + k * nq);
  });
  for (const double pivot : pivots) {
    if (pivot > 1e-13) continue;
    refuse("forward dynamics: q", "the mass matrix must have an inverse, to 1e-13", pivot,
           "give armature to links without mass between joints whose axes coincide");
  }
}

Numbers efforts_of(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                   const Numbers& qdd, int threads) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  const double *v = states.velocities("qd", qd), *a = states.velocities("qdd", qdd);
  Numbers tau = states.result({n});
  double* out = tau.mutable_data();
  const double* at = q.data();
  states.each(model.bodies, threads, [&](int k, DynamicsWorkspace& work) {
    inverse_dynamics(model.bodies, work, at + k * nq, v + k * n, a + k * n, out + k * n);
  });
  return tau;
}

Numbers accelerations_of(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                         const Numbers& tau, int threads) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  const double *v = states.velocities("qd", qd), *f = states.velocities("tau", tau);
  check_solvable(model, states, q, threads);
  Numbers qdd = states.result({n});
  double* out = qdd.mutable_data();
  const double* at = q.data();
  states.each(model.bodies, threads, [&](int k, DynamicsWorkspace& work) {
    forward_dynamics(model.bodies, work, at + k * nq, v + k * n, f + k * n, out + k * n);
  });
  return qdd;
}

Numbers mass_matrices(const ArticulatedModel& model, const Numbers& q, int threads) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  Numbers M = states.result({n, n});
  double* out = M.mutable_data();
  const double* at = q.data();
  states.each(model.bodies, threads, [&](int k, DynamicsWorkspace& work) {
    mass_matrix(model.bodies, work, at + k * nq, out + std::ptrdiff_t{k} * n * n);
  });
  return M;
}

// Both have one shape: a value (n), three matrices (n, n).
template <class Function>
py::dict state_slopes(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                      const Numbers& third, int threads, const Function& function,
                      const std::array<const char*, 5>& names) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  const double *v = states.velocities("qd", qd), *t = states.velocities(names[4], third);
  Numbers value = states.result({n}), A = states.result({n, n}), B = states.result({n, n}),
          C = states.result({n, n});
  const double* at = q.data();
  double *out = value.mutable_data(), *a = A.mutable_data(), *b = B.mutable_data(),
         *c = C.mutable_data();
  states.each(model.bodies, threads, [&](int k, DynamicsWorkspace& work) {
    const std::ptrdiff_t m = std::ptrdiff_t{k} * n * n;
    function(model.bodies, work, at + k * nq, v + k * n, t + k * n, out + k * n, a + m, b + m,
             c + m);
  });
  py::dict found;
  found[names[0]] = value;
  found[names[1]] = A;
  found[names[2]] = B;
  found[names[3]] = C;
  return found;
}

py::dict inverse_slopes(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                        const Numbers& qdd, int threads) {
  return state_slopes(model, q, qd, qdd, threads, inverse_dynamics_derivatives,
                      {"tau", "by_q", "by_qd", "by_qdd", "qdd"});
}

py::dict forward_slopes(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                        const Numbers& tau, int threads) {
  check_solvable(model, States(model, q), q, threads);
  return state_slopes(model, q, qd, tau, threads, forward_dynamics_derivatives,
                      {"qdd", "by_q", "by_qd", "by_tau", "tau"});
}

Numbers regressor(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                  const Numbers& qdd, int threads) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  const int columns = 10 * model.tree.size();
  const double *v = states.velocities("qd", qd), *a = states.velocities("qdd", qdd);
  Numbers Y = states.result({n, columns});
  double* out = Y.mutable_data();
  const double* at = q.data();
  states.each(model.links, threads, [&](int k, DynamicsWorkspace& work) {
    parameter_derivatives(model.tree, model.links, work, at + k * nq, v + k * n, a + k * n,
                          out + std::ptrdiff_t{k} * n * columns, nullptr, nullptr);
  });
  return Y;
}

py::dict parameter_slopes(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                          const Numbers& qdd, int threads) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  const int links = model.tree.size();
  const double *v = states.velocities("qd", qd), *a = states.velocities("qdd", qdd);
  Numbers I = states.result({n, 10 * links}), P = states.result({n, 6 * links}),
          L = states.result({n, links});
  double *inertial = I.mutable_data(), *places = P.mutable_data(), *lengths = L.mutable_data();
  const double* at = q.data();
  states.each(model.links, threads, [&](int k, DynamicsWorkspace& work) {
    const std::ptrdiff_t m = std::ptrdiff_t{k} * n * links;
    parameter_derivatives(model.tree, model.links, work, at + k * nq, v + k * n, a + k * n,
                          inertial + 10 * m, places + 6 * m, lengths + m);
  });
  py::dict found;
  found["inertial"] = I;
  found["places"] = P;
  found["lengths"] = L;
  return found;
}

py::dict centroidal_of(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                       int threads) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  const double* v = states.velocities("qd", qd);
  Numbers com = states.result({3}), momentum = states.result({6}), A = states.result({6, n});
  double *c = com.mutable_data(), *h = momentum.mutable_data(), *matrix = A.mutable_data();
  const double* at = q.data();
  states.each(model.bodies, threads, [&](int k, DynamicsWorkspace& work) {
    const Centroidal found =
        centroidal(model.bodies, work, at + k * nq, v + k * n, matrix + std::ptrdiff_t{k} * 6 * n);
    std::copy(found.com.data(), found.com.data() + 3, c + 3 * k);
    std::copy(found.momentum.data(), found.momentum.data() + 6, h + 6 * k);
  });
  double mass = 0;
  for (const TreeBody& body : model.bodies.bodies) mass += body.mass;
  py::dict found;
  found["mass"] = mass;
  found["com"] = com;
  found["momentum"] = momentum;
  found["matrix"] = A;
  return found;
}

Numbers all_poses(const ArticulatedModel& model, const Numbers& q, int threads) {
  const States states(model, q);
  const int links = model.tree.size(), nq = model.tree.position_size();
  Numbers found = states.result({links, 4, 4});
  double* out = found.mutable_data();
  const double* at = q.data();
  states.each(model.bodies, threads, [&](int k, DynamicsWorkspace& work) {
    link_poses(model.bodies, work, at + k * nq, out + std::ptrdiff_t{k} * 16 * links);
  });
  return found;
}

Numbers jacobians(const ArticulatedModel& model, const Numbers& q, const std::string& link,
                  int threads) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  const int index = model.tree.link_index(link);
  Numbers found = states.result({6, n});
  double* out = found.mutable_data();
  const double* at = q.data();
  states.each(model.bodies, threads, [&](int k, DynamicsWorkspace& work) {
    link_jacobian(model.bodies, work, at + k * nq, index, out + std::ptrdiff_t{k} * 6 * n);
  });
  return found;
}

// CPU seconds per call of one state after the other, on this thread.
double seconds_of(const ArticulatedModel& model, const std::string& what, const Numbers& q,
                  const Numbers& qd, const Numbers& third) {
  const States states(model, q);
  const int n = model.tree.velocity_size(), nq = model.tree.position_size();
  const double *v = states.velocities("qd", qd), *t = states.velocities("third", third);
  const bool by_tau = what == "forward_dynamics", slopes = what == "forward_dynamics_derivatives";
  const bool back = what == "inverse_dynamics", lean = what == "inverse_dynamics_derivatives";
  if (!by_tau && !slopes && !back && !lean && what != "mass_matrix") {
    refuse("seconds: what", "forward_dynamics, inverse_dynamics, their _derivatives or mass_matrix",
           "'" + what + "'");
  }
  DynamicsWorkspace work(model.bodies);
  VectorXd out(n);
  RowMatrix A(n, n), B(n, n), C(n, n);
  timespec begin, end;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &begin);
  for (int k = 0; k < states.count(); ++k) {
    const double *qk = q.data() + k * nq, *vk = v + k * n, *tk = t + k * n;
    if (by_tau) forward_dynamics(model.bodies, work, qk, vk, tk, out.data());
    if (back) inverse_dynamics(model.bodies, work, qk, vk, tk, out.data());
    if (slopes) {
      forward_dynamics_derivatives(model.bodies, work, qk, vk, tk, out.data(), A.data(), B.data(),
                                   C.data());
    }
    if (lean) {
      inverse_dynamics_derivatives(model.bodies, work, qk, vk, tk, out.data(), A.data(), B.data(),
                                   C.data());
    }
    if (what == "mass_matrix") mass_matrix(model.bodies, work, qk, A.data());
  }
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
  const double passed = static_cast<double>(end.tv_sec - begin.tv_sec) +
                        1e-9 * static_cast<double>(end.tv_nsec - begin.tv_nsec);
  return passed / std::max(states.count(), 1);
}

void bind_tree(py::module_& m) {
  py::class_<TreeJoint>(m, "TreeJoint", "Between a link (or the world) and the link it moves.")
      .def(
          py::init([](const std::string& name, const std::string& type, int parent,
                      const Matrix3d& R, const Vector3d& r, const Vector3d& axis, double armature) {
            return TreeJoint{name, joint_type(type), parent, R, r, axis, armature};
          }),
          py::arg("name"), py::arg("type"), py::arg("parent") = -1,
          py::arg("R") = Matrix3d(Matrix3d::Identity()), py::arg("r") = Vector3d(Vector3d::Zero()),
          py::arg("axis") = Vector3d(0, 0, 1), py::arg("armature") = 0.0,
          "type: fixed, revolute, prismatic, spherical or translation; parent: index of a link, "
          "-1: the world; R, r [m]: x_parent = R x_joint + r; axis: unit, joint frame; armature "
          "[kg m^2 or kg] of each coordinate.")
      .def_readonly("name", &TreeJoint::name)
      .def_property_readonly("type", [](const TreeJoint& j) { return joint_type_name(j.type); })
      .def_readonly("parent", &TreeJoint::parent)
      .def_readonly("R", &TreeJoint::R)
      .def_readonly("r", &TreeJoint::r)
      .def_readonly("axis", &TreeJoint::axis)
      .def_readonly("armature", &TreeJoint::armature);
  py::class_<TreeLink>(m, "TreeLink", "What a joint moves.")
      .def(py::init([](const std::string& name, double mass, const Vector3d& com,
                       const Matrix3d& inertia) { return TreeLink{name, mass, com, inertia}; }),
           py::arg("name"), py::arg("mass") = 0.0, py::arg("com") = Vector3d(Vector3d::Zero()),
           py::arg("inertia") = Matrix3d(Matrix3d::Zero()),
           "mass [kg], com [m] in the link's frame, inertia (3, 3) [kg m^2] about com.")
      .def_readonly("name", &TreeLink::name)
      .def_readonly("mass", &TreeLink::mass)
      .def_readonly("com", &TreeLink::com)
      .def_readonly("inertia", &TreeLink::inertia);
}

void bind_model(ModelClass& model) {
  model
      .def(py::init([](const std::vector<TreeJoint>& joints, const std::vector<TreeLink>& links,
                       const Vector3d& gravity) {
             return std::make_shared<ArticulatedModel>(Tree(joints, links, gravity));
           }),
           py::arg("joints"), py::arg("links"), py::arg("gravity") = Vector3d(0, 0, -9.81),
           "Link i is moved by joint i, parents first; gravity [m/s^2] in axes of the world. "
           "InvalidInput names the joint or link at fault.")
      .def_property_readonly("joints", [](const ArticulatedModel& m) { return m.tree.joints(); })
      .def_property_readonly("links", [](const ArticulatedModel& m) { return m.tree.links(); })
      .def_property_readonly("gravity", [](const ArticulatedModel& m) { return m.tree.gravity(); })
      .def_property_readonly(
          "position_size", [](const ArticulatedModel& m) { return m.tree.position_size(); },
          "Numbers in q.")
      .def_property_readonly(
          "velocity_size", [](const ArticulatedModel& m) { return m.tree.velocity_size(); },
          "Numbers n in qd, qdd and tau.")
      .def(
          "position_at",
          [](const ArticulatedModel& m, const std::string& joint) {
            return m.tree.position_at(m.tree.joint_index(joint));
          },
          py::arg("joint"), "First entry of a joint in q.")
      .def(
          "velocity_at",
          [](const ArticulatedModel& m, const std::string& joint) {
            return m.tree.velocity_at(m.tree.joint_index(joint));
          },
          py::arg("joint"), "First entry of a joint in qd.")
      .def(
          "neutral", [](const ArticulatedModel& m) { return m.tree.neutral(); },
          "q (position_size,) with all joints at zero, quaternions (0, 0, 0, 1).")
      .def(
          "moved",
          [](const ArticulatedModel& m, const VectorXd& q, const VectorXd& d) {
            return m.tree.moved(q, d);
          },
          py::arg("q"), py::arg("d"), "q moved by a tangent vector d (n,).");
}

void bind_dynamics(ModelClass& model) {
  const auto q = py::arg("q"), qd = py::arg("qd"), qdd = py::arg("qdd"), tau = py::arg("tau");
  const auto threads = py::arg("threads") = 1;
  model
      .def("inverse_dynamics", &efforts_of, q, qd, qdd, threads,
           "Efforts tau (..., n) [N m, N] of a motion; q (..., position_size), qd, qdd (..., n).")
      .def("forward_dynamics", &accelerations_of, q, qd, tau, threads,
           "Accelerations qdd (..., n).")
      .def("mass_matrix", &mass_matrices, q, threads, "M (..., n, n).")
      .def("inverse_dynamics_derivatives", &inverse_slopes, q, qd, qdd, threads,
           "tau (..., n); by_q (tangent), by_qd, by_qdd (..., n, n).")
      .def("forward_dynamics_derivatives", &forward_slopes, q, qd, tau, threads,
           "qdd (..., n); by_q (tangent), by_qd, by_tau (..., n, n).")
      .def("regressor", &regressor, q, qd, qdd, threads,
           "Y (..., n, 10 links), tau = Y phi: m, m com, xx, yy, zz, xy, xz, yz of every link, "
           "about "
           "its origin, in its axes.")
      .def(
          "parameter_derivatives", &parameter_slopes, q, qd, qdd, threads,
          "Of tau: inertial (..., n, 10 links), places (..., n, 6 links) by turn and shift of each "
          "joint's frame in axes of its parent's link, lengths (..., n, links) along r. Of qdd: "
          "-M^-1 times as much.")
      .def("centroidal", &centroidal_of, q, qd, threads,
           "mass [kg], com (..., 3) [m], momentum (..., 6) about com (angular, linear) and its "
           "matrix (..., 6, n), axes of the world.")
      .def("link_poses", &all_poses, q, threads, "(..., links, 4, 4) in the world.")
      .def("jacobian", &jacobians, q, py::arg("link"), threads,
           "(..., 6, n): angular velocity and velocity of the link's origin, axes of the world.")
      .def("seconds", &seconds_of, py::arg("what"), q, qd, py::arg("third"),
           "CPU seconds per call on one thread; third: qdd or tau.");
}

py::dict contact_dynamics_of(const ArticulatedModel& model, const Numbers& q, const Numbers& qd,
                             const std::vector<int>& links, const Points& centres,
                             const VectorXd& radii, const std::optional<Points>& axes) {
  const States states(model, q);
  if (q.ndim() != 1) refuse("q", "one state", q.ndim());
  const double* v = states.velocities("qd", qd);
  const auto m = static_cast<Eigen::Index>(links.size());
  if (centres.rows() != m || radii.size() != m) {
    refuse("contact: centres, radii", std::to_string(m) + " rows, one a link", centres.rows());
  }
  if (axes && axes->rows() != m) {
    refuse("contact: axes", std::to_string(m) + " rows, one a link", axes->rows());
  }
  std::vector<ContactBall> balls;
  for (Eigen::Index j = 0; j < m; ++j) {
    if (links[j] < 0 || links[j] >= model.tree.size()) {
      refuse("contact: link", "an index in [0, " + std::to_string(model.tree.size()) + ")",
             links[j]);
    }
    if (!(radii[j] >= 0) || !centres.row(j).allFinite()) {
      refuse("contact: centre, radius", "finite numbers [m], radius >= 0", radii[j]);
    }
    Vector3d axis = Vector3d::Zero();
    if (axes) axis = axes->row(j).transpose();
    if (!axis.isZero() && !(std::abs(axis.norm() - 1) < 1e-6)) {
      refuse("contact: axis", "a unit vector of a wheel, or zero", axis.norm());
    }
    balls.push_back({links[j], centres.row(j).transpose(), radii[j], axis});
  }
  DynamicsWorkspace work(model.bodies);
  ContactDynamics found;
  contact_dynamics(model.bodies, work, balls, q.data(), v, found);
  py::dict out;
  out["M"] = found.M;
  out["h"] = found.h;
  out["J"] = found.J;
  out["point"] = found.point;
  out["bias"] = found.bias;
  out["velocity"] = found.velocity;
  out["place_J"] = found.place_J;
  out["place_bias"] = found.place_bias;
  out["place_velocity"] = found.place_velocity;
  out["axis"] = found.axis;
  out["spin"] = found.spin;
  out["steering"] = found.steering;
  return out;
}

}  // namespace

void bind_articulated(py::module_& m) {
  bind_tree(m);
  ModelClass model(
      m, "ArticulatedModel",
      "A tree of links on joints. States are arrays (..., size); threads 0: one a core. Spherical "
      "joints: quaternion (x, y, z, w) in q, angular velocity in the child's axes in qd.");
  bind_model(model);
  bind_dynamics(model);
  model.def("contact_dynamics", &contact_dynamics_of, py::arg("q"), py::arg("qd"), py::arg("links"),
            py::arg("centres"), py::arg("radii"), py::arg("axes") = py::none(),
            "Of one state: M (n, n), h (n), and of balls (centres (m, 3) in link frames, radii "
            "(m,)) or thin wheels (axes (m, 3), zero: a ball) J (3 m, n), point, velocity and bias "
            "(m, 3): M qdd + h = tau + J^T f; of what rolls on level ground J qdd + bias = 0. "
            "place_J, place_velocity, place_bias: of the lowest point as a place. Of wheels axis "
            "(m, 3) in the world, spin (m,) [rad/s] beside a frame that only steers and leans, and "
            "steering (m,) of that.");
}

}  // namespace diffsim
