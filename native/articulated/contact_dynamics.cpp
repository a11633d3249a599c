#include "contact_dynamics.hpp"

namespace diffsim {

void contact_dynamics(const TreeBodies& tree, DynamicsWorkspace& work,
                      const std::vector<ContactBall>& balls, const double* q, const double* qd,
                      ContactDynamics& out) {
  const int n = tree.coordinates();
  const auto m = static_cast<Eigen::Index>(balls.size());
  out.M.resize(n, n);
  out.h.resize(n);
  out.J.setZero(3 * m, n);
  for (RowMatrix* one : {&out.point, &out.bias, &out.velocity}) one->setZero(m, 3);
  const VectorXd zero = VectorXd::Zero(n);
  inverse_dynamics(tree, work, q, qd, zero.data(), out.h.data());
  for (Eigen::Index j = 0; j < m; ++j) {
    const LinkPlace& place = tree.places[balls[j].link];
    if (place.body < 0) {
      out.point.row(j) = (place.pose.E * balls[j].centre + place.pose.r).transpose();
      continue;
    }
    const BodyState& state = work.states[place.body];
    const Vector3d c = state.R * (place.pose.E * balls[j].centre + place.pose.r) + state.r;
    const Vector3d arm(0, 0, -balls[j].radius), p = c + arm;
    out.point.row(j) = (p + work.origin).transpose();
    out.velocity.row(j) = (state.v.v + state.v.w.cross(p)).transpose();
    // Spatial accelerations are of the body's frame at the origin, less gravity's.
    const Vector3d of_centre =
        state.a.v + state.a.w.cross(c) + state.v.w.cross(state.v.v + state.v.w.cross(c));
    out.bias.row(j) = (of_centre + tree.gravity + state.a.w.cross(arm)).transpose();
    visit_motions(tree, work, place.body, [&](int column, const MotionVector& S) {
      out.J.block<3, 1>(3 * j, column) = S.v + S.w.cross(p);
    });
  }
  mass_matrix(tree, work, q, out.M.data());
}

}  // namespace diffsim
