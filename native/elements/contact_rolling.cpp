#include "contact_rolling.hpp"

#include <cmath>

namespace diffsim {

RollingTorque rolling_torque(const ContactLaw& law, const Vector3d& n, const Vector3d& omega,
                             double f_n) {
  RollingTorque t;
  t.omega = omega;
  t.spin = n.dot(omega);
  t.roll = omega - t.spin * n;
  t.rolling = friction_slope(law.k_roll, law.friction, t.roll.norm(), law.c_roll * f_n);
  t.spinning = friction_slope(law.k_roll, law.friction, std::abs(t.spin), law.c_spin * f_n);
  t.tau = -t.rolling.s * t.roll - t.spinning.s * t.spin * n;
  return t;
}

RollingSlope rolling_slope(const ContactLaw& law, const RollingTorque& t, const Vector3d& n) {
  const Matrix3d I = Matrix3d::Identity();
  // d tau by d roll, and by d spin without what is in roll
  const Matrix3d by_roll = -t.rolling.s * I - t.rolling.by_speed * t.roll * t.roll.transpose();
  const Vector3d by_spin = -(t.spinning.s + t.spinning.by_speed * t.spin * t.spin) * n;
  RollingSlope d;
  // spin = n.Omega, roll = Omega - spin n
  d.by_n = (by_spin - by_roll * n) * t.omega.transpose() - t.spin * (by_roll + t.spinning.s * I);
  d.by_omega = by_roll + (by_spin - by_roll * n) * n.transpose();
  d.by_fn =
      -t.rolling.by_limit * law.c_roll * t.roll - t.spinning.by_limit * law.c_spin * t.spin * n;
  return d;
}

}  // namespace diffsim
