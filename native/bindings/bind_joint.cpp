#include "../elements/armature.hpp"
#include "../elements/joint_friction.hpp"
#include "../elements/joint_limit.hpp"
#include "../elements/motor.hpp"
#include "../elements/torsion.hpp"
#include "frames.hpp"

namespace py = pybind11;

namespace diffsim {
namespace {

using Array = py::array_t<double, py::array::c_style | py::array::forcecast>;
using Index = py::ssize_t;

py::dict joint_motion(const Scene& scene, const std::string& name, const VectorXd& p,
                      const py::object& rollout) {
  const Joint& joint = joint_named(scene, "joint_motion", name);
  scene.check(p);
  const Frames motion(scene, "joint_motion", rollout);
  const Index frames = motion.count();
  Array coordinate(frames), rate(frames), opening(frames), tilt(frames), energy(frames);
  Array force({frames, Index{3}}), torque({frames, Index{3}});
  Array by_pose({frames, Index{12}}), rate_by_pose({frames, Index{12}});
  const bool moves = joint.kind().coordinate != JointKind::Coordinate::none;
  for (Index i = 0; i < frames; ++i) {
    const State state = motion.at(i, p);
    const JointReport at = joint.report(state, p);
    const bool counts = joint.kind().coordinate == JointKind::Coordinate::angle && i > 0;
    coordinate.mutable_at(i) = counts ? nearest_turn(at.q, coordinate.at(i - 1)) : at.q;
    rate.mutable_at(i) = at.rate;
    opening.mutable_at(i) = at.opening;
    tilt.mutable_at(i) = at.tilt;
    energy.mutable_at(i) = at.energy;
    Vector3d::Map(force.mutable_data(i, 0)) = at.force;
    Vector3d::Map(torque.mutable_data(i, 0)) = at.torque;
    if (!moves) continue;
    const JointCoordinate free = joint.coordinate(state, p);
    Vector12::Map(by_pose.mutable_data(i, 0)) = free.g;
    Vector12::Map(rate_by_pose.mutable_data(i, 0)) = free.rate_x;
  }
  py::dict out;
  out["coordinate"] = coordinate;
  out["rate"] = rate;
  out["opening"] = opening;
  out["tilt"] = tilt;
  out["energy"] = energy;
  out["force"] = force;
  out["torque"] = torque;
  if (moves) {
    out["by_pose"] = by_pose;
    out["rate_by_pose"] = rate_by_pose;
  }
  return out;
}

void make_joint(Scene& scene, const std::string& name, const std::string& kind,
                const std::string& a, const std::string& b, const Vector3d& position,
                const Vector3d& axis, const std::optional<Vector3d>& second_axis,
                const std::optional<double>& stiffness, const std::optional<double>& damping,
                const std::optional<double>& rotational_stiffness,
                const std::optional<double>& rotational_damping, double friction_damping,
                double coordinate, bool reduced, bool constrained, const std::string& mimic,
                double ratio, double shift) {
  if (reduced && constrained) {
    refuse("joint '" + name + "'", "is reduced or constrained, not both", "both");
  }
  const auto coordinates = reduced       ? JointCoordinates::reduced
                           : constrained ? JointCoordinates::constrained
                                         : JointCoordinates::maximal;
  add_joint(scene, name,
            {kind, a, b, position, axis, second_axis, stiffness, damping, rotational_stiffness,
             rotational_damping, friction_damping, coordinate, mimic, ratio, shift, coordinates});
}

}  // namespace

void bind_joint(py::class_<Scene>& scene) {
  scene
      .def(
          "add_joint", &make_joint, py::arg("name"), py::kw_only(), py::arg("kind"),
          py::arg("body_a") = "", py::arg("body_b"), py::arg("position"),
          py::arg("axis") = Vector3d(0, 0, 1), py::arg("second_axis") = py::none(),
          py::arg("stiffness") = py::none(), py::arg("damping") = py::none(),
          py::arg("rotational_stiffness") = py::none(), py::arg("rotational_damping") = py::none(),
          py::arg("friction_damping") = 0., py::arg("coordinate") = 0., py::arg("reduced") = false,
          py::arg("constrained") = false, py::arg("mimic") = "", py::arg("ratio") = 1.,
          py::arg("shift") = 0.,
          "ball, hinge, slider, weld, planar or universal by penalty, between two bodies or one "
          "and the world \"\"; position and axes in the world, at the scene's start pose. Defaults "
          "of stiffness and damping follow from the bodies' masses (engine.md). coordinate: "
          "the "
          "angle or displacement [rad or m] that the start pose has. reduced: body_b is carried by "
          "the joint's coordinates, exactly; such joints form trees. constrained: held exactly by "
          "constraint rows with multipliers, as a joint that closes a loop. "
          "mimic: another reduced hinge or slider that this one follows, q = ratio q_mimic + "
          "shift.")
      .def(
          "add_motor",
          [](Scene& s, const std::string& name, const std::string& joint, const std::string& kind,
             const py::object& keys, double interval, double stiffness, double damping,
             std::optional<double> effort_lower, std::optional<double> effort_upper) {
            const MatrixXd values = key_values("motor '" + name + "': keys", keys, 1);
            add_motor(
                s, name,
                {joint, kind, stiffness, damping, {interval, values}, effort_lower, effort_upper});
          },
          py::arg("name"), py::kw_only(), py::arg("joint"), py::arg("kind") = "position",
          py::arg("keys"), py::arg("interval") = 0., py::arg("stiffness") = 0.,
          py::arg("damping") = 0., py::arg("effort_lower") = py::none(),
          py::arg("effort_upper") = py::none(),
          "On a joint's angle or displacement: 'position' follows keys with stiffness and damping, "
          "'torque' ('force' on sliders) applies them; keys are a number, or (n,) `interval` "
          "seconds apart, linear in between; parameters NAME.target[k], .torque[k] or .force[k]. "
          "effort_lower, effort_upper [N m or N]: the torque or force is cut off at them.")
      .def(
          "add_joint_limit",
          [](Scene& s, const std::string& name, const std::string& joint,
             const std::optional<double>& lower, const std::optional<double>& upper,
             double stiffness, double damping, const std::optional<double>& damping_depth) {
            add_joint_limit(s, name, {joint, lower, upper, stiffness, damping, damping_depth});
          },
          py::arg("name"), py::kw_only(), py::arg("joint"), py::arg("lower") = py::none(),
          py::arg("upper") = py::none(), py::arg("stiffness"), py::arg("damping") = 0.,
          py::arg("damping_depth") = py::none(),
          "One-sided penalty beyond lower or upper [rad or m]; damping in s/rad or s/m, from "
          "damping_depth [rad or m] on that of a linear damper.")
      .def("add_armature", &add_armature, py::arg("name"), py::kw_only(), py::arg("joint"),
           py::arg("inertia"),
           "Inertia of the coordinate alone (a geared rotor) [kg m^2, of sliders kg]; parameter "
           "NAME.inertia.")
      .def("add_joint_friction", &add_joint_friction, py::arg("name"), py::kw_only(),
           py::arg("joint"), py::arg("coulomb"), py::arg("slip_rate"),
           "-coulomb tanh(rate / slip_rate) on the coordinate [N m, rad/s; of sliders N, m/s].")
      .def("add_torsion", &add_torsion, py::arg("name"), py::kw_only(), py::arg("body_a") = "",
           py::arg("body_b"), py::arg("stiffness"), py::arg("damping") = 0.,
           "Spring and damper between orientations, at rest as the scene starts: energy k (1 - cos "
           "angle) [N m/rad, N m s/rad]; body_a \"\" is the world.")
      .def(
          "joint_motion", &joint_motion, py::arg("name"), py::arg("p"), py::arg("rollout"),
          "Per frame: coordinate [rad or m] (an angle counts its turns, if it makes less than half "
          "of one between frames) and rate, opening [m], tilt [rad], energy stored [J], "
          "force [N] and torque [N m] on body_b; where there is a coordinate its derivative "
          "by_pose "
          "(frames, 12) by (c, psi) of body_a, body_b (the rate's by velocities is the same) and "
          "rate_by_pose.");
}

}  // namespace diffsim
