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

struct MotionTask {
  double step = 0.1;                                           // h [s]
  Eigen::Array<char, Eigen::Dynamic, Eigen::Dynamic> contact;  // (samples, end effectors)
  MatrixXd swing_height;              // (samples, end effectors) [m] of those in the air
  double friction = 0.8;              // mu
  double apart = 0.02;                // beta: between end effectors [m] [G (2.10)]
  std::shared_ptr<const Sdf> ground;  // absent: the plane z = 0
  PlanEnd end = PlanEnd::periodic;
  int fixed = 0;                          // first samples that stay as they are given
  std::optional<Eigen::Vector2d> travel;  // of the centre of mass, first to last [m]
  std::optional<double> turn;             // about z, first to last [rad]
  std::optional<double> height;           // of the centre of mass above the ground [m]
  std::vector<PlaceGoal> places;
  std::vector<HeightLimit> ceilings;
};

}  // namespace diffsim
