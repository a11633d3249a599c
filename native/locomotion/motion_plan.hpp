// A motion plan m = (m_1 .. m_T) [G (2.1)]: samples of everything that moves, and how they are
// counted as the unknowns of the optimisation.
#pragma once

#include <vector>

#include "../rotation.hpp"
#include "legged_model.hpp"

namespace diffsim {

/// At one time. Forces are those of the ground on the robot, in units of its weight.
struct MotionSample {
  Vector3d x;                     // centre of mass [m]
  Matrix3d R;                     // centroidal frame: the base's axes
  std::vector<Vector3d> e, f;     // contact points [m], forces
  std::vector<double> spin;       // wheels: angular speed relative to (t, a) below [rad/s]
  std::vector<double> yaw, tilt;  // wheels: rolling direction, lean of the axis [rad]
  VectorXd q;                     // of the tree
};

/// From the first sample to the one a period later: x -> Rz(yaw) x + shift.
struct Travel {
  Vector3d shift = Vector3d::Zero();
  double yaw = 0;
};

struct MotionPlan {
  std::vector<MotionSample> samples;
  Travel travel;  // of periodic motions
};

/// What of a plan is unknown: groups that the warm start frees one after the other [G Table 3.1].
enum VariableGroup : unsigned {
  kBody = 1,      // x, R
  kContacts = 2,  // e
  kForces = 4,    // f of end effectors in contact
  kWheels = 8,    // spin, yaw, tilt
  kPose = 16,     // q
  kTravel = 32,
  kAllGroups = 63
};

/// Order of the unknowns: sample after sample, then the travel (shift, yaw). Within a sample: x, R
/// (turned by increments in its own axes), of every end effector e, f, and of wheels spin, yaw,
/// tilt; then q's tangent.
class MotionLayout {
 public:
  MotionLayout(const LeggedModel& model, int samples);

  int samples() const { return samples_; }
  int sample_size() const { return sample_size_; }
  int size() const { return samples_ * sample_size_ + kTravelSize; }
  static constexpr int kTravelSize = 4;

  int x(int i) const { return i * sample_size_; }
  int R(int i) const { return i * sample_size_ + 3; }
  int e(int i, int j) const { return i * sample_size_ + effector_at_[j]; }
  int f(int i, int j) const { return e(i, j) + 3; }
  int spin(int i, int j) const { return e(i, j) + 6; }
  int yaw(int i, int j) const { return e(i, j) + 7; }
  int tilt(int i, int j) const { return e(i, j) + 8; }
  int q(int i) const { return i * sample_size_ + q_at_; }
  int travel() const { return samples_ * sample_size_; }
  int q_size() const { return q_size_; }

  /// plan moved by a step (size()) along the unknowns; those without `free` stay.
  void move(const Tree& tree, const VectorXd& step, const std::vector<char>& free,
            MotionPlan& plan) const;

 private:
  int samples_, sample_size_ = 0, q_at_ = 0, q_size_ = 0;
  std::vector<int> effector_at_;
  std::vector<char> wheel_;
};

}  // namespace diffsim
