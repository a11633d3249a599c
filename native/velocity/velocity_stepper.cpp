#include "velocity_stepper.hpp"

#include "../elements/contact_law.hpp"

namespace diffsim {
namespace {

constexpr double kTouching = 0.005;  // half of a tenth squared
// Of contacts, by the inverse masses of both bodies. With less, impulses of redundant contacts are
// noise, which sliding feels: a box that lands flat.
constexpr double kCompliance = 1e-7;

// n and two tangents.
Matrix3d contact_axes(const Vector3d& n) {
  Eigen::Index least;
  n.cwiseAbs().minCoeff(&least);
  Matrix3d B;
  B.col(0) = n;
  B.col(1) = (Vector3d::Unit(least) - n * n[least]).normalized();
  B.col(2) = n.cross(Vector3d(B.col(1)));
  return B;
}

}  // namespace

void independent_rates(const std::vector<Node>& nodes, const State& s, VectorXd& u) {
  u.setZero();
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    if (n.dependent) continue;
    if (n.has_place()) u.segment<3>(n.dof) = s.v.col(static_cast<Eigen::Index>(i));
    if (n.turns()) u.segment<3>(n.turn()) = s.w[n.frame];
    if (n.kind == NodeKind::coordinates) {
      u.segment(n.dof, n.count) = s.qdot.segment(n.first, n.count);
    }
  }
}

VelocityStepper::VelocityStepper(const Scene& scene, const VelocityOptions& options, Timing* timing)
    : scene_(&scene),
      options_(options),
      timing_(timing),
      model_(&scene.multibody()),
      at_(*model_),
      islands_(model_->islands().size()),
      start_rates_(scene.ndof()),
      free_(scene.ndof()),
      rates_(scene.ndof()),
      bias_(scene.ndof()),
      written_(scene.ndof()),
      u_(scene.ndof()),
      joint_free_(JointForces::rows(scene.ndof())),
      joint_(JointForces::rows(scene.ndof())),
      joint_linear_(JointForces::rows(scene.ndof())),
      factored_(VectorXd::Zero(scene.ndof())),
      by_joints_(VectorXd::Zero(scene.ndof())),
      adjoint_(*model_),
      end_weights_(VectorXd::Zero(scene.ndof())),
      free_weights_(VectorXd::Zero(scene.ndof())),
      next_(make_state(scene.nodes())) {
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    islands_[i].M = islands_[i].free = model_->islands()[i].factor;
    islands_[i].rates.resize(islands_[i].M.size());
  }
  for (const ContactElement* e : scene.contacts()) {
    e->check_hard();
    splits_ = splits_ || (e->restitution_parameter() >= 0 && scene.driven().empty());
  }
  // The scene's own: a scale of accelerations, which no parameter moves.
  gravity_ = scene.values().segment<3>(scene.gravity_parameter()).norm();
  if (!(gravity_ > 0)) gravity_ = 9.81;
}

NewtonReport VelocityStepper::step(const State& prev, const State*, const TimeScheme& scheme,
                                   double t, const VectorXd& p, const NewtonOptions&) {
  NewtonReport report;
  report.iterations = 1;
  const Window start{{&prev, &prev, nullptr}, scheme, t};
  whole_ = scheme.h;
  impacts_ = splits_ ? Impacts::split : Impacts::stepped;
  worst_dof_ = -1;
  report.worst_element = solve(prev, start, p);
  move_to_next(prev, start, p);
  next_.split = false;
  std::size_t which = 0;
  if (!aside_.empty() && report.worst_element.empty() && least_gap(next_, p, which) < 0) {
    report.worst_element = split(prev, start, p);
    join_parts(prev);
  } else {
    report_contacts(scheme.h, next_);
  }
  if (!report.worst_element.empty()) report.status = Status::max_iterations;
  for (Eigen::Index k = 0; k < rates_.size() && report.status != Status::non_finite; ++k) {
    if (std::isfinite(rates_[k])) continue;
    report.status = Status::non_finite;
    if (report.worst_element.empty())
      report.worst_element = name_moved(static_cast<int>(k), start, p);
  }
  report.worst_dof = worst_dof_;
  return report;
}

void VelocityStepper::move_to_next(const State& prev, const Window& start, const VectorXd& p) {
  const auto& [at, scheme, t] = start;
  const Window window{{&next_, &prev, nullptr}, scheme, t};
  u_ = rates_;
  for (const Body* b : scene_->driven()) b->predict(prev, scheme, t, p, scene_->nodes(), u_);
  advance(scene_->nodes(), window, u_, next_);
  at_.place_links(next_);
}

void VelocityStepper::report_contacts(double h, State& to) const {
  to.hard_contacts = true;
  to.hard.clear();
  for (const Island& island : islands_) {
    for (std::size_t i = 0; i < island.touches.size(); ++i) {
      const Touch& touch = island.touches[i];
      const auto& contact = island.problem.contacts[i];
      if (contact.mode == ContactProblem::Mode::open) continue;
      unsigned code = contact.mode == ContactProblem::Mode::slip ? kSlip : kStatic;
      if (touch.bounces) code |= kOnset;
      if (touch.bounces && island.share < 1) code |= kLimited;
      if (touch.deep) code |= kClamped;
      code += kRegion * (1 + touch.gap.region);
      const Vector3d own = island.problem.lambda.segment<3>(3 * static_cast<Eigen::Index>(i));
      to.hard.push_back({touch.element->first_point() + touch.gap.point, touch.B * own / h,
                         touch.place(), touch.gap.n * own[0] / h,
                         static_cast<std::uint16_t>(code)});
    }
  }
}

void VelocityStepper::load_nodes(const Window& start, const VectorXd& p) {
  written_.setZero();
  Assembly out;
  out.r = &written_;
  bool compressed = false;
  out.compressed = &compressed;
  for (const Element* e : model_->forces()) e->add(start, p, out);
}

std::string VelocityStepper::solve(const State& prev, const Window& start, const VectorXd& p) {
  const Stopwatch watch(timing_, &Timing::residual);
  const double h = h_ = start.scheme.h;
  impact_ = false;
  independent_rates(scene_->nodes(), prev, start_rates_);
  at_.place(p, prev);
  at_.move(start_rates_);
  find_touches(prev, h, p, nullptr);
  load_nodes(start, p);
  std::string unsolved = solve_free(start, p);
  rates_ = free_;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    if (islands_[i].touches.empty() || solve_pressed(static_cast<int>(i), start, p)) continue;
    unsolved = name_pressed(islands_[i]);
  }
  return unsolved;
}

void VelocityStepper::clear_driven(const Multibody& model, int index, MatrixXd& rows) {
  const auto& dofs = model.islands()[index].dofs;
  for (std::size_t k = 0; k < dofs.size(); ++k) {
    if (model.driven(dofs[k])) rows.row(static_cast<Eigen::Index>(k)).setZero();
  }
}

void VelocityStepper::add_axes(const Touch& touch, int node, double sign, Eigen::Index column,
                               MatrixXd& J) const {
  const Vector3d arm = touch.place() - at_.origin();
  at_.each_axis_of(node, [&](int dof, const Vector6& S, int) {
    const Vector3d v = S.tail<3>() + S.head<3>().cross(arm);
    const int row = model_->place_of(dof);
    for (int k = 0; k < 3; ++k) J(row, column + k) += sign * touch.B.col(k).dot(v);
  });
}

Vector3d VelocityStepper::relative_velocity(const Touch& touch) const {
  const Vector3d arm = touch.place() - at_.origin();
  const Vector6 V = at_.twist_of(touch.gap.node) - at_.twist_of(touch.gap.carrier);
  return V.tail<3>() + V.head<3>().cross(arm);
}

void VelocityStepper::find_touches(const State& prev, double h, const VectorXd& p,
                                   const std::vector<HardContact>* pressing) {
  for (Island& island : islands_) {
    island.share = 1;
    island.touches.clear();
    island.problem.contacts.clear();
  }
  aside_.clear();
  if (impacts_ == Impacts::none) return;
  // In an impact, those that touch, to what a point falls in a tenth of a step.
  const double reach = (impact_ ? kTouching : 4) * whole_ * whole_ * gravity_ + 2 * kTouchingGap;
  for (const ContactElement* e : scene_->contacts()) {
    gaps_.clear();
    e->gaps(prev, p, reach, impact_ ? 0 : 2 * whole_, gaps_);
    const int bounce = e->restitution_parameter();
    for (const Gap& gap : gaps_) {
      const int node = model_->moves(gap.node) ? gap.node : gap.carrier;
      if (!model_->moves(node)) continue;  // no force could part the two
      const HardContact* known = nullptr;
      for (std::size_t i = 0; pressing && i < pressing->size() && !known; ++i) {
        if ((*pressing)[i].point == e->first_point() + gap.point) known = &(*pressing)[i];
      }
      if (pressing && !known) continue;
      Island& island = islands_[model_->island_of(model_->steps()[model_->step_of(node)].dof)];
      Touch touch{gap,
                  e,
                  contact_axes(gap.n),
                  p[e->friction_parameter()],
                  bounce < 0 ? 0 : p[bounce],
                  false,
                  false,
                  0,
                  Vector3d::Zero()};
      touch.before = relative_velocity(touch);
      ContactProblem::Contact contact;
      contact.mu = touch.mu;
      contact.compliance =
          kCompliance * (model_->inverse_mass(gap.node) + model_->inverse_mass(gap.carrier));
      if (known) {
        touch.bounces = known->code & kOnset;
        touch.deep = known->code & kClamped;
        contact.mode = (known->code & kStatic) == kStatic ? ContactProblem::Mode::stick
                                                          : ContactProblem::Mode::slip;
      } else {
        const double approach = -gap.n.dot(touch.before);
        const bool fast = touch.restitution > 0 && approach > 2 * whole_ * gravity_;
        if (fast && !impact_ && impacts_ == Impacts::split) {
          aside_.push_back({e, gap.point, gap.g - kTouchingGap});
          continue;
        }
        touch.bounces = fast && (impact_ || gap.g < h * approach);
        touch.deep = !impact_ && -gap.g / h > kTakeBack * h * gravity_;
        contact.bound = touch.bounces ? touch.restitution * approach
                        : touch.deep  ? kTakeBack * h * gravity_
                        : impact_     ? 0
                                      : -gap.g / h;
      }
      touch.by_gap = touch.deep || impact_ ? 0 : -1 / h;
      island.touches.push_back(touch);
      island.problem.contacts.push_back(contact);
    }
  }
}

void VelocityStepper::set_jacobian(Island& island, int index) {
  const auto count = static_cast<Eigen::Index>(island.touches.size());
  island.J.setZero(island.M.size(), 3 * count);
  for (Eigen::Index i = 0; i < count; ++i) {
    const Touch& touch = island.touches[i];
    add_axes(touch, touch.gap.node, 1, 3 * i, island.J);
    add_axes(touch, touch.gap.carrier, -1, 3 * i, island.J);
  }
  island.H = island.J;
  clear_driven(*model_, index, island.H);
  for (Eigen::Index c = 0; c < 3 * count; ++c) island.M.solve_transposed(island.H.col(c).data());
  island.problem.W.noalias() = island.H.transpose() * island.H;
}

bool VelocityStepper::solve_contacts(Island& island, int index, const State* prev, double h) {
  const auto& dofs = model_->islands()[index].dofs;
  const Eigen::Index n = island.M.size();
  VectorXd& free = island.rates;
  for (Eigen::Index k = 0; k < n; ++k) free[k] = rates_[dofs[k]];
  ContactProblem& problem = island.problem;
  problem.cone = options_.cone;
  set_jacobian(island, index);
  problem.c0.noalias() = island.J.transpose() * free;
  if (prev) problem.lambda.setZero(problem.c0.size());
  for (std::size_t i = 0; prev && i < island.touches.size(); ++i) {
    const Touch& touch = island.touches[i];
    for (const HardContact& last : prev->hard) {
      if (last.point != touch.element->first_point() + touch.gap.point) continue;
      problem.lambda.segment<3>(3 * static_cast<Eigen::Index>(i)) =
          h * (touch.B.transpose() * last.force);
    }
  }
  const bool solved = problem.solve(options_.sweeps);
  free.noalias() = island.H * problem.lambda;
  island.M.solve_lower(free.data());
  for (Eigen::Index k = 0; k < n; ++k) rates_[dofs[k]] += free[k];
  return solved;
}

void VelocityStepper::modes(const Window& window, const VectorXd& p,
                            std::vector<std::uint16_t>& out) const {
  out.assign(scene_->mode_count(), 0);
  const Window start{{window.at[1], window.at[1], nullptr}, window.scheme, window.t};
  std::uint16_t* at = out.data();
  for (const auto& e : scene_->elements()) {
    const int count = e->mode_count();
    if (count == 0) continue;
    const bool at_end = dynamic_cast<const ContactElement*>(e.get()) ||
                        dynamic_cast<const CoordinateForce*>(e.get());
    e->modes(at_end ? window : start, p, at);
    at += count;
  }
}

}  // namespace diffsim
