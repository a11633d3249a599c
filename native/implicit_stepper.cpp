#include "implicit_stepper.hpp"

#include <algorithm>

namespace diffsim {
namespace {

constexpr int kMostPasses = 30;  // solves of a step with other stick states; 5 were the most

}  // namespace

void ImplicitStepper::predict(const State& prev, const TimeScheme& scheme, double t,
                              const VectorXd& p) {
  for (const Body* b : scene_->driven()) b->predict(prev, scheme, t, p, scene_->nodes(), u_);
}

void ImplicitStepper::remember(const State& prev, const State* prev2) {
  if (!prev2) past_.clear();
  if (prev2 && past_.count() == 0) {
    rates(scene_->nodes(), *prev2, u_);
    past_.add(u_);
  }
  rates(scene_->nodes(), prev, u_);
  past_.add(u_);
}

NewtonReport ImplicitStepper::step(const State& prev, const State* prev2, const TimeScheme& scheme,
                                   double t, const VectorXd& p, const NewtonOptions& options) {
  const Window window{{&next_, &prev, prev2}, scheme, t};
  remember(prev, prev2);
  next_.angles = prev.angles;
  const int linear = std::min(1, past_.count() - 1);
  // Quick: by the best polynomial, with blocks of before. Safe, unless that was the same:
  // accelerating as before. At last from rest, where nothing sticks at first.
  enum { quick, safe, rest };
  const bool large = !scene_->linear_pattern()->tree_like() && !options.stagnate;
  const int degree = large ? past_.degree(scene_->residual_scale()) : linear;
  NewtonReport report;
  int iterations = 0;
  for (int attempt = large ? quick : safe; attempt <= rest; ++attempt) {
    NewtonOptions how = options;
    how.lag = attempt == quick;
    how.bold = attempt == quick && degree > linear;
    past_.next(how.bold ? degree : linear, u_);
    if (attempt == rest) u_.setZero();
    predict(prev, scheme, t, p);
    if (attempt == rest) {
      next_.stick.assign(next_.stick.size(), 0);
    } else {
      begin_stick(window, p);
    }
    report = solve(window, p, how);
    report.iterations = iterations += report.iterations;
    if (report.status == Status::converged) break;
    if (attempt == quick && !how.bold && !report.lagged) ++attempt;
  }
  note_touching(window, p);
  if (scheme.keeps_force) next_.force = force(*scene_, window, p);
  return report;
}

void ImplicitStepper::note_touching(const Window& window, const VectorXd& p) {
  next_.touching.assign(scene_->contact_count(), 0);
  const Window here{{&next_, nullptr, nullptr}, window.scheme, window.t};
  for (const ContactElement* e : scene_->contacts()) {
    e->touching(here, p, next_.touching.data() + e->first_point());
  }
}

void ImplicitStepper::begin_stick(const Window& window, const VectorXd& p) {
  if (scene_->stick_count() == 0) return;
  next_.stick.assign(scene_->stick_count(), 0);
  const Window last{{window.at[1], nullptr, nullptr}, window.scheme, window.t};
  for (const ContactElement* e : scene_->contacts()) {
    if (e->stick_count() == 0) continue;
    e->begin_stick(last, p, next_.stick.data() + e->first_stick());
  }
}

NewtonReport ImplicitStepper::solve(const Window& window, const VectorXd& p,
                                    const NewtonOptions& options) {
  NewtonReport report = newton_.solve(window, p, options, u_, next_);
  if (scene_->stick_count() == 0) return report;
  for (int pass = 1; report.status == Status::converged; ++pass) {
    const ContactElement* changed = nullptr;
    for (const ContactElement* e : scene_->contacts()) {
      if (e->stick_count() == 0) continue;
      if (e->update_stick(window, p, u_, next_.stick.data() + e->first_stick())) changed = e;
    }
    if (!changed) break;
    const NewtonReport before = report;
    report = newton_.solve(window, p, options, u_, next_);
    report.iterations += before.iterations;
    report.lagged |= before.lagged;
    if (pass < kMostPasses || report.status != Status::converged) continue;
    report.status = Status::max_iterations;
    newton_.find_worst(window, p, report);
    report.worst_element = changed->name();
  }
  return report;
}

bool ImplicitStepper::start_force(State& start, double h, const VectorXd& p, ActiveColumns& active,
                                  StepDerivatives* out) {
  for (const auto& e : scene_->elements()) {
    if (e->differences()) return false;
  }
  TimeScheme scheme = TimeScheme::bdf(1, h);
  std::fill_n(scheme.gamma, 3, 0.);  // nothing but forces
  const Window window{{&start, &start, nullptr}, scheme, 0};
  residual_.setZero(scene_->ndof());
  active.select(0);
  ParameterColumns columns(active.column_of());
  Assembly to;
  to.r = &residual_;
  bool compressed = false;
  to.compressed = &compressed;
  if (out) {
    out->columns = active.columns();
    out->K.reset(scene_->pattern());
    out->B.reset(scene_->pattern());
    to.K = &out->K;
    to.B = &out->B;
    to.columns = &columns;
  }
  for (const auto& e : scene_->elements()) e->add(window, p, to);
  scene_->release(to);
  start.force = -residual_;
  if (out) out->dr_dp = columns.take();
  return true;
}

void ImplicitStepper::differentiate(const Window& window, const VectorXd& p, ActiveColumns& active,
                                    bool fresh, StepDerivatives& step) {
  const Stopwatch watch(timing_, &Timing::jacobian);
  step.map = StepMap(scene_->nodes(), window);
  step.scheme = window.scheme;
  active.select(window.t);
  step.columns = active.columns();
  residual_.setZero(scene_->ndof());
  ParameterColumns columns(active.column_of(), std::move(step.dr_dp));
  step.symmetric = !fresh || newton_.symmetric();
  Assembly out;
  out.symmetric = &step.symmetric;
  out.r = &residual_;
  out.columns = &columns;
  const Articulation* articulation = scene_->articulation();
  BlockMatrix &K = articulation ? written_K_ : step.K, &B = articulation ? written_B_ : step.B;
  if (fresh) {
    step.K = newton_.K();
    step.B = newton_.B();
  } else {
    K.reset(scene_->pattern());
    B.reset(scene_->pattern());
    out.K = &K;
    out.B = &B;
  }
  for (int k = 1; k <= window.depth(); ++k) {
    step.past_K[k - 1].reset(scene_->past_pattern());
    step.past_B[k - 1].reset(scene_->past_pattern());
  }
  for (const auto& e : scene_->elements()) {
    if (!fresh || !step.columns.empty()) e->add(window, p, out);
    if (!e->looks_back()) continue;
    for (int k = 1; k <= window.depth(); ++k) {
      e->add_history(window, k, p, step.past_K[k - 1], step.past_B[k - 1]);
    }
  }
  for (int k = 1; k <= window.depth(); ++k) {
    scene_->drive_history(step.past_K[k - 1]);
    scene_->drive_history(step.past_B[k - 1]);
  }
  if (articulation) {
    add_past_forces(window, residual_);
    step.articulation.evaluate(*articulation, scene_->nodes(), p, window.now());
    step.places = step.articulation.place_twists(p, window.now(), active.all());
    reduce(fresh, step, columns);
    out.K = &step.K;
    out.B = &step.B;
  }
  scene_->drive(window, p, out);
  step.dr_dp = columns.take();
  if (window.scheme.keeps_force) step.momentum.evaluate(*scene_, window, p, active.column_of());
}

void ImplicitStepper::reduce(bool fresh, StepDerivatives& step, ParameterColumns& columns) {
  const ArticulationMap& map = step.articulation;
  const BlockMatrix& K = fresh ? newton_.written_K() : written_K_;
  const BlockMatrix& B = fresh ? newton_.written_B() : written_B_;
  if (!fresh) scene_->reduced().reduce(map, residual_, K, B, step.K, step.B);
  for (const auto& twist : step.places) {
    columns.add(columns.column(twist.parameter), map.place_column(twist, residual_, K, B));
  }
  map.reduce(residual_);
}

void ImplicitStepper::modes(const Window& window, const VectorXd& p,
                            std::vector<std::uint16_t>& out) const {
  out.resize(scene_->mode_count());
  std::uint16_t* at = out.data();
  for (const auto& e : scene_->elements()) {
    if (e->mode_count() == 0) continue;
    e->modes(window, p, at);
    at += e->mode_count();
  }
}

}  // namespace diffsim
