#include "inverse_kinematics.hpp"

#include <Eigen/Eigenvalues>
#include <cmath>

#include "../rotation.hpp"

namespace diffsim {
namespace {

using Square = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 6, 6>;

// Between two poses: the straight line and the shortest turn.
LinkPose between(const LinkPose& a, const LinkPose& b, double share) {
  const Eigen::Quaterniond turn(a.turn);
  return {turn.slerp(share, Eigen::Quaterniond(b.turn)).toRotationMatrix(),
          a.at + share * (b.at - a.at)};
}

// J^T (J J^T + damping)^-1 e
JointValues least_step(const PoseTask::Slopes& J, const PoseTask::Rows& e, double damping) {
  Square A = J * J.transpose();
  A.diagonal().array() += damping;
  const PoseTask::Rows pull = A.ldlt().solve(e);
  return J.transpose() * pull;
}

// Beyond 60 % of its range a joint is drawn back; no range, no pull.
JointValues pull(const Ranges& ranges, const JointValues& q) {
  JointValues g = JointValues::Zero(q.size());
  for (int i = 0; i < q.size(); ++i) {
    const double half = (ranges.upper[i] - ranges.lower[i]) / 2;
    if (!std::isfinite(half)) continue;
    const double off = q[i] - (ranges.upper[i] + ranges.lower[i]) / 2;
    const double beyond = std::max(std::abs(off) - 0.6 * half, 0.);
    g[i] = -0.05 * std::copysign(beyond, off);
  }
  return g;
}

class Follower {
 public:
  Follower(const Chain& chain, const PoseTask& task, const Ranges& ranges)
      : chain_(chain), task_(task), ranges_(ranges) {
    how_.iterations = 30;
  }

  // From q at pose a to pose b, expected at `guess`; halves the way where joints leap.
  bool go(const LinkPose& a, const LinkPose& b, JointValues& q, const JointValues& guess, int depth,
          Way& way) const {
    JointValues next = guess;
    if (chain_.size() > task_.rows()) rest_within(b, next);
    const double error = reach(chain_, task_, b, how_, next);
    int joint = 0;
    const double leap = (next - guess).cwiseAbs().maxCoeff(&joint);
    if (error <= how_.tolerance && leap < most_leap) {
      q = next;
      return true;
    }
    if (depth == 0) {
      way.error = error;
      way.jumped = error <= how_.tolerance ? joint : -1;
      return false;
    }
    const LinkPose middle = between(a, b, 0.5);
    const JointValues rate = guess - q, q0 = q;
    if (!go(a, middle, q, q + rate / 2, depth - 1, way)) return false;
    return go(middle, b, q, q + (q - q0), depth - 1, way);
  }

 private:
  static constexpr double most_leap = 0.3;  // away from the expected value [rad or m]

  // One step of the joints that the task leaves free towards the middle of their ranges.
  void rest_within(const LinkPose& b, JointValues& q) const {
    PoseTask::Rows e;
    PoseTask::Slopes J;
    task_.error(chain_, q, b, e, J);
    const JointValues g = pull(ranges_, q);
    q += g - least_step(J, J * g, 1e-6 * task_.length * task_.length);
  }

  const Chain& chain_;
  const PoseTask& task_;
  const Ranges& ranges_;
  Solving how_;
};

}  // namespace

void PoseTask::error(const Chain& chain, const JointValues& q, const LinkPose& want, Rows& e,
                     Slopes& J) const {
  ChainJacobian all;
  const LinkPose have = chain.pose(q, &all);
  e.resize(rows());
  J.resize(rows(), chain.size());
  e.head<3>() = want.at - have.at;
  J.topRows<3>() = all.topRows<3>();
  if (orientation == Orientation::full) {
    e.tail<3>() = length * log_rotation(want.turn * have.turn.transpose());
    J.bottomRows<3>() = length * all.bottomRows<3>();
  } else if (orientation == Orientation::axis) {
    const Vector3d wish = want.turn * axis, is = have.turn * axis, cross = is.cross(wish);
    const double sine = cross.norm(), angle = std::atan2(sine, is.dot(wish));
    const Vector3d turn = sine > 1e-12 ? Vector3d(angle / sine * cross) : cross;
    Eigen::Matrix<double, 2, 3> across;  // two directions square to the wished axis
    across.row(0) = wish.unitOrthogonal();
    across.row(1) = wish.cross(across.row(0).transpose());
    e.tail<2>() = length * across * turn;
    J.bottomRows<2>() = length * across * all.bottomRows<3>();
  }
}

double reach(const Chain& chain, const PoseTask& task, const LinkPose& want, const Solving& how,
             JointValues& q) {
  PoseTask::Rows e;
  PoseTask::Slopes J;
  for (int i = 0;; ++i) {
    task.error(chain, q, want, e, J);
    const double square = e.squaredNorm();
    if (square <= how.tolerance * how.tolerance || i == how.iterations) return std::sqrt(square);
    JointValues step = least_step(J, e, square / 2 + 1e-14 * task.length * task.length);
    const double longest = step.cwiseAbs().maxCoeff();
    if (longest > how.longest_step) step *= how.longest_step / longest;
    q += step;
  }
}

Way follow(const Chain& chain, const PoseTask& task, const std::vector<LinkPose>& keys,
           const Ranges& ranges, int begin, const JointValues& q) {
  const Follower follower(chain, task, ranges);
  const int count = static_cast<int>(keys.size());
  Way way;
  way.q = MatrixXd::Zero(chain.size(), count);
  way.q.col(begin) = q;
  way.first = way.last = begin;
  constexpr int halvings = 3;
  for (int direction : {1, -1}) {
    JointValues now = q, before = q, earlier = q;
    for (int k = begin + direction; k >= 0 && k < count; k += direction) {
      // A parabola through three keys: at a fold, where two branches meet, it tells them apart.
      const JointValues guess = 3 * (now - before) + earlier;
      earlier = before;
      before = now;
      if (!follower.go(keys[k - direction], keys[k], now, guess, halvings, way)) return way;
      way.q.col(k) = now;
      (direction > 0 ? way.last : way.first) = k;
    }
  }
  return way;
}

std::pair<double, double> singular_values(const Chain& chain, const PoseTask& task,
                                          const JointValues& q) {
  PoseTask::Rows e;
  PoseTask::Slopes J;
  task.error(chain, q, chain.pose(q), e, J);
  // Through the smaller of J J^T and J^T J: arms with fewer joints than rows have no zero values.
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, most_joints, most_joints> A;
  if (J.rows() <= J.cols()) {
    A = J * J.transpose();
  } else {
    A = J.transpose() * J;
  }
  Eigen::SelfAdjointEigenSolver<decltype(A)> eigen(A, Eigen::EigenvaluesOnly);
  const auto& values = eigen.eigenvalues();
  return {std::sqrt(std::max(values[0], 0.)), std::sqrt(std::max(values[values.size() - 1], 0.))};
}

}  // namespace diffsim
