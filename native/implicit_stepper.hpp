// The implicit step: all forces at its end, by Newton's method.
#pragma once

#include "extrapolation.hpp"
#include "stepper.hpp"

namespace diffsim {

class ImplicitStepper : public Stepper {
 public:
  explicit ImplicitStepper(const Scene& scene, Timing* timing = nullptr)
      : scene_(&scene),
        timing_(timing),
        newton_(scene, timing),
        u_(scene.ndof()),
        past_(kDegrees),
        next_(make_state(scene.nodes())) {}

  NewtonReport step(const State& prev, const State* prev2, const TimeScheme& scheme, double t,
                    const VectorXd& p, const NewtonOptions& options) override;
  const State& state() const override { return next_; }

  /// Forces at the start (State::force), and in `out`, unless it is null, K, B and dr_dp of minus
  /// them; false where they are not known (Element::differences).
  bool start_force(State& start, double h, const VectorXd& p, ActiveColumns& active,
                   StepDerivatives* out);

  /// `fresh`: the Jacobian blocks of the last step() are still those of window.now().
  void differentiate(const Window& window, const VectorXd& p, ActiveColumns& active, bool fresh,
                     StepDerivatives& out) override;
  void modes(const Window& window, const VectorXd& p,
             std::vector<std::uint16_t>& out) const override;

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
