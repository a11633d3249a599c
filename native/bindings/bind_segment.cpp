#include "../segment.hpp"
#include "rollout_options.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Cotangents = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Index = py::ssize_t;

// A segment with the scene it needs kept alive.
struct PySegment {
  std::unique_ptr<Segment> segment;
  py::object scene;
};

PySegment make_segment(py::object scene, const std::vector<Snapshot>& from, const MatrixXd& P,
                       int steps, const std::optional<Options>& given,
                       const std::vector<int>& active, const std::string& mode, int threads,
                       CancelToken* cancel, const std::vector<std::string>& outputs) {
  Scene& model = scene.cast<Scene&>();
  model.finalize();
  const Options options = options_of(scene, given);
  const GradientMode m = gradient_mode("segment", mode);
  std::unique_ptr<Segment> segment;
  {
    py::gil_scoped_release release;
    segment = std::make_unique<Segment>(model, from, P, steps, options, active, m, threads, cancel,
                                        outputs);
  }
  return {std::move(segment), scene};
}

py::tuple gradient(PySegment& s, const MatrixXd& gy, const Cotangents& end, int threads,
                   const CancelToken* cancel) {
  const auto count = static_cast<Index>(s.segment->count());
  const auto ndof = static_cast<Index>(s.scene.cast<const Scene&>().ndof());
  if (end.ndim() != 3 || end.shape(0) != count || end.shape(1) != 4 || end.shape(2) != ndof) {
    refuse("segment: cotangents",
           "must have shape (motions, 4, ndof) = (" + std::to_string(count) + ", 4, " +
               std::to_string(ndof) + ")",
           end.size());
  }
  std::vector<SnapshotCotangents> cotangents;
  for (Index i = 0; i < count; ++i) cotangents.push_back(MatrixXd::Map(end.data(i, 0, 0), ndof, 4));
  MatrixXd by;
  {
    py::gil_scoped_release release;
    by = s.segment->gradient(gy, cotangents, threads, cancel);
  }
  Cotangents start({count, Index{4}, ndof});
  for (Index i = 0; i < count; ++i) {
    MatrixXd::Map(start.mutable_data(i, 0, 0), ndof, 4) = cotangents[static_cast<std::size_t>(i)];
  }
  return py::make_tuple(by, start);
}

/// A state as plain data, for pickle; in the order in which `state_of` reads it.
py::tuple plain(const State& s) {
  py::list hard;
  for (const HardContact& c : s.hard) {
    hard.append(py::make_tuple(c.point, c.force, c.place, c.normal, c.code));
  }
  return py::make_tuple(s.c, s.v, s.R, s.w, s.q, s.qdot, s.dq, s.dc, s.theta, s.thetadot, s.stick,
                        s.force, s.touching, s.hard_contacts, hard, s.angles, s.split);
}

State state_of(const py::tuple& from) {
  State s;
  std::size_t at = 0;
  const auto read = [&](auto& to) { to = from[at++].cast<std::decay_t<decltype(to)>>(); };
  read(s.c), read(s.v), read(s.R), read(s.w), read(s.q), read(s.qdot), read(s.dq), read(s.dc);
  read(s.theta), read(s.thetadot), read(s.stick), read(s.force), read(s.touching);
  read(s.hard_contacts);
  for (const py::handle each : from[at++]) {
    const auto one = each.cast<py::tuple>();
    s.hard.push_back({one[0].cast<int>(), one[1].cast<Vector3d>(), one[2].cast<Vector3d>(),
                      one[3].cast<Vector3d>(), one[4].cast<std::uint16_t>()});
  }
  read(s.angles), read(s.split);
  return s;
}

py::tuple plain_snapshot(const Snapshot& at) {
  const auto state = [](const auto& s) { return s ? py::object(plain(*s)) : py::none(); };
  return py::make_tuple(state(at.now), state(at.before), at.t, at.h);
}

Snapshot snapshot_of(const py::tuple& from) {
  const auto state = [](const py::object& s) {
    return s.is_none() ? nullptr : std::make_shared<const State>(state_of(s.cast<py::tuple>()));
  };
  return {state(from[0]), state(from[1]), from[2].cast<double>(), from[3].cast<double>()};
}

}  // namespace

void bind_segment(py::module_& m, py::class_<Scene>& scene) {
  py::class_<Snapshot>(m, "Snapshot", "Where a motion stands: what a Segment goes on from.")
      .def_readonly("t", &Snapshot::t, "[s]")
      .def(py::pickle(&plain_snapshot, &snapshot_of));
  scene.def(
      "snapshot",
      [](Scene& s, const std::optional<VectorXd>& p,
         const std::map<std::string, Eigen::Vector2d>& joints) {
        s.finalize();
        return start_snapshot(s, p.value_or(s.values()), {joints.begin(), joints.end()});
      },
      py::arg("p") = py::none(), py::arg("joints") = std::map<std::string, Eigen::Vector2d>(),
      "Where the scene starts, with chosen coordinates of joints in reduced coordinates: name -> "
      "(coordinate [rad or m], rate).");
  scene.def_property_readonly(
      "state_dofs",
      [](Scene& s) {
        s.finalize();
        return state_dofs(s);
      },
      "Degrees of freedom that say where it stands: of bodies that are neither driven nor carried "
      "by a joint in reduced coordinates, and the coordinates of such joints.");
  scene.def(
      "pull_to_state_dofs",
      [](Scene& s, const VectorXd& p, const Snapshot& at, const MatrixXd& cotangents) {
        s.finalize();
        SnapshotCotangents found = cotangents.transpose();
        pull_to_state_dofs(s, p, at, found);
        return MatrixXd(found.transpose());
      },
      py::arg("p"), py::arg("snapshot"), py::arg("cotangents"),
      "Cotangents (4, ndof) of a snapshot, as Segment.gradient returns them, by state_dofs alone: "
      "those of bodies that joints carry are brought to coordinates and rates.");
  scene.def(
      "outputs_at",
      [](py::object scene, const Snapshot& at, const VectorXd& p,
         const std::vector<std::string>& outputs, const std::optional<Options>& given) {
        Scene& s = scene.cast<Scene&>();
        s.finalize();
        return outputs_at(s, at, p, outputs, options_of(scene, given));
      },
      py::arg("snapshot"), py::arg("p"), py::arg("outputs"), py::arg("options") = py::none(),
      "Their numbers there, one output after the other.");
  py::class_<PySegment>(m, "Segment", "A few steps of many motions, each from a snapshot.")
      .def(py::init(&make_segment), py::arg("scene"), py::arg("snapshots"), py::arg("P"),
           py::arg("steps"), py::arg("options") = py::none(),
           py::arg("active") = std::vector<int>(), py::arg("mode") = "none", py::arg("threads") = 0,
           py::arg("cancel") = py::none(), py::arg("outputs") = std::vector<std::string>(),
           "P: parameters (motions, np). outputs: names of Scene.outputs or motion_outputs. A "
           "motion that fails ends where it began.")
      .def_property_readonly(
          "ok",
          [](const PySegment& s) {
            py::array_t<bool> ok(s.segment->count());
            for (int i = 0; i < s.segment->count(); ++i) ok.mutable_at(i) = s.segment->ok(i);
            return ok;
          },
          "(motions,)")
      .def(
          "failure", [](const PySegment& s, int i) { return s.segment->failure(i); },
          py::arg("motion"), "Why it stopped early, '' where it did not.")
      .def_property_readonly(
          "ends",
          [](const PySegment& s) {
            std::vector<Snapshot> ends;
            for (int i = 0; i < s.segment->count(); ++i) ends.push_back(s.segment->end(i));
            return ends;
          },
          "Snapshots after the last step.")
      .def_property_readonly(
          "outputs", [](const PySegment& s) { return RowMajor(s.segment->outputs()); },
          "(motions, numbers) at the end, one output after the other.")
      .def("gradient", &gradient, py::arg("outputs"), py::arg("cotangents"), py::arg("threads") = 0,
           py::arg("cancel") = py::none(),
           "(dO/dP (motions, active), cotangents of `snapshots`) from dO/d(outputs) (motions, "
           "numbers) and cotangents of `ends` (motions, 4, ndof): of pose and velocity, then of "
           "those a step before, by the adjoint [G 4.24-4.26].");
}

}  // namespace diffsim
