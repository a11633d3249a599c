// Rolling and spinning friction of a contact sphere: a torque against the relative rotation.
//
//   roll = Omega - spin n,  spin = n . Omega,   Omega = omega of the sphere - omega of the obstacle
//   tau = -s_r roll - s_s spin n,  |s_r roll| <= c_roll f_n,  |s_s spin| <= c_spin f_n
// with the slopes of the friction law (contact_law.hpp), k_roll [N m s] in place of k_t.
#pragma once

#include "contact_law.hpp"

namespace diffsim {

struct RollingTorque {
  Vector3d omega, roll;  // relative angular velocity, its tangential part [rad/s]
  double spin;
  FrictionSlope rolling, spinning;
  Vector3d tau;  // on the sphere's body [N m]
};
RollingTorque rolling_torque(const ContactLaw& law, const Vector3d& n, const Vector3d& omega,
                             double f_n);

/// d tau = by_n dn + by_omega dOmega + by_fn df_n.
struct RollingSlope {
  Matrix3d by_n, by_omega;
  Vector3d by_fn;
};
RollingSlope rolling_slope(const ContactLaw& law, const RollingTorque& t, const Vector3d& n);

}  // namespace diffsim
