// A robot on legs as its motions are planned [G 2.4.1]: a tree with a floating base and what
// touches the ground: feet and wheels.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "../articulated/model.hpp"

namespace diffsim {

/// point: a foot without size. Wheels of some radius: welded to their link, passive (turning
/// freely; a skate is one), actuated (turned by a motor).
enum class EndEffectorKind { point, welded, passive, actuated };

EndEffectorKind end_effector_kind(const std::string& name);

struct EndEffector {
  std::string name;
  EndEffectorKind kind = EndEffectorKind::point;
  int link = 0;                          // of the tree
  Vector3d position = Vector3d::Zero();  // of the foot or the wheel's centre, link frame [m]
  Vector3d axis = Vector3d::UnitY();     // the wheel turns about it, link frame, unit
  double radius = 0;                     // [m]
  double speed = kNoLimit;               // an actuated wheel's largest [rad/s]
  double resistance = 0;                 // a passive wheel's rolling resistance over its load
  int leg = 0;                           // those of one leg are not kept apart from each other

  static constexpr double kNoLimit = 1e9;
  bool is_wheel() const { return kind != EndEffectorKind::point; }
};

/// A point of a link that has to stay above the ground: a corner of the body, a knee.
struct ClearPoint {
  int link = 0;                          // of the tree
  Vector3d position = Vector3d::Zero();  // link frame [m]
};

/// Limits of one joint of the tree, by its velocity coordinate.
struct JointRange {
  double lower, upper;  // [rad or m]
  double speed;         // [rad/s or m/s]
};

/// Where everything is at one q, and how that moves with q's tangent (n). Axes of the world.
struct LeggedKinematics {
  Vector3d com;
  Matrix3d R;  // of the base
  Matrix3X com_by_q;
  struct Effector {
    Vector3d position, axis, reference;  // reference: unit, in the wheel's plane, fixed to its link
    Matrix3X position_by_q, axis_by_q, reference_by_q;
  };
  std::vector<Effector> effectors;
  struct Point {
    Vector3d position;
    Matrix3X position_by_q;
  };
  std::vector<Point> clear;
};

class LeggedModel {
 public:
  static constexpr int kBase = 6;  // coordinates of the base: place, then turn in its own axes

  /// ranges: of the joints after the base, in the order of the tree's qd. Refuses a tree whose
  /// first joints are not a translation and a spherical joint, end effectors of links that do not
  /// exist, axes that are not unit, radii that do not fit the kind.
  LeggedModel(std::shared_ptr<const ArticulatedModel> model, std::vector<EndEffector> effectors,
              std::vector<JointRange> ranges, VectorXd stance, std::vector<ClearPoint> clear = {});

  const Tree& tree() const { return model_->tree; }
  const TreeBodies& bodies() const { return model_->bodies; }
  const std::vector<EndEffector>& effectors() const { return effectors_; }
  int effector_count() const { return static_cast<int>(effectors_.size()); }
  const std::vector<JointRange>& ranges() const { return ranges_; }
  const std::vector<ClearPoint>& clear() const { return clear_; }
  int velocity_size() const { return model_->tree.velocity_size(); }
  int position_size() const { return model_->tree.position_size(); }
  double mass() const { return mass_; }
  double weight() const { return mass_ * gravity_; }
  double gravity() const { return gravity_; }
  /// About the centre of mass, in the base's axes, in the stance [kg m^2].
  const Matrix3d& inertia() const { return inertia_; }
  /// Of the centre of mass above the lowest contact point in the stance: the unit of lengths [m].
  double height() const { return height_; }
  const VectorXd& stance() const { return stance_; }

  /// slopes: derivatives too.
  void place(const double* q, bool slopes, DynamicsWorkspace& work, LeggedKinematics& out) const;

 private:
  std::shared_ptr<const ArticulatedModel> model_;
  std::vector<EndEffector> effectors_;
  std::vector<Vector3d> references_;
  std::vector<JointRange> ranges_;
  std::vector<ClearPoint> clear_;
  VectorXd stance_;
  double mass_ = 0, gravity_ = 0, height_ = 0;
  Matrix3d inertia_;
};

}  // namespace diffsim
