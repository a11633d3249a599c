// An impact gives no energy: Newton's law with friction may [Kane and Levinson, Dynamics,
// 1985, 5.8], where friction turns the direction of slip. With velocities c of all contacts before
// and after,
//   E = (u+ . M u+ - u- . M u-)/2 = lambda . (c+ + c-)/2,
// which is <= 0 of an impact without restitution, as lambda . c+ <= 0 then. So all restitutions of
// an island are multiplied by the share s <= 1 for which E = 0 where E > 0 with s = 1. Of s < 1,
//   ds = -(E_u+ du+ + E_q dq + E_u- du- + E_p dp)/(E_u+ du+/ds),   du+ at fixed s.
#include "illinois.hpp"
#include "velocity_stepper.hpp"

namespace diffsim {
namespace {

constexpr int kShareTrials = 80;
constexpr double kNoEnergy = 1e-14;  // share of the energy that the impact turns over

}  // namespace

bool VelocityStepper::solve_limited(Island& island, int index) {
  const State none = make_state({});  // no impulses to guess from
  const auto& dofs = model_->islands()[index].dofs;
  double turned = 0;
  bool solved = true;
  const auto gain = [&](double share) {
    for (std::size_t i = 0; i < island.touches.size(); ++i) {
      const Touch& touch = island.touches[i];
      if (!touch.bounces) continue;
      island.problem.contacts[i].bound = -share * touch.restitution * touch.gap.n.dot(touch.before);
    }
    for (const int dof : dofs) rates_[dof] = start_rates_[dof];
    solved = solve_contacts(island, index, &none, h_);
    const ContactProblem& problem = island.problem;
    turned = problem.lambda.cwiseProduct(problem.c0).cwiseAbs().sum();
    island.share = share;
    return problem.lambda.dot(problem.c0) + problem.lambda.dot(problem.W * problem.lambda) / 2;
  };
  const double high = 1, f_high = gain(1);
  if (!solved || !(f_high > kNoEnergy * turned)) return solved;
  const double low = 0, f_low = gain(0);
  if (!solved || !(f_low < 0)) return solved;
  illinois(low, f_low, high, f_high, kShareTrials, [&](double share) {
    const double f = gain(share);
    return std::pair(f, !solved || std::abs(f) <= kNoEnergy * turned);
  });
  return solved;
}

VectorXd VelocityStepper::slopes_by_share(const Island& island, double& energy) const {
  const ContactProblem& problem = island.problem;
  const int count = static_cast<int>(island.touches.size());
  std::vector<int> all;
  std::vector<ContactProblem::Law> laws;
  VectorXd change = VectorXd::Zero(3 * count);
  for (int c = 0; c < count; ++c) {
    all.push_back(c);
    laws.push_back(problem.law(c));
    const Touch& touch = island.touches[c];
    if (!touch.bounces) continue;
    const double bound = -touch.restitution / touch.share * touch.gap.n.dot(touch.before);
    change.segment<3>(3 * c) = -bound * laws[c].by_bound;
  }
  change = problem.slopes(all, laws).partialPivLu().solve(change).eval();
  energy = (problem.c0 + problem.W * problem.lambda).dot(change);
  VectorXd du = island.H * change;
  island.M.solve_lower(du.data());
  return du;
}

VectorXd VelocityStepper::pull_energy(int index, const VectorXd& p, const ActiveColumns& active,
                                      VectorXd& x, VectorXd& v, VectorXd& held) {
  VectorXd after = VectorXd::Zero(rates_.size()), before = after, momentum = after;
  for (const int dof : model_->islands()[index].dofs) {
    after[dof] = rates_[dof];
    before[dof] = start_rates_[dof];
  }
  at_.move(momentum);
  const auto inertia = [&](const VectorXd& u) {
    at_.accelerate(&u);
    bias_.setZero();
    at_.add_inertia(p, &u, nullptr, bias_);
  };
  inertia(after);
  momentum = bias_;
  inertia(before);
  v -= bias_;
  // (u+ . M u+ - u- . M u-)/2 = w . M (u+ - u-)
  const VectorXd change = after - before, w = (after + before) / 2;
  inertia(change);
  adjoint_.begin(at_, start_rates_, w);
  adjoint_.add_inertia();
  pull_inertia_columns(active, change, w, held);
  VectorXd none = VectorXd::Zero(v.size());
  adjoint_.finish(x, none);
  return momentum;
}

void VelocityStepper::add_share(int index, const VectorXd& p, const ActiveColumns& active,
                                Slopes& to) {
  const auto& dofs = model_->islands()[index].dofs;
  double by_share = 0;
  const VectorXd du = slopes_by_share(islands_[index], by_share);
  VectorXd x = VectorXd::Zero(rates_.size()), v = x, held = VectorXd::Zero(active.size());
  const VectorXd by_u = pull_energy(index, p, active, x, v, held)(dofs);
  const Eigen::RowVectorXd by_q = by_u.transpose() * to.q + x(dofs).transpose(),
                           by_v = by_u.transpose() * to.u + v(dofs).transpose();
  to.q -= du * by_q / by_share;
  to.u -= du * by_v / by_share;
  for (std::size_t c = 0; c < to.columns.size(); ++c) {
    auto column = to.p.col(static_cast<Eigen::Index>(c));
    const double by_p = by_u.dot(column) + held[active.columns()[to.columns[c]]];
    column -= du * by_p / by_share;
  }
}

}  // namespace diffsim
