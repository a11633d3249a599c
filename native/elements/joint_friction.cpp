#include "joint_friction.hpp"

#include <cmath>

#include "../scene.hpp"

namespace diffsim {

CoordinateForce::Phi JointFriction::phi(const Window&, const VectorXd& p, const JointCoordinate& at,
                                        ByParameter* by) const {
  const double c = p[coulomb_], s = p[slip_rate_], u = at.rate / s;
  const double share = std::tanh(u), slope = 1 - share * share;
  if (by) *by = {{coulomb_, -share}, {slip_rate_, c * slope * u / s}};
  return {-c * share, 0, -c * slope / s};
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
