// E(m): constraints as penalties, objectives, regularizers [G 2.4.2]; its gradient and Hessian.
#pragma once

#include "banded_matrix.hpp"
#include "motion_term.hpp"

namespace diffsim {

/// The worst row of a constraint or objective.
struct TermReport {
  std::string name, unit;
  MotionTerm::Kind kind;
  double worst = 0, tolerance = 0, value = 0;  // worst in `unit`; value: its part of E
  int sample = -1, effector = -1;
};

class MotionProblem {
 public:
  MotionProblem(std::shared_ptr<const LeggedModel> model, MotionTask task);

  const LeggedModel& model() const { return *model_; }
  const MotionTask& task() const { return task_; }
  const MotionLayout& layout() const { return layout_; }
  int samples() const { return layout_.samples(); }

  /// The robot stands: its stance at every sample, forces as of `share_weight`.
  MotionPlan standing() const;
  /// Forces that share the weight out between what is in contact; none in the air.
  void share_weight(MotionPlan& plan) const;
  void clear_airborne(MotionPlan& plan) const;  // no forces in the air

  /// Which unknowns are free (groups of VariableGroup) and which terms count (empty: all); forgets
  /// multipliers.
  void select(unsigned groups, const std::vector<std::string>& names);
  /// Footfall pattern, heights and goals of another task with as many samples.
  void set_task(MotionTask task);

  /// Weights of regularizers times a factor, 1 at first: goals that they keep from being reached
  /// want less of them. Forgets multipliers.
  void regularize(double factor);

  double value(const MotionPlan& plan);
  /// Value, and gradient() and hessian() by the free unknowns. The Hessian is Gauss-Newton's: of
  /// penalties that vanish at the solution it is the exact one there.
  double linearize(const MotionPlan& plan);
  const VectorXd& gradient() const { return gradient_; }  // of all unknowns
  BandedMatrix& hessian() { return *hessian_; }
  /// The whole second derivative by the free unknowns (dense): gradients by central differences,
  /// right to about 1e-7 of its largest entry. For derivatives of solutions, not for iterations.
  MatrixXd second_derivative(const MotionPlan& plan);
  /// Solves (H + damping) step = -gradient; all unknowns. False: not positive definite.
  bool newton_step(double damping, VectorXd& step);
  void move(const VectorXd& step, MotionPlan& plan) const;
  const std::vector<char>& free() const { return free_; }

  /// Multipliers of constraints move by their rows: an augmented Lagrangian's outer step.
  void shift(const MotionPlan& plan);
  std::vector<TermReport> report(const MotionPlan& plan);
  /// Whether all constraints that count are within their tolerances.
  bool feasible(const MotionPlan& plan);

 private:
  class Sink;
  friend class Sink;
  double pass(const MotionPlan& plan, int mode);
  void scatter(const MotionRows& r, const VectorXd& weights, bool curvature);

  std::shared_ptr<const LeggedModel> model_;
  MotionTask task_;
  MotionLayout layout_;
  MotionTerms terms_;
  std::vector<char> counts_;  // terms
  Evaluation evaluation_;
  std::vector<char> free_;
  std::vector<int> active_;  // of every unknown its number among the free ones, or -1
  int active_count_ = 0;
  double regularization_ = 1;
  std::unique_ptr<BandedMatrix> hessian_;
  VectorXd gradient_;
  MatrixXd weighted_;  // scratch: rows times their weights
  std::vector<double> shifts_;
  std::vector<TermReport> reports_;
};

}  // namespace diffsim
