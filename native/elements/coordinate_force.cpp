#include "coordinate_force.hpp"

namespace diffsim {

void CoordinateForce::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const JointCoordinate at = joint_->driven_coordinate(window.now(), p);
  ByParameter by;
  const Phi f = phi(window, p, at, out.columns ? &by : nullptr);
  joint_->add_coordinate_force(window.now(), p, at, f.value, f.by_q, f.by_rate, out);
  for (const auto& [parameter, slope] : by) {
    joint_->add_coordinate_column(at, slope, parameter, *out.columns);
  }
}

void CoordinateForce::list_outputs(const Scene&, OutputList& to) const {
  to.push_back({name() + (turns() ? ".torque" : ".force"),
                turns() ? "N m" : "N",
                {},
                0,
                [this](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
                  const JointCoordinate at = joint_->driven_coordinate(window.now(), p);
                  ByParameter of;
                  const Phi f = phi(window, p, at, by ? &of : nullptr);
                  *y = f.value;
                  if (!by) return;
                  joint_->add_coordinate_slopes(0, window.now(), p, at, f.by_q, f.by_rate, *by);
                  for (const auto& [parameter, slope] : of) by->add_p(0, parameter, slope);
                }});
}

}  // namespace diffsim
