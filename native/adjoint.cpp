// Gradients by lambda: one backward pass through a rollout [G 4.24-4.26].
#include <cmath>
#include <sstream>

#include "blame.hpp"
#include "rollout.hpp"

namespace diffsim {
namespace {

constexpr int kDegrees = 6;  // of multipliers over the steps: they are exact to many digits

// Cotangents of the poses, velocities and forces of steps i, i-1, i-2, newest first.
struct Cotangents {
  MatrixXd x[3], v[3], f[3];

  explicit Cotangents(int ndof) {
    for (int k = 0; k < 3; ++k) {
      x[k].setZero(ndof, 1);
      v[k].setZero(ndof, 1);
      f[k].setZero(ndof, 1);
    }
  }

  // From the step's forces to what they follow from (momentum_rate.hpp).
  void pull_force(const StepDerivatives& d, VectorXd& held) {
    if (!d.scheme.keeps_force) return;
    for (int k = 0; k <= d.scheme.order; ++k) {
      d.momentum.K[k].multiply_transposed_add(f[0], x[k]);
      d.momentum.B[k].multiply_transposed_add(f[0], v[k]);
      if (k > 0) f[k] -= d.scheme.lag[k] * f[0];
    }
    add(d, d.momentum.by_p, f[0], held);
  }

  static void add(const StepDerivatives& d, const std::vector<ParameterColumns::Entry>& entries,
                  const MatrixXd& by, VectorXd& held) {
    for (const auto& e : entries) {
      held[d.columns[e.column]] += e.value.dot(by.col(0).segment<3>(e.row));
    }
  }

  // Through one step with multiplier lam, from its end to what it began with.
  void pull(const StepDerivatives& d, const MatrixXd& lam, bool points_only) {
    d.K.multiply_transposed_add(lam, x[0]);
    if (!points_only) d.B.multiply_transposed_add(lam, v[0]);  // rotations alone look back on v
    for (int k = 1; k <= d.scheme.order; ++k) {
      d.past_K[k - 1].multiply_transposed_add(lam, x[k]);
      d.past_B[k - 1].multiply_transposed_add(lam, v[k]);
      if (d.scheme.lags()) f[k] -= d.scheme.lag[k] * lam;
    }
    d.map.history_transposed(x, v);
    for (MatrixXd* M : {x, v, f}) {
      std::swap(M[0], M[1]);
      std::swap(M[1], M[2]);
      M[2].setZero();
    }
  }
};

}  // namespace

/// The linearized steps of a rollout from the last to the first: stored ones, or made again.
class Rollout::Backward {
 public:
  explicit Backward(Rollout& r)
      : r_(&r),
        stepper_(r.make_stepper()),
        active_(r.active_),
        step_(*r.scene_, r.options_.stagnate) {}

  /// Gives record i and those before it the states that its derivatives look at; before at(i).
  void restore(std::size_t i) {
    if (i + 2 < r_->records_.size()) r_->drop_state(i + 2);
    if (r_->records_[i > 2 ? i - 2 : 0].state && r_->records_[i > 1 ? i - 1 : 0].state) return;
    if (!again_) again_ = r_->make_stepper();
    r_->restore_states(i, *again_);
  }
  /// Through record i without its linearization, where that can be (Stepper::pull).
  bool pull(int i, MatrixXd& x, MatrixXd& v, VectorXd& held) {
    if (r_->records_[i].linearized) return false;
    if (!stepper_->pull(r_->window(i), r_->p_, active_, x, v, held)) return false;
    if (x.allFinite() && v.allFinite()) return true;
    const int row = row_beyond(x);
    r_->refuse_step(static_cast<std::size_t>(i), row < 0 ? row_beyond(v) : row);
  }
  /// Record i; call with i falling by one.
  LinearizedStep& at(int i) {
    Record& record = r_->records_[i];
    if (record.linearized) return *record.linearized;
    if (!worker_.wait()) differentiate(i);
    std::swap(step_.d, next_);
    if (r_->threads_ > 1 && i > static_cast<int>(r_->first_) + 1) {
      worker_.begin([this, i] { differentiate(i - 1); });
    }
    if (!step_.factor(r_->profile(), true)) {
      r_->refuse_step(static_cast<std::size_t>(i), singular_row(*r_->scene_, step_, {}));
    }
    return step_;
  }

 private:
  void differentiate(int i) {
    stepper_->differentiate(r_->window(i), r_->p_, active_, false, next_);
  }

  Rollout* r_;
  std::unique_ptr<Stepper> stepper_, again_;  // again_: for states that were dropped
  ActiveColumns active_;
  LinearizedStep step_;
  StepDerivatives next_;
  Worker worker_;  // makes next_; last, so that it ends before what it uses
};

void Rollout::check_cotangents(const MatrixXd& gx, const MatrixXd& gv, const MatrixXd& gy) const {
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
  if (gy.size() > 0 && (gy.rows() != outputs_.size() || gy.cols() != count)) {
    refuse("gradient: dO/dy",
           "must have shape (frames, outputs) = (" + std::to_string(count) + ", " +
               std::to_string(outputs_.size()) + ")",
           gy.size());
  }
}

void Rollout::refuse_step(std::size_t i, int dof) const {
  std::ostringstream text;
  text << "the step to t = " << records_[i].t << " s: " << worst_of(i, dof);
  refuse("gradient", "needs steps whose derivatives can be computed", text.str());
}

void Rollout::check_gradient(const VectorXd& gradient) const {
  if (gradient.allFinite()) return;
  for (std::size_t i = 0; i < active_.all().size(); ++i) {
    const int column = active_.all()[i];
    if (column < 0 || std::isfinite(gradient[column])) continue;
    refuse("gradient", "must be finite",
           "an overflow for '" + scene_->parameters().info()[i].name + "'");
  }
}

MatrixXd Rollout::multiplier(std::size_t i, LinearizedStep& step, const MatrixXd& x,
                             const MatrixXd& v, Extrapolation& past) {
  MatrixXd lam = -step.d.map.rates_transposed(x, v);
  const Stopwatch watch(profile(), &Timing::derivative);
  MatrixXd start;
  if (past.count() > 1) {
    VectorXd next;
    past.next(past.degree(scene_->residual_scale()), next);
    start = next;
  }
  if (!step.solver.solve_transposed(step.A, lam, options_.gradient_tolerance, start).reached) {
    refuse_step(i, singular_row(*scene_, step, {&x, &v}));
  }
  past.add(lam.col(0));
  return lam;
}

VectorXd Rollout::gradient(const MatrixXd& gx, const MatrixXd& gv, const MatrixXd& gy,
                           const CancelToken* cancel) {
  SnapshotCotangents end = MatrixXd::Zero(scene_->ndof(), 4);
  return gradient(gx, gv, gy, end, cancel);
}

VectorXd Rollout::gradient(const MatrixXd& gx, const MatrixXd& gv, const MatrixXd& gy,
                           SnapshotCotangents& end, const CancelToken* cancel) {
  check_cotangents(gx, gv, gy);
  if (end.rows() != scene_->ndof() || end.cols() != 4) {
    refuse("gradient: end", "must have 4 columns of the scene's degrees of freedom", end.size());
  }
  const Stopwatch watch(profile(), &Timing::total);
  Cotangents to(scene_->ndof());
  for (int k = 0; k < 2; ++k) {
    to.x[k] = end.col(2 * k);
    to.v[k] = end.col(2 * k + 1);
  }
  VectorXd held = VectorXd::Zero(active_.size());              // by place
  MatrixXd explicit_part = MatrixXd::Zero(active_.size(), 1);  // of the outputs
  Backward backward(*this);
  Extrapolation multipliers(kDegrees);  // newest: of the step after
  const int start = static_cast<int>(first_);
  for (int i = static_cast<int>(records_.size()) - 1; i >= start; --i) {
    backward.restore(i);
    if (const int frame = records_[i].frame; frame >= 0) {
      to.x[0] += gx.col(frame);
      to.v[0] += gv.col(frame);
      if (gy.size() > 0) {
        OutputJacobian by(active_.all());
        outputs_.evaluate(window(i), p_, &by);
        for (int k = 0; k < 3; ++k) {
          by.pull_x(k, gy.col(frame), to.x[k]);
          by.pull_v(k, gy.col(frame), to.v[k]);
          by.pull_f(k, gy.col(frame), to.f[k]);
        }
        by.pull_p(gy.col(frame), explicit_part);
      }
    }
    if (i == start) break;
    if (cancel && cancel->cancelled.load(std::memory_order_relaxed)) {
      refuse("gradient", "must go back to the start", "a cancelled one");
    }
    if (backward.pull(i, to.x[0], to.v[0], held)) continue;
    LinearizedStep& step = backward.at(i);
    to.pull_force(step.d, held);
    if (scene_->articulation()) {
      const VectorXd places = step.d.articulation.pull(step.d.places, to.x[0], to.v[0]);
      for (std::size_t t = 0; t < step.d.places.size(); ++t) {
        const int column = active_.all()[step.d.places[t].parameter];
        explicit_part(column, 0) += places[static_cast<Eigen::Index>(t)];
      }
    }
    MatrixXd lam = multiplier(static_cast<std::size_t>(i), step, to.x[0], to.v[0], multipliers);
    if (scene_->articulation()) step.d.articulation.spread(lam);
    Cotangents::add(step.d, step.d.dr_dp, lam, held);
    if (step.d.moved) {
      Cotangents::add(step.d, step.d.moved_p, to.x[0], held);
      step.d.moved_K.multiply_transposed_add(to.x[0], to.x[1]);
      step.d.moved_B.multiply_transposed_add(to.x[0], to.v[1]);
    }
    to.pull(step.d, lam, scene_->points_only());
  }
  if (start_) {
    start_->K.multiply_transposed_add(-to.f[0], to.x[0]);
    start_->B.multiply_transposed_add(-to.f[0], to.v[0]);
    Cotangents::add(*start_, start_->dr_dp, -to.f[0], held);
  }
  end.setZero();
  if (continues_) {
    for (int k = 0; k < 2; ++k) {
      end.col(2 * k) = to.x[k];
      end.col(2 * k + 1) = to.v[k];
    }
  } else {
    MatrixXd X, V;
    start_sensitivity(X, V);
    held.head(X.cols()) += X.transpose() * to.x[0] + V.transpose() * to.v[0];
  }
  VectorXd result = explicit_part;
  for (int place = 0; place < active_.size(); ++place) {
    result[active_.order()[place]] += held[place];
  }
  check_gradient(result);
  return result;
}

}  // namespace diffsim
