#include "coordinate_force.hpp"

namespace diffsim {

void CoordinateForce::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  if (joint_->reduced()) return add_on_freedom(window, p, out);
  const JointCoordinate at = joint_->coordinate(window.now(), p);
  ByParameter by;
  const Phi f = phi(window, p, at, out.columns ? &by : nullptr);
  joint_->add_coordinate_force(window.now(), p, at, f.value, f.by_q, f.by_rate, out);
  for (const auto& [parameter, slope] : by) {
    const int column = out.columns->column(parameter);
    if (column >= 0) joint_->nodes().add(slope * at.g, column, *out.columns);
  }
}

JointCoordinate CoordinateForce::coordinate(const State& s, const VectorXd& p) const {
  if (!joint_->reduced()) return joint_->coordinate(s, p);
  JointCoordinate at;
  at.q = joint_->freedom().q(s);
  at.rate = joint_->freedom().rate(s);
  return at;
}

void CoordinateForce::add_on_freedom(const Window& window, const VectorXd& p,
                                     const Assembly& out) const {
  ByParameter by;
  const Phi f = phi(window, p, coordinate(window.now(), p), out.columns ? &by : nullptr);
  add_freedom_force(joint_->freedom(), f.value, f.by_q, f.by_rate, out);
  for (const auto& [parameter, slope] : by) {
    add_freedom_column(joint_->freedom(), slope, parameter, *out.columns);
  }
}

void CoordinateForce::list_outputs(const Scene&, OutputList& to) const {
  to.push_back(
      {name() + (turns() ? ".torque" : ".force"),
       turns() ? "N m" : "N",
       {},
       0,
       [this](const Window& window, const VectorXd& p, double* y, OutputJacobian* by) {
         const JointCoordinate at = coordinate(window.now(), p);
         ByParameter of;
         const Phi f = phi(window, p, at, by ? &of : nullptr);
         *y = f.value;
         if (!by) return;
         if (joint_->reduced()) {
           const CoordinateFreedom& on = joint_->freedom();
           by->add_x(0, on.dof, Eigen::Matrix<double, 1, 1>(on.ratio * f.by_q));
           by->add_v(0, on.dof, Eigen::Matrix<double, 1, 1>(on.ratio * f.by_rate));
           for (const auto& [parameter, slope] : of) by->add_p(0, parameter, slope);
           return;
         }
         const auto add = [&](const Vector12& row, auto&& to_place) {
           joint_->nodes().each_part(row, to_place);
         };
         add(f.by_q * at.g + f.by_rate * at.rate_x,
             [&](int dof, const auto& J) { by->add_x(0, dof, J.eval()); });
         add(f.by_rate * at.g, [&](int dof, const auto& J) { by->add_v(0, dof, J.eval()); });
         for (const auto& [parameter, slope] : of) by->add_p(0, parameter, slope);
         const CoordinateSlopes place = joint_->coordinate_by_place(window.now(), p);
         joint_->add_place_slopes(0, (f.by_q * place.q + f.by_rate * place.rate).transpose(), *by);
       }});
}

}  // namespace diffsim
