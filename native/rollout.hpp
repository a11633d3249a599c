// Rollout: many steps, what they recorded, and the derivatives of all of it.
#pragma once

#include <atomic>

#include "stepper.hpp"

namespace diffsim {

struct Options {
  double step = 1. / 480;  // [s]
  int order = 2;           // BDF1 or BDF2
  int record_every = 1;    // steps per recorded frame
  double tolerance = 1e-8;
  int max_iterations = 50;
  int max_halvings = 4;  // of a step that does not converge; 0 = never halve
  bool stagnate = false;
  bool record_modes = false;         // contact codes and their hash
  double gradient_tolerance = 1e-8;  // of the linear solves for S and lambda
  bool profile = false;              // measure where the time goes
  void check() const;
};

enum class GradientMode {
  none,
  sensitivity,  // S carried forward [G 4.4, 4.5]
  store,        // linearizations kept, gradient by lambda [G 4.24-4.26]
  checkpoint    // states kept only, every step linearized again on the way back
};

/// Shared with other threads: stops rollouts and counts finished ones.
struct CancelToken {
  std::atomic<bool> cancelled{false};
  std::atomic<long> done{0};
};

/// Poses, velocities and contacts at one recorded instant.
struct Frame {
  double t;
  std::shared_ptr<const State> state;
  MatrixXd dx, dv;        // sensitivities, mode sensitivity only
  Matrix3X force, place;  // per contact point
};

class Rollout {
 public:
  /// Runs `steps` steps; throws InvalidInput for unusable input, never for a failed step.
  Rollout(const Scene& scene, const VectorXd& p, int steps, const Options& options,
          const std::vector<int>& active, GradientMode mode, CancelToken* cancel);

  /// dO/dp over the active parameters from dO/dx, dO/dv (ndof, frames). Modes store, checkpoint.
  VectorXd gradient(const MatrixXd& gx, const MatrixXd& gv);

  Status status = Status::converged;
  std::string message;               // names step, element and dof when a step failed
  std::vector<Frame> frames;         // frame 0 is the start
  std::vector<int> iterations;       // Newton iterations per step
  std::vector<std::uint16_t> codes;  // per step and contact point (record_modes)
  std::uint64_t mode_hash = 0;
  int halvings = 0;
  std::vector<std::string> warnings;  // of points that may have passed through an obstacle
  Timing timing;                      // with Options::profile

 private:
  struct Record {  // one step as run (halved steps are several)
    TimeScheme scheme;
    double t;  // where it ends [s]
    std::shared_ptr<State> state;
    int frame;                                   // recorded frame it ends, or -1
    std::unique_ptr<LinearizedStep> linearized;  // mode store
  };
  struct Sensitivity {
    MatrixXd x[3], v[3];  // now and two past instants; columns by support.hpp's order
  };
  bool advance_step(int step, int depth, double t, double h, Stepper& stepper, Sensitivity& S);
  bool accept(const TimeScheme& scheme, double t, Stepper& stepper, Sensitivity& S);
  /// Window on records i, i-1, i-2 as record i's scheme looked back.
  Window window(std::size_t i) const;
  void forget_increments();
  void start_sensitivity(MatrixXd& X, MatrixXd& V) const;
  bool advance_sensitivity(LinearizedStep& step, double t, Sensitivity& S);
  /// lambda of [G 4.25] from the cotangents of the pose and velocity that the step led to.
  MatrixXd multiplier(LinearizedStep& step, const MatrixXd& x, const MatrixXd& v);
  void add_frame(double t, const Sensitivity& S);
  void add_modes(Stepper& stepper);
  void add_warnings();
  Timing* profile() { return options_.profile ? &timing : nullptr; }

  const Scene* scene_;
  VectorXd p_;
  Options options_;
  ActiveColumns active_;
  GradientMode mode_;
  std::vector<Record> records_;              // [0] is the start
  std::unique_ptr<LinearizedStep> forward_;  // of the last step, mode sensitivity
  std::vector<const Element*> watched_;      // what has not warned yet
  int depth_ = 0;  // past states usable by the scheme since the last restart
};

}  // namespace diffsim
