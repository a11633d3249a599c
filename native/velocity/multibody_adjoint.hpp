// Derivatives of w . f, with f(q, u, u') the equations of motion of a forest of steps and fixed
// weights w per degree of freedom, by poses and rates: in one pass back through the tree.
//
// With W the twists of the rates w, w . f = sum over bodies of W . F. Where F = I A + V x* I V of a
// body, it changes with what moves the body by
//   X = V x* I W - I (V x W) - W x* I V   with V,       Y = I W   with A,
// and S . F by S x, as everything behind a step turns with it (multibody.hpp).
#pragma once

#include "multibody.hpp"

namespace diffsim {

class MultibodyAdjoint {
 public:
  /// Rates u where the step begins, w, u' at its end, and weights of the contacts' loads. Those of
  /// the state, of inertia's velocity terms, are the mean of u and of the rates without contact; in
  /// an impact they are 0.
  enum Rates { start, weights, end, loads };

  explicit MultibodyAdjoint(const Multibody& model) : model_(&model) {}
  /// Begins anew; u, w (ndof). The state's add_inertia() holds the loads that move with the bodies.
  void begin(const MultibodyState& at, const VectorXd& u, const VectorXd& w);
  /// The same where contacts press: with u' and the weights of their loads (ndof).
  void begin(const MultibodyState& at, const VectorXd& u, const VectorXd& w, const VectorXd& end,
             const VectorXd& loads);

  /// (dc/du)^T w of inertia's velocity terms c at the state's rates: sets the rows (ndof) of what
  /// moves.
  void velocity_terms(const MultibodyState& at, const VectorXd& w, VectorXd& to);

  /// Of w . M du: adds its derivatives by poses to x (ndof). Sets the twists of the weights w.
  void add_momentum(const MultibodyState& at, const VectorXd& w, const VectorXd& du,
                    Eigen::Ref<VectorXd> x);

  MotionVector twist(Rates of, int node) const {
    const int step = node < 0 ? -1 : model_->step_of(node);
    return step < 0 ? MotionVector() : twist_[of][step];
  }
  /// Cotangents of the pose of a node: a force on its material at x (world), and a moment.
  void add_pose(int node, const Vector3d& x, const Vector3d& force, const Vector3d& moment);
  /// Of the velocity, by those rates, of its material at x, and of its angular velocity.
  void add_velocity(Rates of, int node, const Vector3d& x, const Vector3d& force,
                    const Vector3d& moment);
  /// Inertia's part of f and, with loads, what is turned with the bodies.
  void add_inertia();
  /// Adds the derivatives by poses (tangent vectors of the independent nodes) and rates u.
  void finish(Eigen::Ref<VectorXd> x, Eigen::Ref<VectorXd> v);

 private:
  ForceVector about_origin(const Vector3d& x, const Vector3d& force, const Vector3d& moment) const {
    return {moment + (x - at_->origin()).cross(force), force};
  }
  void move(const VectorXd& u, std::vector<MotionVector>& V) const;

  const Multibody* model_;
  const MultibodyState* at_ = nullptr;
  int rates_ = 2;                       // kinds of rates that there are
  std::vector<MotionVector> twist_[4];  // behind each step
  std::vector<ForceVector> velocity_[4], pose_, X_, Y_;
};

}  // namespace diffsim
