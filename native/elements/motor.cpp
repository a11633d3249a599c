#include "motor.hpp"

#include "../scene.hpp"

namespace diffsim {

CoordinateForce::Phi Motor::phi(const Window& window, const VectorXd& p, const JointCoordinate& at,
                                ByParameter* by) const {
  const Keys::Piece key = keys_.at(window.t);
  const auto add_key = [&](const Keys::Piece& piece, double slope) {
    for (int i = 0; i < 2; ++i) by->emplace_back(piece.first[i], slope * piece.share[i]);
  };
  if (!follows()) {
    if (by) add_key(key, 1);
    return {key.value(p), 0, 0};
  }
  const TimeScheme& scheme = window.scheme;
  if (scheme.h > keys_.interval() * (1 + 1e-9)) {
    refuse("motor '" + name() + "': interval", "must be no shorter than a step", keys_.interval(),
           "take a step of " + std::to_string(keys_.interval()) + " s or less");
  }
  const double k = p[stiffness_], c = p[damping_], error = key.value(p) - at.q;
  Keys::Piece pieces[3] = {key};  // at most BDF2's
  double lag = -at.rate + scheme.rate[0] * key.value(p);
  for (int i = 1; i <= scheme.order; ++i) {
    pieces[i] = keys_.at(window.t - i * scheme.h);
    lag += scheme.rate[i] * pieces[i].value(p);
  }
  if (by) {
    by->emplace_back(stiffness_, error);
    by->emplace_back(damping_, lag);
    add_key(key, k);
    for (int i = 0; i <= scheme.order; ++i) add_key(pieces[i], c * scheme.rate[i]);
  }
  return {k * error + c * lag, -k, -c};
}

void add_motor(Scene& scene, const std::string& name, const MotorSpec& spec) {
  scene.check_new("motor", name);
  const std::string place = "motor '" + name + "'";
  const Joint& joint = driven_joint(scene, place, spec.joint);
  const bool turns = joint.kind().coordinate == JointKind::Coordinate::angle;
  const bool follows = spec.kind == "position";
  if (!follows && spec.kind != (turns ? "torque" : "force")) {
    refuse(place + ": kind",
           std::string("must be 'position' or '") + (turns ? "torque" : "force") + "' on a " +
               joint.kind().name,
           "'" + spec.kind + "'");
  }
  if (!follows && (spec.stiffness != 0 || spec.damping != 0)) {
    refuse(place + ": stiffness, damping", "are for kind 'position'", "kind '" + spec.kind + "'");
  }
  ParameterTable& table = scene.table();
  int stiffness = -1, damping = -1;
  if (follows) {
    stiffness =
        table.add(name + ".stiffness", turns ? "N m/rad" : "N/m", spec.stiffness, 0, kInfinity);
    damping =
        table.add(name + ".damping", turns ? "N m s/rad" : "N s/m", spec.damping, 0, kInfinity);
  }
  const Keys keys = follows ? Keys(table, name + ".target", turns ? "rad" : "m", spec.keys, 2)
                            : Keys(table, name + "." + spec.kind, turns ? "N m" : "N", spec.keys);
  scene.add_element(std::make_unique<Motor>(name, &joint, stiffness, damping, keys));
}

}  // namespace diffsim
