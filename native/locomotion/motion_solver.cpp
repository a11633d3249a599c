#include "motion_solver.hpp"

namespace diffsim {
namespace {

using SolutionStatus = MotionSolution::Status;

constexpr double kMostDamping = 1e20;  // beyond the largest entry that a Hessian can have

class MotionNewton {
 public:
  MotionNewton(MotionProblem& problem, MotionPlan& plan, const MotionSolverOptions& options,
               const MotionWatch& watch, MotionSolution& out)
      : problem_(problem), plan_(plan), options_(options), watch_(watch), out_(out) {}

  /// Iterates until steps gain little; at most so many. False: cancelled.
  bool run(int most) {
    double damping = 1e-8;
    for (int k = 0; k < most && out_.iterations < options_.iterations; ++k) {
      const double value = problem_.linearize(plan_);
      ++out_.iterations;
      VectorXd step;
      while (!problem_.newton_step(damping, step)) {
        damping = std::max(10 * damping, 1e-6);
        if (damping > kMostDamping) return true;  // E is not a finite number here
      }
      const double slope = problem_.gradient().dot(step);
      out_.value = value;
      recent_.push_back(value);
      if (-slope <= options_.tolerance * (1e-3 + value) || stalls()) {
        settled_ = true;
        return true;
      }
      const double length = search(value, slope, step);
      out_.values.push_back(out_.value);
      if (watch_ && !watch_(out_.iterations, out_.value)) {
        out_.status = SolutionStatus::cancelled;
        return false;
      }
      if (length == 0) {  // rounding, or a step too long for the model even when damped
        settled_ = damping > 1e3;
        if (settled_) return true;
        damping = std::max(100 * damping, 1e-4);
      } else if (length < 0.2) {
        damping = std::max(10 * damping, 1e-6);
      } else if (length == 1) {
        damping = std::max(0.1 * damping, 1e-8);
      }
    }
    return true;
  }
  bool settled() const { return settled_; }

 private:
  // Whether E has come down by less than a thousandth over the last iterations: along curved
  // constraints there is always a little to gain.
  bool stalls() const {
    constexpr std::size_t kLook = 5;
    return recent_.size() > kLook &&
           recent_[recent_.size() - 1 - kLook] - recent_.back() <= 1e-3 * recent_.back();
  }

  // Backtracking; the length taken, 0: none.
  double search(double value, double slope, const VectorXd& step) {
    for (double length = 1; length > 1e-4; length *= 0.5) {
      MotionPlan moved = plan_;
      problem_.move(length * step, moved);
      const double found = problem_.value(moved);
      if (found <= value + 1e-4 * length * slope) {
        plan_ = std::move(moved);
        out_.value = found;
        return length;
      }
    }
    return 0;
  }

  MotionProblem& problem_;
  MotionPlan& plan_;
  const MotionSolverOptions& options_;
  const MotionWatch& watch_;
  MotionSolution& out_;
  bool settled_ = false;
  std::vector<double> recent_;
};

}  // namespace

MotionSolution solve_motion(MotionProblem& problem, MotionPlan& plan,
                            const MotionSolverOptions& options, const MotionWatch& watch) {
  MotionSolution out;
  problem.select(kAllGroups, {});
  problem.clear_airborne(plan);
  for (int outer = 0; outer <= options.multiplier_steps; ++outer) {
    MotionNewton newton(problem, plan, options, watch, out);
    if (!newton.run(options.iterations)) return out;
    if (problem.feasible(plan)) {
      out.status = newton.settled() ? SolutionStatus::converged : SolutionStatus::out_of_iterations;
      if (newton.settled()) return out;
    } else {
      out.status =
          newton.settled() ? SolutionStatus::infeasible : SolutionStatus::out_of_iterations;
    }
    if (out.iterations >= options.iterations) return out;
    problem.shift(plan);
  }
  return out;
}

MotionSolution improve_motion(MotionProblem& problem, MotionPlan& plan,
                              const MotionSolverOptions& options, const MotionWatch& watch) {
  MotionSolution out;
  problem.clear_airborne(plan);
  MotionNewton newton(problem, plan, options, watch, out);
  if (newton.run(options.iterations) && newton.settled()) out.status = SolutionStatus::converged;
  return out;
}

MotionSolution warm_start(MotionProblem& problem, MotionPlan& plan,
                          const MotionSolverOptions& options, const MotionWatch& watch) {
  const MotionTask wanted = problem.task();
  const std::vector<std::string> forces = {"newton",   "euler",       "pushes",
                                           "friction", "even_forces", "steady_forces"};
  const std::vector<std::string> poses = {"centre_of_mass", "orientation", "wheel_axis",
                                          "contact_point",  "joint_range", "smooth",
                                          "posture"};
  std::vector<std::string> standing = forces, lifting = poses;
  standing.insert(standing.end(), poses.begin(), poses.end());
  lifting.insert(lifting.end(), {"height", "rolling"});
  MotionSolution out;
  bool going = true;
  const auto run = [&](const MotionTask& task, unsigned groups,
                       const std::vector<std::string>& terms, int most) {
    if (!going) return;
    problem.set_task(task);
    problem.select(groups, terms);
    MotionSolverOptions own = options;
    own.iterations = out.iterations + most;
    MotionNewton newton(problem, plan, own, watch, out);
    going = newton.run(most);
  };
  // 1. Forces of a robot that stands on all it has.
  MotionTask task = wanted;
  task.contact.setOnes();
  problem.set_task(task);
  problem.share_weight(plan);
  run(task, kForces, forces, 10);
  // 2. The body moves, as far as legs whose feet stay let it, as feet are unloaded.
  const MotionPlan loaded = plan;
  for (int k = 1; k <= options.unloading_steps; ++k) {
    const double left = 1 - static_cast<double>(k) / options.unloading_steps;
    for (std::size_t i = wanted.fixed; i < plan.samples.size(); ++i) {
      for (Eigen::Index j = 0; j < wanted.contact.cols(); ++j) {
        if (!wanted.contact(i, j)) plan.samples[i].f[j] = left * loaded.samples[i].f[j];
      }
    }
    run(wanted, kForces | kBody | kPose | kWheels, standing, 3);
  }
  // 3. Poses follow, feet are lifted.
  task = wanted;
  for (int k = 1; k <= options.lifting_steps; ++k) {
    task.swing_height = wanted.swing_height * k / options.lifting_steps;
    run(task, kPose | kContacts | kWheels, lifting, 4);
  }
  // 4. Everything, on the spot.
  task = wanted;
  if (task.travel) task.travel->setZero();
  if (task.turn) task.turn = 0;
  task.places.clear();
  task.ceilings.clear();
  run(task, kAllGroups, {}, 20);
  problem.set_task(wanted);
  return out;
}

}  // namespace diffsim
