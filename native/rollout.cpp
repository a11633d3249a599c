#include "rollout.hpp"

#include <cmath>

namespace diffsim {
namespace {

constexpr std::uint64_t kHashSeed = 1469598103934665603ull, kHashPrime = 1099511628211ull;

// A (rows, places) matrix of S with its columns in the caller's order; places not begun are zero.
MatrixXd in_order(const MatrixXd& S, const std::vector<int>& order) {
  MatrixXd all = MatrixXd::Zero(S.rows(), static_cast<Eigen::Index>(order.size()));
  for (Eigen::Index place = 0; place < S.cols(); ++place) all.col(order[place]) = S.col(place);
  return all;
}

}  // namespace

void Options::check() const {
  if (!(step > 0) || !std::isfinite(step)) refuse("options: step", "must be > 0 [s]", step);
  if (order != 1 && order != 2) refuse("options: order", "must be 1 or 2 (BDF)", order);
  if (record_every < 1) refuse("options: record_every", "must be >= 1", record_every);
  if (!(tolerance > 0) || tolerance > 1) {
    refuse("options: tolerance", "must be in (0, 1]", tolerance);
  }
  if (!(gradient_tolerance > 0) || gradient_tolerance > 1) {
    refuse("options: gradient_tolerance", "must be in (0, 1]", gradient_tolerance);
  }
  if (max_iterations < 1) refuse("options: max_iterations", "must be >= 1", max_iterations);
  if (max_halvings < 0 || max_halvings > 16) {
    refuse("options: max_halvings", "must be in [0, 16]", max_halvings);
  }
}

Rollout::Rollout(const Scene& scene, const VectorXd& p, int steps, const Options& options,
                 const std::vector<int>& active, GradientMode mode, CancelToken* cancel)
    : scene_(&scene), p_(p), options_(options), active_(scene.parameters(), active), mode_(mode) {
  options.check();
  scene.check(p);
  if (steps < 0) refuse("rollout: steps", "must be >= 0", steps);
  const Stopwatch watch(profile(), &Timing::total);
  for (const auto& e : scene.elements()) {
    if (e->contact_count() > 0) watched_.push_back(e.get());
  }
  Sensitivity S;
  records_.push_back(
      {TimeScheme::bdf(1, options.step), 0, std::make_shared<State>(scene.start(p)), 0, nullptr});
  if (mode == GradientMode::sensitivity) {
    start_sensitivity(S.x[0], S.v[0]);
    for (int k = 1; k < 3; ++k) S.x[k] = S.v[k] = MatrixXd::Zero(scene.ndof(), S.x[0].cols());
  }
  mode_hash = kHashSeed;
  add_frame(0, S);
  Stepper stepper(scene, profile());
  for (int n = 1; n <= steps; ++n) {
    if (cancel && cancel->cancelled.load(std::memory_order_relaxed)) {
      status = Status::cancelled;
      message = "cancelled at step " + std::to_string(n);
      break;
    }
    iterations.push_back(0);
    if (!advance_step(n, 0, n * options.step, options.step, stepper, S)) break;
    if (n % options.record_every == 0) {
      records_.back().frame = static_cast<int>(frames.size());
      add_frame(n * options.step, S);
    }
    if (options.record_modes) add_modes(stepper);
  }
  if (cancel) cancel->done.fetch_add(1, std::memory_order_relaxed);
}

void Rollout::start_sensitivity(MatrixXd& X, MatrixXd& V) const {
  MatrixXd x = MatrixXd::Zero(scene_->ndof(), active_.size()), v = x;
  for (const auto& b : scene_->bodies()) {
    b->start_sensitivity(p_, scene_->nodes(), active_.all(), x, v);
  }
  const int begun = active_.begun(0);
  X.resize(scene_->ndof(), begun);
  V.resize(scene_->ndof(), begun);
  for (int place = 0; place < begun; ++place) {
    X.col(place) = x.col(active_.order()[place]);
    V.col(place) = v.col(active_.order()[place]);
  }
}

Window Rollout::window(std::size_t i) const {
  const TimeScheme& scheme = records_[i].scheme;
  return {{records_[i].state.get(), i > 0 ? records_[i - 1].state.get() : nullptr,
           scheme.order == 2 ? records_[i - 2].state.get() : nullptr},
          scheme,
          records_[i].t};
}

bool Rollout::advance_step(int step, int depth, double t, double h, Stepper& stepper,
                           Sensitivity& S) {
  const TimeScheme scheme = TimeScheme::bdf(options_.order == 2 && depth_ >= 1 ? 2 : 1, h);
  const bool linearizes = mode_ == GradientMode::sensitivity || mode_ == GradientMode::store;
  const NewtonOptions newton{options_.tolerance, options_.max_iterations, options_.stagnate,
                             linearizes};
  const std::size_t last = records_.size() - 1;
  const State* before = scheme.order == 2 ? records_[last - 1].state.get() : nullptr;
  const NewtonReport report = stepper.step(*records_[last].state, before, scheme, t, p_, newton);
  iterations.back() += report.iterations;
  if (report.status == Status::converged) {
    if (accept(scheme, t, stepper, S)) return true;
    status = Status::singular;
    message = "step " + std::to_string(step) + ": the converged step's Jacobian is singular";
    return false;
  }
  if (depth < options_.max_halvings) {
    if (depth == 0) ++halvings;
    depth_ = 0;  // a changed step restarts the scheme, before and after
    const bool done = advance_step(step, depth + 1, t - h / 2, h / 2, stepper, S) &&
                      advance_step(step, depth + 1, t, h / 2, stepper, S);
    depth_ = 0;
    return done;
  }
  status = report.status;
  std::ostringstream text;
  text << "step " << step << " (t = " << step * options_.step << " s): " << to_string(status)
       << " after " << iterations.back() << " iterations, residual " << report.residual
       << " N against " << report.reference << " N; worst element '" << report.worst_element
       << "', worst dof " << scene_->dof_name(report.worst_dof);
  message = text.str();
  return false;
}

bool Rollout::accept(const TimeScheme& scheme, double t, Stepper& stepper, Sensitivity& S) {
  records_.push_back({scheme, t, std::make_shared<State>(stepper.state()), -1, nullptr});
  const bool forward = mode_ == GradientMode::sensitivity;
  if (forward || mode_ == GradientMode::store) {
    std::unique_ptr<LinearizedStep>& linear = forward ? forward_ : records_.back().linearized;
    if (!linear) linear = std::make_unique<LinearizedStep>(*scene_, options_.stagnate);
    if (!stepper.linearize(window(records_.size() - 1), p_, active_, true, *linear) ||
        (forward && !advance_sensitivity(*linear, t, S))) {
      records_.pop_back();
      return false;
    }
  }
  add_warnings();
  forget_increments();
  // Only gradients by lambda look further back than two states.
  if (mode_ != GradientMode::store && mode_ != GradientMode::checkpoint && records_.size() > 3) {
    records_.erase(records_.begin());
  }
  ++depth_;
  return true;
}

void Rollout::forget_increments() {
  // Steps start from the last state's increment; linearizations need none.
  if (records_.size() >= 2) records_[records_.size() - 2].state->dc.resize(3, 0);
}

bool Rollout::advance_sensitivity(LinearizedStep& step, double t, Sensitivity& S) {
  std::swap(S.x[2], S.x[1]);
  std::swap(S.x[1], S.x[0]);
  std::swap(S.v[2], S.v[1]);
  std::swap(S.v[1], S.v[0]);
  const int begun = active_.begun(t);
  const auto held = S.x[1].cols();
  if (begun > held) {
    for (int k = 0; k < 3; ++k) {
      for (MatrixXd* M : {&S.x[k], &S.v[k]}) {
        M->conservativeResize(Eigen::NoChange, begun);
        M->rightCols(begun - held).setZero();
      }
    }
  }
  MatrixXd &x = S.x[0], &v = S.v[0];
  step.map.history(S.x[1], S.x[2], x, v);
  MatrixXd rhs = MatrixXd::Zero(scene_->ndof(), begun);
  for (std::size_t c = 0; c < step.columns.size(); ++c) {
    rhs.col(step.columns[c]) = step.dr_dp.col(static_cast<Eigen::Index>(c));
  }
  step.K.multiply_add(x, rhs);
  step.B.multiply_add(v, rhs);
  for (int k = 1; k <= step.scheme.order; ++k) {
    step.past_K[k - 1].multiply_add(S.x[k], rhs);
    step.past_B[k - 1].multiply_add(S.v[k], rhs);
  }
  rhs = -rhs;
  const Stopwatch watch(profile(), &Timing::derivative);
  if (!step.solver.solve(step.A, rhs, options_.gradient_tolerance).reached) return false;
  step.map.add_rates(rhs, x, v);
  return true;
}

void Rollout::add_frame(double t, const Sensitivity& S) {
  Frame frame{t, records_.back().state, {}, {}, {}, {}};
  if (mode_ == GradientMode::sensitivity) {
    frame.dx = in_order(S.x[0], active_.order());
    frame.dv = in_order(S.v[0], active_.order());
  }
  const int n = scene_->contact_count();
  frame.force.resize(3, n);
  frame.place.resize(3, n);
  int at = 0;
  Matrix3X force, place;
  for (const auto& e : scene_->elements()) {
    const int count = e->contact_count();
    if (count == 0) continue;
    e->forces(window(records_.size() - 1), p_, force, place);
    frame.force.middleCols(at, count) = force;
    frame.place.middleCols(at, count) = place;
    at += count;
  }
  frames.push_back(std::move(frame));
}

void Rollout::add_modes(Stepper& stepper) {
  std::vector<std::uint16_t> now;
  stepper.modes(window(records_.size() - 1), p_, now);
  now.push_back(static_cast<std::uint16_t>(halvings));  // a halved step is another motion
  for (std::uint16_t code : now) mode_hash = (mode_hash ^ code) * kHashPrime;
  now.pop_back();
  codes.insert(codes.end(), now.begin(), now.end());
}

void Rollout::add_warnings() {
  const Window last = window(records_.size() - 1);
  for (std::size_t i = 0; i < watched_.size();) {
    const std::string leap = watched_[i]->leap(last, p_);
    if (leap.empty()) {
      ++i;
      continue;
    }
    std::ostringstream text;
    text << "contact '" << watched_[i]->name() << "', step to t = " << last.t << " s: " << leap;
    warnings.push_back(text.str());
    watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

MatrixXd Rollout::multiplier(LinearizedStep& step, const MatrixXd& x, const MatrixXd& v) {
  MatrixXd lam = step.map.rates_transposed(x, v);
  const Stopwatch watch(profile(), &Timing::derivative);
  if (!step.solver.solve_transposed(step.A, lam, options_.gradient_tolerance).reached) {
    refuse("gradient", "needs regular steps", "one that cannot be solved to gradient_tolerance");
  }
  return -lam;
}

VectorXd Rollout::gradient(const MatrixXd& gx, const MatrixXd& gv) {
  if (mode_ != GradientMode::store && mode_ != GradientMode::checkpoint) {
    refuse("gradient", "needs a rollout of mode store or checkpoint", "another");
  }
  if (status != Status::converged) refuse("gradient", "needs a converged rollout", message);
  const auto count = static_cast<Eigen::Index>(frames.size());
  for (const MatrixXd* g : {&gx, &gv}) {
    if (g->rows() != scene_->ndof() || g->cols() != count) {
      refuse("gradient: dO/dx and dO/dv",
             "must have shape (frames, ndof) = (" + std::to_string(count) + ", " +
                 std::to_string(scene_->ndof()) + ")",
             g->size());
    }
  }
  const Stopwatch watch(profile(), &Timing::total);
  const int n = static_cast<int>(records_.size()) - 1;
  // Cotangents of the poses and velocities of steps i, i-1, i-2, newest first.
  MatrixXd x[3], v[3];
  for (int k = 0; k < 3; ++k) {
    x[k].setZero(scene_->ndof(), 1);
    v[k].setZero(scene_->ndof(), 1);
  }
  Stepper stepper(*scene_, profile());
  ActiveColumns active = active_;
  LinearizedStep again(*scene_, options_.stagnate);
  VectorXd held = VectorXd::Zero(active_.size());  // by place
  for (int i = n; i >= 0; --i) {
    Record& record = records_[i];
    if (record.frame >= 0) {
      x[0] += gx.col(record.frame);
      v[0] += gv.col(record.frame);
    }
    if (i == 0) break;
    LinearizedStep& step = record.linearized ? *record.linearized : again;
    if (!record.linearized && !stepper.linearize(window(i), p_, active, false, again)) {
      refuse("gradient", "needs regular steps", "a singular one");
    }
    const MatrixXd lam = multiplier(step, x[0], v[0]);
    for (std::size_t c = 0; c < step.columns.size(); ++c) {
      held[step.columns[c]] += step.dr_dp.col(static_cast<Eigen::Index>(c)).dot(lam.col(0));
    }
    step.K.multiply_transposed_add(lam, x[0]);
    // Velocities look back through rotations only.
    if (!scene_->points_only()) step.B.multiply_transposed_add(lam, v[0]);
    for (int k = 1; k <= step.scheme.order; ++k) {
      step.past_K[k - 1].multiply_transposed_add(lam, x[k]);
      step.past_B[k - 1].multiply_transposed_add(lam, v[k]);
    }
    step.map.history_transposed(x[0], v[0], x[1], x[2]);
    for (int k = 0; k < 2; ++k) {
      std::swap(x[k], x[k + 1]);
      std::swap(v[k], v[k + 1]);
    }
    x[2].setZero();
    v[2].setZero();
  }
  MatrixXd X, V;
  start_sensitivity(X, V);
  held.head(X.cols()) += X.transpose() * x[0] + V.transpose() * v[0];
  VectorXd result(active_.size());
  for (int place = 0; place < active_.size(); ++place) result[active_.order()[place]] = held[place];
  return result;
}

}  // namespace diffsim
