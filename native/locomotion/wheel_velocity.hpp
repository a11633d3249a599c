// The velocity at which a wheel's contact point moves over the ground, u = r w t, in rows.
#pragma once

#include "evaluation.hpp"

namespace diffsim {

/// Adds factor u of end effector j, the first `Rows` components, and its derivatives; 0: a foot.
template <int Rows>
void add_wheel_velocity(const Evaluation& at, Evaluation::Seen seen, int j, double factor,
                        MotionRows& r) {
  if (!at.model.effectors()[j].is_wheel()) return;
  using Matrix = Eigen::Matrix<double, Rows, 3>;
  const WheelFrame& wheel = at.wheel(seen.i, j);
  const double by_spin = factor * at.model.effectors()[j].radius;
  const double by_t = by_spin * at.plan().samples[seen.i].spin[j];
  const Vector3d t = at.direction(wheel.t, seen);
  r.value.template head<Rows>() += by_t * t.template head<Rows>();
  if (!r.slopes()) return;
  const Vector3d t_by_yaw = at.direction(wheel.t_by_yaw, seen);
  r.by(at.layout.spin(seen.i, j), (by_spin * t.template head<Rows>()).eval());
  r.by(at.layout.yaw(seen.i, j), (by_t * t_by_yaw.template head<Rows>()).eval());
  if (seen.turn) at.by_turn(r, Matrix(by_t * Matrix::Identity()), t);
  if (at.ground(seen.i, j).flat) return;
  const Matrix3d t_by_e = seen.turn ? Matrix3d(at.turned() * wheel.t_by_e) : wheel.t_by_e;
  r.by(at.layout.e(seen.i, j), Matrix(by_t * t_by_e.template topRows<Rows>()));
}

}  // namespace diffsim
