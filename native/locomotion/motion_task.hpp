// What a plan is asked for: footfall pattern, ground, ends, goals.
#pragma once

#include <optional>
#include <vector>

#include "../sdf/sdf.hpp"
#include "motion_plan.hpp"

namespace diffsim {

/// How a plan ends. periodic: the sample after the last is the first, moved by the travel; rest:
/// nothing moves at the last; free.
enum class PlanEnd { periodic, rest, free };

/// A wish for a place at one sample [m]; components that are nan are free.
struct PlaceGoal {
  int sample;
  int effector;  // -1: the centre of mass
  Vector3d place;
};

/// The centre of mass at most so high above the ground's zero [m], in samples [first, last].
struct HeightLimit {
  int first, last;
  double height;
};

/// Weights of nearness to a reference, beside 50 of a goal: of body, speeds, contact points, joints
/// and forces.
struct TrackingWeights {
  double body = 50, velocity = 5, contacts = 5, posture = 0.5, forces = 0.5;
};

struct MotionTask {
  double step = 0.1;                                           // h [s]
  Eigen::Array<char, Eigen::Dynamic, Eigen::Dynamic> contact;  // (samples, end effectors)
  MatrixXd swing_height;              // (samples, end effectors) [m] of those in the air
  double friction = 0.8;              // mu
  double apart = 0.02;                // beta: between end effectors [m] [G (2.10)]
  std::shared_ptr<const Sdf> ground;  // absent: the plane z = 0
  PlanEnd end = PlanEnd::periodic;
  int fixed = 0;                          // first samples that stay as they are given
  bool free_forces = false;               // forces of the last of these do not: feedback's choice
  std::optional<Eigen::Vector2d> travel;  // of the centre of mass, first to last [m]
  std::optional<double> turn;             // about z, first to last [rad]
  std::optional<double> height;           // of the centre of mass above the ground [m]
  bool stance = false;                    // joints end as the robot stands
  std::vector<PlaceGoal> places;
  std::vector<HeightLimit> ceilings;
  std::shared_ptr<const MotionPlan> reference;  // followed in place of regularizers; absent: none
  TrackingWeights tracking;
};

}  // namespace diffsim
