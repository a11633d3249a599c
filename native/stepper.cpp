#include "stepper.hpp"

namespace diffsim {

NewtonReport Stepper::step(const State& prev, const State* prev2, const TimeScheme& scheme,
                           const VectorXd& p, const NewtonOptions& options) {
  const Window window{{&next_, &prev, prev2}, scheme};
  rates(scene_->nodes(), prev, u_);  // predictor: go on as before, accelerating as before
  if (prev2) {
    rates(scene_->nodes(), *prev2, before_);
    u_ = 2 * u_ - before_;
  }
  NewtonReport report = newton_.solve(window, p, options, u_, next_);
  if (report.status == Status::converged) return report;
  u_.setZero();  // safe retry: start from where we are
  NewtonReport again = newton_.solve(window, p, options, u_, next_);
  again.iterations += report.iterations;
  return again;
}

std::optional<LinearizedStep> Stepper::linearize(const State& now, const State& prev,
                                                 const State* prev2, const TimeScheme& scheme,
                                                 const VectorXd& p,
                                                 const std::vector<int>& column_of, int columns,
                                                 bool fresh) {
  const Window window{{&now, &prev, prev2}, scheme};
  LinearizedStep step{StepMap(scene_->nodes(), scheme, now, prev),
                      scheme,
                      BlockLU(scene_->symbolic()),
                      {},
                      {},
                      {},
                      {},
                      {}};
  VectorXd r = VectorXd::Zero(scene_->ndof());
  ParameterColumns parameter{&column_of, MatrixXd::Zero(scene_->ndof(), columns)};
  Assembly out;
  out.r = &r;
  out.columns = &parameter;
  if (fresh) {
    step.K = newton_.K();
    step.B = newton_.B();
  } else {
    step.K.reset(scene_->pattern());
    step.B.reset(scene_->pattern());
    out.K = &step.K;
    out.B = &step.B;
  }
  for (int k = 1; k <= window.depth(); ++k) {
    step.past_K[k - 1].reset(scene_->diagonal());
    step.past_B[k - 1].reset(scene_->diagonal());
  }
  for (const auto& e : scene_->elements()) {
    if (!fresh || columns > 0) e->add(window, p, out);
    if (!e->looks_back()) continue;
    for (int k = 1; k <= window.depth(); ++k) {
      e->add_history(window, k, p, step.past_K[k - 1], step.past_B[k - 1]);
    }
  }
  step.dr_dp = std::move(parameter.values);
  BlockMatrix A;
  step.map.combine(step.K, step.B, A);
  if (!step.lu.factor(A)) return std::nullopt;
  return step;
}

void Stepper::modes(const State& now, const VectorXd& p, std::vector<std::uint16_t>& out) const {
  const Window window{{&now, nullptr, nullptr}, TimeScheme::bdf(1, 1.)};
  out.resize(scene_->contact_points());
  std::uint16_t* at = out.data();
  for (const auto& e : scene_->elements()) {
    if (e->mode_count() == 0) continue;
    e->modes(window, p, at);
    at += e->mode_count();
  }
}

}  // namespace diffsim
