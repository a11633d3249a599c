#include <pybind11/numpy.h>

#include <Eigen/Geometry>

#include "../at_rest.hpp"
#include "../outputs/requested.hpp"
#include "../rotation.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

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

/// Sets rows of multipliers to zero.
void clear_rows(const Scene& scene, VectorXd& r) {
  for (const Node& n : scene.nodes()) {
    if (n.multipliers) r.segment(n.dof, n.count).setZero();
  }
}

/// K by what is solved for: forces of multipliers are written by their rates.
void add_multipliers(const Scene& scene, const BlockMatrix& B, BlockMatrix& K) {
  const BlockPattern& P = *B.pattern;
  for (int b = 0; b < P.blocks(); ++b) {
    if (!scene.nodes()[P.col[b]].multipliers) continue;
    const int values = P.size[P.row[b]] * P.size[P.col[b]];
    VectorXd::Map(K.block(b), values) += VectorXd::Map(B.block(b), values);
  }
}

py::tuple triplets(const MatrixXd& M) {
  std::vector<int> row, col;
  std::vector<double> value;
  for (Eigen::Index j = 0; j < M.cols(); ++j) {
    for (Eigen::Index i = 0; i < M.rows(); ++i) {
      if (M(i, j) == 0) continue;
      row.push_back(static_cast<int>(i));
      col.push_back(static_cast<int>(j));
      value.push_back(M(i, j));
    }
  }
  return arrays(row, col, value);
}

/// What joints in reduced coordinates make of r, K and B; how dependent frames follow the other
/// degrees of freedom, and the places of joints, which r depends on besides.
void reduce(const Scene& scene, const VectorXd& p, const State& s, VectorXd& r,
            const BlockMatrix& K, const BlockMatrix& B, py::dict& out) {
  ArticulationMap map;
  map.evaluate(*scene.articulation(), scene.nodes(), p, s);
  if (!K.pattern) {
    map.reduce(r);
    return;
  }
  BlockMatrix reduced_K, reduced_B;
  scene.reduced().reduce(map, r, K, B, reduced_K, reduced_B);
  add_multipliers(scene, reduced_B, reduced_K);
  out["K"] = triplets(reduced_K);
  MatrixXd X = MatrixXd::Identity(scene.ndof(), scene.ndof()), V = MatrixXd::Zero(0, 0);
  for (const Articulation::Link& link : scene.articulation()->links()) {
    const int dof = scene.nodes()[link.node].dof;
    X.middleRows<6>(dof).setZero();
    X.middleCols<6>(dof).setZero();
  }
  V.setZero(X.rows(), X.cols());
  map.expand({}, MatrixXd(0, X.cols()), X, V);
  out["follow"] = triplets(X);
  std::vector<int> column_of = every_parameter(scene);
  const auto twists = map.place_twists(p, s, column_of);
  const auto count = static_cast<Eigen::Index>(scene.parameters().size());
  MatrixXd by_r = MatrixXd::Zero(scene.ndof(), count), by_x = by_r;
  for (const auto& twist : twists) {
    by_r.col(twist.parameter) += map.place_column(twist, r, K, B);
    MatrixXd x = MatrixXd::Zero(scene.ndof(), 1), v = x;
    map.expand({twist}, MatrixXd::Ones(1, 1), x, v);
    by_x.col(twist.parameter) += x.col(0);
  }
  out["places_r"] = triplets(by_r);
  out["places_x"] = triplets(by_x);
  map.reduce(r);
}

py::dict evaluate_at_rest(Scene& scene, const VectorXd& p, const Points& position,
                          const Quaternions& orientation, bool derivatives,
                          const VectorXd& coordinates) {
  prepare_at_rest(scene, p);
  const State s = state_at(scene, p, {position, orientation, coordinates});
  const Window window{{&s, &s, nullptr}, kAtRest, 0};
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
  double reference = 1e-6 * scene.total_mass(p) * kAtRestGravity;
  double sum = 0;
  for (const auto& e : scene.elements()) {
    part.setZero();
    e->add(window, p, to);
    if (derivatives && e->has_momentum()) e->add_history(window, 1, p, past_K, past_B);
    r += part;
    clear_rows(scene, part);
    sum += part.cwiseProduct(scene.residual_scale()).norm();
  }
  py::dict out;
  out["reference"] = std::max(reference, sum);
  out["modes"] = branches(scene, window, p);
  if (derivatives) {
    past_B.values /= kAtRest.gamma[1];
    out["M"] = triplets(past_B);
    out["dr_dp"] = triplets(columns);
  }
  if (scene.articulation()) {
    reduce(scene, p, s, r, K, B, out);
  } else if (derivatives) {
    add_multipliers(scene, B, K);
    out["K"] = triplets(K);
  }
  out["r"] = r;
  return out;
}

/// d(M rate)/dx and d(M rate)/dp at fixed rate: of what is odd in the rate, so that terms with
/// squares of velocities are left out.
py::tuple momentum_derivatives(Scene& scene, const VectorXd& p, const Points& position,
                               const Quaternions& orientation, const VectorXd& rate,
                               const VectorXd& coordinates) {
  prepare_at_rest(scene, p);
  if (rate.size() != scene.ndof()) refuse("statics: rate", "must be (ndof,)", rate.size());
  const std::vector<int> all = every_parameter(scene);
  const Placement at{position, orientation, coordinates};
  const State rest = state_at(scene, p, at);
  BlockMatrix K[2], B;
  std::vector<ParameterColumns> columns(2, ParameterColumns(all));
  B.reset(scene.pattern());
  VectorXd r = VectorXd::Zero(scene.ndof());
  for (int side = 0; side < 2; ++side) {
    const VectorXd turned = side == 0 ? rate : VectorXd(-rate);
    const State s = state_at(scene, p, at, &turned);
    const Window window{{&s, &rest, nullptr}, kAtRest, 0};
    K[side].reset(scene.pattern());
    Assembly to{&r, &K[side], &B};
    to.columns = &columns[side];
    bool compressed = false;
    to.compressed = &compressed;
    for (const auto& e : scene.elements()) {
      if (e->has_momentum()) e->add(window, p, to);
    }
  }
  const double half = 0.5 / kAtRest.gamma[0];
  K[0].values = half * (K[0].values - K[1].values);
  ParameterColumns odd(all);
  for (int side = 0; side < 2; ++side) {
    for (const auto& at : columns[side].entries()) {
      odd.add(at.row, at.column, (side == 0 ? half : -half) * at.value);
    }
  }
  return py::make_tuple(triplets(K[0]), triplets(odd));
}

/// Outputs at a placement, stacked; their slopes by degrees of freedom of all nodes, those of
/// multipliers by these, and by parameters.
py::dict outputs_at_rest(Scene& scene, const VectorXd& p, const std::vector<std::string>& names,
                         const Points& position, const Quaternions& orientation,
                         const VectorXd& coordinates) {
  prepare_at_rest(scene, p);
  const RequestedOutputs outputs(scene, names);
  const State s = state_at(scene, p, {position, orientation, coordinates});
  const std::vector<int> all = every_parameter(scene);
  OutputJacobian by(all);
  const VectorXd y = outputs.evaluate({{&s, &s, nullptr}, kAtRest, 0}, p, &by);
  MatrixXd by_x = MatrixXd::Zero(y.size(), scene.ndof());
  MatrixXd by_p = MatrixXd::Zero(y.size(), static_cast<Eigen::Index>(all.size()));
  for (Eigen::Index row = 0; row < y.size(); ++row) {
    const VectorXd one = VectorXd::Unit(y.size(), row);
    MatrixXd x = MatrixXd::Zero(scene.ndof(), 1), v = x, of_p = MatrixXd::Zero(by_p.cols(), 1);
    for (int k = 0; k < 2; ++k) {  // the state before is the same
      by.pull_x(k, one, x);
      by.pull_v(k, one, v);
    }
    by.pull_p(one, of_p);
    for (const Node& n : scene.nodes()) {
      if (n.multipliers) x.middleRows(n.dof, n.count) = v.middleRows(n.dof, n.count);
    }
    by_x.row(row) = x.col(0).transpose();
    by_p.row(row) = of_p.col(0).transpose();
  }
  py::dict values, out;
  for (std::size_t i = 0; i < outputs.list().size(); ++i) {
    const Output& output = outputs.list()[i];
    values[py::str(output.name)] =
        py::make_tuple(outputs.first(i), output.size(), output.items, output.width());
  }
  out["rows"] = values;
  out["y"] = y;
  out["dy_dx"] = triplets(by_x);
  out["dy_dp"] = triplets(by_p);
  return out;
}

/// Cotangents x, v (ndof,) of poses and velocities at rates of the coordinates, brought to these
/// and to parameters of joints' places: (ndof,), (parameters,).
py::tuple pull_at_rest(Scene& scene, const VectorXd& p, const Points& position,
                       const Quaternions& orientation, const VectorXd& rate, const VectorXd& x,
                       const VectorXd& v, const VectorXd& coordinates) {
  prepare_at_rest(scene, p);
  for (const VectorXd* given : {&rate, &x, &v}) {
    if (given->size() != scene.ndof())
      refuse("statics: cotangents", "must be (ndof,)", given->size());
  }
  MatrixXd of_x = x, of_v = v;
  VectorXd of_p = VectorXd::Zero(static_cast<Eigen::Index>(scene.parameters().size()));
  if (scene.articulation()) {
    const State s = state_at(scene, p, {position, orientation, coordinates}, &rate);
    ArticulationMap map;
    map.evaluate(*scene.articulation(), scene.nodes(), p, s);
    const auto twists = map.place_twists(p, s, every_parameter(scene));
    const VectorXd places = map.pull(twists, of_x, of_v);
    for (std::size_t t = 0; t < twists.size(); ++t) {
      of_p[twists[t].parameter] += places[static_cast<Eigen::Index>(t)];
    }
  }
  return py::make_tuple(VectorXd(of_x.col(0)), of_p);
}

py::tuple as_tuple(const Placement& at) {
  return py::make_tuple(at.position, at.orientation, at.coordinates);
}

/// Placement that a motion starts from, its multipliers 0.
py::tuple rest_start(Scene& scene, const VectorXd& p) {
  prepare_at_rest(scene, p);
  return as_tuple(placement_of(scene, scene.start(p)));
}

/// The placement that a step (ndof) of the degrees of freedom leads to: displacements [m], rotation
/// vectors [rad], coordinates of joints and multipliers; dependent frames follow.
py::tuple rest_moved(Scene& scene, const VectorXd& p, const Points& position,
                     const Quaternions& orientation, const VectorXd& coordinates,
                     const VectorXd& step) {
  scene.finalize();
  return as_tuple(moved_at_rest(scene, p, {position, orientation, coordinates}, step));
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

std::vector<bool> dofs_where(Scene& scene, bool (*is)(const Node&)) {
  scene.finalize();
  std::vector<bool> found(scene.ndof(), false);
  for (const Node& n : scene.nodes()) {
    for (int i = 0; i < n.size(); ++i) found[n.dof + i] = is(n);
  }
  return found;
}

/// The first of the three degrees of freedom of every rotation.
std::vector<int> turn_dofs(Scene& scene) {
  scene.finalize();
  std::vector<int> first;
  for (const Node& n : scene.nodes()) {
    if (n.turns()) first.push_back(n.turn());
  }
  return first;
}

}  // namespace

void bind_statics(py::class_<Scene>& scene) {
  scene
      .def("evaluate_at_rest", &evaluate_at_rest, py::arg("p"), py::arg("position"),
           py::arg("orientation"), py::arg("derivatives") = true,
           py::arg("coordinates") = VectorXd(),
           "Of all elements together at a placement (rest_start) without velocities, at time "
           "0: r (ndof,) = -forces [N, N m], reference [N] = sum of the elements' norms, modes "
           "(codes of contact points and the like: equal on one smooth piece); with "
           "derivatives K = dr/dx, M (mass) and dr_dp as (row, column, value), entries of one "
           "place add up. Rows of kinematic bodies hold the forces on them. Rows of multipliers "
           "are -g, what constrained joints are open [m, rad]; their columns in K the forces. "
           "With joints in reduced coordinates r and K are by these, M and dr_dp by all nodes: "
           "follow (ndof, ndof) is how nodes move with the degrees of freedom, places_r and "
           "places_x (ndof, parameters) what r and poses depend on joints' places besides. "
           "Refuses hybrid friction.")
      .def("momentum_derivatives", &momentum_derivatives, py::arg("p"), py::arg("position"),
           py::arg("orientation"), py::arg("rate"), py::arg("coordinates") = VectorXd(),
           "d(M rate)/dx and d(M rate)/dp for a fixed rate (ndof,), as (row, column, value).")
      .def("pull_at_rest", &pull_at_rest, py::arg("p"), py::arg("position"), py::arg("orientation"),
           py::arg("rate"), py::arg("x"), py::arg("v"), py::arg("coordinates") = VectorXd(),
           "Cotangents (ndof,) of poses and velocities at a rate, brought to the degrees of "
           "freedom (ndof,) and joints' places (parameters,).")
      .def("outputs_at_rest", &outputs_at_rest, py::arg("p"), py::arg("names"), py::arg("position"),
           py::arg("orientation"), py::arg("coordinates") = VectorXd(),
           "Outputs at a placement: rows (name -> first row, rows, items, width), y (rows,), dy_dx "
           "(rows, ndof), by multipliers in their columns, and dy_dp (rows, parameters) as (row, "
           "column, value).")
      .def("rest_start", &rest_start, py::arg("p"),
           "Placement that motions start from: position (nodes, 3), orientation (nodes, 4) of all "
           "nodes, those of joint coordinates last, and coordinates (n,) of joints, multipliers "
           "(0 here) among them.")
      .def("rest_moved", &rest_moved, py::arg("p"), py::arg("position"), py::arg("orientation"),
           py::arg("coordinates"), py::arg("step"), "The placement that a step (ndof,) leads to.")
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
          "dependent_dofs",
          [](Scene& s) { return dofs_where(s, [](const Node& n) { return n.dependent; }); },
          "(ndof,): whether it follows from joints in reduced coordinates.")
      .def_property_readonly(
          "multiplier_dofs",
          [](Scene& s) { return dofs_where(s, [](const Node& n) { return n.multipliers; }); },
          "(ndof,): whether it is a multiplier of a constrained joint.")
      .def_property_readonly("turn_dofs", &turn_dofs,
                             "First of the three degrees of freedom of every rotation.")
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
