#include "joint_friction.hpp"

#include <cmath>

#include "../scene.hpp"

namespace diffsim {

void JointFriction::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const JointCoordinate at = joint_->coordinate(window.now(), p);
  const double c = p[coulomb_], s = p[slip_rate_], u = at.rate / s;
  const double share = std::tanh(u), slope = 1 - share * share;
  const NodePair& nodes = joint_->nodes();
  joint_->add_coordinate_force(window.now(), p, at, -c * share, 0, -c * slope / s, out);
  if (!out.columns) return;
  auto add_column = [&](int parameter, double by) {
    const int column = out.columns->column(parameter);
    if (column >= 0) nodes.add(by * at.g, column, *out.columns);
  };
  add_column(coulomb_, -share);
  add_column(slip_rate_, c * slope * u / s);
}

void add_joint_friction(Scene& scene, const std::string& name, const std::string& joint,
                        double coulomb, double slip_rate) {
  scene.check_new("joint friction", name);
  const std::string place = "joint friction '" + name + "'";
  const Joint& driven = driven_joint(scene, place, joint);
  const bool turns = driven.kind().coordinate == JointKind::Coordinate::angle;
  ParameterTable& table = scene.table();
  const int c = table.add(name + ".coulomb", turns ? "N m" : "N", coulomb, 0, kInfinity);
  const int s =
      table.add(name + ".slip_rate", turns ? "rad/s" : "m/s", slip_rate, 1e-12, kInfinity);
  scene.add_element(std::make_unique<JointFriction>(name, &driven, c, s));
}

}  // namespace diffsim
