#include "motion_problem.hpp"

#include <algorithm>

namespace diffsim {
namespace {

// psi of [G (2.16)] with its derivatives: 0 below -epsilon, x^2 + epsilon^2 / 3 above epsilon.
struct Penalty {
  double value, slope, curvature;
};

Penalty penalty(double x, double epsilon) {
  if (x <= -epsilon) return {0, 0, 0};
  if (x >= epsilon) return {x * x + epsilon * epsilon / 3, 2 * x, 2};
  const double e = epsilon;
  return {x * x * x / (6 * e) + x * x / 2 + e * x / 2 + e * e / 6, x * x / (2 * e) + x + e / 2,
          x / e + 1};
}

// Inequalities of a motion that follows a reference: one or two steps from a measured state must
// not end at the first limit they meet. Those of forces are harder: a plan that pulls at feet, or
// pushes beyond the cone, brakes by what inverse dynamics cannot give, and the body pitches. Bands
// of speeds stay narrow: references themselves go up to their edge.
constexpr double kSoftWeight = 0.03, kSoftForces = 0.3, kSoftBand = 5;

MotionTerms make_terms(const LeggedModel& model, const MotionTask& task) {
  MotionTerms terms;
  add_dynamics(model, terms);
  add_forces(model, terms);
  add_contacts(model, terms);
  add_pose(model, terms);
  add_limits(model, terms);
  add_ends(model, task, terms);
  add_goals(model, task, terms);
  if (task.reference) {
    add_tracking(model, task, terms);
  } else {
    add_regularizers(model, terms);
    add_swing(model, terms);
    add_wheel_path(model, terms);
  }
  return terms;
}

void check(const LeggedModel& model, const MotionTask& task) {
  const int n = model.effector_count();
  const Eigen::Index samples = task.contact.rows();
  if (samples < 6) refuse("motion: samples", "at least 6", samples);
  if (task.contact.cols() != n || task.swing_height.rows() != samples ||
      task.swing_height.cols() != n) {
    refuse("motion: footfall pattern", "(samples, " + std::to_string(n) + " end effectors)",
           task.contact.cols());
  }
  if (!task.swing_height.allFinite()) {
    refuse("motion: swing height", "finite numbers [m]", task.swing_height.sum());
  }
  if (task.ground && task.end == PlanEnd::periodic && task.turn && *task.turn != 0) {
    refuse("motion: turn", "0 where a periodic motion goes over a ground of its own", *task.turn);
  }
  if (!(task.step > 0)) refuse("motion: step", "> 0 [s]", task.step);
  if (!(task.friction > 0)) refuse("motion: friction", "> 0", task.friction);
  if (task.fixed < 0 || task.fixed > samples) {
    refuse("motion: fixed", "a number of samples", task.fixed);
  }
  if (task.reference && task.end == PlanEnd::periodic) {
    refuse("motion: reference", "of a motion that does not repeat itself", "periodic");
  }
  if (task.reference && static_cast<Eigen::Index>(task.reference->samples.size()) != samples) {
    refuse("motion: reference", std::to_string(samples) + " samples",
           task.reference->samples.size());
  }
  for (const PlaceGoal& goal : task.places) {
    if (goal.sample < 0 || goal.sample >= samples) {
      refuse("motion: places: sample", "in [0, " + std::to_string(samples) + ")", goal.sample);
    }
    if (goal.effector < -1 || goal.effector >= n) {
      refuse("motion: places: end effector", "in [-1, " + std::to_string(n) + ")", goal.effector);
    }
  }
  for (const HeightLimit& limit : task.ceilings) {
    if (limit.first < 0 || limit.last >= samples || limit.first > limit.last) {
      refuse("motion: ceilings: samples", "first <= last < " + std::to_string(samples), limit.last);
    }
  }
}

}  // namespace

// Takes rows in one order, whatever is asked for: their numbers are those of their multipliers.
class MotionProblem::Sink : public RowSink {
 public:
  enum Mode { kValue, kGradient, kSlopes, kShift, kReport };

  Sink(MotionProblem& problem, int mode)
      : RowSink(4 * problem.layout_.sample_size() + 8), problem_(problem), mode_(mode) {
    slopes_ = differentiates();
  }

  void of(const MotionTerm& term, int index) {
    const bool regularizes = term.kind == MotionTerm::Kind::regularizer;
    weight_ = term.weight * (regularizes ? problem_.regularization_ : 1);
    term_ = &term;
    index_ = index;
  }

  void equal() override {
    const int n = rows_.rows();
    VectorXd weights(n);
    for (int k = 0; k < n; ++k) {
      double& shift = next();
      const double r = rows_.value[k];
      if (mode_ == kReport) note(r, weight_ * (r + shift) * (r + shift));
      if (mode_ == kShift && constrains()) shift += r;
      rows_.value[k] = r + shift;
      total += weight_ * rows_.value[k] * rows_.value[k];
      weights[k] = 2 * weight_;
    }
    if (differentiates()) problem_.scatter(rows_, weights, mode_ == kSlopes);
  }

  void below(double epsilon) override {
    double& shift = next();
    const double r = rows_.value[0];
    double weight = weight_;
    if (problem_.task_.reference) {
      weight *= term_->unit == "N" ? kSoftForces : kSoftWeight;
      if (term_->unit != "of the limit") epsilon *= kSoftBand;
    }
    const Penalty p = penalty(r + shift, epsilon);
    if (mode_ == kReport) note(std::max(r, 0.), weight * p.value);
    if (mode_ == kShift) shift = std::max(-epsilon, r + shift);
    total += weight * p.value;
    if (!differentiates() || p.curvature == 0) return;
    rows_.value[0] = p.slope / p.curvature;
    problem_.scatter(rows_, VectorXd::Constant(1, weight * p.curvature), mode_ == kSlopes);
  }

  double total = 0;

 private:
  bool differentiates() const { return mode_ == kSlopes || mode_ == kGradient; }
  bool constrains() const { return term_->kind == MotionTerm::Kind::constraint; }
  double& next() {
    if (at_ == problem_.shifts_.size()) problem_.shifts_.push_back(0);
    return problem_.shifts_[at_++];
  }
  void note(double r, double value) {
    TermReport& report = problem_.reports_[index_];
    report.value += value;
    if (!(std::abs(r) * term_->scale > report.worst) && report.sample >= 0) return;
    report.worst = std::abs(r) * term_->scale;
    report.sample = sample_;
    report.effector = effector_;
  }

  MotionProblem& problem_;
  const int mode_;
  const MotionTerm* term_ = nullptr;
  double weight_ = 0;
  int index_ = 0;
  std::size_t at_ = 0;
};

MotionProblem::MotionProblem(std::shared_ptr<const LeggedModel> model, MotionTask task)
    : model_(std::move(model)),
      task_((check(*model_, task), std::move(task))),
      layout_(*model_, static_cast<int>(task_.contact.rows())),
      evaluation_(*model_, task_, layout_),
      weighted_(int{MotionRows::kRows}, 4 * layout_.sample_size() + 8) {
  terms_ = make_terms(*model_, task_);
  select(kAllGroups, {});
}

void MotionProblem::set_task(MotionTask task) {
  check(*model_, task);
  if (task.contact.rows() != samples()) {
    refuse("motion: samples", "as many as before: " + std::to_string(samples()),
           task.contact.rows());
  }
  task_ = std::move(task);
  terms_ = make_terms(*model_, task_);
  select(kAllGroups, {});
}

void MotionProblem::select(unsigned groups, const std::vector<std::string>& names) {
  counts_.assign(terms_.size(), names.empty());
  for (const std::string& name : names) {
    for (std::size_t t = 0; t < terms_.size(); ++t) counts_[t] |= terms_[t]->name == name;
  }
  free_.assign(layout_.size(), 0);
  const auto let = [&](unsigned group, int at, int count) {
    if (groups & group) std::fill_n(free_.begin() + at, count, 1);
  };
  const std::vector<EndEffector>& effectors = model_->effectors();
  for (int j = 0; task_.free_forces && task_.fixed > 0 && j < model_->effector_count(); ++j) {
    if (task_.contact(task_.fixed - 1, j)) let(kForces, layout_.f(task_.fixed - 1, j), 3);
  }
  for (int i = task_.fixed; i < samples(); ++i) {
    let(kBody, layout_.x(i), 6);
    for (int j = 0; j < model_->effector_count(); ++j) {
      let(kContacts, layout_.e(i, j), 3);
      if (task_.contact(i, j)) let(kForces, layout_.f(i, j), 3);
      if (!effectors[j].is_wheel()) continue;
      let(kWheels, layout_.spin(i, j), 3);
    }
    let(kPose, layout_.q(i), layout_.q_size());
  }
  // A period that turns repeats itself on the plane z = 0 alone.
  if (task_.end == PlanEnd::periodic) let(kTravel, layout_.travel(), task_.ground ? 3 : 4);
  active_.assign(layout_.size(), -1);
  active_count_ = 0;
  std::vector<int> sizes(samples(), 0);
  int travel = 0;
  for (int k = 0; k < layout_.size(); ++k) {
    if (!free_[k]) continue;
    active_[k] = active_count_++;
    ++(k < layout_.travel() ? sizes[k / layout_.sample_size()] : travel);
  }
  hessian_ = std::make_unique<BandedMatrix>(sizes, travel, task_.end == PlanEnd::periodic);
  shifts_.clear();
}

void MotionProblem::regularize(double factor) {
  if (!(factor > 0)) refuse("motion: regularize: factor", "> 0", factor);
  regularization_ = factor;
  shifts_.clear();
}

double MotionProblem::pass(const MotionPlan& plan, int mode) {
  evaluation_.look(plan, mode == Sink::kSlopes || mode == Sink::kGradient);
  Sink sink(*this, mode);
  for (std::size_t t = 0; t < terms_.size(); ++t) {
    if (!counts_[t]) continue;
    sink.of(*terms_[t], static_cast<int>(t));
    terms_[t]->add(evaluation_, sink);
  }
  return sink.total;
}

double MotionProblem::value(const MotionPlan& plan) { return pass(plan, Sink::kValue); }

double MotionProblem::linearize(const MotionPlan& plan) {
  gradient_ = VectorXd::Zero(layout_.size());
  hessian_->set_zero();
  return pass(plan, Sink::kSlopes);
}

MatrixXd MotionProblem::second_derivative(const MotionPlan& plan) {
  constexpr double kStep = 1e-5;
  MatrixXd found(active_count_, active_count_);
  gradient_.resize(layout_.size());
  VectorXd step = VectorXd::Zero(layout_.size());
  for (int k = 0; k < layout_.size(); ++k) {
    if (active_[k] < 0) continue;
    VectorXd gradients[2];
    for (const int side : {0, 1}) {
      MotionPlan moved = plan;
      step[k] = side ? kStep : -kStep;
      move(step, moved);
      gradient_.setZero();
      pass(moved, Sink::kGradient);
      gradients[side] = gradient_;
    }
    step[k] = 0;
    for (int i = 0; i < layout_.size(); ++i) {
      if (active_[i] < 0) continue;
      found(active_[i], active_[k]) = (gradients[1][i] - gradients[0][i]) / (2 * kStep);
    }
  }
  return 0.5 * (found + found.transpose());
}

void MotionProblem::scatter(const MotionRows& r, const VectorXd& weights, bool curvature) {
  const auto J = r.J();
  const Eigen::Matrix<double, Eigen::Dynamic, 1, 0, MotionRows::kRows, 1> slope =
      weights.cwiseProduct(r.value.head(r.rows()));
  for (const MotionRows::Block& one : r.blocks()) {
    gradient_.segment(one.at, one.size).noalias() +=
        J.middleCols(one.column, one.size).transpose() * slope;
  }
  if (!curvature) return;
  weighted_.topLeftCorner(r.rows(), r.columns()) = weights.asDiagonal() * J;
  const auto W = weighted_.topLeftCorner(r.rows(), r.columns());
  for (std::size_t a = 0; a < r.blocks().size(); ++a) {
    const MotionRows::Block& first = r.blocks()[a];
    if (active_[first.at] < 0) continue;  // a block is free as a whole
    for (std::size_t b = 0; b <= a; ++b) {
      const MotionRows::Block& second = r.blocks()[b];
      if (active_[second.at] < 0) continue;
      hessian_->add(active_[first.at], active_[second.at], W.middleCols(first.column, first.size),
                    J.middleCols(second.column, second.size));
    }
  }
}

bool MotionProblem::newton_step(double damping, VectorXd& step) {
  if (!hessian_->factor(damping)) return false;
  VectorXd x(active_count_);
  for (int k = 0; k < layout_.size(); ++k) {
    if (active_[k] >= 0) x[active_[k]] = -gradient_[k];
  }
  hessian_->solve(x);
  step = VectorXd::Zero(layout_.size());
  for (int k = 0; k < layout_.size(); ++k) {
    if (active_[k] >= 0) step[k] = x[active_[k]];
  }
  return step.allFinite();
}

void MotionProblem::move(const VectorXd& step, MotionPlan& plan) const {
  layout_.move(model_->tree(), step, free_, plan);
}

void MotionProblem::shift(const MotionPlan& plan) { pass(plan, Sink::kShift); }

std::vector<TermReport> MotionProblem::report(const MotionPlan& plan) {
  reports_.clear();
  for (const auto& term : terms_) {
    TermReport one;
    one.name = term->name;
    one.unit = term->unit;
    one.kind = term->kind;
    one.tolerance = term->tolerance;
    reports_.push_back(one);
  }
  pass(plan, Sink::kReport);
  return reports_;
}

bool MotionProblem::feasible(const MotionPlan& plan) {
  for (const TermReport& one : report(plan)) {
    if (one.kind == MotionTerm::Kind::constraint && !(one.worst <= one.tolerance)) return false;
  }
  return true;
}

MotionPlan MotionProblem::standing() const {
  const LeggedModel& m = *model_;
  DynamicsWorkspace work(m.bodies());
  LeggedKinematics at;
  m.place(m.stance().data(), false, work, at);
  MotionSample sample;
  sample.x = at.com;
  sample.R = at.R;
  sample.q = m.stance();
  for (int j = 0; j < m.effector_count(); ++j) {
    const LeggedKinematics::Effector& seen = at.effectors[j];
    const EndEffector& one = m.effectors()[j];
    double yaw = 0, tilt = 0;
    Vector3d e = seen.position;
    if (one.is_wheel()) {
      const Vector3d& a = seen.axis;  // on flat ground: cos tilt (-sin yaw, cos yaw), sin tilt
      const double across = a.head<2>().norm();
      yaw = across > 1e-9 ? std::atan2(-a.x(), a.y()) : 0.;
      tilt = std::atan2(a.z(), across);
      const Vector3d b(-std::sin(yaw), std::cos(yaw), 0);
      e += one.radius * (std::sin(tilt) * b - std::cos(tilt) * Vector3d::UnitZ());
    }
    sample.e.push_back(e);
    sample.f.push_back(Vector3d::Zero());
    sample.yaw.push_back(yaw);
    sample.tilt.push_back(tilt);
    sample.spin.push_back(0);
  }
  MotionPlan plan{std::vector<MotionSample>(samples(), sample), {}};
  share_weight(plan);
  return plan;
}

void MotionProblem::share_weight(MotionPlan& plan) const {
  for (int i = 0; i < samples(); ++i) {
    const int count = std::max(1, task_.contact.row(i).cast<int>().sum());
    for (int j = 0; j < model_->effector_count(); ++j) {
      plan.samples[i].f[j] = Vector3d(0, 0, task_.contact(i, j) ? 1. / count : 0.);
    }
  }
}

void MotionProblem::clear_airborne(MotionPlan& plan) const {
  for (int i = 0; i < samples(); ++i) {
    for (int j = 0; j < model_->effector_count(); ++j) {
      if (!task_.contact(i, j)) plan.samples[i].f[j].setZero();
    }
  }
}

}  // namespace diffsim
