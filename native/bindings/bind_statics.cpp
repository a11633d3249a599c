#include <pybind11/numpy.h>

#include <Eigen/Geometry>

#include "../bodies/kinematics.hpp"
#include "../rotation.hpp"
#include "../scene.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Quaternions = Eigen::Matrix<double, Eigen::Dynamic, 4, Eigen::RowMajor>;

// Any step does: at rest no force sees it, and mass is taken as d(momentum)/d(velocity). A power of
// two, which costs no digits, shorter than any interval of keys.
const TimeScheme kScheme = TimeScheme::bdf(1, 1. / (1 << 20));

void check_rows(const Scene& scene, const char* key, Eigen::Index rows) {
  const auto nodes = static_cast<Eigen::Index>(scene.nodes().size());
  if (rows == nodes) return;
  refuse(std::string("statics: ") + key, "must have " + std::to_string(nodes) + " rows", rows);
}

/// The scene ready for statics, or a refusal that names what stands in the way.
void prepare(Scene& scene, const VectorXd& p) {
  scene.finalize();
  scene.check(p);
  if (scene.articulation()) {
    refuse("statics: joints", "must be in maximal coordinates", "some in reduced ones");
  }
  if (scene.closure()) {
    refuse("statics: joints", "must be in maximal coordinates",
           "joint '" + scene.closure()->joints()[0]->name() + "', which is constrained");
  }
  for (const ContactElement* contact : scene.contacts()) {
    if (contact->stick_count() == 0) continue;
    refuse("contact '" + contact->name() + "': friction",
           "statics and modes take linear or tanh, which do not act at rest", "hybrid");
  }
}

/// State at a pose; rate (ndof) or none: at rest.
State state_at(const Scene& scene, const Points& position, const Quaternions& orientation,
               const VectorXd* rate = nullptr) {
  check_rows(scene, "position", position.rows());
  check_rows(scene, "orientation", orientation.rows());
  State s = make_state(scene.nodes());
  for (int i = 0; i < static_cast<int>(scene.nodes().size()); ++i) {
    const Node& n = scene.nodes()[i];
    s.c.col(i) = position.row(i);
    if (rate) s.v.col(i) = rate->segment<3>(n.dof);
    if (n.frame < 0) continue;
    const Eigen::Vector4d q = orientation.row(i);
    s.R[n.frame] = Eigen::Quaterniond(q).normalized().toRotationMatrix();
    if (rate) s.w[n.frame] = rate->segment<3>(n.dof + 3);
  }
  s.stick.clear();
  return s;
}

py::tuple arrays(const std::vector<int>& row, const std::vector<int>& col,
                 const std::vector<double>& value) {
  const auto count = static_cast<py::ssize_t>(value.size());
  return py::make_tuple(py::array_t<int>(count, row.data()), py::array_t<int>(count, col.data()),
                        py::array_t<double>(count, value.data()));
}

/// (row, column, value) of a block matrix's entries.
py::tuple triplets(const BlockMatrix& M) {
  const BlockPattern& P = *M.pattern;
  std::vector<int> row, col;
  std::vector<double> value;
  for (int b = 0; b < P.blocks(); ++b) {
    const int rows = P.size[P.row[b]], cols = P.size[P.col[b]];
    const double* at = M.block(b);
    for (int j = 0; j < cols; ++j) {
      for (int i = 0; i < rows; ++i, ++at) {
        row.push_back(P.dof[P.row[b]] + i);
        col.push_back(P.dof[P.col[b]] + j);
        value.push_back(*at);
      }
    }
  }
  return arrays(row, col, value);
}

py::tuple triplets(const ParameterColumns& columns) {
  std::vector<int> row, col;
  std::vector<double> value;
  for (const auto& at : columns.entries()) {
    for (int i = 0; i < 3; ++i) {
      row.push_back(at.row + i);
      col.push_back(at.column);
      value.push_back(at.value[i]);
    }
  }
  return arrays(row, col, value);
}

std::vector<int> every_parameter(const Scene& scene) {
  std::vector<int> all(scene.parameters().size());
  for (std::size_t j = 0; j < all.size(); ++j) all[j] = static_cast<int>(j);
  return all;
}

/// Mode codes of all elements (element.hpp): poses with equal ones are on one smooth piece.
std::vector<int> branches(const Scene& scene, const Window& window, const VectorXd& p) {
  std::vector<std::uint16_t> codes(scene.mode_count());
  std::uint16_t* at = codes.data();
  for (const auto& e : scene.elements()) {
    if (e->mode_count() == 0) continue;
    e->modes(window, p, at);
    at += e->mode_count();
  }
  return {codes.begin(), codes.end()};
}

py::dict evaluate_at_rest(Scene& scene, const VectorXd& p, const Points& position,
                          const Quaternions& orientation, bool derivatives) {
  prepare(scene, p);
  const State s = state_at(scene, position, orientation);
  const Window window{{&s, &s, nullptr}, kScheme, 0};
  VectorXd r = VectorXd::Zero(scene.ndof()), part(scene.ndof());
  BlockMatrix K, B, past_K, past_B;
  const std::vector<int> all = every_parameter(scene);
  ParameterColumns columns(all);
  Assembly to;
  to.r = &part;
  bool compressed = false;
  to.compressed = &compressed;
  if (derivatives) {
    for (BlockMatrix* M : {&K, &B}) M->reset(scene.pattern());
    for (BlockMatrix* M : {&past_K, &past_B}) M->reset(scene.past_pattern());
    to.K = &K;
    to.B = &B;
    to.columns = &columns;
  }
  double reference = 1e-6 * scene.total_mass(p) * 9.81;
  double sum = 0;
  for (const auto& e : scene.elements()) {
    part.setZero();
    e->add(window, p, to);
    if (derivatives && e->has_momentum()) e->add_history(window, 1, p, past_K, past_B);
    sum += part.cwiseProduct(scene.residual_scale()).norm();
    r += part;
  }
  py::dict out;
  out["r"] = r;
  out["reference"] = std::max(reference, sum);
  out["modes"] = branches(scene, window, p);
  if (!derivatives) return out;
  past_B.values /= kScheme.gamma[1];
  out["K"] = triplets(K);
  out["M"] = triplets(past_B);
  out["dr_dp"] = triplets(columns);
  return out;
}

/// d(M rate)/dx and d(M rate)/dp at fixed rate: of what is odd in the rate, so that terms with
/// squares of velocities are left out.
py::tuple momentum_derivatives(Scene& scene, const VectorXd& p, const Points& position,
                               const Quaternions& orientation, const VectorXd& rate) {
  prepare(scene, p);
  if (rate.size() != scene.ndof()) refuse("statics: rate", "must be (ndof,)", rate.size());
  const std::vector<int> all = every_parameter(scene);
  const State rest = state_at(scene, position, orientation);
  BlockMatrix K[2], B;
  std::vector<ParameterColumns> columns(2, ParameterColumns(all));
  B.reset(scene.pattern());
  VectorXd r = VectorXd::Zero(scene.ndof());
  for (int side = 0; side < 2; ++side) {
    const VectorXd turned = side == 0 ? rate : VectorXd(-rate);
    const State s = state_at(scene, position, orientation, &turned);
    const Window window{{&s, &rest, nullptr}, kScheme, 0};
    K[side].reset(scene.pattern());
    Assembly to{&r, &K[side], &B};
    to.columns = &columns[side];
    bool compressed = false;
    to.compressed = &compressed;
    for (const auto& e : scene.elements()) {
      if (e->has_momentum()) e->add(window, p, to);
    }
  }
  const double half = 0.5 / kScheme.gamma[0];
  K[0].values = half * (K[0].values - K[1].values);
  ParameterColumns odd(all);
  for (int side = 0; side < 2; ++side) {
    for (const auto& at : columns[side].entries()) {
      odd.add(at.row, at.column, (side == 0 ? half : -half) * at.value);
    }
  }
  return py::make_tuple(triplets(K[0]), triplets(odd));
}

/// Pose that a motion starts from, and its derivative by parameters `active`.
py::tuple start_pose(Scene& scene, const VectorXd& p, const std::vector<int>& active) {
  scene.finalize();
  scene.check(p);
  std::vector<int> column_of(scene.parameters().size(), -1);
  for (std::size_t j = 0; j < active.size(); ++j) column_of.at(active[j]) = static_cast<int>(j);
  const State s = scene.start(p);
  const auto nodes = static_cast<Eigen::Index>(scene.body_nodes());
  Points position(nodes, 3);
  Quaternions orientation(nodes, 4);
  for (Eigen::Index i = 0; i < nodes; ++i) {
    const int f = scene.nodes()[i].frame;
    position.row(i) = s.c.col(i);
    Eigen::Quaterniond q(1, 0, 0, 0);
    if (f >= 0) q = Eigen::Quaterniond(s.R[f]).normalized();
    orientation.row(i) = q.coeffs();
  }
  MatrixXd X = MatrixXd::Zero(scene.ndof(), static_cast<Eigen::Index>(active.size())), V = X;
  scene.start_sensitivity(p, column_of, X, V);
  return py::make_tuple(position, orientation, X);
}

/// What joints in reduced coordinates change of the start of the bodies that they carry.
py::dict start_moved(Scene& scene, const VectorXd& p) {
  scene.finalize();
  scene.check(p);
  py::dict moved;
  const State s = scene.open_start(p), free = scene.free_start(p);
  if (scene.closure()) {
    for (const Joint* joint : scene.closure()->joints()) {
      const Eigen::Vector4d gap = Closure::gap(*joint, s, p);
      moved[py::str(joint->name())] = py::make_tuple(gap[0], gap[1], gap[2], gap[3]);
    }
  }
  if (!scene.articulation()) return moved;
  for (const Articulation::Link& link : scene.articulation()->links()) {
    const int i = link.node, f = link.frame;
    const Vector3d turn = log_rotation(s.R[f] * free.R[f].transpose());
    moved[py::str(link.joint->name())] =
        py::make_tuple((s.c.col(i) - free.c.col(i)).norm(), turn.norm(),
                       (s.v.col(i) - free.v.col(i)).norm(), (s.w[f] - free.w[f]).norm());
  }
  return moved;
}

/// First degree of freedom of every node, and one more: ndof.
std::vector<int> node_dofs(const Scene& scene) {
  std::vector<int> dofs;
  for (const Node& n : scene.nodes()) dofs.push_back(n.dof);
  dofs.push_back(scene.ndof());
  return dofs;
}

/// Per degree of freedom, whether a motion is prescribed for it.
std::vector<bool> driven_dofs(const Scene& scene) {
  std::vector<bool> driven(scene.ndof(), false);
  for (const Body* body : scene.driven()) {
    const Node& n = scene.nodes()[body->node()];
    for (int i = 0; i < n.size(); ++i) driven[n.dof + i] = true;
  }
  return driven;
}

}  // namespace

void bind_statics(py::class_<Scene>& scene) {
  scene
      .def("evaluate_at_rest", &evaluate_at_rest, py::arg("p"), py::arg("position"),
           py::arg("orientation"), py::arg("derivatives") = true,
           "Of all elements together at a pose (nodes, 3), (nodes, 4) without velocities, at time "
           "0: r (ndof,) = -forces [N, N m], reference [N] = sum of the elements' norms, modes "
           "(codes of contact points and the like: equal on one smooth piece); with "
           "derivatives K = dr/dx, M (mass) and dr_dp as (row, column, value), entries of one "
           "place add up. Rows of kinematic bodies hold the forces on them. Refuses hybrid "
           "friction.")
      .def("momentum_derivatives", &momentum_derivatives, py::arg("p"), py::arg("position"),
           py::arg("orientation"), py::arg("rate"),
           "d(M rate)/dx and d(M rate)/dp for a fixed rate (ndof,), as (row, column, value).")
      .def("start_moved", &start_moved, py::arg("p"),
           "Joint in reduced coordinates -> (distance [m], angle [rad], velocity [m/s], angular "
           "velocity [rad/s]) by which the body it carries starts elsewhere than by itself.")
      .def("start_pose", &start_pose, py::arg("p"), py::arg("active"),
           "(position (nodes, 3), orientation (nodes, 4), d(c, psi)/dp (ndof, active)) of the "
           "start.")
      .def_property_readonly("node_dofs", &node_dofs,
                             "(nodes + 1,): first degree of freedom of every node, then ndof.")
      .def_property_readonly("driven_dofs", &driven_dofs,
                             "(ndof,): whether a kinematic body's motion prescribes it.")
      .def_property_readonly(
          "residual_scale",
          [](Scene& s) {
            s.finalize();
            return VectorXd(s.residual_scale());
          },
          "(ndof,): 1, and for torques 1/(body radius) [1/m].")
      .def("dof_name", &Scene::dof_name, py::arg("dof"), "Such as cube.position.z.");
}

}  // namespace diffsim
