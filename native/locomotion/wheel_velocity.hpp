// The velocity at which a wheel's contact point moves over the ground, u = r w t, in rows.
#pragma once

#include "evaluation.hpp"

namespace diffsim {

/// Adds J, by the direction t in which a wheel rolls as it is seen, to a row's derivatives.
template <int Rows>
void by_wheel_direction(const Evaluation& at, Evaluation::Seen seen, int j,
                        const Eigen::Matrix<double, Rows, 3>& J, MotionRows& r) {
  if (!r.slopes()) return;
  const WheelFrame& wheel = at.wheel(seen.i, j);
  r.by(at.layout.yaw(seen.i, j), (J * at.direction(wheel.t_by_yaw, seen)).eval());
  if (seen.turn) at.by_turn(r, J, at.direction(wheel.t, seen));
  if (at.ground(seen.i, j).flat) return;
  const Matrix3d t_by_e = seen.turn ? Matrix3d(at.turned() * wheel.t_by_e) : wheel.t_by_e;
  r.by(at.layout.e(seen.i, j), (J * t_by_e).eval());
}

/// u as it is seen.
inline Vector3d wheel_velocity(const Evaluation& at, Evaluation::Seen seen, int j) {
  const double speed = at.model.effectors()[j].radius * at.plan().samples[seen.i].spin[j];
  return speed * at.direction(at.wheel(seen.i, j).t, seen);
}

/// Adds P u of end effector j and its derivatives; 0: a foot.
template <int Rows>
void add_wheel_velocity(const Evaluation& at, Evaluation::Seen seen, int j,
                        const Eigen::Matrix<double, Rows, 3>& P, MotionRows& r) {
  if (!at.model.effectors()[j].is_wheel()) return;
  r.value.template head<Rows>() += P * wheel_velocity(at, seen, j);
  if (!r.slopes()) return;
  const double radius = at.model.effectors()[j].radius;
  const double speed = radius * at.plan().samples[seen.i].spin[j];
  r.by(at.layout.spin(seen.i, j), (radius * P * at.direction(at.wheel(seen.i, j).t, seen)).eval());
  by_wheel_direction<Rows>(at, seen, j, speed * P, r);
}

}  // namespace diffsim
