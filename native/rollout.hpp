// Rollout: many steps, what they recorded, and the derivatives of all of it.
#pragma once

#include <atomic>
#include <optional>

#include "extrapolation.hpp"
#include "outputs/requested.hpp"
#include "stepper.hpp"
#include "velocity/velocity_options.hpp"
#include "worker.hpp"

namespace diffsim {

struct Options {
  double step = 1. / 480;  // [s]
  int order = 2;           // BDF1 or BDF2
  int record_every = 1;    // steps per recorded frame
  double tolerance = 1e-8;
  int max_iterations = 50;
  int max_halvings = 4;  // of a step that does not converge; 0 = never halve
  bool stagnate = false;
  bool record_modes = false;                // contact codes and their hash
  double gradient_tolerance = 1e-12;        // of the linear solves for S and lambda
  bool profile = false;                     // measure where the time goes
  std::optional<double> spectral_radius;    // of generalized-alpha in place of BDF2
  std::optional<VelocityOptions> velocity;  // the velocity stepper in place of the implicit one
  int checkpoint_every = 1;  // mode checkpoint keeps every k-th state, and steps again from there
  bool record_end = false;   // the last state too, where steps are no multiple of record_every
  void check() const;
};

enum class GradientMode {
  none,
  sensitivity,  // S carried forward [G 4.4, 4.5]
  store,        // linearizations kept, gradient by lambda [G 4.24-4.26]
  checkpoint    // states kept only, every step linearized again on the way back
};

/// Shared with other threads: stops rollouts, counts finished ones and their steps.
struct CancelToken {
  std::atomic<bool> cancelled{false};
  std::atomic<long> done{0};
  std::atomic<long> steps{0};
};

/// Poses, velocities and contacts at one recorded instant.
struct Frame {
  double t;
  std::shared_ptr<const State> state;
  MatrixXd dx, dv;        // sensitivities, mode sensitivity only
  Matrix3X force, place;  // per contact point
  VectorXd y;             // requested outputs
  MatrixXd dy;            // their sensitivities
};

/// Where a motion stands: what another rollout of the scene goes on from.
struct Snapshot {
  std::shared_ptr<const State> now, before;  // before: null where the time scheme restarts
  double t = 0;                              // of now [s]
  double h = 0;                              // from before to now [s]
};

/// Refuses what is no snapshot of the scene.
void check_snapshot(const Scene& scene, const Snapshot& at);

/// Cotangents of a snapshot's states: of their poses and velocities, now and before (ndof, 4).
using SnapshotCotangents = MatrixXd;

class Rollout {
 public:
  /// Runs `steps` steps; throws InvalidInput for unusable input, never for a failed step. With two
  /// threads S of a step is computed beside the next step, and in gradient() the derivatives of a
  /// step beside the multiplier of the one after it: the same operations, so the same bits.
  /// directions (active, n), mode sensitivity: S is carried for their n columns alone, S D.
  /// outputs: what is reported at every frame.
  /// from: where it starts, else where p has the scene start; parameters of the start then act on
  /// nothing. Not with mode sensitivity, nor with generalized-alpha.
  static std::unique_ptr<Rollout> run(const Scene& scene, const VectorXd& p, int steps,
                                      const Options& options, const std::vector<int>& active,
                                      GradientMode mode, CancelToken* cancel, int threads = 1,
                                      const MatrixXd* directions = nullptr,
                                      const RequestedOutputs& outputs = {},
                                      const Snapshot* from = nullptr);

  /// dO/dp over the active parameters from dO/dx, dO/dv (ndof, frames) and, where gy is not empty,
  /// dO/dy of the outputs (size, frames). Modes store, checkpoint.
  VectorXd gradient(const MatrixXd& gx, const MatrixXd& gv, const MatrixXd& gy = {},
                    const CancelToken* cancel = nullptr);
  /// The same, and what goes on from and to other rollouts: `end` are cotangents of end(), in which
  /// those of the snapshot that it started from are left; of any other start, zero.
  /// cancel: looked at before every step; InvalidInput once it is cancelled.
  VectorXd gradient(const MatrixXd& gx, const MatrixXd& gv, const MatrixXd& gy,
                    SnapshotCotangents& end, const CancelToken* cancel = nullptr);
  /// Where it stands after its last step.
  Snapshot end() const;
  const RequestedOutputs& outputs() const { return outputs_; }

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
  struct Forward {  // mode sensitivity, while it runs
    Forward(const Scene& scene, bool exact) : step(scene, exact) {}
    MatrixXd x[3], v[3];      // S now and two past instants; columns by support.hpp's order
    MatrixXd f[3];            // of State::force
    LinearizedStep step;      // the last one
    StepDerivatives next;     // of the one under way
    bool under_way = false;   // S of the last step, in `worker`
    bool advanced = true;     // it went well
    bool frame_waits = true;  // the last frame, for its S
    std::optional<OutputJacobian> by;  // of that frame's outputs
    Worker worker;                     // last, so that it ends before what it uses
  };
  struct LateFailure {};  // of S, noticed when the next step was under way
  class Backward;

  Rollout(const Scene& scene, const VectorXd& p, int steps, const Options& options,
          const std::vector<int>& active, GradientMode mode, CancelToken* cancel, int threads,
          const MatrixXd* directions, const RequestedOutputs& outputs, const Snapshot* from);
  void check_directions() const;
  void check_velocity_stepper() const;
  /// Whether some joint does: what holds it at the start is not known.
  bool holds_exactly() const { return scene_->articulation() || scene_->closure(); }
  std::unique_ptr<Stepper> make_stepper();
  void check_from(const Snapshot& from) const;
  bool advance_step(int step, int depth, double t, double h, Stepper& stepper);
  bool accept(const TimeScheme& scheme, double t, Stepper& stepper);
  /// Window on records i, i-1, i-2 as record i's scheme looked back.
  Window window(std::size_t i) const;
  /// For the next step, of h [s]; `halved`: it is part of one that did not converge.
  TimeScheme scheme(double h, bool halved) const;
  void forget_increments();
  /// Drops a state that is no checkpoint, nor seen in a frame.
  void drop_state(std::size_t i);
  /// Steps again to where record i, and those that its derivatives look at, have states.
  void restore_states(std::size_t i, Stepper& stepper);
  void start_sensitivity(MatrixXd& X, MatrixXd& V) const;
  /// Rows of dependent frames in derivatives of what a step led to.
  void expand(const StepDerivatives& d, MatrixXd& X, MatrixXd& V) const;
  /// Adds dr/dp of a step to S's columns.
  void add_columns(const StepDerivatives& d, const std::vector<ParameterColumns::Entry>& entries,
                   MatrixXd& to) const;
  void begin_forward();
  /// Derivatives of the step just taken, as the mode wants them; S perhaps beside what follows.
  bool derive(Stepper& stepper);
  bool advance_sensitivity(double t);
  /// Waits for S of the last step; false where it failed.
  bool finish();
  /// lambda of [G 4.25] from the cotangents of the pose and velocity that the step led to.
  /// `past`: those of the steps after it.
  MatrixXd multiplier(std::size_t i, LinearizedStep& step, const MatrixXd& x, const MatrixXd& v,
                      Extrapolation& past);
  /// Why record i has no derivatives, with an element of the node of dof.
  std::string worst_of(std::size_t i, int dof) const;
  [[noreturn]] void refuse_step(std::size_t i, int dof) const;
  void check_gradient(const VectorXd& gradient) const;
  void check_cotangents(const MatrixXd& gx, const MatrixXd& gv, const MatrixXd& gy) const;
  void add_frame(double t);
  void fill_frame();
  MatrixXd output_sensitivity() const;
  void add_modes(Stepper& stepper);
  void add_warnings();
  Timing* profile() { return options_.profile ? &timing : nullptr; }

  const Scene* scene_;
  VectorXd p_;
  Options options_;
  ActiveColumns active_;
  GradientMode mode_;
  int threads_;
  RequestedOutputs outputs_;
  const MatrixXd* directions_;   // while it runs; nullptr: S has a column per active parameter
  std::vector<Record> records_;  // the start first, or second behind the state before it
  std::size_t first_ = 0;        // the start's
  bool continues_ = false;       // from a snapshot
  double t0_ = 0;                // of the start [s]
  std::vector<const ContactElement*> watched_;  // what has not warned yet
  int depth_ = 0;  // past states usable by the scheme since the last restart
  std::unique_ptr<Forward> forward_;
  std::unique_ptr<StepDerivatives> start_;  // of minus the forces at the start, where they are used
};

}  // namespace diffsim
