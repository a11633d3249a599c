// Newton's method on E(m) with a line search, multipliers that bring constraints to zero, and the
// four steps that lead from a robot that stands to one that moves [G 2.4.2, 3.3].
#pragma once

#include <functional>

#include "motion_problem.hpp"

namespace diffsim {

struct MotionSolverOptions {
  int iterations = 100;      // of Newton at most, in all
  double tolerance = 1e-6;   // stops where a step promises less than this share of E
  int multiplier_steps = 8;  // at most
  int unloading_steps = 10;  // N1 [G 3.3]
  int lifting_steps = 4;     // N2
};

struct MotionSolution {
  enum class Status { converged, infeasible, out_of_iterations, cancelled };
  Status status = Status::out_of_iterations;
  int iterations = 0;
  double value = 0;
  std::vector<double> values;  // E after every iteration
};

/// Called after every iteration; false ends the search.
using MotionWatch = std::function<bool(int iteration, double value)>;

/// From a plan to the nearest one that fulfils the task.
MotionSolution solve_motion(MotionProblem& problem, MotionPlan& plan,
                            const MotionSolverOptions& options, const MotionWatch& watch);

/// The plan after `options.iterations` steps at most, without multipliers: what model predictive
/// control does between two measurements. Begins with whatever is selected.
MotionSolution improve_motion(MotionProblem& problem, MotionPlan& plan,
                              const MotionSolverOptions& options, const MotionWatch& watch);

/// From a robot that stands to one that goes through the footfall pattern in place: forces first,
/// then body and forces while feet are unloaded, then poses while feet are lifted, then all with
/// goals at zero [G Table 3.1]. Unlike there, the second step has poses too, with feet where they
/// stand: a body that legs do not hold goes where they cannot follow. Leaves the problem with all
/// unknowns and terms selected.
MotionSolution warm_start(MotionProblem& problem, MotionPlan& plan,
                          const MotionSolverOptions& options, const MotionWatch& watch);

}  // namespace diffsim
