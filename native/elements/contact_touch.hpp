// What Contact knows of one point in contact; shared by its forces and its derivatives.
#pragma once

#include "contact.hpp"

namespace diffsim {

/// World frame. rho, rho_c: from the point's node to x, x_c; sigma, sigma_c: from the carrier.
/// A point node cannot take a torque, so there the force acts at the node, x_c = x, on both ends.
/// Hybrid friction acts on the obstacle's surface itself: a rigid body's feet that have sunk in by
/// different depths could not all stick at x - r n while it rocks.
struct Contact::Touch {
  int point, node;  // the point's node, -1 = the world
  bool frame;       // whether that is a frame
  SdfSample sdf;
  double radius, d, rate;
  double offset;  // x_c = x - offset n: the radius, with hybrid friction g; 0 on a point node
  Vector3d rho, rho_c, sigma, sigma_c;
  Vector3d omega_a, omega_b;  // of the point's node and of the carrier, zero where it has none
  Vector3d w, v_t;            // relative velocity at x_c, its tangential part
  Vector3d m;                 // n / |n|, which friction needs where g is no distance
  Matrix3d m_x;               // dm = m_x xi
  NormalForce normal;
  FrictionLimit limit;
  double by_fn;      // d(friction slope)/d f_n
  StickState stick;  // hybrid only
  double k_t;        // of this point; hybrid: while it is free
  FrictionSlope slope;
  Vector3d f;
  RollingTorque rolling;  // tau = 0 where there is none
};

}  // namespace diffsim
