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

std::unique_ptr<Rollout> Rollout::run(const Scene& scene, const VectorXd& p, int steps,
                                      const Options& options, const std::vector<int>& active,
                                      GradientMode mode, CancelToken* cancel, int threads) {
  const auto go = [&](int n) {
    return std::unique_ptr<Rollout>(new Rollout(scene, p, steps, options, active, mode, cancel, n));
  };
  try {
    return go(threads);
  } catch (const LateFailure&) {
    return go(1);
  }
}

Rollout::Rollout(const Scene& scene, const VectorXd& p, int steps, const Options& options,
                 const std::vector<int>& active, GradientMode mode, CancelToken* cancel,
                 int threads)
    : scene_(&scene),
      p_(p),
      options_(options),
      active_(scene.parameters(), active),
      mode_(mode),
      threads_(options.profile ? 1 : threads) {
  options.check();
  scene.check(p);
  if (steps < 0) refuse("rollout: steps", "must be >= 0", steps);
  if (threads < 1) refuse("rollout: threads", "must be >= 1", threads);
  const Stopwatch watch(profile(), &Timing::total);
  for (const auto& e : scene.elements()) {
    if (e->contact_count() > 0) watched_.push_back(e.get());
  }
  records_.push_back(
      {TimeScheme::bdf(1, options.step), 0, std::make_shared<State>(scene.start(p)), 0, nullptr});
  if (mode == GradientMode::sensitivity) {
    start_sensitivity(S_.x[0], S_.v[0]);
    for (int k = 1; k < 3; ++k) S_.x[k] = S_.v[k] = MatrixXd::Zero(scene.ndof(), S_.x[0].cols());
    forward_ = std::make_unique<LinearizedStep>(scene, options.stagnate);
  }
  mode_hash = kHashSeed;
  add_frame(0);
  Stepper stepper(scene, profile());
  for (int n = 1; n <= steps; ++n) {
    if (cancel && cancel->cancelled.load(std::memory_order_relaxed)) {
      status = Status::cancelled;
      message = "cancelled at step " + std::to_string(n);
      break;
    }
    iterations.push_back(0);
    if (!advance_step(n, 0, n * options.step, options.step, stepper)) break;
    if (n % options.record_every == 0) {
      records_.back().frame = static_cast<int>(frames.size());
      add_frame(n * options.step);
    }
    if (options.record_modes) add_modes(stepper);
  }
  if (!finish()) throw LateFailure();
  S_ = {};
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

bool Rollout::advance_step(int step, int depth, double t, double h, Stepper& stepper) {
  const TimeScheme scheme = TimeScheme::bdf(options_.order == 2 && depth_ >= 1 ? 2 : 1, h);
  const bool linearizes = mode_ == GradientMode::sensitivity || mode_ == GradientMode::store;
  const NewtonOptions newton{options_.tolerance, options_.max_iterations, options_.stagnate,
                             linearizes};
  const std::size_t last = records_.size() - 1;
  const State* before = scheme.order == 2 ? records_[last - 1].state.get() : nullptr;
  const NewtonReport report = stepper.step(*records_[last].state, before, scheme, t, p_, newton);
  iterations.back() += report.iterations;
  if (report.status == Status::converged) {
    if (accept(scheme, t, stepper)) return true;
    status = Status::singular;
    message = "step " + std::to_string(step) +
              ": its derivatives cannot be computed: a singular Jacobian, or overflow";
    return false;
  }
  if (depth < options_.max_halvings) {
    if (depth == 0) ++halvings;
    depth_ = 0;  // a changed step restarts the scheme, before and after
    const bool done = advance_step(step, depth + 1, t - h / 2, h / 2, stepper) &&
                      advance_step(step, depth + 1, t, h / 2, stepper);
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

bool Rollout::accept(const TimeScheme& scheme, double t, Stepper& stepper) {
  records_.push_back({scheme, t, std::make_shared<State>(stepper.state()), -1, nullptr});
  if (!derive(stepper)) {
    records_.pop_back();
    return false;
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

bool Rollout::derive(Stepper& stepper) {
  Record& record = records_.back();
  const Window now = window(records_.size() - 1);
  if (mode_ == GradientMode::store) {
    record.linearized = std::make_unique<LinearizedStep>(*scene_, options_.stagnate);
    stepper.differentiate(now, p_, active_, true, record.linearized->d);
    return record.linearized->factor(profile(), true);
  }
  if (mode_ != GradientMode::sensitivity) return true;
  stepper.differentiate(now, p_, active_, true, next_);
  if (!finish()) throw LateFailure();
  std::swap(next_, forward_->d);
  const double t = record.t;
  if (threads_ == 1) return advance_sensitivity(t);
  under_way_ = true;
  worker_.begin([this, t] { advanced_ = advance_sensitivity(t); });
  return true;
}

bool Rollout::finish() {
  if (!under_way_) return true;
  worker_.wait();
  under_way_ = false;
  if (advanced_) fill_frame();
  return advanced_;
}

void Rollout::forget_increments() {
  // Steps start from the last state's increment; linearizations need none.
  if (records_.size() >= 2) records_[records_.size() - 2].state->dc.resize(3, 0);
}

bool Rollout::advance_sensitivity(double t) {
  if (!forward_->factor(profile(), false)) return false;
  const StepDerivatives& step = forward_->d;
  std::swap(S_.x[2], S_.x[1]);
  std::swap(S_.x[1], S_.x[0]);
  std::swap(S_.v[2], S_.v[1]);
  std::swap(S_.v[1], S_.v[0]);
  const int begun = active_.begun(t);
  const auto held = S_.x[1].cols();
  if (begun > held) {
    for (int k = 0; k < 3; ++k) {
      for (MatrixXd* M : {&S_.x[k], &S_.v[k]}) {
        M->conservativeResize(Eigen::NoChange, begun);
        M->rightCols(begun - held).setZero();
      }
    }
  }
  MatrixXd &x = S_.x[0], &v = S_.v[0];
  step.map.history(S_.x[1], S_.x[2], x, v);
  MatrixXd rhs = MatrixXd::Zero(scene_->ndof(), begun);
  for (const auto& e : step.dr_dp) rhs.col(step.columns[e.column]).segment<3>(e.row) += e.value;
  step.K.multiply_add(x, rhs);
  step.B.multiply_add(v, rhs);
  for (int k = 1; k <= step.scheme.order; ++k) {
    step.past_K[k - 1].multiply_add(S_.x[k], rhs);
    step.past_B[k - 1].multiply_add(S_.v[k], rhs);
  }
  rhs = -rhs;
  const Stopwatch watch(profile(), &Timing::derivative);
  if (!forward_->solver.solve(forward_->A, rhs, options_.gradient_tolerance).reached) return false;
  step.map.add_rates(rhs, x, v);
  return true;
}

void Rollout::add_frame(double t) {
  Frame frame{t, records_.back().state, {}, {}, {}, {}};
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
  unfilled_ = true;
  if (!under_way_) fill_frame();
}

void Rollout::fill_frame() {
  if (mode_ != GradientMode::sensitivity || !unfilled_) return;
  frames.back().dx = in_order(S_.x[0], active_.order());
  frames.back().dv = in_order(S_.v[0], active_.order());
  unfilled_ = false;
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

}  // namespace diffsim
