#include "inverse_kinematics.hpp"

#include <cmath>

#include "../rotation.hpp"
#include "../small_matrices.hpp"

namespace diffsim {
namespace {

// Between two poses: the straight line and the shortest turn.
LinkPose between(const LinkPose& a, const LinkPose& b, double share) {
  const Eigen::Quaterniond turn(a.turn);
  return {turn.slerp(share, Eigen::Quaterniond(b.turn)).toRotationMatrix(),
          a.at + share * (b.at - a.at)};
}

// J J^T, by columns: a product of matrices of any size takes seconds to compile.
Matrix6 outer_square(const PoseTask::Slopes& J) {
  Matrix6 A = Matrix6::Zero();
  for (Eigen::Index i = 0; i < J.cols(); ++i) {
    const Vector6 column = J.col(i);
    A.noalias() += column * column.transpose();
  }
  return A;
}

// J^T (J J^T + damping)^-1 e
JointValues least_step(const PoseTask::Slopes& J, const Vector6& e, double damping) {
  Matrix6 A = outer_square(J);
  A.diagonal().array() += damping;
  const Vector6 pull = solve_positive(A, e);
  return J.transpose() * pull;
}

class Follower {
 public:
  Follower(const Chain& chain, const PoseTask& task) : chain_(chain), task_(task) {
    how_.iterations = 30;
  }

  // From q at pose a to pose b, expected at `guess`; halves the path where joints jump.
  bool go(const LinkPose& a, const LinkPose& b, JointValues& q, const JointValues& guess, int depth,
          FollowedPath& path) const {
    JointValues next = guess;
    const double error = reach(chain_, task_, b, how_, next);
    int joint = 0;
    const double jump = (next - guess).cwiseAbs().maxCoeff(&joint);
    if (error <= how_.tolerance && jump < most_jump) {
      q = next;
      return true;
    }
    if (depth == 0) {
      path.error = error;
      path.jumped = error <= how_.tolerance ? joint : -1;
      return false;
    }
    const LinkPose middle = between(a, b, 0.5);
    const JointValues rate = guess - q, q0 = q;
    if (!go(a, middle, q, q + rate / 2, depth - 1, path)) return false;
    return go(middle, b, q, q + (q - q0), depth - 1, path);
  }

 private:
  static constexpr double most_jump = 0.3;  // away from the expected value [rad or m]

  const Chain& chain_;
  const PoseTask& task_;
  Solving how_;
};

}  // namespace

void PoseTask::error(const Chain& chain, const JointValues& q, const LinkPose& want, Vector6& e,
                     Slopes& J) const {
  ChainJacobian all;
  const LinkPose have = chain.pose(q, &all);
  e.setZero();
  J.setZero(6, chain.size());
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
    e.segment<2>(3) = length * across * turn;
    J.middleRows<2>(3) = length * across * all.bottomRows<3>();
  }
}

double reach(const Chain& chain, const PoseTask& task, const LinkPose& want, const Solving& how,
             JointValues& q) {
  Vector6 e;
  PoseTask::Slopes J;
  for (int i = 0;; ++i) {
    task.error(chain, q, want, e, J);
    const double square = e.squaredNorm();
    if (square <= how.tolerance * how.tolerance || i == how.iterations) return std::sqrt(square);
    JointValues step = least_step(J, e, square / 2 + 1e-14 * task.length * task.length);
    double longest = 0;
    for (double one : step) longest = std::max(longest, std::abs(one));
    if (longest > how.longest_step) step *= how.longest_step / longest;
    q += step;
  }
}

FollowedPath follow(const Chain& chain, const PoseTask& task, const std::vector<LinkPose>& keys,
                    int begin, const JointValues& q) {
  const Follower follower(chain, task);
  const int count = static_cast<int>(keys.size());
  FollowedPath path;
  path.q = MatrixXd::Zero(chain.size(), count);
  path.q.col(begin) = q;
  path.first = path.last = begin;
  constexpr int halvings = 3;
  for (int direction : {1, -1}) {
    JointValues now = q, before = q, earlier = q;
    for (int k = begin + direction; k >= 0 && k < count; k += direction) {
      // A parabola through three keys: at a fold, where two branches meet, it tells them apart.
      const JointValues guess = 3 * (now - before) + earlier;
      earlier = before;
      before = now;
      if (!follower.go(keys[k - direction], keys[k], now, guess, halvings, path)) return path;
      path.q.col(k) = now;
      (direction > 0 ? path.last : path.first) = k;
    }
  }
  return path;
}

std::pair<double, double> singular_values(const Chain& chain, const PoseTask& task,
                                          const JointValues& q) {
  Vector6 e;
  PoseTask::Slopes J;
  task.error(chain, q, chain.pose(q), e, J);
  // Of the smaller of J J^T and J^T J: arms with fewer joints than rows have no zero values. It
  // fills a corner of A; the rest of the diagonal repeats a number between its least and largest
  // one.
  const Eigen::Index rows = task.rows(), columns = J.cols();
  Matrix6 A = Matrix6::Zero();
  if (rows <= columns) {
    A = outer_square(J);
  } else {
    for (Eigen::Index i = 0; i < columns; ++i) {
      for (Eigen::Index j = 0; j < columns; ++j) A(i, j) = J.col(i).dot(J.col(j));
    }
  }
  for (Eigen::Index i = std::min(rows, columns); i < 6; ++i) A(i, i) = A(0, 0);
  const VectorXd values = symmetric_eigenvalues(A);
  return {std::sqrt(std::max(values[0], 0.)), std::sqrt(std::max(values[5], 0.))};
}

}  // namespace diffsim
