#include "contact_problem.hpp"

#include <algorithm>
#include <cmath>

#include "../parameters.hpp"

namespace diffsim {
namespace {

constexpr int kNewtonSteps = 25, kSmoothing = 4, kFirstSweeps = 10, kGuessSweeps = 2,
              kMoreSweeps = 50;
constexpr double kLeastShare = 1e-2;  // of a Newton step
constexpr double kTolerance = 1e-11;  // of velocities, of their largest

}  // namespace

Vector3d ContactProblem::velocity(int i) const {
  return W.middleRows<3>(3 * i) * lambda + c0.segment<3>(3 * i) +
         contacts[i].compliance * lambda.segment<3>(3 * i);
}

double ContactProblem::scale(int i) const {
  return std::max(W(3 * i + 1, 3 * i + 1), W(3 * i + 2, 3 * i + 2)) + contacts[i].compliance;
}

// One contact given all others: the normal, then friction.
void ContactProblem::relax(int i, VectorXd& at) const {
  const Contact& own = contacts[i];
  const int n = 3 * i;
  const double c_n = W.row(n).dot(at) + c0[n] + own.compliance * at[n] - own.bound;
  at[n] = std::max(0., at[n] - c_n / (W(n, n) + own.compliance));
  const double limit = own.mu * at[n];
  if (cone == FrictionCone::pyramid) {
    for (int k = n + 1; k < n + 3; ++k) {
      const double c = W.row(k).dot(at) + c0[k] + own.compliance * at[k];
      at[k] = std::clamp(at[k] - c / (W(k, k) + contacts[i].compliance), -limit, limit);
    }
    return;
  }
  const Eigen::Vector2d c =
      W.middleRows<2>(n + 1) * at + c0.segment<2>(n + 1) + own.compliance * at.segment<2>(n + 1);
  const Eigen::Vector2d s = at.segment<2>(n + 1) - c / scale(i);
  const double size = s.norm();
  at.segment<2>(n + 1) = size > limit ? Eigen::Vector2d(s * (limit / size)) : s;
}

void ContactProblem::sweep(int sweeps) {
  const int count = static_cast<int>(contacts.size());
  if (lambda.size() != 3 * count) lambda.setZero(3 * count);
  for (int s = 0; s < sweeps; ++s) {
    for (int i = 0; i < count; ++i) relax(i, lambda);
  }
}

void ContactProblem::set_modes() {
  for (int i = 0; i < static_cast<int>(contacts.size()); ++i) {
    Contact& own = contacts[i];
    const int n = 3 * i;
    const Vector3d c = velocity(i);
    own.side[0] = own.side[1] = 0;
    own.mode = Mode::open;
    if (!(lambda[n] - (c[0] - own.bound) / (W(n, n) + own.compliance) > 0)) continue;
    const double limit = own.mu * std::max(lambda[n], 0.);
    own.mode = Mode::stick;
    if (cone == FrictionCone::cone) {
      const Eigen::Vector2d s = lambda.segment<2>(n + 1) - c.tail<2>() / scale(i);
      if (!(limit > 0) || s.norm() > limit) own.mode = Mode::slip;
      continue;
    }
    for (int k = 0; k < 2; ++k) {
      const double s = lambda[n + 1 + k] - c[1 + k] / (W(n + 1 + k, n + 1 + k) + own.compliance);
      if (std::abs(s) <= limit) continue;
      own.side[k] = s > 0 ? 1 : -1;
      own.mode = Mode::slip;
    }
  }
}

double ContactProblem::residual() const {
  double worst = 0;
  VectorXd& at = relaxed_;
  at = lambda;
  for (int i = 0; i < static_cast<int>(contacts.size()); ++i) {
    relax(i, at);
    for (int k = 3 * i; k < 3 * i + 3; ++k) {
      worst = std::max(worst, std::abs(at[k] - lambda[k]) * (W(k, k) + contacts[i].compliance));
    }
    at.segment<3>(3 * i) = lambda.segment<3>(3 * i);
  }
  return worst;
}

ContactProblem::Law ContactProblem::law(int i) const {
  const Contact& own = contacts[i];
  const int n = 3 * i;
  const Vector3d l = lambda.segment<3>(n);
  Law law{l, Matrix3d::Zero(), Matrix3d::Zero(), Vector3d::Zero(), Vector3d::Zero()};
  if (own.mode == Mode::open) {
    law.by_lambda.setIdentity();
    return law;
  }
  const Vector3d c = velocity(i);
  law.value[0] = c[0] - own.bound;
  law.by_c(0, 0) = 1;
  law.by_lambda(0, 0) = own.compliance;
  law.by_bound[0] = -1;
  if (cone == FrictionCone::pyramid || own.mode == Mode::stick) {
    for (int k = 1; k < 3; ++k) {
      const int side = own.side[k - 1];
      if (side == 0) {
        law.value[k] = c[k];
        law.by_c(k, k) = 1;
        law.by_lambda(k, k) = own.compliance;
      } else {
        law.value[k] = l[k] - side * own.mu * l[0];
        law.by_lambda(k, k) = 1;
        law.by_lambda(k, 0) = -side * own.mu;
        law.by_mu[k] = -side * l[0];
      }
    }
    return law;
  }
  // lambda_t = mu lambda_n d, d = s/|s|, s = lambda_t - c_t/scale.
  const Eigen::Vector2d s = l.tail<2>() - c.tail<2>() / scale(i);
  const double size = s.norm();
  Eigen::Vector2d d = Eigen::Vector2d::Zero();
  Eigen::Matrix2d turn = Eigen::Matrix2d::Zero();
  if (size > 0) {
    d = s / size;
    turn = own.mu * l[0] / size * (Eigen::Matrix2d::Identity() - d * d.transpose());
  }
  const double own_part = 1 - own.compliance / scale(i);
  law.value.tail<2>() -= own.mu * l[0] * d;
  law.by_lambda.block<2, 2>(1, 1) = Eigen::Matrix2d::Identity() - own_part * turn;
  law.by_lambda.block<2, 1>(1, 0) = -own.mu * d;
  law.by_c.block<2, 2>(1, 1) = turn / scale(i);
  law.by_mu.tail<2>() = -l[0] * d;
  return law;
}

MatrixXd ContactProblem::slopes(const std::vector<int>& of, const std::vector<Law>& laws) const {
  const auto size = static_cast<Eigen::Index>(3 * of.size());
  MatrixXd C(size, size);
  for (std::size_t a = 0; a < of.size(); ++a) {
    const auto at = static_cast<Eigen::Index>(3 * a);
    for (std::size_t b = 0; b < of.size(); ++b) {
      C.block<3, 3>(at, static_cast<Eigen::Index>(3 * b)) =
          laws[a].by_c * W.block<3, 3>(3 * of[a], 3 * of[b]);
    }
    C.block<3, 3>(at, at) += laws[a].by_lambda;
  }
  return C;
}

bool ContactProblem::factored(const std::vector<int>& active) const {
  for (const int i : active) {
    if (contacts[i].mode != Mode::stick) return false;
  }
  return active == stuck_;
}

bool ContactProblem::correct(bool damped, double last) {
  std::vector<int>& active = active_;
  active.clear();
  for (int i = 0; i < static_cast<int>(contacts.size()); ++i) {
    if (contacts[i].mode == Mode::open) {
      lambda.segment<3>(3 * i).setZero();
    } else {
      active.push_back(i);
    }
  }
  if (active.empty()) return true;
  VectorXd& f = law_values_;
  f.resize(static_cast<Eigen::Index>(3 * active.size()));
  laws_.clear();
  for (std::size_t a = 0; a < active.size(); ++a) {
    laws_.push_back(law(active[a]));
    f.segment<3>(static_cast<Eigen::Index>(3 * a)) = laws_[a].value;
  }
  if (!factored(active)) {
    lu_.compute(slopes(active, laws_));
    const bool sticks = std::all_of(active.begin(), active.end(),
                                    [&](int i) { return contacts[i].mode == Mode::stick; });
    stuck_ = sticks ? active : std::vector<int>();
  }
  const VectorXd d = lu_.solve(f);
  start_ = lambda;
  const VectorXd& start = start_;
  if (!d.allFinite()) return false;
  for (double share = 1;; share /= 2) {
    for (std::size_t a = 0; a < active.size(); ++a) {
      lambda.segment<3>(3 * active[a]) =
          start.segment<3>(3 * active[a]) - share * d.segment<3>(static_cast<Eigen::Index>(3 * a));
    }
    if (!damped || share < kLeastShare || residual() < last) return true;
  }
}

bool ContactProblem::newton(double tolerance, bool damped) {
  bool solved = false;
  VectorXd solution;
  double solved_residual = 0, last = kInfinity;
  for (int step = 0; step < kNewtonSteps; ++step) {
    set_modes();
    if (!correct(damped && !solved, last)) return false;
    // Once more: sliding directions of slow contacts feel the last digits.
    const double reached = residual();
    if (solved && reached <= tolerance) {
      if (reached > solved_residual) lambda = solution;
      set_modes();
      return true;
    }
    solved = reached <= tolerance;
    if (!solved && !(reached < (damped ? 1 : 0.5) * last)) sweep(kSmoothing);
    last = reached;
    if (solved) {
      solution = lambda;
      solved_residual = reached;
    }
  }
  return false;
}

bool ContactProblem::try_newton(double tolerance) {
  const VectorXd start = lambda;
  for (const bool damped : {false, true}) {
    if (newton(tolerance, damped)) return true;
    lambda = start;
  }
  return false;
}

bool ContactProblem::solve(int sweeps) {
  stuck_.clear();
  const double tolerance = kTolerance * std::max(1e-3, c0.lpNorm<Eigen::Infinity>());
  if (lambda.size() == c0.size() && !lambda.isZero(0)) {
    sweep(kGuessSweeps);
    if (newton(tolerance, false)) return true;
  }
  lambda.setZero(c0.size());
  sweep(kFirstSweeps);
  if (try_newton(tolerance)) return true;
  // Redundant contacts may have branches that Newton does not find: from a softer problem on.
  const std::vector<Contact> own = contacts;
  lambda.setZero();
  bool solved = false;
  for (double softer = 1e5; softer >= 1; softer /= 10) {
    for (std::size_t i = 0; i < own.size(); ++i) {
      contacts[i].compliance = softer * own[i].compliance;
    }
    stuck_.clear();
    sweep(kFirstSweeps);
    solved = try_newton(tolerance);
  }
  for (int done = 0; !solved && done < sweeps; done += kMoreSweeps) {
    sweep(kMoreSweeps);
    solved = try_newton(tolerance);
  }
  if (solved) return true;
  set_modes();
  return residual() <= 1e5 * tolerance;
}

void ContactProblem::gradient(const VectorXd& lambda_bar, MatrixXd& W_bar, VectorXd& c0_bar) const {
  std::vector<int> all;
  std::vector<Law> laws;
  for (int i = 0; i < static_cast<int>(contacts.size()); ++i) {
    all.push_back(i);
    laws.push_back(law(i));
  }
  const VectorXd y = slopes(all, laws).transpose().partialPivLu().solve(lambda_bar);
  c0_bar.resize(c0.size());
  for (const int i : all) {
    c0_bar.segment<3>(3 * i) = -laws[i].by_c.transpose() * y.segment<3>(3 * i);
  }
  W_bar = c0_bar * lambda.transpose();
}

// Gradients by the iterate, W and c_0, carried back through relaxations.
struct ContactProblem::Backward {
  const ContactProblem& problem;
  VectorXd bar;
  MatrixXd& W_bar;
  VectorXd& c0_bar;

  double width(int k) const { return problem.W(k, k) + problem.contacts[k / 3].compliance; }
  double velocity(int k, const VectorXd& x) const {
    return problem.W.row(k).dot(x) + problem.c0[k] + problem.contacts[k / 3].compliance * x[k];
  }
  // Of velocity(k, x), `by` its gradient.
  void add_velocity(int k, double by, const VectorXd& x) {
    W_bar.row(k) += by * x.transpose();
    c0_bar[k] += by;
    bar += by * problem.W.row(k).transpose();
    bar[k] += by * problem.contacts[k / 3].compliance;
  }

  void relax(int i, const VectorXd& x) {
    const int n = 3 * i;
    const double c = velocity(n, x) - problem.contacts[i].bound, w = width(n);
    VectorXd pressed = x;
    pressed[n] = std::max(0., x[n] - c / w);
    problem.cone == FrictionCone::cone ? relax_cone(i, pressed) : relax_pyramid(i, pressed);
    const double of = bar[n];
    bar[n] = 0;
    if (!(x[n] - c / w > 0)) return;
    bar[n] += of;
    W_bar(n, n) += of * c / (w * w);
    add_velocity(n, -of / w, x);
  }

  void relax_cone(int i, const VectorXd& x) {
    const int n = 3 * i;
    const Eigen::Vector2d c(velocity(n + 1, x), velocity(n + 2, x));
    const double w = problem.scale(i), limit = problem.contacts[i].mu * x[n];
    const Eigen::Vector2d s = x.segment<2>(n + 1) - c / w;
    Eigen::Vector2d of = bar.segment<2>(n + 1);
    const double size = s.norm();
    if (size > limit) {
      const Eigen::Vector2d d = s / size;
      bar[n] += problem.contacts[i].mu * d.dot(of);
      of = limit / size * (of - d * d.dot(of));
    }
    bar.segment<2>(n + 1) = of;
    const int wide = width(n + 1) >= width(n + 2) ? n + 1 : n + 2;
    W_bar(wide, wide) += of.dot(c) / (w * w);
    for (int k = 0; k < 2; ++k) add_velocity(n + 1 + k, -of[k] / w, x);
  }

  void relax_pyramid(int i, const VectorXd& x) {
    const int n = 3 * i;
    const double mu = problem.contacts[i].mu, limit = mu * x[n];
    VectorXd then = x;  // where the first tangent has been relaxed
    then[n + 1] = std::clamp(x[n + 1] - velocity(n + 1, x) / width(n + 1), -limit, limit);
    for (int k = n + 2; k > n; --k) {
      const VectorXd& at = k == n + 2 ? then : x;
      const double c = velocity(k, at), moved = at[k] - c / width(k), of = bar[k];
      bar[k] = 0;
      if (std::abs(moved) > limit) {
        bar[n] += (moved > 0 ? mu : -mu) * of;
        continue;
      }
      bar[k] += of;
      W_bar(k, k) += of * c / (width(k) * width(k));
      add_velocity(k, -of / width(k), at);
    }
  }
};

void ContactProblem::sweep_adjoint(int sweeps, const VectorXd& lambda_bar, MatrixXd& W_bar,
                                   VectorXd& c0_bar) const {
  // The iterates before every relaxation, then back through them.
  const int count = static_cast<int>(contacts.size());
  std::vector<VectorXd> before;
  VectorXd at = VectorXd::Zero(3 * count);
  for (int s = 0; s < sweeps; ++s) {
    for (int i = 0; i < count; ++i) {
      before.push_back(at);
      relax(i, at);
    }
  }
  Backward back{*this, lambda_bar, W_bar, c0_bar};
  W_bar.setZero(W.rows(), W.cols());
  c0_bar.setZero(c0.size());
  for (int k = sweeps * count - 1; k >= 0; --k) back.relax(k % count, before[k]);
}

}  // namespace diffsim
