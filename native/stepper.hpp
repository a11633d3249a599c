// Stepper: one step, and its exact linearization. Rollouts, S and lambda use only these.
#pragma once

#include <memory>

#include "bodies/kinematics.hpp"
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
  // What the poses at the end move by beside: by poses and velocities at the start, and parameters.
  bool moved = false;
  BlockMatrix moved_K, moved_B;
  std::vector<ParameterColumns::Entry> moved_p;
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
  virtual ~Stepper() = default;
  /// One step from prev (and prev2 for BDF2) to time t. On success `state()` is the new state.
  virtual NewtonReport step(const State& prev, const State* prev2, const TimeScheme& scheme,
                            double t, const VectorXd& p, const NewtonOptions& options) = 0;
  virtual const State& state() const = 0;
  /// Derivatives where window.now() solves the step, into `out` (whose memory is used again).
  /// `fresh`: window.now() is state(), just found by step() with options.keep_jacobian.
  virtual void differentiate(const Window& window, const VectorXd& p, ActiveColumns& active,
                             bool fresh, StepDerivatives& out) = 0;
  /// Through a step backwards without its linearization: x, v (ndof, 1), cotangents of poses and
  /// velocities at its end, become those where it began; what parameters get is added to `held`, by
  /// place in S (support.hpp). False, and nothing done, of steps that cannot.
  virtual bool pull(const Window& /*window*/, const VectorXd& /*p*/, ActiveColumns& /*active*/,
                    MatrixXd& /*x*/, MatrixXd& /*v*/, VectorXd& /*held*/) {
    return false;
  }
  /// Mode codes (element.hpp) of all elements at a state at time t [s].
  virtual void modes(const Window& window, const VectorXd& p,
                     std::vector<std::uint16_t>& out) const = 0;
};

}  // namespace diffsim
