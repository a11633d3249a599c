// A velocity step backwards: cotangents of its end to those of its beginning, without derivatives
// in between (those are in velocity_derivatives.cpp, and this is their transpose).
//
// With y the cotangent of u' and the laws L of the contacts that press,
//   s = y - J^T B L_c^T m,   (L_c B^T J M^-1 J^T B + L_lambda)^T m = B^T J M^-1 y,   w = M^-1 s
// are those of M u' and of the impulses' laws, with the slopes of joints' forces in M; and those of
// the free motion u_f, which the velocity terms c of inertia look at,
//   (M_f + h/2 c_u)^T w_f = -h/2 c_u^T w;   where nothing presses, = y, and w = 0.
// What the step begins with gets s by u, less h slopes (w, w_f), w + w_f by all forces (times -h),
// w by the impulses' loads, and -m by the laws. M (u' - u_f) gets w alone.
#include <numeric>

#include "../elements/contact_law.hpp"
#include "../rotation.hpp"
#include "velocity_stepper.hpp"

namespace diffsim {
namespace {

constexpr double kAtLimit = 1e-12;  // of friction
constexpr double kExactWeights = 1e-14;
constexpr double kGuessed = 100;
constexpr int kTreeIterations = 12;

// What a parameter gets, -1: none; nothing where it is not active.
void give(const ActiveColumns& active, int parameter, double value, VectorXd& held) {
  const int column = parameter < 0 ? -1 : active.column_of()[parameter];
  if (column >= 0) held[active.columns()[column]] += value;
}

}  // namespace

bool VelocityStepper::pull(const Window& window, const VectorXd& p, ActiveColumns& active,
                           MatrixXd& x, MatrixXd& v, VectorXd& held) {
  if (!scene_->driven().empty()) return false;
  const Stopwatch watch(timing_, &Timing::jacobian);
  const State &prev = *window.at[1], &now = window.now();
  const Window start{{&prev, &prev, nullptr}, window.scheme, window.t};
  h_ = window.scheme.h;
  active.select(window.t);
  if (const Articulation* at = scene_->articulation()) {  // outputs look at dependent frames
    bool any = false;
    for (const Articulation::Link& link : at->links()) {
      const int dof = scene_->nodes()[link.node].dof;
      any = any || !x.col(0).segment<6>(dof).isZero(0) || !v.col(0).segment<6>(dof).isZero(0);
    }
    if (any) {
      map_.evaluate(*at, scene_->nodes(), p, now);
      map_.pull({}, x, v);
    }
  }
  if (now.split) {
    step_again(window, p);
    pull_parts(window, p, active, x, v, held);
    return true;
  }
  whole_ = h_;
  impact_ = false;
  impacts_ = Impacts::stepped;
  joints_act_ = true;
  recover(prev, now, window.t, p);
  pull_motion(now, x, v, u_);
  pull_rates(p, nullptr);
  v.col(0) = u_;
  pull_forces(start, p, active, x, v, held);
  return true;
}

void VelocityStepper::recover(const State& prev, const State& now, double t, const VectorXd& p) {
  independent_rates(scene_->nodes(), prev, start_rates_);
  independent_rates(scene_->nodes(), now, rates_);
  at_.place(p, prev);
  at_.move(start_rates_);
  find_touches(prev, h_, p, &now.hard);
  free_ = rates_;
  const Window start{{&prev, &prev, nullptr}, TimeScheme::bdf(1, h_), t};
  linearize(start, p);
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& island = islands_[i];
    if (island.touches.empty()) continue;
    ContactProblem& problem = island.problem;
    problem.cone = options_.cone;
    problem.lambda.resize(island.J.cols());
    for (std::size_t t = 0; t < island.touches.size(); ++t) {
      const Touch& touch = island.touches[t];
      for (const HardContact& hard : now.hard) {
        if (hard.point != touch.element->first_point() + touch.gap.point) continue;
        const Vector3d own = h_ * (touch.B.transpose() * hard.force);
        problem.lambda.segment<3>(3 * static_cast<Eigen::Index>(t)) = own;
        ContactProblem::Contact& contact = problem.contacts[t];
        if (options_.cone == FrictionCone::cone || contact.mode != ContactProblem::Mode::slip)
          break;
        for (int k = 0; k < 2; ++k) {  // a tangent that slips is at its limit, to rounding
          const double limit = (1 - kAtLimit) * contact.mu * own[0];
          if (std::abs(own[k + 1]) >= limit) contact.side[k] = own[k + 1] > 0 ? 1 : -1;
        }
      }
    }
    const auto& dofs = model_->islands()[i].dofs;
    for (std::size_t k = 0; k < dofs.size(); ++k) {
      island.rates[static_cast<Eigen::Index>(k)] = rates_[dofs[k]];
    }
    problem.c0 = island.J.transpose() * island.rates - problem.W * problem.lambda;
  }
  if (!impact_) recover_free(start, p);
}

// From u' and the impulses; where joints' forces bend, the motion without contacts is found again.
void VelocityStepper::recover_free(const Window& start, const VectorXd& p) {
  bool bends = false;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& island = islands_[i];
    if (!presses(island)) continue;
    const int index = static_cast<int>(i);
    VectorXd pressed = island.H * island.problem.lambda;
    island.M.solve_lower(pressed.data());
    const auto& dofs = model_->islands()[i].dofs;
    for (std::size_t k = 0; k < dofs.size(); ++k) {
      free_[dofs[k]] -= pressed[static_cast<Eigen::Index>(k)];
    }
    bends = bends || bends_apart(index, whole_step(start), p);
  }
  if (!bends) return;
  load_nodes(start, p);
  at_.move(start_rates_);
  solve_free(start, p);
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    if (presses(islands_[i])) continue;
    for (const int dof : model_->islands()[i].dofs) free_[dof] = rates_[dof];
  }
  linearize(start, p);
}

void VelocityStepper::pull_motion(const State& now, MatrixXd& x, const MatrixXd& v,
                                  VectorXd& u) const {
  u.setZero();
  for (const Node& n : scene_->nodes()) {
    if (n.dependent) continue;
    for (int k = n.dof; k < n.dof + n.size(); ++k) u[k] = h_ * x(k, 0) + v(k, 0);
    if (!n.turns()) continue;
    const int turn = n.turn();  // R' = exp(h u') R, and omega' = u'
    const Vector3d &theta = now.theta[n.frame], by_pose = x.col(0).segment<3>(turn);
    u.segment<3>(turn) =
        h_ * (left_jacobian(theta).transpose() * by_pose) + v.col(0).segment<3>(turn);
    x.col(0).segment<3>(turn) = exp_rotation(theta).transpose() * by_pose;
  }
}

void VelocityStepper::pull_impulses(Island& island, int index, VectorXd& u, VectorXd& w) {
  const auto& dofs = model_->islands()[index].dofs;
  VectorXd& y = island.rates;
  for (std::size_t k = 0; k < dofs.size(); ++k) y[static_cast<Eigen::Index>(k)] = u[dofs[k]];
  island.M.solve_transposed(y.data());
  island.law_weights.clear();
  if (!island.touches.empty()) {
    const ContactProblem& problem = island.problem;
    const int count = static_cast<int>(island.touches.size());
    all_.resize(count);
    std::iota(all_.begin(), all_.end(), 0);
    island.laws.clear();
    for (int i = 0; i < count; ++i) island.laws.push_back(problem.law(i));
    const VectorXd m = problem.slopes(all_, island.laws)
                           .partialPivLu()
                           .transpose()
                           .solve(island.H.transpose() * y);
    VectorXd by_c(3 * count);
    for (int i = 0; i < count; ++i) {
      island.law_weights.push_back(-m.segment<3>(3 * i));
      by_c.segment<3>(3 * i) = island.laws[i].by_c.transpose() * m.segment<3>(3 * i);
    }
    y.noalias() -= island.H * by_c;
    const VectorXd held = island.J * by_c;
    for (std::size_t k = 0; k < dofs.size(); ++k) u[dofs[k]] -= held[static_cast<Eigen::Index>(k)];
  }
  island.M.solve_lower(y.data());
  for (std::size_t k = 0; k < dofs.size(); ++k) w[dofs[k]] = y[static_cast<Eigen::Index>(k)];
}

void VelocityStepper::pull_rates(const VectorXd& p, const std::vector<bool>* kicked) {
  set_mid_step(p);
  end_weights_.setZero();
  free_weights_.setZero();
  const auto takes_part = [&](std::size_t i) { return !kicked || (*kicked)[i]; };
  bool pressed = false;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    if (!takes_part(i) || islands_[i].touches.empty()) continue;
    pull_impulses(islands_[i], static_cast<int>(i), u_, end_weights_);
    pressed = true;
  }
  by_terms_.setZero(u_.size());
  const bool trees = scene_->articulation() != nullptr;
  if (trees && pressed) adjoint_.velocity_terms(at_, end_weights_, by_terms_);
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    if (!takes_part(i)) continue;
    Island& island = islands_[i];
    const Multibody::Island& model = model_->islands()[i];
    VectorXd& y = island.rates;
    if (island.touches.empty()) {
      for (Eigen::Index k = 0; k < y.size(); ++k) y[k] = u_[model.dofs[k]];
    } else {
      y.setZero();
      for (const int place : model.joints) y[place] = -h_ / 2 * by_terms_[model.dofs[place]];
      for (std::size_t s = 0; s < model.spins.size(); ++s) {
        const int place = model.spins[s].place;
        y.segment<3>(place) =
            -island.spin_terms[s].transpose() * end_weights_.segment<3>(model.dofs[place]);
      }
    }
    for (std::size_t s = 0; s < model.spins.size(); ++s) {
      auto rows = y.segment<3>(model.spins[s].place);
      rows = (island.spin_inverses[s].transpose() * rows).eval();
    }
    free_factor(island).solve(y.data());
    for (Eigen::Index k = 0; k < y.size(); ++k) free_weights_[model.dofs[k]] = y[k];
  }
  if (trees) pull_trees(kicked);
  for (const int dof : model_->joint_forces().dofs()) {
    u_[dof] -=
        h_ * (joint_.slope[dof] * end_weights_[dof] + joint_free_.slope[dof] * free_weights_[dof]);
  }
}

// From M^-1 y to w = (M + T)^-T y, T = h/2 dc/du: w = M^-1 (y - T^T w), of which each iteration
// leaves about h |u|; where that is slow, by T itself.
void VelocityStepper::pull_trees(const std::vector<bool>* kicked) {
  const VectorXd first = free_weights_;
  const double scale = first.lpNorm<Eigen::Infinity>() + end_weights_.lpNorm<Eigen::Infinity>();
  double last = 0;
  for (int k = 0; k < kTreeIterations; ++k) {
    by_terms_.setZero();
    adjoint_.velocity_terms(at_, free_weights_, by_terms_);
    double size = 0;
    for (std::size_t i = 0; i < islands_.size(); ++i) {
      const Multibody::Island& model = model_->islands()[i];
      if (model.joints.empty() || (kicked && !(*kicked)[i])) continue;
      VectorXd& y = islands_[i].rates;
      y.setZero();
      for (const int place : model.joints) y[place] = h_ / 2 * by_terms_[model.dofs[place]];
      free_factor(islands_[i]).solve(y.data());
      for (const int place : model.joints) {
        const int dof = model.dofs[place];
        const double next = first[dof] - y[place];
        size = std::max(size, std::abs(next - free_weights_[dof]));
        free_weights_[dof] = next;
      }
    }
    // In the first pass a guess, from another vector.
    const double left = k == 0 ? kGuessed * size / first.lpNorm<Eigen::Infinity>() : size / last;
    if (size <= kExactWeights * scale || left * size <= kExactWeights * scale) return;
    last = size;
  }
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    const Multibody::Island& model = model_->islands()[i];
    if (model.joints.empty() || (kicked && !(*kicked)[i])) continue;
    set_tree_slopes(static_cast<int>(i));
    // (1 + M^-1 T^T) w = M^-1 y
    const Island& island = islands_[i];
    MatrixXd slopes = MatrixXd::Zero(island.M.size(), model.joints.size());
    slopes(model.joints, Eigen::all) = island.tree_terms.transpose();
    free_factor(island).solve(slopes);
    MatrixXd own = slopes(model.joints, Eigen::all);
    own.diagonal().array() += 1;
    VectorXd y(static_cast<Eigen::Index>(model.joints.size()));
    for (Eigen::Index k = 0; k < y.size(); ++k) y[k] = first[model.dofs[model.joints[k]]];
    y = own.partialPivLu().solve(y).eval();
    for (Eigen::Index k = 0; k < y.size(); ++k) free_weights_[model.dofs[model.joints[k]]] = y[k];
  }
}

void VelocityStepper::pull_joint_forces(const Window& start, const VectorXd& p,
                                        const ActiveColumns& active, MatrixXd& x, VectorXd& held) {
  if (!joints_act_) return;
  const JointForces& joints = model_->joint_forces();
  for (const int dof : joints.dofs()) {
    x(dof, 0) -= h_ * (joint_.by_pose[dof] * end_weights_[dof] +
                       joint_free_.by_pose[dof] * free_weights_[dof]);
  }
  const Window window = whole_step(start);
  const auto pull = [&](const VectorXd& u, const VectorXd& w) {
    joints.each_column(window, h_, p, u, [&](int dof, int parameter, double value) {
      give(active, parameter, -h_ * w[dof] * value, held);
    });
  };
  pull(free_, free_weights_);
  if (!end_weights_.isZero(0)) pull(rates_, end_weights_);
}

void VelocityStepper::pull_forces(const Window& start, const VectorXd& p, ActiveColumns& active,
                                  MatrixXd& x, MatrixXd& v, VectorXd& held) {
  const auto& nodes = scene_->nodes();
  const State& prev = start.now();
  const VectorXd w = -h_ * (end_weights_ + free_weights_);
  ParameterColumns columns(active.column_of(), std::move(written_columns_));
  evaluate_forces(start, p, columns);
  change_ = (free_ - start_rates_) / h_;
  at_.accelerate(&change_);
  bias_.setZero();
  at_.add_inertia(p, &change_, &written_, bias_);
  const bool pressed = !end_weights_.isZero(0);
  if (pressed) {
    adjoint_.begin(at_, start_rates_, w, rates_, end_weights_);
  } else {
    adjoint_.begin(at_, start_rates_, w);
  }
  lifted_ = w;
  const int bodies = static_cast<int>(model_->bodies().size());
  for (int i = 0; i < bodies; ++i) {
    const MotionVector W = adjoint_.twist(MultibodyAdjoint::weights, i);
    lifted_.col(0).segment<3>(nodes[i].dof) = W.v + W.w.cross(prev.c.col(i) - at_.origin());
    if (nodes[i].turns()) lifted_.col(0).segment<3>(nodes[i].turn()) = W.w;
  }
  by_pose_.setZero(scene_->ndof(), 1);
  by_velocity_.setZero(scene_->ndof(), 1);
  K_.multiply_transposed_add(lifted_, by_pose_);
  B_.multiply_transposed_add(lifted_, by_velocity_);
  for (int i = 0; i < bodies; ++i) {
    const Node& n = nodes[i];
    // Loads turn with their bodies, so far: less that, as they are written.
    const Vector3d force = written_.segment<3>(n.dof), lift = lifted_.col(0).segment<3>(n.dof);
    Vector3d turned = lift.cross(force), by_turn = turned, by_spin = Vector3d::Zero();
    if (n.turns()) {
      const Vector3d torque = written_.segment<3>(n.turn());
      turned += lifted_.col(0).segment<3>(n.turn()).cross(torque);
      by_turn = by_pose_.col(0).segment<3>(n.turn()) + turned;
      by_spin = by_velocity_.col(0).segment<3>(n.turn());
    }
    const Vector3d by_speed = by_velocity_.col(0).segment<3>(n.dof);
    // The velocity is that of the body's place, which moves with it.
    const Vector3d moves = by_speed.cross(adjoint_.twist(MultibodyAdjoint::start, i).w);
    adjoint_.add_pose(i, prev.c.col(i), by_pose_.col(0).segment<3>(n.dof) + moves, by_turn);
    adjoint_.add_velocity(MultibodyAdjoint::start, i, prev.c.col(i), by_speed, by_spin);
  }
  for (std::size_t i = bodies; i < nodes.size(); ++i) {
    const auto own = Eigen::seqN(nodes[i].dof, nodes[i].size());
    x(own, 0) += by_pose_(own, 0);
    v(own, 0) += by_velocity_(own, 0);
  }
  adjoint_.add_inertia();
  for (const ParameterColumns::Entry& e : columns.entries()) {
    for (int i = 0; i < 3; ++i) {
      if (e.value[i] != 0) held[active.columns()[e.column]] += e.value[i] * lifted_(e.row + i, 0);
    }
  }
  written_columns_ = columns.take();
  pull_inertia_columns(active, change_, w, held);
  pull_joint_forces(start, p, active, x, held);
  if (pressed) pull_contacts(prev, p, active, held);
  adjoint_.finish(x.col(0), v.col(0));
  if (pressed) pull_pressed_inertia(active, x, held);
}

// w . M (u' - u_f), where M moves with the poses.
void VelocityStepper::pull_pressed_inertia(const ActiveColumns& active, MatrixXd& x,
                                           VectorXd& held) {
  const VectorXd w = -end_weights_;
  change_ = rates_ - free_;
  adjoint_.add_momentum(at_, w, change_, x.col(0));
  if (wants_inertia(active)) {
    at_.move(VectorXd::Zero(w.size()));
    at_.accelerate(&change_);
  }
  pull_inertia_columns(active, change_, w, held);
}

bool VelocityStepper::wants_inertia(const ActiveColumns& active) const {
  const auto& columns = active.column_of();
  for (const Multibody::Body& body : model_->bodies()) {
    if (body.mass >= 0 && columns[body.mass] >= 0) return true;
    for (int e = 0; body.inertia >= 0 && e < 6; ++e) {
      if (columns[body.inertia + e] >= 0) return true;
    }
  }
  return false;
}

void VelocityStepper::pull_inertia_columns(const ActiveColumns& active, const VectorXd& udot,
                                           const VectorXd& w, VectorXd& held) const {
  const auto wanted = [&](int parameter) { return active.column_of()[parameter] >= 0; };
  const int bodies = wants_inertia(active) ? static_cast<int>(model_->bodies().size()) : 0;
  for (int b = 0; b < bodies; ++b) {
    const Multibody::Body& body = model_->bodies()[b];
    if (body.step < 0 || body.mass < 0) continue;
    const MotionVector W = adjoint_.twist(MultibodyAdjoint::weights, b), V(at_.twist(body.step)),
                       A(at_.acceleration(body.step));
    const auto by = [&](const RigidInertia& I) { return dot(W, I * A + crossf(V, I * V)); };
    if (wanted(body.mass)) {
      RigidInertia I{1, at_.arm(b), {}};
      I.I.add_parallel_axis(at_.arm(b), at_.arm(b));
      give(active, body.mass, by(I), held);
    }
    for (int e = 0; body.inertia >= 0 && e < 6; ++e) {
      if (!wanted(body.inertia + e)) continue;
      const RigidInertia I{0, Vector3d::Zero(), at_.inertia_slope(b, e)};
      give(active, body.inertia + e, by(I), held);
    }
  }
  for (const auto& a : model_->armatures()) {
    give(active, a.parameter, w[a.dof] * a.ratio * a.ratio * udot[a.dof], held);
  }
}

// n, the velocity w of the point against the obstacle, and the gap g by the poses of both bodies:
//   dx the relative motion of their material at x,   dn = n_x dx - n x (turn of the carrier),
//   dg = slope . dx,   dw = (velocity at x_c by poses) + turning x (motion of the point - radius
//   dn).
void VelocityStepper::pull_touch(const Touch& touch, MultibodyAdjoint::Rates rates,
                                 const TouchWeights& by) {
  const Gap& gap = touch.gap;
  const Vector3d none = Vector3d::Zero(), x_c = touch.place();
  const Vector3d turning = adjoint_.twist(rates, gap.node).w - adjoint_.twist(rates, gap.carrier).w;
  const Vector3d own = by.velocity.cross(turning), normal = by.normal - gap.radius * own;
  const Vector3d both = gap.n_x.transpose() * normal + by.gap * gap.slope;
  adjoint_.add_pose(gap.node, gap.x, both + own, none);
  adjoint_.add_pose(gap.carrier, gap.x, -both, gap.n.cross(normal));
  adjoint_.add_velocity(rates, gap.node, x_c, by.velocity, none);
  adjoint_.add_velocity(rates, gap.carrier, x_c, -by.velocity, none);
}

void VelocityStepper::pull_contacts(const State& prev, const VectorXd& p,
                                    const ActiveColumns& active, VectorXd& held) {
  for (const Island& island : islands_) {
    for (std::size_t i = 0; i < island.touches.size(); ++i) {
      pull_contact(island, static_cast<int>(i), prev, p, active, held);
    }
  }
}

void VelocityStepper::pull_contact(const Island& island, int i, const State& prev,
                                   const VectorXd& p, const ActiveColumns& active, VectorXd& held) {
  using Rates = MultibodyAdjoint::Rates;
  const Touch& touch = island.touches[i];
  const Gap& gap = touch.gap;
  const ContactProblem::Law& law = island.laws[i];
  const Vector3d& m = island.law_weights[i];
  const Vector3d impulse = touch.B * island.problem.lambda.segment<3>(3 * i);
  const auto velocity = [&](Rates rates, const Vector3d& x) {
    const MotionVector V = adjoint_.twist(rates, gap.node) - adjoint_.twist(rates, gap.carrier);
    return Vector3d(V.v + V.w.cross(x - at_.origin()));
  };
  const Vector3d x_c = touch.place(), after = velocity(Rates::end, x_c),
                 weight = velocity(Rates::loads, x_c);
  const Matrix3d axes = turn_of_axes(touch.B);
  const double by_bound = law.by_bound.dot(m);
  // The laws, c = B^T w with dB = (axes dn) x B; and the load w . B lambda.
  const Vector3d c = touch.B * (law.by_c.transpose() * m);
  const TouchWeights of_law{axes.transpose() * c.cross(after), c,
                            touch.bounces ? 0 : by_bound * touch.by_gap};
  const TouchWeights of_load{axes.transpose() * impulse.cross(weight), impulse, 0};
  const double bounce = touch.bounces ? -touch.restitution * by_bound : 0;
  const TouchWeights of_bounce{bounce * touch.before, bounce * gap.n, 0};
  pull_touch(touch, Rates::end, of_law);
  pull_touch(touch, Rates::loads, of_load);
  if (touch.bounces) pull_touch(touch, Rates::start, of_bounce);

  give(active, touch.element->friction_parameter(), law.by_mu.dot(m), held);
  if (touch.bounces) {
    give(active, touch.element->restitution_parameter(),
         -touch.share * by_bound * gap.n.dot(touch.before), held);
  }
  shape_.clear();
  touch.element->gap_slopes(gap, prev, p, ParameterColumns(active.column_of()), shape_);
  for (const GapSlope& by : shape_) {
    double value = 0;
    const auto pull = [&](Rates rates, const TouchWeights& weights) {
      const Vector3d turning =
          adjoint_.twist(rates, gap.node).w - adjoint_.twist(rates, gap.carrier).w;
      const ShapeMotion motion = shape_motion(gap, by, turning);
      value += weights.normal.dot(motion.n) + weights.velocity.dot(motion.velocity) +
               weights.gap * motion.g;
    };
    pull(Rates::end, of_law);
    pull(Rates::loads, of_load);
    if (touch.bounces) pull(Rates::start, of_bounce);
    give(active, by.parameter, value, held);
  }
}

}  // namespace diffsim
