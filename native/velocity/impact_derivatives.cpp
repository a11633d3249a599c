// Derivatives of a step that impacts split (impact.cpp): those of its parts one after the other,
// with the times of impact by the implicit function theorem,
//   ds = -(g_x dx' + g_p dp)/(g_x dx'/ds),   dx' and dx'/ds at the end of the part of length s,
// and the last part's length is what they leave.
#include "../bodies/kinematics.hpp"
#include "../rotation.hpp"
#include "velocity_stepper.hpp"

namespace diffsim {
namespace {

// f(first row, J): of what turns, J_l of the part's rotation; elsewhere J is the identity.
template <class F>
void each_rotation(const std::vector<Node>& nodes, F&& f) {
  for (const Node& n : nodes) {
    if (!n.dependent && n.turns()) f(n.turn(), n.frame);
  }
}

}  // namespace

void VelocityStepper::recover_part(const Part& part, const State& from, double t,
                                   const VectorXd& p) {
  impact_ = part.kind == Part::Kind::impact;
  impacts_ = part.kind == Part::Kind::kick ? Impacts::none : Impacts::stepped;
  joints_act_ = part.kind == Part::Kind::step;
  h_ = part.length;
  recover(from, part.end, t, p);
  if (part.kind == Part::Kind::step) weigh_part(part.length);
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& island = islands_[i];
    island.share = part.shares.empty() ? 1 : part.shares[i];
    for (Touch& touch : island.touches) {
      touch.share = island.share;
      touch.restitution *= island.share;
    }
  }
}

VelocityStepper::Closing VelocityStepper::closing(const Part& part, const VectorXd& p,
                                                  const ActiveColumns& active) {
  Closing to{VectorXd::Zero(scene_->ndof()), {}};
  at_.place(p, part.end);
  gaps_.clear();
  part.element->gaps(part.end, p, kInfinity, 0, gaps_);
  for (const Gap& gap : gaps_) {
    if (gap.point != part.point) continue;
    Touch touch{};
    touch.gap = gap;
    const int node = model_->moves(gap.node) ? gap.node : gap.carrier;
    const int index = model_->island_of(model_->steps()[model_->step_of(node)].dof);
    const Moves move = moves(touch);
    const auto& dofs = model_->islands()[index].dofs;
    for (std::size_t k = 0; k < dofs.size(); ++k) {
      to.by_pose[dofs[k]] = move.g[static_cast<Eigen::Index>(k)];
    }
    shape_.clear();
    const ParameterColumns listed(active.column_of());
    part.element->gap_slopes(gap, part.end, p, listed, shape_);
    for (const GapSlope& by : shape_) {
      to.by_p.emplace_back(listed.column(by.parameter), shape_motion(gap, by, Vector3d::Zero()).g);
    }
  }
  return to;
}

void VelocityStepper::slopes_by_length(const Part& part, const VectorXd& p, VectorXd& by_v,
                                       VectorXd& by_x) {
  const double s = part.length;
  by_v.setZero(rates_.size());
  set_free_slopes(p);
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& island = islands_[i];
    const int index = static_cast<int>(i);
    const auto& dofs = model_->islands()[i].dofs;
    const Eigen::Index n = island.M.size();
    // M~ (to - u)/s less what h and the end of the step do to joints' forces.
    const auto rows = [&](const VectorXd& to, const JointForces::Rows& joint) {
      VectorXd own(n);
      for (Eigen::Index k = 0; k < n; ++k) {
        const int dof = dofs[k];
        own[k] =
            joint.slope[dof] * (to[dof] - start_rates_[dof]) + s * joint.by_pose[dof] * to[dof];
      }
      return own;
    };
    VectorXd own = rows(free_, joint_free_);
    free_factor(island).solve(own.data());
    MatrixXd free(n, 1);
    for (Eigen::Index k = 0; k < n; ++k) {
      free(k, 0) = (free_[dofs[k]] - start_rates_[dofs[k]]) / s - own[k];
    }
    solve_velocity_terms(index, free);
    VectorXd smooth = free.col(0);
    if (presses(island)) {
      const ContactProblem& problem = island.problem;
      const int count = static_cast<int>(island.touches.size());
      std::vector<int> all;
      std::vector<ContactProblem::Law> laws;
      VectorXd pressed = island.H * problem.lambda;
      island.M.solve_lower(pressed.data());
      own = rows(rates_, joint_) + velocity_terms(index, smooth);
      island.M.solve(own.data());
      for (Eigen::Index k = 0; k < n; ++k) {
        smooth[k] = (rates_[dofs[k]] - start_rates_[dofs[k]] - pressed[k]) / s - own[k];
      }
      const VectorXd seen = island.J.transpose() * smooth;
      VectorXd change(3 * count);
      for (int c = 0; c < count; ++c) {
        all.push_back(c);
        laws.push_back(problem.law(c));
        const Touch& touch = island.touches[c];
        const double bound = touch.bounces ? 0
                             : touch.deep  ? kTakeBack * gravity_
                                           : touch.gap.g / (s * s);
        change.segment<3>(3 * c) = laws[c].by_c * seen.segment<3>(3 * c) + laws[c].by_bound * bound;
      }
      change = problem.slopes(all, laws).partialPivLu().solve(change).eval();
      VectorXd back = island.H * change;
      island.M.solve_lower(back.data());
      smooth -= back;
    }
    for (Eigen::Index k = 0; k < n; ++k) by_v[dofs[k]] = smooth[k];
  }
  by_x = by_end_.cwiseProduct(by_v) + rates_;
  for (Eigen::Index k = 0; k < by_x.size(); ++k) {
    if (by_start_[k] != 0) by_x[k] += (start_rates_[k] - rates_[k]) / 2;
  }
  each_rotation(scene_->nodes(), [&](int turn, int frame) {
    by_x.segment<3>(turn) = left_jacobian(part.end.theta[frame]) * Vector3d(by_x.segment<3>(turn));
  });
}

void VelocityStepper::pull_parts(const Window& window, const VectorXd& p, ActiveColumns& active,
                                 MatrixXd& x, MatrixXd& v, VectorXd& held) {
  double rest = 0;  // cotangent of the last part's length
  VectorXd by_v, by_x;
  for (std::size_t k = parts_.size(); k-- > 0;) {
    const Part& part = parts_[k];
    const State& from = k > 0 ? parts_[k - 1].end : *window.at[1];
    Closing gap;
    if (part.element) gap = closing(part, p, active);
    recover_part(part, from, window.t, p);
    if (part.kind == Part::Kind::impact) {
      pull_impact(from, p, active, x, v, held);
      continue;
    }
    VectorXd kept;
    if (part.kind == Part::Kind::kick) {
      u_ = v.col(0);
      kept.setZero(u_.size());
    } else {
      slopes_by_length(part, p, by_v, by_x);
      const double by_length = by_x.dot(x.col(0)) + by_v.dot(v.col(0));
      if (part.element) {
        const double weight = -(by_length - rest) / gap.by_pose.dot(by_x);
        x.col(0) += weight * gap.by_pose;
        for (const auto& [column, value] : gap.by_p) {
          held[active.columns()[column]] += weight * value;
        }
      } else {
        rest = by_length;
      }
      kept = pull_displacement(part, x, v);
    }
    pull_rates(p, part.kind == Part::Kind::kick ? &part.kicked : nullptr);
    v.col(0) = u_ + kept;
    const Window start{{&from, &from, nullptr}, TimeScheme::bdf(1, part.length), window.t};
    pull_forces(start, p, active, x, v, held);
  }
}

VectorXd VelocityStepper::pull_displacement(const Part& part, MatrixXd& x, const MatrixXd& v) {
  VectorXd by_D = x.col(0);
  each_rotation(scene_->nodes(), [&](int turn, int frame) {
    const Vector3d by_pose = x.col(0).segment<3>(turn), &theta = part.end.theta[frame];
    by_D.segment<3>(turn) = left_jacobian(theta).transpose() * by_pose;
    x.col(0).segment<3>(turn) = exp_rotation(theta).transpose() * by_pose;
  });
  u_ = by_end_.cwiseProduct(by_D) + v.col(0);
  return -by_start_.cwiseProduct(by_D);
}

void VelocityStepper::pull_impact(const State& from, const VectorXd& p, ActiveColumns& active,
                                  MatrixXd& x, MatrixXd& v, VectorXd& held) {
  u_ = v.col(0);
  end_weights_.setZero();
  VectorXd of_before = VectorXd::Zero(u_.size());
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    const int index = static_cast<int>(i);
    if (limited(islands_[i])) {
      const auto& dofs = model_->islands()[i].dofs;
      double by_share = 0;
      const VectorXd du = slopes_by_share(islands_[i], by_share);
      VectorXd x_E = VectorXd::Zero(u_.size()), v_E = x_E, held_E = VectorXd::Zero(held.size());
      const VectorXd u_E = pull_energy(index, p, active, x_E, v_E, held_E);
      const double weight = -u_(dofs).dot(du) / by_share;
      u_ += weight * u_E;
      x.col(0) += weight * x_E;
      of_before += weight * v_E;
      held += weight * held_E;
    }
    pull_impulses(islands_[i], index, u_, end_weights_);
  }
  v.col(0) = u_ + of_before;
  const VectorXd w = -end_weights_, change = rates_ - start_rates_;
  at_.move(VectorXd::Zero(rates_.size()));
  at_.accelerate(&change);
  bias_.setZero();
  at_.add_inertia(p, &change, nullptr, bias_);
  adjoint_.begin(at_, start_rates_, w, rates_, end_weights_);
  adjoint_.add_inertia();
  pull_inertia_columns(active, change, w, held);
  pull_contacts(from, p, active, held);
  adjoint_.finish(x.col(0), v.col(0));
}

void VelocityStepper::differentiate_parts(const Window& window, const VectorXd& p,
                                          ActiveColumns& active, StepDerivatives& step) {
  const auto& nodes = scene_->nodes();
  active.select(window.t);
  const Eigen::Index n = scene_->ndof();
  const auto parameters = static_cast<Eigen::Index>(active.columns().size());
  // By poses and velocities where the step begins, and by parameters.
  MatrixXd X = MatrixXd::Zero(n, 2 * n + parameters), V = X;
  X.leftCols(n).setIdentity();
  V.middleCols(n, n).setIdentity();
  Eigen::RowVectorXd rest = Eigen::RowVectorXd::Zero(2 * n + parameters);
  VectorXd by_v, by_x;
  for (std::size_t k = 0; k < parts_.size(); ++k) {
    const Part& part = parts_[k];
    const State& from = k > 0 ? parts_[k - 1].end : *window.at[1];
    Closing gap;
    if (part.element) gap = closing(part, p, active);
    recover_part(part, from, window.t, p);
    if (part.kind == Part::Kind::step) slopes_by_length(part, p, by_v, by_x);
    const Window start{{&from, &from, nullptr}, TimeScheme::bdf(1, part.length), window.t};
    std::vector<Slopes> own = slopes(start, p, active);
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (limited(islands_[i])) add_share(static_cast<int>(i), p, active, own[i]);
    }
    MatrixXd next = MatrixXd::Zero(n, X.cols());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const auto& dofs = model_->islands()[i].dofs;
      if (part.kind == Part::Kind::kick && !part.kicked[i]) {
        next(dofs, Eigen::all) = V(dofs, Eigen::all);
        continue;
      }
      MatrixXd of = own[i].q * X(dofs, Eigen::all) + own[i].u * V(dofs, Eigen::all);
      for (std::size_t c = 0; c < own[i].columns.size(); ++c) {
        of.col(2 * n + own[i].columns[c]) += own[i].p.col(static_cast<Eigen::Index>(c));
      }
      next(dofs, Eigen::all) = of;
    }
    if (part.kind != Part::Kind::step) {
      V = next;
      continue;
    }
    MatrixXd D = by_end_.asDiagonal() * next;
    D -= by_start_.asDiagonal() * V;
    each_rotation(nodes, [&](int turn, int frame) {
      const Vector3d& theta = part.end.theta[frame];
      D.middleRows<3>(turn) = (left_jacobian(theta) * D.middleRows<3>(turn)).eval();
      X.middleRows<3>(turn) = (exp_rotation(theta) * X.middleRows<3>(turn)).eval();
    });
    X += D;
    V = next;
    Eigen::RowVectorXd ds = rest;
    if (part.element) {
      ds = gap.by_pose.transpose() * X;
      for (const auto& [column, value] : gap.by_p) ds[2 * n + column] += value;
      ds /= -gap.by_pose.dot(by_x);
      rest -= ds;
    }
    X += by_x * ds;
    V += by_v * ds;
  }
  write_parts(window, p, active, X, V, step);
}

// The step's residual is u' - Phi; poses move by more than h u' explains.
void VelocityStepper::write_parts(const Window& window, const VectorXd& p,
                                  const ActiveColumns& active, MatrixXd& X, const MatrixXd& V,
                                  StepDerivatives& step) {
  const Eigen::Index n = scene_->ndof();
  const State& now = window.now();
  MatrixXd D = window.scheme.h * V;
  D.leftCols(n).diagonal().array() += 1;
  each_rotation(scene_->nodes(), [&](int turn, int frame) {
    const Vector3d& theta = now.theta[frame];
    D.middleRows<3>(turn) = window.scheme.h * (left_jacobian(theta) * V.middleRows<3>(turn));
    D.block<3, 3>(turn, turn) += exp_rotation(theta);
  });
  X -= D;
  step.map = StepMap(scene_->nodes(), window);
  step.scheme = window.scheme;
  step.symmetric = false;
  step.columns = active.columns();
  std::vector<Slopes> whole;
  for (const Multibody::Island& island : model_->islands()) {
    const auto& dofs = island.dofs;
    std::vector<int> velocities, all;
    for (const int dof : dofs) velocities.push_back(static_cast<int>(n) + dof);
    MatrixXd by_p = V(dofs, Eigen::all).rightCols(V.cols() - 2 * n);
    for (int c = 0; c < by_p.cols(); ++c) all.push_back(c);
    whole.push_back({V(dofs, dofs), V(dofs, velocities), by_p, all});
  }
  write(window, p, active, whole, step);
  step.moved = true;
  // The time of an impact is felt by all islands.
  const BlockPattern& past = model_->whole_pattern();
  for (BlockMatrix* block : {&step.past_K[0], &step.past_B[0]}) block->reset(past);
  step.moved_K.reset(past);
  step.moved_B.reset(past);
  for (int b = 0; b < past.blocks(); ++b) {
    const int rows = past.size[past.row[b]], columns = past.size[past.col[b]];
    if (rows == 0 || columns == 0) continue;
    const int row = past.dof[past.row[b]], column = past.dof[past.col[b]];
    Eigen::Map<MatrixXd>(step.past_K[0].block(b), rows, columns) =
        -V.block(row, column, rows, columns);
    Eigen::Map<MatrixXd>(step.past_B[0].block(b), rows, columns) =
        -V.block(row, n + column, rows, columns);
    Eigen::Map<MatrixXd>(step.moved_K.block(b), rows, columns) =
        X.block(row, column, rows, columns);
    Eigen::Map<MatrixXd>(step.moved_B.block(b), rows, columns) =
        X.block(row, n + column, rows, columns);
  }
  ParameterColumns by_p(active.column_of(), std::move(step.moved_p));
  for (Eigen::Index c = 2 * n; c < X.cols(); ++c) {
    by_p.add(static_cast<int>(c - 2 * n), VectorXd(X.col(c)));
  }
  step.moved_p = by_p.take();
}

}  // namespace diffsim
