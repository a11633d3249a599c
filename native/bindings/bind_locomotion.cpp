#include "../locomotion/motion_solver.hpp"
#include "bindings.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Table = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Flags = Eigen::Array<bool, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

const char* status_name(MotionSolution::Status status) {
  switch (status) {
    case MotionSolution::Status::converged:
      return "converged";
    case MotionSolution::Status::infeasible:
      return "infeasible";
    case MotionSolution::Status::out_of_iterations:
      return "out_of_iterations";
    case MotionSolution::Status::cancelled:
      return "cancelled";
  }
  return "";
}

const char* kind_name(MotionTerm::Kind kind) {
  return kind == MotionTerm::Kind::constraint  ? "constraint"
         : kind == MotionTerm::Kind::objective ? "objective"
                                               : "regularizer";
}

// Arrays of a plan: x (T, 3), R (T, 3, 3), e, f (T, n, 3), spin, yaw, tilt (T, n), q (T, nq),
// travel (4).
py::dict to_python(const MotionPlan& plan) {
  const py::ssize_t T = static_cast<py::ssize_t>(plan.samples.size()),
                    n = static_cast<py::ssize_t>(plan.samples[0].e.size()),
                    nq = plan.samples[0].q.size();
  py::array_t<double> x({T, py::ssize_t{3}}), R({T, py::ssize_t{3}, py::ssize_t{3}}),
      e({T, n, py::ssize_t{3}}), f({T, n, py::ssize_t{3}}), spin({T, n}), yaw({T, n}), tilt({T, n}),
      q({T, nq});
  for (py::ssize_t i = 0; i < T; ++i) {
    const MotionSample& s = plan.samples[i];
    Eigen::Map<Vector3d>(x.mutable_data(i, 0)) = s.x;
    Eigen::Map<Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(R.mutable_data(i, 0, 0)) = s.R;
    for (py::ssize_t j = 0; j < n; ++j) {
      Eigen::Map<Vector3d>(e.mutable_data(i, j, 0)) = s.e[j];
      Eigen::Map<Vector3d>(f.mutable_data(i, j, 0)) = s.f[j];
      spin.mutable_at(i, j) = s.spin[j];
      yaw.mutable_at(i, j) = s.yaw[j];
      tilt.mutable_at(i, j) = s.tilt[j];
    }
    Eigen::Map<VectorXd>(q.mutable_data(i, 0), nq) = s.q;
  }
  Eigen::Vector4d travel;
  travel << plan.travel.shift, plan.travel.yaw;
  py::dict found;
  found["x"] = x;
  found["R"] = R;
  found["e"] = e;
  found["f"] = f;
  found["spin"] = spin;
  found["yaw"] = yaw;
  found["tilt"] = tilt;
  found["q"] = q;
  found["travel"] = travel;
  return found;
}

using Numbers = py::array_t<double, py::array::c_style | py::array::forcecast>;

Numbers array_of(const py::dict& given, const char* name, const std::vector<py::ssize_t>& shape) {
  if (!given.contains(name)) refuse("plan", std::string("an array '") + name + "'", "none");
  const Numbers found = py::cast<Numbers>(given[name]);
  if (std::vector<py::ssize_t>(found.shape(), found.shape() + found.ndim()) != shape) {
    std::ostringstream wanted, got;
    for (const py::ssize_t extent : shape) wanted << (wanted.tellp() ? ", " : "") << extent;
    for (int k = 0; k < found.ndim(); ++k) got << (k ? ", " : "") << found.shape(k);
    refuse(std::string("plan: ") + name, "shape (" + wanted.str() + ")", "(" + got.str() + ")");
  }
  for (py::ssize_t k = 0; k < found.size(); ++k) {
    if (!std::isfinite(found.data()[k])) {
      refuse(std::string("plan: ") + name, "finite numbers", found.data()[k]);
    }
  }
  return found;
}

void check_rotations(const Tree& tree, const MotionSample& s) {
  const double off = (s.R.transpose() * s.R - Matrix3d::Identity()).cwiseAbs().maxCoeff();
  if (off > 1e-6 || s.R.determinant() < 0) {
    refuse("plan: R", "rotation matrices, to 1e-6", off, "R^T R = 1 and det R = 1");
  }
  for (int i = 0; i < tree.size(); ++i) {
    if (tree.joint(i).type != JointType::spherical) continue;
    const double length = s.q.segment<4>(tree.position_at(i)).norm();
    if (std::abs(length - 1) > 1e-6) {
      refuse("plan: q: joint '" + tree.joint(i).name + "'", "a unit quaternion, to 1e-6", length);
    }
  }
}

MotionPlan from_python(const MotionProblem& problem, const py::dict& given) {
  const py::ssize_t T = problem.samples(), n = problem.model().effector_count(),
                    nq = problem.model().position_size();
  const Numbers x = array_of(given, "x", {T, 3}), R = array_of(given, "R", {T, 3, 3}),
                e = array_of(given, "e", {T, n, 3}), f = array_of(given, "f", {T, n, 3}),
                spin = array_of(given, "spin", {T, n}), yaw = array_of(given, "yaw", {T, n}),
                tilt = array_of(given, "tilt", {T, n}), q = array_of(given, "q", {T, nq}),
                travel = array_of(given, "travel", {4});
  MotionPlan plan;
  for (py::ssize_t i = 0; i < T; ++i) {
    MotionSample s;
    s.x = Eigen::Map<const Vector3d>(x.data(i, 0));
    s.R = Eigen::Map<const Eigen::Matrix<double, 3, 3, Eigen::RowMajor>>(R.data(i, 0, 0));
    for (py::ssize_t j = 0; j < n; ++j) {
      s.e.push_back(Eigen::Map<const Vector3d>(e.data(i, j, 0)));
      s.f.push_back(Eigen::Map<const Vector3d>(f.data(i, j, 0)));
      s.spin.push_back(spin.at(i, j));
      s.yaw.push_back(yaw.at(i, j));
      s.tilt.push_back(tilt.at(i, j));
    }
    s.q = Eigen::Map<const VectorXd>(q.data(i, 0), nq);
    check_rotations(problem.model().tree(), s);
    plan.samples.push_back(s);
  }
  plan.travel = {Eigen::Map<const Vector3d>(travel.data()), travel.at(3)};
  return plan;
}

MotionTask make_task(double step, const Flags& contact, const Table& swing_height, double friction,
                     double apart, std::shared_ptr<const Sdf> ground, const std::string& end,
                     int fixed, std::optional<Eigen::Vector2d> travel, std::optional<double> turn,
                     std::optional<double> height,
                     const std::vector<std::tuple<int, int, Vector3d>>& places,
                     const std::vector<std::tuple<int, int, double>>& ceilings, bool free_forces,
                     bool stance, const std::array<double, 5>& tracking) {
  MotionTask task;
  for (const double weight : tracking) {
    if (!(weight >= 0 && weight < 1e12)) refuse("motion: tracking", "weights >= 0", weight);
  }
  task.free_forces = free_forces;
  task.stance = stance;
  task.tracking = {tracking[0], tracking[1], tracking[2], tracking[3], tracking[4]};
  task.step = step;
  task.contact = contact.cast<char>();
  task.swing_height = swing_height;
  task.friction = friction;
  task.apart = apart;
  task.ground = std::move(ground);
  if (end != "periodic" && end != "rest" && end != "free") {
    refuse("motion: end", "periodic, rest or free", "'" + end + "'");
  }
  task.end = end == "periodic" ? PlanEnd::periodic : end == "rest" ? PlanEnd::rest : PlanEnd::free;
  task.fixed = fixed;
  task.travel = travel;
  task.turn = turn;
  task.height = height;
  for (const auto& [sample, effector, place] : places) {
    task.places.push_back({sample, effector, place});
  }
  for (const auto& [first, last, limit] : ceilings) task.ceilings.push_back({first, last, limit});
  return task;
}

py::dict solution(const MotionSolution& found, const MotionPlan& plan) {
  py::dict out;
  out["plan"] = to_python(plan);
  out["status"] = status_name(found.status);
  out["iterations"] = found.iterations;
  out["value"] = found.value;
  out["values"] = found.values;
  return out;
}

MotionWatch watch_of(const py::object& progress) {
  return [progress](int iteration, double value) {
    const py::gil_scoped_acquire lock;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    return progress.is_none() || !progress(iteration, value).equal(py::bool_(false));
  };
}

template <class Function>
py::dict solved(MotionProblem& problem, const py::dict& start, const MotionSolverOptions& options,
                const py::object& progress, const Function& function) {
  MotionPlan plan = from_python(problem, start);
  const MotionWatch watch = watch_of(progress);
  MotionSolution found;
  {
    const py::gil_scoped_release release;
    found = function(problem, plan, options, watch);
  }
  return solution(found, plan);
}

py::dict unknowns(const MotionProblem& problem) {
  const MotionLayout& layout = problem.layout();
  const int m = problem.model().effector_count();
  const auto T = static_cast<py::ssize_t>(layout.samples());
  const auto rows = [&](py::ssize_t count, int size, auto at) {
    py::array_t<int> out(size > 1 ? std::vector<py::ssize_t>{T, count, size}
                                  : std::vector<py::ssize_t>{T, count});
    int* to = out.mutable_data();
    for (int i = 0; i < T; ++i) {
      for (int j = 0; j < count; ++j) {
        const int first = at(i, j);
        for (int k = 0; k < size; ++k) *to++ = first < 0 ? -1 : first + k;
      }
    }
    return out;
  };
  const auto wheel = [&](int j) { return problem.model().effectors()[j].is_wheel(); };
  py::dict found;
  found["x"] = rows(3, 1, [&](int i, int k) { return layout.x(i) + k; });
  found["R"] = rows(3, 1, [&](int i, int k) { return layout.R(i) + k; });
  found["e"] = rows(m, 3, [&](int i, int j) { return layout.e(i, j); });
  found["f"] = rows(m, 3, [&](int i, int j) { return layout.f(i, j); });
  found["spin"] = rows(m, 1, [&](int i, int j) { return wheel(j) ? layout.spin(i, j) : -1; });
  found["yaw"] = rows(m, 1, [&](int i, int j) { return wheel(j) ? layout.yaw(i, j) : -1; });
  found["tilt"] = rows(m, 1, [&](int i, int j) { return wheel(j) ? layout.tilt(i, j) : -1; });
  found["q"] = rows(layout.q_size(), 1, [&](int i, int k) { return layout.q(i) + k; });
  py::array_t<int> travel(4);
  for (int k = 0; k < 4; ++k) travel.mutable_at(k) = layout.travel() + k;
  found["travel"] = travel;
  return found;
}

// Sets `to` where the key is given; refuses a value of another type, and a key that is needed.
template <class T>
void read(const py::dict& from, const char* key, T& to, bool needed = false) {
  if (!from.contains(key)) {
    if (needed) refuse("end effector", std::string("a key '") + key + "'", "none");
    return;
  }
  try {
    to = py::cast<T>(from[key]);
  } catch (const py::cast_error&) {
    refuse(std::string("end effector: ") + key, "a value of its kind",
           py::str(py::type::of(from[key]).attr("__name__")).cast<std::string>());
  }
}

EndEffector end_effector(const ArticulatedModel& model, const py::dict& given) {
  EndEffector e;
  std::string kind, link;
  read(given, "name", e.name, true);
  read(given, "kind", kind, true);
  read(given, "link", link, true);
  read(given, "position", e.position, true);
  read(given, "axis", e.axis);
  read(given, "radius", e.radius);
  read(given, "speed", e.speed);
  read(given, "resistance", e.resistance);
  read(given, "leg", e.leg);
  if (!e.position.allFinite()) {
    refuse("end effector '" + e.name + "': position", "finite numbers [m]", e.position.transpose());
  }
  e.kind = end_effector_kind(kind);
  e.link = model.tree.link_index(link);
  return e;
}

void bind_model(py::module_& m) {
  py::class_<LeggedModel, std::shared_ptr<LeggedModel>>(
      m, "LeggedModel", "A robot on legs and wheels, as its motions are planned.")
      .def(py::init([](std::shared_ptr<const ArticulatedModel> model,
                       const std::vector<py::dict>& effectors, const Table& ranges,
                       const VectorXd& stance,
                       const std::vector<std::pair<std::string, Vector3d>>& clear) {
             if (ranges.cols() != 3) refuse("ranges", "(joints, 3)", ranges.cols());
             std::vector<EndEffector> found;
             for (const py::dict& one : effectors) found.push_back(end_effector(*model, one));
             std::vector<JointRange> limits;
             for (Eigen::Index k = 0; k < ranges.rows(); ++k) {
               limits.push_back({ranges(k, 0), ranges(k, 1), ranges(k, 2)});
             }
             std::vector<ClearPoint> points;
             for (const auto& [link, position] : clear) {
               points.push_back({model->tree.link_index(link), position});
             }
             return std::make_shared<LeggedModel>(std::move(model), found, limits, stance, points);
           }),
           py::arg("model").none(false), py::arg("end_effectors"), py::arg("ranges"),
           py::arg("stance"), py::arg("clear") = std::vector<std::pair<std::string, Vector3d>>(),
           "model: with a floating base; end_effectors: dicts of name, kind (point, welded, "
           "passive, actuated), link, position (3,) [m] and, of wheels, axis (3,), radius [m], "
           "speed [rad/s], resistance, leg (int); ranges (joints, 3): lower, upper, speed; stance: "
           "q; clear: (link, position [m]) of points that stay above the ground.")
      .def(
          "place",
          [](const LeggedModel& m, const VectorXd& q) {
            if (q.size() != m.position_size()) {
              refuse("q", std::to_string(m.position_size()) + " numbers", q.size());
            }
            DynamicsWorkspace work(m.bodies());
            LeggedKinematics at;
            m.place(q.data(), false, work, at);
            Points found(m.effector_count(), 3);
            for (int j = 0; j < m.effector_count(); ++j) {
              found.row(j) = at.effectors[j].position.transpose();
            }
            return found;
          },
          py::arg("q"), "Places (end effectors, 3) of feet and wheels' centres [m].")
      .def_property_readonly("mass", &LeggedModel::mass)
      .def_property_readonly("inertia", &LeggedModel::inertia)
      .def_property_readonly("height", &LeggedModel::height);
}

using ProblemClass = py::class_<MotionProblem>;

void bind_energy(ProblemClass& problem) {
  problem
      .def(py::init([](std::shared_ptr<LeggedModel> model, const MotionTask& task) {
             return std::make_unique<MotionProblem>(std::move(model), task);
           }),
           py::arg("model").none(false), py::arg("task"))
      .def(
          "set_task",
          [](MotionProblem& p, MotionTask task, const std::optional<py::dict>& reference) {
            if (reference) {
              task.reference = std::make_shared<MotionPlan>(from_python(p, *reference));
            }
            p.set_task(std::move(task));
          },
          py::arg("task"), py::arg("reference") = py::none(),
          "Another task with as many samples; reference: a plan to stay near.")
      .def("select", &MotionProblem::select, py::arg("groups"), py::arg("terms"))
      .def("regularize", &MotionProblem::regularize, py::arg("factor"),
           "Weights of regularizers times a factor > 0, 1 at first; forgets multipliers.")
      .def("standing", [](const MotionProblem& p) { return to_python(p.standing()); })
      .def_property_readonly("size", [](const MotionProblem& p) { return p.layout().size(); })
      .def_property_readonly("free",
                             [](const MotionProblem& p) {
                               return std::vector<bool>(p.free().begin(), p.free().end());
                             })
      .def("value",
           [](MotionProblem& p, const py::dict& plan) { return p.value(from_python(p, plan)); })
      .def("linearize",
           [](MotionProblem& p, const py::dict& plan) {
             const double value = p.linearize(from_python(p, plan));
             return py::make_tuple(value, p.gradient(), p.hessian().dense());
           })
      .def("second_derivative",
           [](MotionProblem& p, const py::dict& plan) {
             const MotionPlan at = from_python(p, plan);
             const py::gil_scoped_release release;
             return p.second_derivative(at);
           })
      .def_property_readonly(
          "unknowns", &unknowns,
          "Indices among the unknowns: x, R (T, 3), e, f (T, m, 3), spin, yaw, tilt (T, m; -1: no "
          "wheel), q (T, n), travel (4,).")
      .def("newton_step",
           [](MotionProblem& p, double damping) {
             VectorXd step;
             return py::make_tuple(p.newton_step(damping, step), step);
           })
      .def("move", [](const MotionProblem& p, const py::dict& plan, const VectorXd& step) {
        if (step.size() != p.layout().size()) {
          refuse("step", std::to_string(p.layout().size()) + " numbers", step.size());
        }
        MotionPlan moved = from_python(p, plan);
        p.move(step, moved);
        return to_python(moved);
      });
}

void bind_solvers(ProblemClass& problem) {
  const auto options = py::arg_v("options", MotionSolverOptions(), "MotionSolverOptions()");
  const auto progress = py::arg("progress") = py::none();
  problem
      .def("report",
           [](MotionProblem& p, const py::dict& plan) {
             py::list found;
             for (const TermReport& one : p.report(from_python(p, plan))) {
               py::dict row;
               row["name"] = one.name;
               row["unit"] = one.unit;
               row["kind"] = kind_name(one.kind);
               row["worst"] = one.worst;
               row["tolerance"] = one.tolerance;
               row["value"] = one.value;
               row["sample"] = one.sample;
               row["effector"] = one.effector;
               found.append(row);
             }
             return found;
           })
      .def(
          "solve",
          [](MotionProblem& p, const py::dict& plan, const MotionSolverOptions& o,
             const py::object& watch) { return solved(p, plan, o, watch, solve_motion); },
          py::arg("plan"), options, progress)
      .def(
          "improve",
          [](MotionProblem& p, const py::dict& plan, const MotionSolverOptions& o,
             const py::object& watch) { return solved(p, plan, o, watch, improve_motion); },
          py::arg("plan"), options, progress)
      .def(
          "warm_start",
          [](MotionProblem& p, const py::dict& plan, const MotionSolverOptions& o,
             const py::object& watch) { return solved(p, plan, o, watch, warm_start); },
          py::arg("plan"), options, progress);
}

}  // namespace

void bind_locomotion(py::module_& m) {
  bind_model(m);
  py::class_<MotionTask>(m, "MotionTask", "What a motion is asked for.")
      .def(py::init(&make_task), py::arg("step"), py::arg("contact"), py::arg("swing_height"),
           py::arg("friction") = 0.8, py::arg("apart") = 0.02, py::arg("ground") = nullptr,
           py::arg("end") = "periodic", py::arg("fixed") = 0, py::arg("travel") = py::none(),
           py::arg("turn") = py::none(), py::arg("height") = py::none(),
           py::arg("places") = std::vector<std::tuple<int, int, Vector3d>>(),
           py::arg("ceilings") = std::vector<std::tuple<int, int, double>>(),
           py::arg("free_forces") = false, py::arg("stance") = false,
           py::arg("tracking") = std::array<double, 5>{50, 5, 5, 0.5, 0.5},
           "stance: joints end as the robot stands; free_forces: those of the last fixed sample "
           "are unknowns; tracking: weights of body, "
           "speeds, contact points, joints and forces beside the reference of set_task.");
  py::class_<MotionSolverOptions>(m, "MotionSolverOptions")
      .def(py::init<>())
      .def_readwrite("iterations", &MotionSolverOptions::iterations)
      .def_readwrite("tolerance", &MotionSolverOptions::tolerance)
      .def_readwrite("multiplier_steps", &MotionSolverOptions::multiplier_steps)
      .def_readwrite("unloading_steps", &MotionSolverOptions::unloading_steps)
      .def_readwrite("lifting_steps", &MotionSolverOptions::lifting_steps);
  ProblemClass problem(m, "MotionProblem", "E(m) of a robot and a task [G 2.4].");
  bind_energy(problem);
  bind_solvers(problem);
}

}  // namespace diffsim
