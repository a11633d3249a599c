#include "motor.hpp"

#include "../scene.hpp"

namespace diffsim {

CoordinateForce::Phi Motor::phi(const Window& window, const VectorXd& p, const JointCoordinate& at,
                                ByParameter* by) const {
  const Phi free = unlimited(window, p, at, by);
  const int limit = beyond(free.value, p);
  if (limit < 0) return free;
  if (by) *by = {{limit, 1}};
  return {p[limit], 0, 0};
}

int Motor::beyond(double phi, const VectorXd& p) const {
  if (params_.effort_upper >= 0 && phi > p[params_.effort_upper]) return params_.effort_upper;
  if (params_.effort_lower >= 0 && phi < p[params_.effort_lower]) return params_.effort_lower;
  return -1;
}

void Motor::modes(const Window& window, const VectorXd& p, std::uint16_t* out) const {
  if (!limited()) return;
  const JointCoordinate at = joint_->driven_coordinate(window.now(), p);
  const int limit = beyond(unlimited(window, p, at, nullptr).value, p);
  *out = limit < 0 ? 0 : limit == params_.effort_upper ? 1 : 2;
}

CoordinateForce::Phi Motor::unlimited(const Window& window, const VectorXd& p,
                                      const JointCoordinate& at, ByParameter* by) const {
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
  const double k = p[params_.stiffness], c = p[params_.damping], error = key.value(p) - at.q;
  Keys::Piece pieces[3] = {key};  // at most BDF2's
  double lag = -at.rate + scheme.rate[0] * key.value(p);
  for (int i = 1; i <= scheme.order; ++i) {
    pieces[i] = keys_.at(window.t - i * scheme.h);
    lag += scheme.rate[i] * pieces[i].value(p);
  }
  if (by) {
    by->emplace_back(params_.stiffness, error);
    by->emplace_back(params_.damping, lag);
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
  if (spec.effort_lower && spec.effort_upper && !(*spec.effort_lower < *spec.effort_upper)) {
    refuse(place, "effort_lower must be below effort_upper",
           *spec.effort_upper - *spec.effort_lower, "swap them");
  }
  ParameterTable& table = scene.table();
  Motor::Parameters params;
  if (follows) {
    params.stiffness =
        table.add(name + ".stiffness", turns ? "N m/rad" : "N/m", spec.stiffness, 0, kInfinity);
    params.damping =
        table.add(name + ".damping", turns ? "N m s/rad" : "N s/m", spec.damping, 0, kInfinity);
  }
  const Keys keys = follows ? Keys(table, name + ".target", turns ? "rad" : "m", spec.keys, 2)
                            : Keys(table, name + "." + spec.kind, turns ? "N m" : "N", spec.keys);
  const auto add_limit = [&](const char* word, const std::optional<double>& limit) {
    if (!limit) return -1;
    return table.add(name + word, turns ? "N m" : "N", *limit, -kInfinity, kInfinity);
  };
  params.effort_lower = add_limit(".effort_lower", spec.effort_lower);
  params.effort_upper = add_limit(".effort_upper", spec.effort_upper);
  scene.add_element(std::make_unique<Motor>(name, &joint, params, keys));
}

}  // namespace diffsim
