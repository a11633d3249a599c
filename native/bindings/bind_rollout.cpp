#include <Eigen/Geometry>

#include "../batch.hpp"
#include "rollout_options.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Doubles = py::array_t<double>;
using Index = py::ssize_t;

void set_stepper(Options& o, const std::string& stepper) {
  if (stepper == "implicit") {
    o.velocity.reset();
  } else if (stepper == "velocity") {
    if (!o.velocity) o.velocity.emplace();
  } else {
    refuse("options: stepper", "must be implicit or velocity", "'" + stepper + "'");
  }
}

std::string cone_of(const Options& o) {
  return o.velocity && o.velocity->cone == FrictionCone::pyramid ? "pyramid" : "cone";
}

void set_cone(Options& o, const std::string& cone) {
  if (cone != "cone" && cone != "pyramid") {
    refuse("options: friction_cone", "must be cone or pyramid", "'" + cone + "'");
  }
  if (!o.velocity && cone != "cone") {
    refuse("options: friction_cone", "is for the stepper velocity", "'" + cone + "'");
  }
  if (o.velocity) {
    o.velocity->cone = cone == "pyramid" ? FrictionCone::pyramid : FrictionCone::cone;
  }
}

// One array (frames, rows, cols) from what `write(frame, out)` puts into each frame's slice.
template <class F>
Doubles per_frame(const Rollout& r, Index rows, Index cols, F&& write) {
  Doubles result({static_cast<Index>(r.frames.size()), rows, cols});
  double* out = result.mutable_data();
  for (const Frame& frame : r.frames) {
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> slice(
        out, rows, cols);
    write(frame, slice);
    out += rows * cols;
  }
  return result;
}

// A rollout with the scene it needs kept alive, and the node kinds to unpack frames by.
struct PyRollout {
  std::unique_ptr<Rollout> rollout;
  py::object scene;
  const Scene& model() const { return scene.cast<const Scene&>(); }
  Index nodes() const { return static_cast<Index>(model().body_nodes()); }
};

Doubles orientations(const PyRollout& r) {
  const auto& nodes = r.model().nodes();
  return per_frame(*r.rollout, r.nodes(), 4, [&](const Frame& f, auto& out) {
    for (Index i = 0; i < r.nodes(); ++i) {
      Eigen::Quaterniond q(1, 0, 0, 0);
      if (nodes[i].frame >= 0) q = Eigen::Quaterniond(f.state->R[nodes[i].frame]).normalized();
      out.row(i) = q.coeffs().transpose();
    }
  });
}

Doubles angular_velocities(const PyRollout& r) {
  const auto& nodes = r.model().nodes();
  return per_frame(*r.rollout, r.nodes(), 3, [&](const Frame& f, auto& out) {
    out.setZero();
    for (Index i = 0; i < r.nodes(); ++i) {
      if (nodes[i].frame >= 0) out.row(i) = f.state->w[nodes[i].frame].transpose();
    }
  });
}

Doubles sensitivities(const PyRollout& r, MatrixXd Frame::* which) {
  const auto& frames = r.rollout->frames;
  if (frames.empty() || (frames[0].*which).rows() == 0) {
    refuse("rollout: dx, dv", "need mode 'sensitivity'", "another mode");
  }
  return per_frame(*r.rollout, (frames[0].*which).rows(), (frames[0].*which).cols(),
                   [&](const Frame& f, auto& out) { out = f.*which; });
}

/// (F,), then items and parts where an output has them.
std::vector<Index> output_shape(const PyRollout& r, const Output& o) {
  std::vector<Index> shape{static_cast<Index>(r.rollout->frames.size())};
  if (o.items > 0) shape.push_back(o.items);
  if (!o.parts.empty()) shape.push_back(o.width());
  return shape;
}

py::dict outputs(const PyRollout& r) {
  py::dict all;
  const RequestedOutputs& asked = r.rollout->outputs();
  for (std::size_t i = 0; i < asked.list().size(); ++i) {
    const Output& o = asked.list()[i];
    Doubles values(output_shape(r, o));
    double* to = values.mutable_data();
    for (const Frame& f : r.rollout->frames) {
      VectorXd::Map(to, o.size()) = f.y.segment(asked.first(i), o.size());
      to += o.size();
    }
    all[py::str(o.name)] = values;
  }
  return all;
}

py::dict output_sensitivities(const PyRollout& r) {
  const auto& frames = r.rollout->frames;
  if (frames.empty() || frames[0].dx.rows() == 0) {
    refuse("rollout: outputs_dp", "needs mode 'sensitivity'", "another mode");
  }
  py::dict all;
  const RequestedOutputs& asked = r.rollout->outputs();
  const Index columns = frames[0].dy.cols();
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  for (std::size_t i = 0; i < asked.list().size(); ++i) {
    const Output& o = asked.list()[i];
    std::vector<Index> shape = output_shape(r, o);
    shape.push_back(columns);
    Doubles values(shape);
    double* to = values.mutable_data();
    for (const Frame& f : frames) {
      Eigen::Map<RowMajor>(to, o.size(), columns) = f.dy.middleRows(asked.first(i), o.size());
      to += o.size() * columns;
    }
    all[py::str(o.name)] = values;
  }
  return all;
}

/// Cotangents of outputs by name as one matrix (size, frames).
MatrixXd stacked(const PyRollout& r, const py::dict& by_name) {
  const RequestedOutputs& asked = r.rollout->outputs();
  const auto frames = static_cast<Eigen::Index>(r.rollout->frames.size());
  MatrixXd gy = MatrixXd::Zero(asked.size(), frames);
  for (const auto& [key, value] : by_name) {
    const std::string name = key.cast<std::string>(), place = "gradient: outputs '" + name + "'";
    std::size_t i = 0;
    while (i < asked.list().size() && asked.list()[i].name != name) ++i;
    if (i == asked.list().size()) {
      refuse(place, "must be one that the rollout was asked for", "another");
    }
    const Output& o = asked.list()[i];
    const py::array_t<double, py::array::c_style | py::array::forcecast> given(
        py::reinterpret_borrow<py::object>(value));
    const std::vector<Index> shape(given.shape(), given.shape() + given.ndim());
    if (shape != output_shape(r, o)) refuse(place, "must have that output's shape", given.size());
    gy.middleRows(asked.first(i), o.size()) = MatrixXd::Map(given.data(), o.size(), frames);
  }
  return gy;
}

PyRollout run(py::object scene, const VectorXd& p, int steps, const std::optional<Options>& given,
              const std::optional<std::vector<int>>& active, const std::string& mode,
              CancelToken* cancel, int threads, const std::optional<MatrixXd>& directions,
              const std::vector<std::string>& names) {
  Scene& model = scene.cast<Scene&>();
  const Options options = options_of(scene, given);
  model.finalize();
  const GradientMode m = gradient_mode("rollout", mode);
  const std::vector<int> columns = active.value_or(std::vector<int>());
  std::unique_ptr<Rollout> rollout;
  {
    py::gil_scoped_release release;
    rollout = Rollout::run(model, p, steps, options, columns, m, cancel, threads,
                           directions ? &*directions : nullptr, RequestedOutputs(model, names));
  }
  return {std::move(rollout), scene};
}

std::vector<PyRollout> run_batch(py::object scene, const MatrixXd& P, const py::object& steps,
                                 const std::optional<Options>& given,
                                 const std::optional<std::vector<int>>& active,
                                 const std::string& mode, int threads, CancelToken* cancel,
                                 const std::optional<std::vector<MatrixXd>>& directions,
                                 const std::vector<std::string>& names) {
  Scene& model = scene.cast<Scene&>();
  const Options options = options_of(scene, given);
  model.finalize();
  const GradientMode m = gradient_mode("rollout", mode);
  const std::vector<int> columns = active.value_or(std::vector<int>());
  const std::vector<int> counts = py::isinstance<py::int_>(steps)
                                      ? std::vector<int>{steps.cast<int>()}
                                      : steps.cast<std::vector<int>>();
  std::vector<std::unique_ptr<Rollout>> rollouts;
  {
    py::gil_scoped_release release;
    rollouts = rollout_batch(model, P, counts, options, columns, m, threads, cancel,
                             directions.value_or(std::vector<MatrixXd>()), names);
  }
  std::vector<PyRollout> result;
  for (auto& r : rollouts) result.push_back({std::move(r), scene});
  return result;
}

VectorXd gradient(PyRollout& r, const MatrixXd& gx, const MatrixXd& gv, const py::dict& outputs,
                  const CancelToken* cancel) {
  const MatrixXd gy = outputs.empty() ? MatrixXd() : stacked(r, outputs);
  py::gil_scoped_release release;
  return r.rollout->gradient(gx.transpose(), gv.transpose(), gy, cancel);
}

py::array_t<std::uint8_t> modes(const PyRollout& r) {
  const Index points = r.model().mode_count();
  const Index steps = points ? static_cast<Index>(r.rollout->codes.size()) / points : 0;
  py::array_t<std::uint8_t> out({steps, points});
  for (std::size_t i = 0; i < r.rollout->codes.size(); ++i) {
    out.mutable_data()[i] = static_cast<std::uint8_t>(r.rollout->codes[i] & 7);
  }
  return out;
}

Doubles time(const PyRollout& r) {
  Doubles t(static_cast<Index>(r.rollout->frames.size()));
  for (Index i = 0; i < t.size(); ++i) t.mutable_at(i) = r.rollout->frames[i].t;
  return t;
}

py::dict timing(const PyRollout& r) {
  const Timing& t = r.rollout->timing;
  py::dict parts;
  const auto put = [&](const char* name, const Timing::Part& part) {
    parts[name] = py::make_tuple(part.seconds, part.count);
  };
  put("residual", t.residual);
  put("jacobian", t.jacobian);
  put("prepare", t.prepare);
  put("correction", t.correction);
  put("derivative", t.derivative);
  put("total", t.total);
  return parts;
}

void bind_functions(py::module_& m) {
  m.def("rollout", &run, py::arg("scene"), py::arg("p"), py::arg("steps"),
        py::arg("options") = py::none(), py::arg("active") = py::none(), py::arg("mode") = "none",
        py::arg("cancel") = py::none(), py::arg("threads") = 1, py::arg("directions") = py::none(),
        py::arg("outputs") = std::vector<std::string>(),
        "options: absent, those of the scene. threads: 2 computes derivatives beside the motion, "
        "for the same bits. directions (active, "
        "n): dx and dv are by these n directions of the active parameters. outputs: names of "
        "Scene.outputs to report at every frame.");
  m.def("rollout_batch", &run_batch, py::arg("scene"), py::arg("P"), py::arg("steps"),
        py::arg("options") = py::none(), py::arg("active") = py::none(), py::arg("mode") = "none",
        py::arg("threads") = 0, py::arg("cancel") = py::none(), py::arg("directions") = py::none(),
        py::arg("outputs") = std::vector<std::string>(),
        "options: absent, those of the scene. directions: a matrix (active, n) per row of P.");
}

}  // namespace

void bind_options(py::module_& m) {
  py::class_<CancelToken>(m, "CancelToken", "Stops rollouts from another thread.")
      .def(py::init<>())
      .def("cancel", [](CancelToken& c) { c.cancelled = true; })
      .def_property_readonly("cancelled", [](const CancelToken& c) { return c.cancelled.load(); })
      .def_property_readonly(
          "done", [](const CancelToken& c) { return c.done.load(); }, "Rollouts finished so far.")
      .def_property_readonly(
          "steps", [](const CancelToken& c) { return c.steps.load(); }, "Steps taken so far.");
  const Options d;
  py::class_<Options>(m, "Options", "How to step: scheme, Newton's tolerance, what to record.")
      .def(py::init([](double step, int order, int record_every, double tolerance,
                       int max_iterations, int max_halvings, bool stagnate, bool record_modes,
                       double gradient_tolerance, bool profile,
                       std::optional<double> spectral_radius, const std::string& stepper,
                       const std::string& friction_cone, int checkpoint_every, bool record_end) {
             Options o{step,           order,    record_every, tolerance,          max_iterations,
                       max_halvings,   stagnate, record_modes, gradient_tolerance, profile,
                       spectral_radius};
             set_stepper(o, stepper);
             set_cone(o, friction_cone);
             o.checkpoint_every = checkpoint_every;
             o.record_end = record_end;
             o.check();
             return o;
           }),
           py::kw_only(), py::arg("step") = d.step, py::arg("order") = d.order,
           py::arg("record_every") = d.record_every, py::arg("tolerance") = d.tolerance,
           py::arg("max_iterations") = d.max_iterations, py::arg("max_halvings") = d.max_halvings,
           py::arg("stagnate") = d.stagnate, py::arg("record_modes") = d.record_modes,
           py::arg("gradient_tolerance") = d.gradient_tolerance, py::arg("profile") = d.profile,
           py::arg("spectral_radius") = py::none(), py::arg("stepper") = "implicit",
           py::arg("friction_cone") = "cone", py::arg("checkpoint_every") = d.checkpoint_every,
           py::arg("record_end") = d.record_end)
      .def("__copy__", [](const Options& o) { return Options(o); })
      .def_readwrite("step", &Options::step)
      .def_readwrite("order", &Options::order)
      .def_readwrite("record_every", &Options::record_every)
      .def_readwrite("record_end", &Options::record_end,
                     "Whether the last state is recorded where steps are no multiple of "
                     "record_every.")
      .def_readwrite("tolerance", &Options::tolerance)
      .def_readwrite("max_iterations", &Options::max_iterations)
      .def_readwrite("max_halvings", &Options::max_halvings)
      .def_readwrite("stagnate", &Options::stagnate)
      .def_readwrite("record_modes", &Options::record_modes)
      .def_readwrite("gradient_tolerance", &Options::gradient_tolerance)
      .def_readwrite("profile", &Options::profile)
      .def_readwrite("spectral_radius", &Options::spectral_radius,
                     "Of generalized-alpha in place of BDF2, at infinite frequency, in [0, 1].")
      .def_property(
          "stepper", [](const Options& o) { return o.velocity ? "velocity" : "implicit"; },
          set_stepper,
          "implicit: all forces at the end of a step; velocity: semi-implicit Euler with hard "
          "contacts (docs/explanation/velocity_stepper.md).")
      .def_property("friction_cone", cone_of, set_cone,
                    "Of hard contacts: cone, or pyramid along two tangents.")
      .def_readwrite("checkpoint_every", &Options::checkpoint_every,
                     "With the velocity stepper, mode checkpoint keeps every k-th state and steps "
                     "again from there: less memory for more time [Qa App. B].");
}

void bind_rollout(py::module_& m) {
  py::class_<PyRollout>(m, "Rollout", "A motion: frames, statuses and derivatives.")
      .def_property_readonly("status",
                             [](const PyRollout& r) { return to_string(r.rollout->status); })
      .def_property_readonly(
          "ok", [](const PyRollout& r) { return r.rollout->status == Status::converged; })
      .def_property_readonly("message", [](const PyRollout& r) { return r.rollout->message; })
      .def_property_readonly("time", &time, "(F,) [s]")
      .def_property_readonly(
          "position",
          [](const PyRollout& r) {
            return per_frame(*r.rollout, r.nodes(), 3,
                             [](const Frame& f, auto& out) { out = f.state->c.transpose(); });
          },
          "(F, nodes, 3) [m]; Scene.nodes_of(body) gives its rows")
      .def_property_readonly(
          "velocity",
          [](const PyRollout& r) {
            return per_frame(*r.rollout, r.nodes(), 3,
                             [](const Frame& f, auto& out) { out = f.state->v.transpose(); });
          },
          "(F, nodes, 3) [m/s], world")
      .def_property_readonly("orientation", &orientations, "(F, nodes, 4), (x, y, z, w)")
      .def_property_readonly("angular_velocity", &angular_velocities,
                             "(F, nodes, 3) [rad/s], world")
      .def_property_readonly(
          "dx", [](const PyRollout& r) { return sensitivities(r, &Frame::dx); },
          "(F, ndof, active), or by directions: d(c, psi)/dp, world")
      .def_property_readonly(
          "dv", [](const PyRollout& r) { return sensitivities(r, &Frame::dv); },
          "(F, ndof, active), or by directions: d(v, omega)/dp, world")
      .def_property_readonly(
          "contact_force",
          [](const PyRollout& r) {
            return per_frame(*r.rollout, r.model().contact_count(), 3,
                             [](const Frame& f, auto& out) { out = f.force.transpose(); });
          },
          "(F, points, 3) [N], on the body, world")
      .def_property_readonly(
          "contact_point",
          [](const PyRollout& r) {
            return per_frame(*r.rollout, r.model().contact_count(), 3,
                             [](const Frame& f, auto& out) { out = f.place.transpose(); });
          },
          "(F, points, 3) [m], where the force acts, world")
      .def_property_readonly(
          "modes", &modes,
          "(steps, points): 0 open, 1 stick, 2 slip, 3 held (hybrid), +4 damping "
          "clamped")
      .def_property_readonly("mode_hash", [](const PyRollout& r) { return r.rollout->mode_hash; })
      .def_property_readonly(
          "iterations",
          [](const PyRollout& r) { return py::array(py::cast(r.rollout->iterations)); })
      .def_property_readonly("halvings", [](const PyRollout& r) { return r.rollout->halvings; })
      .def_property_readonly(
          "warnings", [](const PyRollout& r) { return r.rollout->warnings; },
          "Points that may have passed through an obstacle, one sentence a contact.")
      .def_property_readonly("timing", &timing,
                             "With Options(profile=True): part -> (wall seconds, how often).")
      .def_property_readonly(
          "outputs", &outputs,
          "Name -> values of the outputs asked for: (F,), (F, parts), (F, items) "
          "or (F, items, parts), as Scene.outputs says.")
      .def_property_readonly("outputs_dp", &output_sensitivities,
                             "Name -> their derivatives by the active parameters, or directions: "
                             "the same shapes with one more axis.")
      .def("gradient", &gradient, py::arg("gx"), py::arg("gv"), py::arg("outputs") = py::dict(),
           py::arg("cancel") = py::none(),
           "dO/dp (active,) by the adjoint [G 4.24-4.26] from dO/dx and dO/dv (F, ndof), and dO/d"
           "(output) by name, of each output's shape.");
  bind_functions(m);
}

}  // namespace diffsim
