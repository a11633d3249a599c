#include "velocity_stepper.hpp"

#include "../elements/contact_law.hpp"

namespace diffsim {
namespace {

constexpr double kTakeBack = 10;  // at most the speed of that many steps of fall
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
      rates_(scene.ndof()),
      bias_(scene.ndof()),
      written_(scene.ndof()),
      u_(scene.ndof()),
      next_(make_state(scene.nodes())) {
  for (const ContactElement* e : scene.contacts()) e->check_hard();
  // The scene's own: a scale of accelerations, which no parameter moves.
  gravity_ = scene.values().segment<3>(scene.gravity_parameter()).norm();
  if (!(gravity_ > 0)) gravity_ = 9.81;
}

NewtonReport VelocityStepper::step(const State& prev, const State*, const TimeScheme& scheme,
                                   double t, const VectorXd& p, const NewtonOptions&) {
  NewtonReport report;
  report.iterations = 1;
  const Window start{{&prev, &prev, nullptr}, scheme, t};
  report.worst_element = solve(prev, start, p);
  const Window window{{&next_, &prev, nullptr}, scheme, t};
  u_ = rates_;
  for (const Body* b : scene_->driven()) b->predict(prev, scheme, t, p, scene_->nodes(), u_);
  advance(scene_->nodes(), window, u_, next_);
  if (scene_->articulation()) scene_->articulation()->place(p, next_);
  if (!report.worst_element.empty()) report.status = Status::max_iterations;
  if (!rates_.allFinite()) report.status = Status::non_finite;
  next_.hard_contacts = true;
  next_.hard.clear();
  for (const Island& island : islands_) {
    for (std::size_t i = 0; i < island.touches.size(); ++i) {
      const Touch& touch = island.touches[i];
      const auto& contact = island.problem.contacts[i];
      if (contact.mode == ContactProblem::Mode::open) continue;
      unsigned code = contact.mode == ContactProblem::Mode::slip ? kSlip : kStatic;
      if (touch.bounces) code |= kOnset;
      if (touch.deep) code |= kClamped;
      code += kRegion * (1 + touch.gap.region);
      const Vector3d own = island.problem.lambda.segment<3>(3 * static_cast<Eigen::Index>(i));
      next_.hard.push_back({touch.element->first_point() + touch.gap.point,
                            touch.B * own / scheme.h, touch.gap.x - touch.gap.radius * touch.gap.n,
                            touch.gap.n * own[0] / scheme.h, static_cast<std::uint16_t>(code)});
    }
  }
  return report;
}

std::string VelocityStepper::solve(const State& prev, const Window& start, const VectorXd& p) {
  const Stopwatch watch(timing_, &Timing::residual);
  const double h = h_ = start.scheme.h;
  independent_rates(scene_->nodes(), prev, start_rates_);
  at_.place(p, prev);
  at_.move(start_rates_);
  at_.accelerate(nullptr);
  written_.setZero();
  Assembly out;
  out.r = &written_;
  bool compressed = false;
  out.compressed = &compressed;
  for (const Element* e : model_->forces()) e->add(start, p, out);
  bias_.setZero();
  at_.add_inertia(p, nullptr, bias_);
  at_.add_wrenches(written_, bias_);
  find_touches(prev, h, p);
  rates_ = start_rates_;
  std::string unsolved;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& island = islands_[i];
    const int index = static_cast<int>(i);
    const auto& dofs = model_->islands()[i].dofs;
    at_.mass_matrix(index, p, island.M);
    island.factor.compute(island.M);
    MatrixXd rows(static_cast<Eigen::Index>(dofs.size()), 1);
    for (std::size_t k = 0; k < dofs.size(); ++k) {
      rows(static_cast<Eigen::Index>(k), 0) = -h * bias_[dofs[k]];
    }
    clear_driven(*model_, index, rows);
    island.factor.solveInPlace(rows);
    for (std::size_t k = 0; k < dofs.size(); ++k) {
      rates_[dofs[k]] += rows(static_cast<Eigen::Index>(k), 0);
    }
    if (!island.touches.empty() && !solve_contacts(island, index, prev, h)) {
      unsolved = island.touches[0].element->name();
    }
  }
  return unsolved;
}

void VelocityStepper::clear_driven(const Multibody& model, int index, MatrixXd& rows) {
  const auto& dofs = model.islands()[index].dofs;
  for (std::size_t k = 0; k < dofs.size(); ++k) {
    if (model.driven(dofs[k])) rows.row(static_cast<Eigen::Index>(k)).setZero();
  }
}

void VelocityStepper::add_axes(int node, double sign, const Vector3d& x, MatrixXd& J) const {
  const Vector3d arm = x - at_.origin();
  at_.each_axis_of(node, [&](int dof, const Vector6& S, int) {
    const Vector3d turn = S.head<3>();
    J.col(model_->place_of(dof)) += sign * (S.tail<3>() + turn.cross(arm));
  });
}

void VelocityStepper::find_touches(const State& prev, double h, const VectorXd& p) {
  for (Island& island : islands_) island.touches.clear();
  const double fall = 4 * h * h * gravity_;
  for (const ContactElement* e : scene_->contacts()) {
    gaps_.clear();
    e->gaps(prev, p, fall, 2 * h, gaps_);
    const int bounce = e->restitution_parameter();
    for (const Gap& gap : gaps_) {
      const int node = model_->moves(gap.node) ? gap.node : gap.carrier;
      if (!model_->moves(node)) continue;  // no force could part the two
      const int index = model_->island_of(model_->steps()[model_->step_of(node)].dof);
      Island& island = islands_[index];
      Touch touch{gap,
                  e,
                  contact_axes(gap.n),
                  {},
                  p[e->friction_parameter()],
                  bounce < 0 ? 0 : p[bounce],
                  false,
                  false,
                  0,
                  Vector3d::Zero()};
      touch.J.setZero(3, static_cast<Eigen::Index>(model_->islands()[index].dofs.size()));
      const Vector3d x = gap.x - gap.radius * gap.n;
      add_axes(gap.node, 1, x, touch.J);
      add_axes(gap.carrier, -1, x, touch.J);
      island.touches.push_back(std::move(touch));
    }
  }
}

bool VelocityStepper::solve_contacts(Island& island, int index, const State& prev, double h) {
  const auto& dofs = model_->islands()[index].dofs;
  const auto n = static_cast<Eigen::Index>(dofs.size());
  const auto rows = static_cast<Eigen::Index>(3 * island.touches.size());
  VectorXd start(n), free(n);
  for (Eigen::Index k = 0; k < n; ++k) {
    start[k] = start_rates_[dofs[k]];
    free[k] = rates_[dofs[k]];
  }
  const double slow = 2 * h * gravity_;
  ContactProblem& problem = island.problem;
  problem.cone = options_.cone;
  problem.contacts.assign(island.touches.size(), {});
  island.J.resize(rows, n);
  for (std::size_t i = 0; i < island.touches.size(); ++i) {
    Touch& touch = island.touches[i];
    island.J.middleRows<3>(3 * static_cast<Eigen::Index>(i)) = touch.B.transpose() * touch.J;
    touch.before = touch.J * start;
    const double approach = -touch.gap.n.dot(touch.before), g = touch.gap.g;
    touch.bounces = touch.restitution > 0 && approach > slow && g < h * approach;
    touch.deep = -g / h > kTakeBack * h * gravity_;
    touch.by_gap = touch.deep ? 0 : -1 / h;
    problem.contacts[i].bound = touch.bounces ? touch.restitution * approach
                                : touch.deep  ? kTakeBack * h * gravity_
                                              : -g / h;
    problem.contacts[i].mu = touch.mu;
    problem.contacts[i].compliance = kCompliance * (model_->inverse_mass(touch.gap.node) +
                                                    model_->inverse_mass(touch.gap.carrier));
  }
  island.H = island.J.transpose();  // then L^-1 J^T
  clear_driven(*model_, index, island.H);
  island.factor.matrixL().solveInPlace(island.H);
  problem.W.noalias() = island.H.transpose() * island.H;
  problem.c0.noalias() = island.J * free;
  problem.lambda.setZero(rows);
  for (std::size_t i = 0; i < island.touches.size(); ++i) {
    const Touch& touch = island.touches[i];
    for (const HardContact& last : prev.hard) {
      if (last.point != touch.element->first_point() + touch.gap.point) continue;
      problem.lambda.segment<3>(3 * static_cast<Eigen::Index>(i)) =
          h * (touch.B.transpose() * last.force);
    }
  }
  const bool solved = problem.solve(options_.sweeps);
  VectorXd pushed = island.H * problem.lambda;
  island.factor.matrixU().solveInPlace(pushed);
  free += pushed;
  for (Eigen::Index k = 0; k < n; ++k) rates_[dofs[k]] = free[k];
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
    const bool contact = dynamic_cast<const ContactElement*>(e.get());
    e->modes(contact ? window : start, p, at);
    at += count;
  }
}

}  // namespace diffsim
