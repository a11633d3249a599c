// A plan with all that constraints read of it: kinematics of every sample, the ground and the
// wheels at every contact point; samples of a periodic motion beyond its end.
#pragma once

#include "limb_momentum.hpp"
#include "motion_rows.hpp"
#include "motion_task.hpp"

namespace diffsim {

/// The ground's tangent frame at a contact point, and how it moves with the point. t1 is the
/// world's x laid onto the ground, t2 = n x t1.
struct GroundFrame {
  double gap;  // [m]
  Vector3d n, t1, t2;
  Matrix3d n_by_e, t1_by_e, t2_by_e;
  bool flat = true;  // the frame does not move
};

/// A wheel on the ground [G (2.2)]: t the direction in which it rolls, a its axis, rho from its
/// centre to the contact point, r a x t.
struct WheelFrame {
  Vector3d t, b, a, rho;  // b = n x t
  Matrix3d t_by_e, a_by_e, rho_by_e;
  Vector3d t_by_yaw, a_by_yaw, rho_by_yaw;
  Vector3d a_by_tilt, rho_by_tilt;
};

class Evaluation {
 public:
  Evaluation(const LeggedModel& model, const MotionTask& task, const MotionLayout& layout);

  /// Looks at a plan; slopes: derivatives too.
  void look(const MotionPlan& plan, bool slopes);

  const LeggedModel& model;
  const MotionTask& task;
  const MotionLayout& layout;

  const MotionPlan& plan() const { return *plan_; }
  bool slopes() const { return slopes_; }
  int samples() const { return layout.samples(); }
  bool periodic() const { return task.end == PlanEnd::periodic; }
  bool touches(int i, int j) const { return task.contact(i, j) != 0; }
  const LeggedKinematics& kinematics(int i) const { return kinematics_[i]; }
  const GroundFrame& ground(int i, int j) const { return ground_[at(i, j)]; }
  const WheelFrame& wheel(int i, int j) const { return wheels_[at(i, j)]; }
  GroundFrame ground_at(const Vector3d& e) const;
  /// Between samples s and s + 1, s < intervals().
  const LimbMomentum& limbs(int s) const { return limbs_[s]; }

  /// Sample s of the motion: of a periodic one any s >= 0 (turn: periods), of others s cut off at
  /// both ends, where it rests.
  struct Seen {
    int i, turn;
  };
  Seen seen(int s) const;
  /// Samples at which accelerations are looked at, the middle of three.
  int first_inner() const { return periodic() ? 1 : task.fixed > 1 ? 1 : 0; }
  int last_inner() const { return periodic() ? samples() : samples() - (rests() ? 1 : 2); }
  /// Pairs of samples (s, s + 1): s < intervals().
  int intervals() const { return periodic() ? samples() : samples() - 1; }
  bool rests() const { return task.end == PlanEnd::rest; }

  Vector3d point(const Vector3d& p, Seen s) const;
  Vector3d direction(const Vector3d& d, Seen s) const;
  Matrix3d rotation(const Matrix3d& R, Seen s) const;

  /// Adds J, by the seen value of the point at unknown `at`, to a residual's derivatives.
  template <class Matrix>
  void by_point(MotionRows& r, int at, Seen s, const Matrix& J, const Vector3d& value) const {
    if (!r.slopes()) return;
    if (s.turn == 0) return r.by(at, J);
    r.by(at, (J * turned()).eval());
    r.by(layout.travel(), J);
    r.by(layout.travel() + 3, (J * Vector3d::UnitZ().cross(value - plan_->travel.shift)).eval());
  }
  /// Of a direction; `own`: J by the unknown itself, before the turn of the period.
  template <class Matrix>
  void by_direction(MotionRows& r, int at, Seen s, const Matrix& J, const Vector3d& value) const {
    if (!r.slopes()) return;
    if (s.turn == 0) return r.by(at, J);
    r.by(at, (J * turned()).eval());
    by_turn(r, J, value);
  }
  /// By the turn of the period of a direction that was seen after it.
  template <class Matrix>
  void by_turn(MotionRows& r, const Matrix& J, const Vector3d& value) const {
    r.by(layout.travel() + 3, (J * Vector3d::UnitZ().cross(value)).eval());
  }
  /// J: by increments of R in its own axes.
  template <class Matrix>
  void by_rotation(MotionRows& r, int at, Seen s, const Matrix& J, const Matrix3d& value) const {
    if (!r.slopes()) return;
    r.by(at, J);
    if (s.turn) r.by(layout.travel() + 3, (J * value.row(2).transpose()).eval());
  }
  const Matrix3d& turned() const { return turned_; }

 private:
  std::size_t at(int i, int j) const {
    return static_cast<std::size_t>(i) * model.effector_count() + j;
  }
  void frame(const MotionSample& s, int j, const GroundFrame& ground, WheelFrame& out) const;
  void look_at_limbs();

  const MotionPlan* plan_ = nullptr;
  bool slopes_ = false;
  Matrix3d turned_;
  DynamicsWorkspace work_;
  std::vector<LeggedKinematics> kinematics_;
  std::vector<GroundFrame> ground_;
  std::vector<WheelFrame> wheels_;
  std::vector<VectorXd> rates_;  // of intervals
  std::vector<MomentumAt> momenta_;
  std::vector<LimbMomentum> limbs_;
};

}  // namespace diffsim
