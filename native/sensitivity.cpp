// Direct sensitivities: S carried along with the motion [G 4.4, 4.5]; every step is linear in
// dr/dp, so S D of some directions D costs as many columns as D has, however many parameters they
// move.
#include "rollout.hpp"

namespace diffsim {
namespace {

// A (rows, places) matrix of S with its columns in the caller's order; places not begun are zero.
MatrixXd in_order(const MatrixXd& S, const std::vector<int>& order) {
  MatrixXd all = MatrixXd::Zero(S.rows(), static_cast<Eigen::Index>(order.size()));
  for (Eigen::Index place = 0; place < S.cols(); ++place) all.col(order[place]) = S.col(place);
  return all;
}

}  // namespace

void Rollout::begin_forward() {
  forward_ = std::make_unique<Forward>(*scene_, options_.stagnate);
  MatrixXd *x = forward_->x, *v = forward_->v;
  start_sensitivity(x[0], v[0]);
  for (int k = 1; k < 3; ++k) x[k] = v[k] = MatrixXd::Zero(scene_->ndof(), x[0].cols());
  if (!options_.spectral_radius) return;
  for (MatrixXd& f : forward_->f) f = x[1];
  if (!start_) return;
  MatrixXd& f = forward_->f[0];
  add_columns(*start_, start_->dr_dp, f);
  start_->K.multiply_add(x[0], f);
  start_->B.multiply_add(v[0], f);
  f = -f;
}

void Rollout::add_columns(const StepDerivatives& d,
                          const std::vector<ParameterColumns::Entry>& entries, MatrixXd& to) const {
  for (const auto& e : entries) {
    const int place = d.columns[e.column];
    if (directions_) {
      to.middleRows<3>(e.row) += e.value * directions_->row(active_.order()[place]);
    } else {
      to.col(place).segment<3>(e.row) += e.value;
    }
  }
}

void Rollout::start_sensitivity(MatrixXd& X, MatrixXd& V) const {
  MatrixXd x = MatrixXd::Zero(scene_->ndof(), active_.size()), v = x;
  scene_->start_sensitivity(p_, active_.all(), x, v);
  if (directions_) {
    X = x * *directions_;
    V = v * *directions_;
    return;
  }
  const int begun = active_.begun(0);
  X.resize(scene_->ndof(), begun);
  V.resize(scene_->ndof(), begun);
  for (int place = 0; place < begun; ++place) {
    X.col(place) = x.col(active_.order()[place]);
    V.col(place) = v.col(active_.order()[place]);
  }
}

void Rollout::expand(const StepDerivatives& d, MatrixXd& X, MatrixXd& V) const {
  MatrixXd place = MatrixXd::Zero(static_cast<Eigen::Index>(d.places.size()), X.cols());
  for (std::size_t t = 0; t < d.places.size(); ++t) {
    const auto row = static_cast<Eigen::Index>(t);
    const int column = active_.all()[d.places[t].parameter];
    if (directions_) {
      place.row(row) = directions_->row(column);
    } else {
      const auto& order = active_.order();
      for (Eigen::Index c = 0; c < X.cols(); ++c) place(row, c) = order[c] == column;
    }
  }
  d.articulation.expand(d.places, place, X, V);
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
  stepper.differentiate(now, p_, active_, true, forward_->next);
  if (!finish()) throw LateFailure();
  std::swap(forward_->next, forward_->step.d);
  const double t = record.t;
  if (threads_ == 1) return advance_sensitivity(t);
  forward_->under_way = true;
  forward_->worker.begin([this, t] { forward_->advanced = advance_sensitivity(t); });
  return true;
}

bool Rollout::finish() {
  if (!forward_->under_way) return true;
  forward_->worker.wait();
  forward_->under_way = false;
  if (forward_->advanced) fill_frame();
  return forward_->advanced;
}

bool Rollout::advance_sensitivity(double t) {
  Forward& f = *forward_;
  if (!f.step.factor(profile(), false)) return false;
  const StepDerivatives& d = f.step.d;
  for (MatrixXd* M : {f.x, f.v, f.f}) {
    std::swap(M[2], M[1]);
    std::swap(M[1], M[0]);
  }
  const auto held = f.x[1].cols();
  const auto begun = directions_ ? held : active_.begun(t);
  if (begun > held) {
    for (int k = 0; k < 3; ++k) {
      for (MatrixXd* M : {&f.x[k], &f.v[k], &f.f[k]}) {
        if (M->rows() == 0) continue;
        M->conservativeResize(Eigen::NoChange, begun);
        M->rightCols(begun - held).setZero();
      }
    }
  }
  d.map.history(f.x, f.v);
  MatrixXd rhs = MatrixXd::Zero(scene_->ndof(), begun);
  add_columns(d, d.dr_dp, rhs);
  d.K.multiply_add(f.x[0], rhs);
  d.B.multiply_add(f.v[0], rhs);
  for (int k = 1; k <= d.scheme.order; ++k) {
    d.past_K[k - 1].multiply_add(f.x[k], rhs);
    d.past_B[k - 1].multiply_add(f.v[k], rhs);
    if (d.scheme.lags()) rhs -= d.scheme.lag[k] * f.f[k];
  }
  if (scene_->articulation()) d.articulation.reduce(rhs);
  rhs = -rhs;
  const Stopwatch watch(profile(), &Timing::derivative);
  if (!f.step.solver.solve(f.step.A, rhs, options_.gradient_tolerance).reached) return false;
  d.map.add_rates(rhs, f.x[0], f.v[0]);
  if (d.moved) {
    d.moved_K.multiply_add(f.x[1], f.x[0]);
    d.moved_B.multiply_add(f.v[1], f.x[0]);
    add_columns(d, d.moved_p, f.x[0]);
  }
  if (scene_->articulation()) expand(d, f.x[0], f.v[0]);
  if (!d.scheme.keeps_force) return true;
  f.f[0].setZero(scene_->ndof(), begun);
  add_columns(d, d.momentum.by_p, f.f[0]);
  for (int k = 0; k <= d.scheme.order; ++k) {
    d.momentum.K[k].multiply_add(f.x[k], f.f[0]);
    d.momentum.B[k].multiply_add(f.v[k], f.f[0]);
    if (k > 0 && d.scheme.lags()) f.f[0] -= d.scheme.lag[k] * f.f[k];
  }
  return true;
}

MatrixXd Rollout::output_sensitivity() const {
  const Forward& f = *forward_;
  MatrixXd dy = MatrixXd::Zero(outputs_.size(), f.x[0].cols());
  if (outputs_.size() == 0) return dy;
  for (int k = 0; k < 3; ++k) {
    f.by->push_x(k, f.x[k], dy);
    f.by->push_v(k, f.v[k], dy);
    f.by->push_f(k, f.f[k], dy);
  }
  if (directions_) {
    f.by->push_p(*directions_, dy);
  } else {
    dy = in_order(dy, active_.order());
    f.by->push_p(dy);
  }
  return dy;
}

void Rollout::fill_frame() {
  if (!forward_->frame_waits) return;
  const MatrixXd &x = forward_->x[0], &v = forward_->v[0];
  frames.back().dx = directions_ ? x : in_order(x, active_.order());
  frames.back().dv = directions_ ? v : in_order(v, active_.order());
  frames.back().dy = output_sensitivity();
  forward_->frame_waits = false;
}

}  // namespace diffsim
