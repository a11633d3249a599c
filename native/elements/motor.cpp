#include "motor.hpp"

#include <cmath>

#include "../scene.hpp"

namespace diffsim {
namespace {

constexpr double kNearCut = 3 * M_PI / 4;  // [rad]

}  // namespace

double Motor::error(double target, double q) const {
  const double e = target - q;
  return joint_->kind().coordinate == JointKind::Coordinate::angle ? std::remainder(e, 2 * M_PI)
                                                                   : e;
}

void Motor::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const JointCoordinate at = joint_->coordinate(window.now());
  const Keys::Piece key = keys_.at(window.t);
  const NodePair& nodes = joint_->nodes();
  double k = 0, c = 0, phi = key.value(p), error = 0, lag = 0;
  if (follows()) {
    k = p[stiffness_];
    c = p[damping_];
    error = this->error(key.value(p), at.q);
    lag = key.slope(p) - at.rate;
    phi = k * error + c * lag;
  }
  add_coordinate_force(nodes, at, phi, -k, -c, out);
  if (!out.columns) return;
  auto add_column = [&](int parameter, double by) {
    const int column = out.columns->column(parameter);
    if (column >= 0) nodes.add(by * at.g, column, *out.columns);
  };
  if (follows()) {
    add_column(stiffness_, error);
    add_column(damping_, lag);
  }
  for (int i = 0; i < 2; ++i) {
    add_column(key.first[i], follows() ? k * key.share[i] + c * key.rate[i] : key.share[i]);
  }
}

void Motor::modes(const Window& window, const VectorXd& p, std::uint16_t* out) const {
  if (!follows()) return;
  *out = 0;
  if (joint_->kind().coordinate != JointKind::Coordinate::angle) return;
  const double e = error(keys_.at(window.t).value(p), joint_->coordinate(window.now()).q);
  if (std::abs(e) > kNearCut) *out = e > 0 ? 1 : 2;
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
  const Keys keys = follows ? Keys(table, name + ".target", turns ? "rad" : "m", spec.keys)
                            : Keys(table, name + "." + spec.kind, turns ? "N m" : "N", spec.keys);
  scene.add_element(std::make_unique<Motor>(name, &joint, stiffness, damping, keys));
}

}  // namespace diffsim
