#include "rollout.hpp"

#include <cmath>

#include "blame.hpp"
#include "bodies/kinematics.hpp"
#include "implicit_stepper.hpp"
#include "velocity/velocity_stepper.hpp"

namespace diffsim {
namespace {

// Steps by BDF before generalized-alpha looks back on forces of joints that hold exactly: what the
// first one, of order 1, leaves in them is gone after that [Brenan, Campbell, Petzold 1996, 3.2].
constexpr int kFirstSteps = 5;
constexpr double kRamp = 10;          // steps in which the spectral radius then grows from 0
constexpr double kMostRadius = 0.95;  // errors in the forces of such joints fall by it a step

constexpr std::uint64_t kHashSeed = 1469598103934665603ull, kHashPrime = 1099511628211ull;

}  // namespace

void check_snapshot(const Scene& scene, const Snapshot& at) {
  const State like = make_state(scene.nodes());
  for (const State* s : {at.now.get(), at.before.get()}) {
    if (!s && s == at.before.get() && at.now) continue;
    if (s && s->c.cols() == like.c.cols() && s->R.size() == like.R.size() &&
        s->w.size() == like.w.size() && s->q.size() == like.q.size() &&
        (s->angles.size() == 0 || s->angles.size() == scene.angle_count()) &&
        (s->stick.empty() || static_cast<int>(s->stick.size()) == scene.stick_count()) &&
        (s->touching.empty() || static_cast<int>(s->touching.size()) == scene.contact_count())) {
      continue;
    }
    refuse("snapshot", "must be of this scene", "another's");
  }
}

void Options::check() const {
  if (!(step > 0) || !std::isfinite(step)) refuse("options: step", "must be > 0 [s]", step);
  if (order != 1 && order != 2) refuse("options: order", "must be 1 or 2 (BDF)", order);
  if (spectral_radius) {
    if (!(*spectral_radius >= 0 && *spectral_radius <= 1)) {
      refuse("options: spectral_radius", "must be in [0, 1]", *spectral_radius);
    }
    if (order != 2) refuse("options: spectral_radius", "needs order 2", order);
  }
  if (checkpoint_every < 1) {
    refuse("options: checkpoint_every", "must be >= 1", checkpoint_every);
  }
  if (checkpoint_every > 1 && !velocity) {
    refuse("options: checkpoint_every",
           "is for the stepper velocity, whose steps depend on one state", checkpoint_every);
  }
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
                                      GradientMode mode, CancelToken* cancel, int threads,
                                      const MatrixXd* directions, const RequestedOutputs& outputs,
                                      const Snapshot* from) {
  const auto go = [&](int n) {
    return std::unique_ptr<Rollout>(
        new Rollout(scene, p, steps, options, active, mode, cancel, n, directions, outputs, from));
  };
  try {
    return go(threads);
  } catch (const LateFailure&) {
    return go(1);
  }
}

Rollout::Rollout(const Scene& scene, const VectorXd& p, int steps, const Options& options,
                 const std::vector<int>& active, GradientMode mode, CancelToken* cancel,
                 int threads, const MatrixXd* directions, const RequestedOutputs& outputs,
                 const Snapshot* from)
    : scene_(&scene),
      p_(p),
      options_(options),
      active_(scene.parameters(), active),
      mode_(mode),
      threads_(options.profile ? 1 : threads),
      outputs_(outputs),
      directions_(directions) {
  options.check();
  check_directions();
  scene.check(p);
  if (options.spectral_radius && scene.stick_count() > 0) {
    refuse("options: spectral_radius", "is for scenes without hybrid friction",
           *options.spectral_radius, "take BDF, or friction linear or tanh");
  }
  if (options.spectral_radius && holds_exactly() && *options.spectral_radius > kMostRadius) {
    refuse("options: spectral_radius",
           "must be at most 0.95 where joints hold exactly, whose forces would ring for ever",
           *options.spectral_radius, "take 0.8");
  }
  if (steps < 0) refuse("rollout: steps", "must be >= 0", steps);
  if (threads < 1) refuse("rollout: threads", "must be >= 1", threads);
  const Stopwatch watch(profile(), &Timing::total);
  watched_.assign(scene.contacts().begin(), scene.contacts().end());
  const TimeScheme first = TimeScheme::bdf(1, options.step);
  if (from) {
    check_from(*from);
    continues_ = true;
    t0_ = from->t;
    // Copies: a rollout forgets what its own steps need no more.
    if (from->before && std::abs(from->h - options.step) < 1e-9 * options.step) {
      const double t = t0_ - options.step;
      records_.push_back({first, t, std::make_shared<State>(*from->before), -1, nullptr});
      depth_ = first_ = 1;
    }
    records_.push_back({first, t0_, std::make_shared<State>(*from->now), 0, nullptr});
  } else {
    records_.push_back({first, 0, std::make_shared<State>(scene.start(p)), 0, nullptr});
  }
  scene.count_angles(p, *records_.back().state);
  if (mode == GradientMode::store || mode == GradientMode::checkpoint) {
    records_.reserve(records_.size() + static_cast<std::size_t>(steps));
  }
  if (options.velocity) {
    check_velocity_stepper();
    records_.back().state->hard_contacts = true;
  }
  const std::unique_ptr<Stepper> owned = make_stepper();
  Stepper& stepper = *owned;
  if (options.spectral_radius && !holds_exactly()) {
    auto forces = std::make_unique<StepDerivatives>();
    const bool derivatives = mode != GradientMode::none;
    if (static_cast<ImplicitStepper&>(stepper).start_force(
            *records_[0].state, options.step, p, active_, derivatives ? forces.get() : nullptr) &&
        derivatives) {
      start_ = std::move(forces);
    }
  }
  if (mode == GradientMode::sensitivity) begin_forward();
  mode_hash = kHashSeed;
  add_frame(t0_);
  for (int n = 1; n <= steps; ++n) {
    if (cancel && cancel->cancelled.load(std::memory_order_relaxed)) {
      status = Status::cancelled;
      message = "cancelled at step " + std::to_string(n);
      break;
    }
    iterations.push_back(0);
    const double t = t0_ + n * options.step;
    if (!advance_step(n, 0, t, options.step, stepper)) break;
    if (n % options.record_every == 0 || (options.record_end && n == steps)) {
      records_.back().frame = static_cast<int>(frames.size());
      add_frame(t);
    }
    if (options.record_modes) add_modes(stepper);
    if (cancel) cancel->steps.fetch_add(1, std::memory_order_relaxed);
  }
  if (forward_ && !finish()) throw LateFailure();
  forward_.reset();
  directions_ = nullptr;
  if (cancel) cancel->done.fetch_add(1, std::memory_order_relaxed);
}

std::unique_ptr<Stepper> Rollout::make_stepper() {
  if (!options_.velocity) return std::make_unique<ImplicitStepper>(*scene_, profile());
  return std::make_unique<VelocityStepper>(*scene_, *options_.velocity, profile());
}

void Rollout::check_velocity_stepper() const {
  if (options_.spectral_radius) {
    refuse("options: spectral_radius", "is for the implicit stepper", *options_.spectral_radius);
  }
  if (const Articulation* at = scene_->articulation()) {
    for (const Articulation::Link& link : at->links()) {
      for (int k = 0; k < 12; ++k) {
        const int parameter = link.joint->place_parameter(k);
        if (parameter < 0 || active_.all()[parameter] < 0) continue;
        refuse("active parameters",
               "with the velocity stepper, joints have no derivatives by their place",
               "'" + scene_->parameters().info()[parameter].name + "'",
               "leave it out, or take world.stepper: implicit");
      }
    }
  }
  if (mode_ == GradientMode::none) return;
  for (const auto& e : scene_->elements()) {
    const bool contact = dynamic_cast<const ContactElement*>(e.get());
    if (!contact && !dynamic_cast<const Joint*>(e.get())) continue;
    const std::string name = e->name().substr(0, e->name().find('.'));  // both of a pair
    for (const Output& output : outputs_.list()) {
      const bool found = output.name == name + ".force" || output.name == name + ".torque" ||
                         output.name == name + ".normal_force";
      if (!found) continue;
      refuse("outputs",
             "with the velocity stepper, forces of contacts and joints have no derivatives",
             "'" + output.name + "'", "take world.stepper: implicit");
    }
  }
}

void Rollout::check_from(const Snapshot& from) const {
  check_snapshot(*scene_, from);
  if (mode_ == GradientMode::sensitivity) {
    refuse("rollout: mode", "must be another than 'sensitivity' from a snapshot", "'sensitivity'",
           "take store or checkpoint");
  }
  if (options_.spectral_radius) {
    refuse("options: spectral_radius", "is for rollouts from the scene's own start",
           *options_.spectral_radius, "take bdf1 or bdf2 as world.scheme");
  }
}

Snapshot Rollout::end() const {
  const std::size_t last = records_.size() - 1;
  const double t = records_[last].t;
  if (depth_ < 1) return {records_[last].state, nullptr, t, options_.step};
  return {records_[last].state, records_[last - 1].state, t, options_.step};
}

void Rollout::check_directions() const {
  if (!directions_) return;
  if (mode_ != GradientMode::sensitivity) {
    refuse("rollout: directions", "need mode 'sensitivity'", "another mode");
  }
  if (directions_->rows() != active_.size()) {
    refuse("rollout: directions",
           "need a row per active parameter, " + std::to_string(active_.size()),
           directions_->rows());
  }
}

Window Rollout::window(std::size_t i) const {
  const TimeScheme& scheme = records_[i].scheme;
  return {{records_[i].state.get(), i > 0 ? records_[i - 1].state.get() : nullptr,
           scheme.order == 2 ? records_[i - 2].state.get() : nullptr},
          scheme,
          records_[i].t};
}

TimeScheme Rollout::scheme(double h, bool halved) const {
  if (options_.velocity) return TimeScheme::bdf(1, h);
  const int order = options_.order == 2 && depth_ >= 1 ? 2 : 1;
  TimeScheme plain = TimeScheme::bdf(order, h);
  if (!options_.spectral_radius) return plain;
  plain.keeps_force = true;
  if (holds_exactly() && depth_ < kFirstSteps) return plain;
  const std::size_t last = records_.size() - 1;
  const bool restarts = order == 1 && (last > 0 || halved);
  if (restarts || records_[last].state->force.size() == 0) return plain;
  const bool two = order == 2 && records_[last - 1].state->force.size() > 0;
  if (holds_exactly()) {
    // What holds joints errs with the scheme: that is changed little by little.
    const double share = std::min(1., (depth_ - kFirstSteps + 1) / kRamp);
    return TimeScheme::generalized_alpha(share * *options_.spectral_radius, order, h);
  }
  return TimeScheme::generalized_alpha(two ? *options_.spectral_radius : 1, order, h);
}

bool Rollout::advance_step(int step, int depth, double t, double h, Stepper& stepper) {
  const TimeScheme scheme = this->scheme(h, depth > 0);
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
    std::ostringstream text;
    text << "step " << step << " (t = " << t0_ + step * options_.step
         << " s): its derivatives cannot be computed: " << message;
    message = text.str();
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
  text << "step " << step << " (t = " << t0_ + step * options_.step << " s): " << to_string(status)
       << " after " << iterations.back() << " iterations";
  if (!options_.velocity) {
    text << ", residual " << report.residual << " N against " << report.reference << " N";
  }
  text << worst_text(*scene_, report.worst_element, report.worst_dof);
  message = text.str();
  return false;
}

bool Rollout::accept(const TimeScheme& scheme, double t, Stepper& stepper) {
  std::shared_ptr<State> state;
  if (mode_ == GradientMode::none && records_.size() == 3 &&
      records_[0].state.use_count() == 1) {  // about to be forgotten, see below
    state = std::move(records_[0].state);
    *state = stepper.state();
  } else {
    state = std::make_shared<State>(stepper.state());
  }
  scene_->count_angles(p_, *state);
  records_.push_back({scheme, t, std::move(state), -1, nullptr});
  if (!derive(stepper)) {
    std::vector<const MatrixXd*> carried;
    if (forward_) {  // S before the step, whether or not it has become x[1]
      carried = {forward_->x, forward_->v, forward_->x + 1, forward_->v + 1};
    }
    const Record& last = records_.back();
    const LinearizedStep& step = forward_ ? forward_->step : *last.linearized;
    message = worst_of(records_.size() - 1, singular_row(*scene_, step, carried));
    records_.pop_back();
    return false;
  }
  add_warnings();
  forget_increments();
  // Only gradients by lambda look further back than two states.
  if (mode_ != GradientMode::store && mode_ != GradientMode::checkpoint && records_.size() > 3) {
    records_.erase(records_.begin());
  }
  if (mode_ == GradientMode::checkpoint && records_.size() > 2) drop_state(records_.size() - 3);
  ++depth_;
  return true;
}

std::string Rollout::worst_of(std::size_t i, int dof) const {
  std::string element;
  std::vector<const Element*> elements = elements_of(*scene_);
  if (options_.velocity) {
    element = scene_->multibody().joint_forces().name_on(dof);
    elements = scene_->multibody().forces();
  }
  if (element.empty()) element = stiffest(*scene_, elements, window(i), p_, dof);
  return "a singular Jacobian, or overflow" + worst_text(*scene_, element, dof);
}

void Rollout::drop_state(std::size_t i) {
  const bool kept = i % static_cast<std::size_t>(options_.checkpoint_every) == 0;
  if (!kept && records_[i].frame < 0) records_[i].state.reset();
}

void Rollout::restore_states(std::size_t i, Stepper& stepper) {
  if (options_.checkpoint_every == 1) return;
  const std::size_t needed = i > 2 ? i - 2 : 0;  // the derivatives of i - 1 may be made beside
  std::size_t from = needed;
  while (!records_[from].state) --from;
  for (std::size_t k = from + 1; k <= i; ++k) {
    if (records_[k].state) continue;
    State& start = *records_[k - 1].state;
    start.dc.setZero(3, start.c.cols());  // which forget_increments() took
    stepper.step(start, nullptr, records_[k].scheme, records_[k].t, p_, {});
    records_[k].state = std::make_shared<State>(stepper.state());
  }
}

void Rollout::forget_increments() {
  // Steps start from the last state's increment; linearizations need none.
  if (mode_ == GradientMode::none || records_.size() < 2) return;
  records_[records_.size() - 2].state->dc.resize(3, 0);
}

void Rollout::add_frame(double t) {
  Frame frame{t, records_.back().state, {}, {}, {}, {}, {}, {}};
  const int n = scene_->contact_count();
  frame.force.resize(3, n);
  frame.place.resize(3, n);
  int at = 0;
  Matrix3X force, place;
  for (const ContactElement* e : scene_->contacts()) {
    const int count = e->contact_count();
    e->forces(window(records_.size() - 1), p_, force, place);
    frame.force.middleCols(at, count) = force;
    frame.place.middleCols(at, count) = place;
    at += count;
  }
  if (forward_) forward_->by.emplace(active_.all());
  frame.y = outputs_.evaluate(window(records_.size() - 1), p_, forward_ ? &*forward_->by : nullptr);
  frames.push_back(std::move(frame));
  if (!forward_) return;
  forward_->frame_waits = true;
  if (!forward_->under_way) fill_frame();
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
    const std::string warning = watched_[i]->tunnelling(last, p_);
    if (warning.empty()) {
      ++i;
      continue;
    }
    std::ostringstream text;
    text << "contact '" << watched_[i]->name() << "', step to t = " << last.t << " s: " << warning;
    warnings.push_back(text.str());
    watched_.erase(watched_.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace diffsim
