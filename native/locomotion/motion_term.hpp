// One kind of constraint, objective or regularizer of a plan: one file in terms/, one line in
// motion_terms.cpp.
#pragma once

#include <memory>

#include "evaluation.hpp"

namespace diffsim {

/// Takes rows as terms make them.
class RowSink {
 public:
  explicit RowSink(int columns) : rows_(columns) {}
  virtual ~RowSink() = default;

  /// The next rows, of end effector j (-1: of the robot) at sample i; to be filled.
  MotionRows& begin(int rows, int i, int j = -1) {
    rows_.begin(rows, slopes_);
    sample_ = i;
    effector_ = j;
    return rows_;
  }
  /// They are filled: r = 0 is wanted.
  virtual void equal() = 0;
  /// r <= 0 is wanted; the penalty begins at -epsilon [G (2.16)].
  virtual void below(double epsilon) = 0;

 protected:
  MotionRows rows_;
  bool slopes_ = false;
  int sample_ = 0, effector_ = 0;
};

class MotionTerm {
 public:
  enum class Kind { constraint, objective, regularizer };

  /// unit, scale: a row times `scale` is in `unit`. tolerance: of a constraint's rows, in `unit`.
  MotionTerm(std::string name, Kind kind, double weight, std::string unit, double scale,
             double tolerance = 0)
      : name(std::move(name)),
        kind(kind),
        weight(weight),
        unit(std::move(unit)),
        scale(scale),
        tolerance(tolerance) {}
  virtual ~MotionTerm() = default;
  virtual void add(const Evaluation& at, RowSink& rows) const = 0;

  const std::string name;
  const Kind kind;
  double weight;
  const std::string unit;
  const double scale, tolerance;
};

using MotionTerms = std::vector<std::unique_ptr<MotionTerm>>;

/// Weights of constraints, objectives and regularizers [G 2.4.2].
constexpr double kConstraintWeight = 1e4, kObjectiveWeight = 50, kRegularizerWeight = 0.1;

// One per file in terms/: the terms that a task needs.
void add_dynamics(const LeggedModel& model, MotionTerms& terms);
void add_forces(const LeggedModel& model, MotionTerms& terms);
void add_contacts(const LeggedModel& model, MotionTerms& terms);
void add_pose(const LeggedModel& model, MotionTerms& terms);
void add_limits(const LeggedModel& model, MotionTerms& terms);
void add_ends(const LeggedModel& model, const MotionTask& task, MotionTerms& terms);
void add_goals(const LeggedModel& model, const MotionTask& task, MotionTerms& terms);
void add_regularizers(const LeggedModel& model, MotionTerms& terms);
void add_swing(const LeggedModel& model, MotionTerms& terms);
void add_wheel_path(const LeggedModel& model, MotionTerms& terms);
void add_tracking(const LeggedModel& model, const MotionTask& task, MotionTerms& terms);

}  // namespace diffsim
