#include "contact_dynamics.hpp"

namespace diffsim {
namespace {

constexpr double kFlat = 1e-6;  // least sine of the angle of a wheel's axis and the vertical

// The unit vector u from a wheel's centre to its lowest point as a function of its axis a,
// u = d / |d| with d = a a_z - z.
class Rim {
 public:
  explicit Rim(const Vector3d& a) : a_(a) {
    const Vector3d d = a * a.z() - Vector3d::UnitZ();
    size_ = std::max(d.norm(), kFlat);
    u = d / size_;
  }

  /// Change of u with a change of the axis.
  Vector3d moved(const Vector3d& da) const {
    const Vector3d d = da * a_.z() + a_ * da.z();
    return (d - u * u.dot(d)) / size_;
  }

  /// Second derivative of u of an axis that moves with a' and a".
  Vector3d accelerated(const Vector3d& rate, const Vector3d& second) const {
    const Vector3d d1 = rate * a_.z() + a_ * rate.z();
    const Vector3d d2 = second * a_.z() + 2 * rate.z() * rate + a_ * second.z();
    const Vector3d u1 = moved(rate);
    const double s1 = u.dot(d1), s2 = u1.dot(d1) + u.dot(d2);
    return (d2 - u * s2 - 2 * s1 * u1) / size_;
  }

  Vector3d u;

 private:
  Vector3d a_;
  double size_;
};

}  // namespace

void contact_dynamics(const TreeBodies& tree, DynamicsWorkspace& work,
                      const std::vector<ContactBall>& balls, const double* q, const double* qd,
                      ContactDynamics& out) {
  const int n = tree.coordinates();
  const auto m = static_cast<Eigen::Index>(balls.size());
  out.M.resize(n, n);
  out.h.resize(n);
  for (RowMatrix* one : {&out.J, &out.place_J}) one->setZero(3 * m, n);
  for (RowMatrix* one :
       {&out.point, &out.bias, &out.velocity, &out.place_bias, &out.place_velocity, &out.axis}) {
    one->setZero(m, 3);
  }
  for (VectorXd* one : {&out.spin, &out.steering}) one->setZero(m);
  const VectorXd zero = VectorXd::Zero(n);
  inverse_dynamics(tree, work, q, qd, zero.data(), out.h.data());
  for (Eigen::Index j = 0; j < m; ++j) {
    const ContactBall& ball = balls[j];
    const LinkPlace& place = tree.places[ball.link];
    const BodyState& state = work.states[std::max(place.body, 0)];
    if (place.body < 0) {
      out.point.row(j) = (place.pose.E * ball.centre + place.pose.r).transpose();
      continue;
    }
    const Vector3d c = state.R * (place.pose.E * ball.centre + place.pose.r) + state.r;
    const Vector3d a = state.R * (place.pose.E * ball.axis);
    const Vector3d w = state.v.w, alpha = state.a.w;  // alpha: at qdd = 0
    const Vector3d a_rate = w.cross(a), a_second = alpha.cross(a) + w.cross(a_rate);
    const Rim rim(a);
    const bool wheel = ball.is_wheel();
    const Vector3d arm = ball.radius * (wheel ? rim.u : Vector3d(0, 0, -1));
    const Vector3d arm_rate = wheel ? Vector3d(ball.radius * rim.moved(a_rate)) : Vector3d::Zero();
    const Vector3d p = c + arm, velocity = state.v.v + w.cross(c);
    // Spatial accelerations are of the body's frame at the origin, less gravity's.
    const Vector3d of_centre = state.a.v + alpha.cross(c) + w.cross(velocity) + tree.gravity;
    out.point.row(j) = (p + work.origin).transpose();
    out.velocity.row(j) = (velocity + w.cross(arm)).transpose();
    out.bias.row(j) = (of_centre + alpha.cross(arm) + w.cross(arm_rate)).transpose();
    out.place_velocity.row(j) = (velocity + arm_rate).transpose();
    out.place_bias.row(j) = of_centre.transpose();
    if (wheel) {
      out.place_bias.row(j) += ball.radius * rim.accelerated(a_rate, a_second).transpose();
      out.axis.row(j) = a.transpose();
      out.steering[j] = a.cross(a_rate).z() / std::max(1 - a.z() * a.z(), kFlat * kFlat);
      out.spin[j] = w.dot(a) - out.steering[j] * a.z();
    }
    visit_motions(tree, work, place.body, [&](int column, const MotionVector& S) {
      out.J.block<3, 1>(3 * j, column) = S.v + S.w.cross(p);
      Vector3d moved = S.v + S.w.cross(c);
      if (wheel) moved += ball.radius * rim.moved(S.w.cross(a));
      out.place_J.block<3, 1>(3 * j, column) = moved;
    });
  }
  mass_matrix(tree, work, q, out.M.data());
}

}  // namespace diffsim
