#include <Eigen/Geometry>

#include "../bodies/kinematics.hpp"
#include "frames.hpp"

namespace py = pybind11;

namespace diffsim {

Frames::Frames(const Scene& scene, const std::string& place, const py::object& rollout)
    : scene_(scene),
      x_(rollout.attr("position")),
      q_(rollout.attr("orientation")),
      v_(rollout.attr("velocity")),
      w_(rollout.attr("angular_velocity")),
      count_(x_.ndim() == 3 ? x_.shape(0) : 0) {
  const auto nodes = static_cast<py::ssize_t>(scene.body_nodes());
  for (const auto& [array, columns] : {std::pair{&x_, 3}, {&q_, 4}, {&v_, 3}, {&w_, 3}}) {
    if (array->ndim() == 3 && array->shape(0) == count_ && array->shape(1) == nodes &&
        array->shape(2) == columns) {
      continue;
    }
    refuse(place + ": rollout", "must be of this scene", array->size(), "pass its own rollout");
  }
}

State Frames::at(py::ssize_t frame, const VectorXd& p) const {
  State s = make_state(scene_.nodes());
  for (py::ssize_t i = 0; i < static_cast<py::ssize_t>(scene_.body_nodes()); ++i) {
    s.c.col(i) = Vector3d::Map(x_.data(frame, i));
    s.v.col(i) = Vector3d::Map(v_.data(frame, i));
    const int f = scene_.nodes()[i].frame;
    if (f < 0) continue;
    s.R[f] = Eigen::Quaterniond(Eigen::Vector4d::Map(q_.data(frame, i))).toRotationMatrix();
    s.w[f] = Vector3d::Map(w_.data(frame, i));
  }
  if (scene_.articulation()) scene_.articulation()->read(p, s);
  return s;
}

namespace {

py::dict energies(Scene& scene, const py::object& rollout, const std::optional<VectorXd>& given) {
  const VectorXd p = given.value_or(scene.values());
  scene.check(p);
  scene.finalize();
  const Frames frames(scene, "energies", rollout);
  const std::pair<const char*, double Energy::*> kinds[] = {{"kinetic", &Energy::kinetic},
                                                            {"gravity", &Energy::gravity},
                                                            {"springs", &Energy::springs},
                                                            {"elastic", &Energy::elastic},
                                                            {"contact", &Energy::contact}};
  MatrixXd found(6, frames.count());
  for (py::ssize_t i = 0; i < frames.count(); ++i) {
    const State s = frames.at(i, p);
    Energy energy;
    for (const auto& e : scene.elements()) e->add_energy(s, p, energy);
    found(5, i) = 0;
    for (int k = 0; k < 5; ++k) found(5, i) += found(k, i) = energy.*kinds[k].second;
  }
  py::dict out;
  for (int k = 0; k < 5; ++k) out[kinds[k].first] = VectorXd(found.row(k));
  out["total"] = VectorXd(found.row(5));
  return out;
}

}  // namespace

void bind_energy(py::class_<Scene>& scene) {
  scene.def("energies", &energies, py::arg("rollout"), py::arg("p") = py::none(),
            "Energy stored at every recorded frame by kind, and the total, (frames,) [J]: kinetic "
            "(soft bodies with lumped masses), gravity (zero at the world's origin), springs (of "
            "links, cloth, strings, cables and joints), elastic (of solids), contact (of the "
            "normal penalty); p: default the scene's values.");
}

}  // namespace diffsim
