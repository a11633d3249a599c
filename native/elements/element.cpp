#include "element.hpp"

namespace diffsim {

void Element::add_rest_forces(const State& s, const VectorXd& p, Energy::Kind kind,
                              OutputJacobian& by) const {
  State rest = s;
  rest.v.setZero();
  for (Vector3d& w : rest.w) w.setZero();
  rest.qdot.setZero();
  VectorXd r = VectorXd::Zero(s.c.size() + 3 * static_cast<Eigen::Index>(s.R.size()));
  Assembly out;
  out.r = &r;
  add({{&rest, nullptr, nullptr}, TimeScheme::bdf(1, 1), 0}, p, out);
  by.add_x(kind, 0, r.transpose());
}

}  // namespace diffsim
