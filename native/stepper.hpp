// Stepper: one step, and its exact linearization. Rollouts, S and lambda use only these.
#pragma once

#include "extrapolation.hpp"
#include "momentum_rate.hpp"
#include "newton.hpp"
#include "support.hpp"

namespace diffsim {

/// dr_n at a converged step.
struct StepDerivatives {
  StepMap map;
  TimeScheme scheme;
  BlockMatrix K, B;                            // dr/dx_n, dr/dv_n of what is solved for
  BlockMatrix past_K[2], past_B[2];            // dr/dx_{n-k}, dr/dv_{n-k}, k = 1, 2
  std::vector<ParameterColumns::Entry> dr_dp;  // by parameters that act in this step
  std::vector<int> columns;                    // column of dr_dp -> place in S (support.hpp)
  // How dependent frames follow, and active places of joints; without an articulation none.
  ArticulationMap articulation;
  ArticulationMap::PlaceTwists places;
  // Of the momentum's sum_k gamma_k m_{n-k}, where the scheme keeps forces (momentum_rate.hpp).
  MomentumRate momentum;
  bool symmetric = false;  // K and B are, nearly
};

/// All that sensitivities and adjoint need of a step.
struct LinearizedStep {
  LinearizedStep(const Scene& scene, bool exact) : solver(scene.linear_pattern(), method(exact)) {}
  StepDerivatives d;
  BlockMatrix A;        // dr/du
  LinearSolver solver;  // of A

  /// Makes A and its solver ready from d, for solves with its transpose first or with itself; false
  /// when A is singular.
  bool factor(Timing* timing, bool transposed) {
    const Stopwatch watch(timing, &Timing::prepare);
    d.map.combine(d.K, d.B, A);
    return solver.factor(A, d.symmetric, transposed);
  }
};

class Stepper {
 public:
  explicit Stepper(const Scene& scene, Timing* timing = nullptr)
      : scene_(&scene),
        timing_(timing),
        newton_(scene, timing),
        u_(scene.ndof()),
        past_(kDegrees),
        next_(make_state(scene.nodes())) {}

  /// One step from prev (and prev2 for BDF2) to time t. On success `state()` is the new state.
  NewtonReport step(const State& prev, const State* prev2, const TimeScheme& scheme, double t,
                    const VectorXd& p, const NewtonOptions& options);
  const State& state() const { return next_; }

  /// Forces at the start (State::force), and in `out`, unless it is null, K, B and dr_dp of minus
  /// them; false where they are not known (Element::differences).
  bool start_force(State& start, double h, const VectorXd& p, ActiveColumns& active,
                   StepDerivatives* out);

  /// Derivatives where window.now() solves the step, into `out` (whose memory is used again).
  /// `fresh`: the Jacobian blocks of the last step() are still those of window.now().
  void differentiate(const Window& window, const VectorXd& p, ActiveColumns& active, bool fresh,
                     StepDerivatives& out);

  /// Mode codes (element.hpp) of all elements at a state at time t [s].
  void modes(const Window& window, const VectorXd& p, std::vector<std::uint16_t>& out) const;

 private:
  /// Adds the rates of the last states to past_; prev2 null: of prev alone.
  void remember(const State& prev, const State* prev2);
  void predict(const State& prev, const TimeScheme& scheme, double t, const VectorXd& p);
  /// Notes which points touch at the end of a step, for the next one.
  void note_touching(const Window& window, const VectorXd& p);
  /// Chooses the points that stick at first.
  void begin_stick(const Window& window, const VectorXd& p);
  /// Solves with those sticking, sticks what has stopped and releases what is loaded too much,
  /// until no stick state changes: what is found then does not depend on where the search began.
  NewtonReport solve(const Window& window, const VectorXd& p, const NewtonOptions& options);

  /// Of a step: K, B and the columns of joints' places, from residual_ and what elements wrote.
  void reduce(bool fresh, StepDerivatives& step, ParameterColumns& columns);

  static constexpr int kDegrees = 3;  // of extrapolation: states end at Newton's tolerance

  const Scene* scene_;
  Timing* timing_;
  Newton newton_;
  VectorXd u_, residual_;
  BlockMatrix written_K_, written_B_;  // where there is an articulation
  Extrapolation past_;                 // rates at the ends of the last steps of one size
  State next_;
};

}  // namespace diffsim
