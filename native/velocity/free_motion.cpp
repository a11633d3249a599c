// The rates u_f that a step has without contacts, by Newton's method,
//   M (u_f - u) + h (c(q, (u + u_f)/2) + r(q, u) + phi(q + h u_f, u_f)) = 0.
//
// Velocity terms c of inertia, quadratic in rates, by the implicit midpoint rule: of a body that is
// free, in its own axes, I (w_f - w) + h w_m x I w_m = 0, which keeps w . I w and |I w| as they
// are, as omega' = u' is the same in the axes of both of its poses. Of trees it is a kick that is
// its own inverse backwards in time. Forces phi on joints' coordinates by implicit Euler: stiffness
// and damping of motors, limits, friction and damping (joint_forces.hpp). With contacts u' has
//   M (u' - u_f) + h (phi(q + h u', u') - phi(q + h u_f, u_f)) = J^T B lambda.
//
// Iterations solve with M + h dphi/du', along the tree, which leaves c to converge by itself, by
// about h |u| each; where that is slow, with dc/du too.
#include <algorithm>
#include <cmath>

#include "../blame.hpp"
#include "illinois.hpp"
#include "velocity_stepper.hpp"

namespace diffsim {
namespace {

constexpr int kMostIterations = 60, kPatience = 5, kSpinIterations = 50, kStepTrials = 20;
constexpr double kExact = 1e-14;         // of rates
constexpr double kRateRounding = 1e-10;  // of rates, below which they may cease to converge
constexpr double kSlow = 0.2;            // what is left of a step in the next
constexpr double kOvershoot = 0.5;       // of the slope where a step begins

Matrix3d spin_slope(const Matrix3d& I, const Vector3d& w) {
  return skew(w) * I - skew(Vector3d(I * w));
}

// I (x - w) + h m x I m = impulse with m = (w + x)/2; false where Newton's method finds none.
bool solve_spin(const Matrix3d& I, const Vector3d& w, const Vector3d& impulse, double h,
                Vector3d& x) {
  x = w;
  double last = kInfinity;
  for (int k = 0; k < kSpinIterations; ++k) {
    const Vector3d m = (w + x) / 2;
    const Vector3d g = impulse - I * (x - w) - h * m.cross(I * m);
    const Vector3d step = (I + h / 2 * spin_slope(I, m)).inverse() * g;
    x += step;
    const double size = step.norm(), scale = x.norm() + w.norm();
    if (size <= kExact / 10 * scale || (size <= kRateRounding * scale && size > last / 2))
      return true;
    last = size;
  }
  return false;
}

}  // namespace

Window VelocityStepper::whole_step(const Window& start) const {
  return {{start.at[0], start.at[0], nullptr}, TimeScheme::bdf(1, whole_), start.t};
}

bool VelocityStepper::factor(int index, const VectorXd& p, const VectorXd& slopes,
                             TreeFactor& M) const {
  at_.mass_matrix(index, p, M);
  if (joints_act_ && model_->joint_forces().any(index)) {
    const auto& dofs = model_->islands()[index].dofs;
    for (const int place : model_->islands()[index].joints) {
      M.entry(place, place) += h_ * slopes[dofs[place]];
    }
  }
  return M.factor();
}

void VelocityStepper::free_residual(const Window& start, const VectorXd& p, bool first) {
  const JointForces& joints = model_->joint_forces();
  if (!scene_->articulation()) {  // loads about the places of free bodies are those on their rates
    bias_ = written_;
    return;
  }
  bias_.setZero();
  if (first) {
    at_.accelerate(nullptr);
    at_.add_inertia(p, nullptr, &written_, bias_);
  } else {
    mid_ = (start_rates_ + free_) / 2;
    change_ = (free_ - start_rates_) / h_;
    at_.add_tree_inertia(p, mid_, change_, written_, bias_);
  }
  if (!joints_act_) return;
  const Window window = whole_step(start);
  if (first) joints.evaluate_linear(window, h_, p, free_, joint_linear_);
  joints.evaluate_from(joint_linear_, start_rates_, window, h_, p, free_, joint_free_);
  for (const int dof : joints.dofs()) bias_[dof] += joint_free_.value[dof];
}

std::string VelocityStepper::solve_free(const Window& start, const VectorXd& p) {
  free_ = start_rates_;
  joints_act_ = impacts_ != Impacts::none;
  std::string failed;
  for (Island& island : islands_) {
    island.moving = true;
    island.apart = island.newton = false;
  }
  bool moving = true;
  for (int k = 0; moving; ++k) {
    free_residual(start, p, k == 0);
    moving = false;
    for (std::size_t i = 0; i < islands_.size(); ++i) {
      Island& island = islands_[i];
      if (!island.moving) continue;
      if (!improve_free(static_cast<int>(i), start, p, k)) {
        failed = name_fastest(static_cast<int>(i), start, p);
        island.moving = false;
      }
      moving = moving || island.moving;
    }
  }
  return failed;
}

// Sets the island's rates to a Newton step; false where there is none.
bool VelocityStepper::set_free_step(int index, const VectorXd& p, int iteration) {
  const Multibody::Island& model = model_->islands()[index];
  const auto& dofs = model.dofs;
  Island& island = islands_[index];
  VectorXd& rows = island.rates;
  rows.setZero();
  if (iteration == 0) {
    for (std::size_t k = 0; k < dofs.size(); ++k) {
      if (!model_->driven(dofs[k])) rows[static_cast<Eigen::Index>(k)] = -h_ * bias_[dofs[k]];
    }
  } else {
    for (const int place : model.joints) rows[place] = -h_ * bias_[dofs[place]];
  }
  const bool bends = joints_act_ && model_->joint_forces().bends(index);
  const auto bent = [&] {
    return std::any_of(model.joints.begin(), model.joints.end(), [&](int place) {
      return joint_free_.slope[dofs[place]] != factored_[dofs[place]];
    });
  };
  if (iteration == 0 || (bends && bent())) {
    if (!factor(index, p, joint_free_.slope, island.M)) return false;
    for (const int place : model.joints) factored_[dofs[place]] = joint_free_.slope[dofs[place]];
  }
  island.M.solve(rows.data());
  if (island.newton) {
    set_tree_slopes(index);
    const VectorXd tree = island.tree_slopes.solve(rows(model.joints));
    rows(model.joints) = tree;
  }
  for (std::size_t s = 0; iteration == 0 && s < model.spins.size(); ++s) {
    const auto& [node, place] = model.spins[s];
    const int dof = dofs[place];
    const Vector3d w = start_rates_.segment<3>(dof);
    Vector3d x;
    if (!solve_spin(at_.own_inertia(p, node), w, -h_ * written_.segment<3>(dof), h_, x)) {
      return false;
    }
    rows.segment<3>(place) = x - w;
  }
  return true;
}

bool VelocityStepper::improve_free(int index, const Window& start, const VectorXd& p,
                                   int iteration) {
  const Multibody::Island& model = model_->islands()[index];
  Island& island = islands_[index];
  if (!set_free_step(index, p, iteration)) return false;
  double size = 0, scale = 0;
  for (std::size_t k = 0; k < model.dofs.size(); ++k) {
    const int dof = model.dofs[k];
    const double step = island.rates[static_cast<Eigen::Index>(k)];
    size = std::max(size, std::abs(step));
    scale = std::max(scale, std::abs(free_[dof] + step) + std::abs(start_rates_[dof]));
    if (!std::isfinite(step)) return false;
  }
  // Where steps are as small as rounding makes them, slopes along them mean nothing.
  const bool rounding = size <= kRateRounding * (scale + noise(index, start));
  double share = 1;
  if (!rounding && joints_act_ && model_->joint_forces().bends(index)) {
    for (const int place : model.joints) by_joints_[model.dofs[place]] = island.rates[place];
    share = share_of(index, start, p, free_, by_joints_);
  }
  for (std::size_t k = 0; k < model.dofs.size(); ++k) {
    free_[model.dofs[k]] += island.rates[static_cast<Eigen::Index>(k)];
  }
  for (const int place : model.joints)
    free_[model.dofs[place]] -= (1 - share) * island.rates[place];
  const double left = iteration == 0 ? 1 : size / island.last;
  island.last = size;
  island.moving = !model.joints.empty();
  if ((share == 1 && (size <= kExact * scale || (left < 0.5 && left * size <= kExact * scale))) ||
      (rounding && left > 0.5 && iteration > 0)) {
    island.moving = false;
  }
  island.newton = island.newton || (iteration >= kPatience && left > kSlow);
  return !island.moving || iteration < kMostIterations;
}

// Rates that rounding of forces is seen against, those of a body at rest too.
double VelocityStepper::noise(int index, const Window& start) const {
  double scale = h_ * gravity_;
  const State& s = start.now();
  for (const int dof : model_->islands()[index].dofs) {
    const Node& n = scene_->nodes()[model_->node_of(dof)];
    if (n.kind != NodeKind::coordinates) continue;
    scale = std::max(scale, std::abs(s.q[n.first + dof - n.dof] / h_));
  }
  return scale;
}

// Of the largest step of an island, or of the first that is no number.
std::string VelocityStepper::name_fastest(int index, const Window& start, const VectorXd& p) {
  const auto& dofs = model_->islands()[index].dofs;
  const VectorXd& step = islands_[index].rates;
  Eigen::Index worst = 0;
  for (Eigen::Index k = 0; k < step.size() && std::isfinite(step[worst]); ++k) {
    if (!(std::abs(step[k]) <= std::abs(step[worst]))) worst = k;
  }
  return name_moved(dofs[worst], start, p);
}

std::string VelocityStepper::name_moved(int dof, const Window& start, const VectorXd& p) {
  // What is far beyond all else takes the others' numbers with it: it is the worst, then.
  const State& s = start.now();
  for (std::size_t i = 0; i < scene_->nodes().size(); ++i) {
    const Node& n = scene_->nodes()[i];
    if (n.dependent || !n.has_place()) continue;
    const auto node = static_cast<Eigen::Index>(i);
    const double place = s.c.col(node).norm(), speed = s.v.col(node).norm();
    const double turning = n.turns() ? s.w[n.frame].norm() : 0;
    if (place < kBeyond && speed < kBeyond && turning < kBeyond) continue;
    dof = place < kBeyond && speed < kBeyond ? n.turn() : n.dof;
    break;
  }
  worst_dof_ = dof;
  std::string force = model_->joint_forces().name_on(dof);
  if (force.empty()) force = strongest(*scene_, model_->forces(), start, p, dof);
  return force.empty() ? owner_of(*scene_, dof) : force;
}

std::string VelocityStepper::name_pressed(const Island& island) {
  std::size_t worst = 0;
  double most = -1;
  for (std::size_t i = 0; i < island.touches.size(); ++i) {
    const auto row = 3 * static_cast<Eigen::Index>(i);
    const double impulse = island.problem.lambda.segment<3>(row).norm();
    const double speed = island.problem.c0.segment<3>(row).norm();
    if (std::isfinite(impulse + speed) && impulse * speed <= most) continue;
    worst = i;
    most = impulse * speed;
    if (!std::isfinite(impulse + speed)) break;
  }
  const Gap& gap = island.touches[worst].gap;
  worst_dof_ =
      model_->steps()[model_->step_of(model_->moves(gap.node) ? gap.node : gap.carrier)].dof;
  return island.touches[worst].element->name();
}

double VelocityStepper::share_of(int index, const Window& start, const VectorXd& p,
                                 const VectorXd& u, const VectorXd& du) const {
  const JointForces& joints = model_->joint_forces();
  const Window window = whole_step(start);
  const double end = -h_ * joints.bend(index, window, h_, p, u, du, 1);
  if (!(end < 0)) return 1;
  const VectorXd step = du(model_->islands()[index].dofs);
  const double square = islands_[index].M.square(step.data());
  const auto slope = [&](double share) {
    return (1 - share) * square - h_ * joints.bend(index, window, h_, p, u, du, share);
  };
  if (!(end < -kOvershoot * square)) return 1;
  return illinois(0, square, 1, end, kStepTrials, [&](double share) {
    const double f = slope(share);
    return std::pair(f, std::abs(f) <= kOvershoot / 2 * square);
  });
}

bool VelocityStepper::solve_pressed(int index, const Window& start, const VectorXd& p) {
  Island& island = islands_[index];
  const JointForces& joints = model_->joint_forces();
  const auto& dofs = model_->islands()[index].dofs;
  if (!solve_contacts(island, index, &start.now(), h_)) return false;
  if (!joints_act_ || !joints.bends(index) || !presses(island)) return true;
  const Window window = whole_step(start);
  if (joints.straight(index, window, h_, p, free_, rates_)) return true;
  island.free = island.M;
  island.apart = true;
  joints.evaluate(window, h_, p, free_, joint_free_);
  VectorXd u = free_, du = VectorXd::Zero(u.size()), step(island.M.size());
  double last = kInfinity;
  for (int k = 0; k < kMostIterations; ++k) {
    double size = 0, scale = 0;
    for (std::size_t j = 0; j < dofs.size(); ++j) {
      const double by = du[dofs[j]] = rates_[dofs[j]] - u[dofs[j]];
      size = std::max(size, std::abs(by));
      scale = std::max(scale, std::abs(rates_[dofs[j]]) + std::abs(start_rates_[dofs[j]]));
    }
    if (!(size <= kInfinity)) return false;
    const bool rounding = size <= kRateRounding * (scale + noise(index, start));
    if (size <= 10 * kExact * scale || (rounding && size > last / 2)) return true;
    last = size;
    u += (rounding ? 1 : share_of(index, start, p, u, du)) * du;
    joints.evaluate(window, h_, p, u, joint_);
    if (!factor(index, p, joint_.slope, island.M)) return false;
    step.setZero();
    for (const int place : model_->islands()[index].joints) {
      const int dof = dofs[place];
      step[place] = h_ * (joint_.slope[dof] * (u[dof] - free_[dof]) - joint_.value[dof] +
                          joint_free_.value[dof]);
    }
    island.M.solve(step.data());
    for (std::size_t j = 0; j < dofs.size(); ++j) {
      rates_[dofs[j]] = free_[dofs[j]] + step[static_cast<Eigen::Index>(j)];
    }
    if (!solve_contacts(island, index, nullptr, h_)) return false;
  }
  return false;
}

void VelocityStepper::linearize(const Window& start, const VectorXd& p) {
  const JointForces& joints = model_->joint_forces();
  const Window window = whole_step(start);
  bool apart = false;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    islands_[i].apart = bends_apart(static_cast<int>(i), window, p);
    apart = apart || islands_[i].apart;
  }
  if (joints_act_) {
    joints.evaluate(window, h_, p, rates_, joint_);
  } else {
    for (const int dof : joints.dofs()) joint_.slope[dof] = joint_.by_pose[dof] = 0;
  }
  if (apart) joints.evaluate(window, h_, p, free_, joint_free_);
  for (const int dof : joints.dofs()) {
    if (apart) break;
    joint_free_.slope[dof] = joint_.slope[dof];
    joint_free_.by_pose[dof] = joint_.by_pose[dof];
  }
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& island = islands_[i];
    const int index = static_cast<int>(i);
    factor(index, p, joint_.slope, island.M);
    if (island.apart) factor(index, p, joint_free_.slope, island.free);
    if (!island.touches.empty()) set_jacobian(island, index);
  }
}

bool VelocityStepper::bends_apart(int index, const Window& window, const VectorXd& p) const {
  const JointForces& joints = model_->joint_forces();
  return joints_act_ && joints.bends(index) && presses(islands_[index]) &&
         !joints.straight(index, window, h_, p, free_, rates_);
}

void VelocityStepper::set_mid_step(const VectorXd& p) {
  mid_ = (start_rates_ + free_) / 2;
  at_.move(mid_);
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& island = islands_[i];
    const Multibody::Island& model = model_->islands()[i];
    island.spin_terms.clear();
    island.spin_inverses.clear();
    for (const auto& [node, place] : model.spins) {
      const Matrix3d I = at_.own_inertia(p, node);
      const Matrix3d terms = h_ / 2 * spin_slope(I, mid_.segment<3>(model.dofs[place]));
      island.spin_terms.push_back(terms);
      island.spin_inverses.push_back((I + terms).inverse() * I);
    }
  }
}

void VelocityStepper::set_free_slopes(const VectorXd& p) {
  set_mid_step(p);
  at_.accelerate(nullptr);
  for (int i = 0; i < static_cast<int>(islands_.size()); ++i) {
    if (!model_->islands()[i].joints.empty()) set_tree_slopes(i);
  }
}

void VelocityStepper::set_tree_slopes(int index) {
  Island& island = islands_[index];
  const auto& joints = model_->islands()[index].joints;
  const Eigen::Index n = island.M.size();
  MatrixXd by_q = MatrixXd::Zero(n, n), by_u = by_q;
  at_.sum_composites();
  at_.inertia_derivatives(index, by_q, by_u);
  MatrixXd terms = h_ / 2 * by_u(Eigen::all, joints);
  island.tree_terms = terms(joints, Eigen::all);
  free_factor(island).solve(terms);
  MatrixXd slopes = terms(joints, Eigen::all);
  slopes.diagonal().array() += 1;
  island.tree_slopes.compute(slopes);
}

void VelocityStepper::solve_free_slopes(int index, MatrixXd& X) const {
  free_factor(islands_[index]).solve(X);
  solve_velocity_terms(index, X);
}

void VelocityStepper::solve_velocity_terms(int index, MatrixXd& X) const {
  const Island& island = islands_[index];
  const Multibody::Island& model = model_->islands()[index];
  for (std::size_t s = 0; s < model.spins.size(); ++s) {
    auto rows = X.middleRows<3>(model.spins[s].place);
    rows = (island.spin_inverses[s] * rows).eval();
  }
  if (model.joints.empty()) return;
  const MatrixXd tree = island.tree_slopes.solve(X(model.joints, Eigen::all));
  X(model.joints, Eigen::all) = tree;
}

VectorXd VelocityStepper::velocity_terms(int index, const VectorXd& x) const {
  const Island& island = islands_[index];
  const Multibody::Island& model = model_->islands()[index];
  VectorXd to = VectorXd::Zero(x.size());
  for (std::size_t s = 0; s < model.spins.size(); ++s) {
    const int place = model.spins[s].place;
    to.segment<3>(place) = island.spin_terms[s] * x.segment<3>(place);
  }
  if (model.joints.empty()) return to;
  const VectorXd tree = island.tree_terms * x(model.joints);
  to(model.joints) = tree;
  return to;
}

}  // namespace diffsim
