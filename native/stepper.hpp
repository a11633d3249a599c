// Stepper: one step, and its exact linearization. Rollouts, S and lambda use only these.
#pragma once

#include <optional>

#include "newton.hpp"

namespace diffsim {

/// dr_n at a converged step: all that sensitivities and adjoint need of it.
struct LinearizedStep {
  StepMap map;
  TimeScheme scheme;
  BlockLU lu;                        // of A = dr/du
  BlockMatrix K, B;                  // dr/dx_n, dr/dv_n
  BlockMatrix past_K[2], past_B[2];  // dr/dx_{n-k}, dr/dv_{n-k}, k = 1, 2
  MatrixXd dr_dp;                    // (ndof, active)
};

class Stepper {
 public:
  explicit Stepper(const Scene& scene)
      : scene_(&scene),
        newton_(scene),
        u_(scene.ndof()),
        before_(scene.ndof()),
        next_(make_state(scene.nodes())) {}

  /// One step from prev (and prev2 for BDF2). On success `state()` is the new state.
  NewtonReport step(const State& prev, const State* prev2, const TimeScheme& scheme,
                    const VectorXd& p, const NewtonOptions& options);
  const State& state() const { return next_; }

  /// Linearization at a state that solves the step from prev, prev2. Empty when A is singular.
  /// `fresh`: the Jacobian blocks of the last step() are still those of `now`.
  std::optional<LinearizedStep> linearize(const State& now, const State& prev, const State* prev2,
                                          const TimeScheme& scheme, const VectorXd& p,
                                          const std::vector<int>& column_of, int columns,
                                          bool fresh);

  /// Contact codes of all contact points (contact.hpp) at a state.
  void modes(const State& now, const VectorXd& p, std::vector<std::uint16_t>& out) const;

 private:
  const Scene* scene_;
  Newton newton_;
  VectorXd u_, before_;
  State next_;
};

}  // namespace diffsim
