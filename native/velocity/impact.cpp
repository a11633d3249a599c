// Impacts of contacts with restitution, at their own times: they split a step of length h.
//
// Until the first gap closes such contacts are left out; there,
//   M (u+ - u-) = J^T B lambda,   c_n+ >= -e c_n-,
// of the contacts that touch and approach fast, c_n+ >= 0 of others that touch, with friction; then
// the rest of the step. Velocities of the scheme are those of half a step before; where bodies meet
// nothing but what they bounce off, forces carry them to the instant of the impact, and back after
// it. A part of length s moves from (q, u) to (q', u') as a step of that length,
//   q' moved by s u'; where nothing presses, by ((h + s) u' - (h - s) u)/2,
// which is s u' of a whole step: positions of a body that falls stay on the parabola of its whole
// steps. Not where forces on joints act, which hold for the end of a part. All of it depends on
// where the step begins and on the time of impact only, so that the motion goes on as continuously
// where an impact passes from one step into the next.
#include <algorithm>

#include "../bodies/kinematics.hpp"
#include "../rotation.hpp"
#include "illinois.hpp"
#include "velocity_stepper.hpp"

namespace diffsim {
namespace {

constexpr int kMostImpacts = 8;  // in one step; from then on as Impacts::stepped
constexpr int kImpactTrials = 60;
constexpr double kGapClosed = 1e-16;  // [m]
constexpr double kShortest = 1e-10;   // parts, of the step

void set_rates(const std::vector<Node>& nodes, const VectorXd& u, State& to) {
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const Node& n = nodes[i];
    if (n.dependent) continue;
    if (n.has_place()) to.v.col(static_cast<Eigen::Index>(i)) = u.segment<3>(n.dof);
    if (n.turns()) to.w[n.frame] = u.segment<3>(n.turn());
    if (n.kind == NodeKind::coordinates) {
      to.qdot.segment(n.first, n.count) = u.segment(n.dof, n.count);
    }
  }
}

}  // namespace

bool VelocityStepper::presses(const Island& island) const {
  return std::any_of(
      island.problem.contacts.begin(), island.problem.contacts.end(),
      [](const ContactProblem::Contact& c) { return c.mode != ContactProblem::Mode::open; });
}

void VelocityStepper::weigh_part(double s) {
  by_end_.setConstant(rates_.size(), s);
  by_start_.setZero(rates_.size());
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    if (presses(islands_[i]) || model_->joint_forces().any(static_cast<int>(i))) continue;
    for (const int dof : model_->islands()[i].dofs) {
      by_end_[dof] = (whole_ + s) / 2;
      by_start_[dof] = (whole_ - s) / 2;
    }
  }
}

void VelocityStepper::move_part(const State& from, double s, State& out) {
  weigh_part(s);
  u_ = (by_end_.cwiseProduct(rates_) - by_start_.cwiseProduct(start_rates_)) / s;
  const Window window{{&out, &from, nullptr}, TimeScheme::bdf(1, s), 0};
  advance(scene_->nodes(), window, u_, out);
  set_rates(scene_->nodes(), rates_, out);
  at_.place_links(out);
}

void VelocityStepper::begin_impact(const State& s, const VectorXd& p) {
  h_ = 1;  // forces of contacts are impulses
  impact_ = true;
  joints_act_ = false;
  impacts_ = Impacts::stepped;
  independent_rates(scene_->nodes(), s, start_rates_);
  at_.place(p, s);
  at_.move(start_rates_);
  find_touches(s, h_, p, nullptr);
}

std::string VelocityStepper::solve_impact(const State& s, const VectorXd& p) {
  begin_impact(s, p);
  rates_ = start_rates_;
  std::string unsolved;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    Island& island = islands_[i];
    if (island.touches.empty()) continue;
    const int index = static_cast<int>(i);
    at_.mass_matrix(index, p, island.M);
    island.M.factor();
    if (!solve_limited(island, index)) unsolved = name_pressed(island);
  }
  return unsolved;
}

void VelocityStepper::add_kick(const State& from, const Window& start, const VectorXd& p,
                               double length, const std::vector<bool>& kicked) {
  const Window own{{&from, &from, nullptr}, TimeScheme::bdf(1, length), start.t};
  impacts_ = Impacts::none;
  solve(from, own, p);
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    if (kicked[i]) continue;
    for (const int dof : model_->islands()[i].dofs) rates_[dof] = start_rates_[dof];
  }
  Part part{Part::Kind::kick, length, nullptr, -1, from, kicked};
  set_rates(scene_->nodes(), rates_, part.end);
  at_.place_links(part.end);
  part.end.hard.clear();
  parts_.push_back(std::move(part));
}

std::string VelocityStepper::add_impact(const State& from, const Window& start, const VectorXd& p) {
  begin_impact(from, p);
  std::vector<bool> kicked;
  for (std::size_t i = 0; i < islands_.size(); ++i) {
    const auto& touches = islands_[i].touches;
    kicked.push_back(
        !touches.empty() && !model_->joint_forces().any(static_cast<int>(i)) &&
        std::all_of(touches.begin(), touches.end(), [](const Touch& t) { return t.bounces; }));
  }
  add_kick(from, start, p, whole_ / 2, kicked);
  Part impact{Part::Kind::impact, 1, nullptr, -1, parts_.back().end};
  const std::string unsolved = solve_impact(parts_.back().end, p);
  set_rates(scene_->nodes(), rates_, impact.end);
  at_.place_links(impact.end);
  report_contacts(1, impact.end);
  for (const Island& island : islands_) impact.shares.push_back(island.share);
  parts_.push_back(std::move(impact));
  add_kick(parts_.back().end, start, p, -whole_ / 2, kicked);
  return unsolved;
}

double VelocityStepper::least_gap(const State& s, const VectorXd& p, std::size_t& which) {
  double least = kInfinity;
  const ContactElement* last = nullptr;
  for (std::size_t i = 0; i < aside_.size(); ++i) {
    const Aside& own = aside_[i];
    if (own.element != last) {
      gaps_.clear();
      own.element->gaps(s, p, 4 * whole_ * whole_ * gravity_, 2 * whole_, gaps_);
      last = own.element;
    }
    for (const Gap& gap : gaps_) {
      if (gap.point != own.point || !(gap.g - kTouchingGap < least)) continue;
      least = gap.g - kTouchingGap;
      which = i;
    }
  }
  return least;
}

double VelocityStepper::time_of_impact(const State& from, const Window& start, const VectorXd& p,
                                       double rest, double gap, Part& part) {
  double before = kInfinity;
  std::size_t which = 0;
  for (std::size_t i = 0; i < aside_.size(); ++i) {
    if (!(aside_[i].g < before)) continue;
    before = aside_[i].g;
    which = i;
  }
  double s = 0;
  if (before > 0) {
    s = illinois(0, before, rest, gap, kImpactTrials, [&](double length) {
      const Window own{{&from, &from, nullptr}, TimeScheme::bdf(1, length), start.t};
      solve(from, own, p);
      move_part(from, length, part.end);
      const double f = least_gap(part.end, p, which);
      return std::pair(f, std::abs(f) <= kGapClosed);
    });
  }
  part.element = aside_[which].element;
  part.point = aside_[which].point;
  return s;
}

std::string VelocityStepper::split(const State& prev, const Window& start, const VectorXd& p) {
  parts_.clear();
  parts_.reserve(4 * kMostImpacts + 4);  // `from` points into it
  const State* from = &prev;
  double rest = whole_;
  for (int impacts = 0;; ++impacts) {
    impacts_ = impacts < kMostImpacts ? Impacts::split : Impacts::stepped;
    const Window own{{from, from, nullptr}, TimeScheme::bdf(1, rest), start.t};
    std::string unsolved = solve(*from, own, p);
    Part part{Part::Kind::step, rest, nullptr, -1, next_};
    move_part(*from, rest, part.end);
    std::size_t which = 0;
    const double gap = aside_.empty() ? 0 : least_gap(part.end, p, which);
    if (!unsolved.empty() || !(gap < 0)) {
      report_contacts(rest, part.end);
      parts_.push_back(std::move(part));
      return unsolved;
    }
    const double s = time_of_impact(*from, start, p, rest, gap, part);
    if (s > kShortest * whole_) {
      part.length = s;
      report_contacts(s, part.end);
      parts_.push_back(part);
      from = &parts_.back().end;
      rest -= s;
    }
    unsolved = add_impact(*from, start, p);
    from = &parts_.back().end;
    if (!unsolved.empty() || !(rest > kShortest * whole_)) return unsolved;
  }
}

// The state at the end, as if one step had led there: forces of contacts are all impulses over h.
void VelocityStepper::join_parts(const State& prev) {
  next_ = parts_.back().end;
  next_.split = true;
  next_.hard.clear();
  for (const Part& part : parts_) {
    if (part.kind == Part::Kind::kick) continue;
    const double share = part.length / whole_;
    for (const HardContact& own : part.end.hard) {
      auto known = std::find_if(next_.hard.begin(), next_.hard.end(),
                                [&](const HardContact& h) { return h.point == own.point; });
      if (known == next_.hard.end()) {
        next_.hard.push_back(own);
        known = next_.hard.end() - 1;
        known->force.setZero();
        known->normal.setZero();
      }
      known->force += share * own.force;
      known->normal += share * own.normal;
      if (part.kind == Part::Kind::impact) {  // the rest of it is over sooner or later
        known->code = own.code;
        known->place = own.place;
      }
    }
  }
  next_.dc = next_.c - prev.c;
  next_.dq = next_.q - prev.q;
  for (std::size_t f = 0; f < next_.R.size(); ++f) {
    next_.theta[f] = log_rotation(next_.R[f] * prev.R[f].transpose());
    next_.thetadot[f] = next_.theta[f] / whole_;
  }
}

void VelocityStepper::step_again(const Window& window, const VectorXd& p) {
  State prev = *window.at[1];
  prev.dc.setZero(3, prev.c.cols());  // rollouts may have forgotten it
  const Window start{{&prev, &prev, nullptr}, window.scheme, window.t};
  whole_ = window.scheme.h;
  split(prev, start, p);
}

}  // namespace diffsim
