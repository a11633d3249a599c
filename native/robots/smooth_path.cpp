#include "smooth_path.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {
namespace {

constexpr double pose_weight = 1e5;              // per metre, against accelerations of one limit
constexpr double wall_weights[] = {1, 30, 300};  // of what goes beyond the room, stage by stage
constexpr double room[4] = {0.97, 0.8, 0.55,
                            0.4};  // of the limits of q, q' ...: splines swing further
constexpr double centre_weight = 0.02;
constexpr double velocity_weight = 0.1, jerk_weight = 0.3;
constexpr double longest_step = 0.5;
constexpr double enough = 1e-3;  // share of the objective that a step must still save

// A symmetric banded system, its lower half by rows: row i holds columns i - width .. i.
class Banded {
 public:
  Banded(int size, int width) : width_(width), a_(width + 1, size), b_(size) {}
  void clear() {
    a_.setZero();
    b_.setZero();
  }
  double& at(int row, int column) { return a_(column - row + width_, row); }
  double& right(int row) { return b_[row]; }

  // Cholesky in place, then both substitutions; the matrix is positive definite by construction.
  const VectorXd& solve(double damping) {
    const int size = static_cast<int>(b_.size());
    a_.row(width_).array() += damping;
    for (int i = 0; i < size; ++i) {
      const int from = std::max(i - width_, 0);
      for (int j = from; j <= i; ++j) {
        const int start = std::max(from, j - width_), count = j - start;
        const double sum = a_.col(i)
                               .segment(start - i + width_, count)
                               .dot(a_.col(j).segment(start - j + width_, count));
        const double left = at(i, j) - sum;
        at(i, j) = i == j ? std::sqrt(std::max(left, 1e-300)) : left / at(j, j);
      }
      b_[i] -= a_.col(i).segment(from - i + width_, i - from).dot(b_.segment(from, i - from));
      b_[i] /= at(i, i);
    }
    for (int i = size - 1; i >= 0; --i) {
      b_[i] /= at(i, i);
      const int from = std::max(i - width_, 0);
      b_.segment(from, i - from) -= b_[i] * a_.col(i).segment(from - i + width_, i - from);
    }
    return b_;
  }

 private:
  int width_;
  MatrixXd a_;  // column i: row i of the lower half
  VectorXd b_;
};

// A derivative of some order as a weighted sum of keys.
struct Difference {
  int order, count;
  int keys[4];
  double weights[4], share;  // share: of the whole time
};

std::vector<Difference> differences(const VectorXd& times, bool at_rest) {
  const int n = static_cast<int>(times.size());
  const double span = times[n - 1] - times[0];
  const auto time = [&](int k) {
    if (k < 0) return times[0] + k * (times[1] - times[0]);
    return k < n ? times[k] : times[n - 1] + (k - n + 1) * (times[n - 1] - times[n - 2]);
  };
  std::vector<Difference> found;
  for (int order = 1; order <= 3; ++order) {
    const int extra = at_rest ? order : 0;  // keys that stand still on both sides
    for (int k = -extra; k + order < n + extra; ++k) {
      Difference d{order, order + 1, {}, {}, (time(k + order) - time(k)) / order / span};
      for (int i = 0; i <= order; ++i) {
        d.keys[i] = std::clamp(k + i, 0, n - 1);
        d.weights[i] = order == 3 ? 6 : order;
        for (int j = 0; j <= order; ++j) {
          if (j != i) d.weights[i] /= time(k + i) - time(k + j);
        }
        // From rest q - q_0 is jerk t^3/6: the difference sees a sixth of that first jerk.
        if (at_rest && order == 3 && (k == -2 || k == n - 2)) d.weights[i] *= 6;
      }
      found.push_back(d);
    }
  }
  return found;
}

class Smoother {
 public:
  Smoother(const Chain& chain, const PoseTask& task, const std::vector<LinkPose>& keys,
           const VectorXd& times, const MotionLimits& limits, bool at_rest)
      : chain_(chain),
        task_(task),
        keys_(keys),
        limits_(limits),
        n_(chain.size()),
        differences_(differences(times, at_rest)),
        system_(n_ * static_cast<int>(keys.size()), 3 * n_) {}

  // Levenberg-Marquardt on the paths that reach all keys: every step ends on them again.
  MatrixXd smoothed(MatrixXd q, int iterations, double wall) {
    wall_ = wall * wall;
    double damping = 1e-3, objective = assemble(q);
    Banded kept = system_;
    for (int i = 0; i < iterations; ++i) {
      system_ = kept;
      const VectorXd& found = system_.solve(damping);
      const double scale = std::min(1., longest_step / (found.cwiseAbs().maxCoeff() + 1e-300));
      MatrixXd next = q + scale * Eigen::Map<const MatrixXd>(found.data(), q.rows(), q.cols());
      const double value = onto_keys(next) ? assemble(next) : INFINITY;
      if (!(value < objective)) {
        damping *= 10;
        continue;
      }
      const bool last = value > (1 - enough) * objective;
      q = next;
      kept = system_;
      objective = value;
      damping = std::max(damping / 5, 1e-9);
      if (last) break;
    }
    return q;
  }

 private:
  bool onto_keys(MatrixXd& q) const {
    Solving how;
    how.iterations = 8;
    for (Eigen::Index k = 0; k < q.cols(); ++k) {
      JointValues here = q.col(k);
      if (!(reach(chain_, task_, keys_[k], how, here) <= how.tolerance)) return false;
      q.col(k) = here;
    }
    return true;
  }

  // The system of one step at q; returns the objective.
  double assemble(const MatrixXd& q) {
    system_.clear();
    objective_ = 0;
    for (std::size_t k = 0; k < keys_.size(); ++k) add_key(static_cast<int>(k), q);
    for (const Difference& d : differences_) add_difference(d, q);
    return objective_;
  }

  // Poses do not change to first order, and joints stay in their ranges.
  void add_key(int k, const MatrixXd& q) {
    Vector6 e;
    PoseTask::Slopes J;
    const JointValues here = q.col(k);
    task_.error(chain_, here, keys_[k], e, J);
    const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, most_joints, most_joints> A =
        pose_weight * pose_weight * J.transpose() * J;
    for (int i = 0; i < n_; ++i) {
      const int row = k * n_ + i;
      for (int j = 0; j <= i; ++j) system_.at(row, k * n_ + j) += A(i, j);
      add_range(row, i, here[i]);
    }
  }

  // Towards the middle of the range, and strongly where it ends.
  void add_range(int row, int joint, double value) {
    const double half = (limits_.upper[joint] - limits_.lower[joint]) / 2;
    if (!std::isfinite(half)) return;
    const double off = value - (limits_.upper[joint] + limits_.lower[joint]) / 2;
    const double share = 1. / keys_.size();
    add_row(row, centre_weight * centre_weight * share / (half * half), off);
    const double over = std::abs(off) - room[0] * half;
    if (over > 0) {
      add_row(row, wall_ / (half * half), std::copysign(over, off));
    }
  }

  void add_row(int row, double square, double residual) {
    system_.at(row, row) += square;
    system_.right(row) -= square * residual;
    objective_ += square * residual * residual;
  }

  void add_difference(const Difference& d, const MatrixXd& q) {
    const VectorXd& limit = d.order == 1   ? limits_.velocity
                            : d.order == 2 ? limits_.acceleration
                                           : limits_.jerk;
    const double weight = d.order == 1 ? velocity_weight : d.order == 2 ? 1 : jerk_weight;
    for (int i = 0; i < n_; ++i) {
      if (!std::isfinite(limit[i])) continue;
      double value = 0;
      for (int a = 0; a < d.count; ++a) value += d.weights[a] * q(i, d.keys[a]);
      value /= limit[i];
      double square = weight * weight * d.share, push = square * value;
      objective_ += push * value;
      const double over = std::abs(value) - room[d.order];
      if (over > 0) {
        const double wall = wall_ * d.share;
        square += wall;
        push += wall * std::copysign(over, value);
        objective_ += wall * over * over;
      }
      for (int a = 0; a < d.count; ++a) {
        const int row = d.keys[a] * n_ + i;
        const double w = d.weights[a] / limit[i];
        system_.right(row) -= push * w;
        for (int b = 0; b < d.count; ++b) {
          const int column = d.keys[b] * n_ + i;
          if (column <= row) system_.at(row, column) += square * w * d.weights[b] / limit[i];
        }
      }
    }
  }

  const Chain& chain_;
  const PoseTask& task_;
  const std::vector<LinkPose>& keys_;
  const MotionLimits& limits_;
  int n_;
  std::vector<Difference> differences_;
  Banded system_;
  double objective_ = 0, wall_ = 0;
};

}  // namespace

MatrixXd smooth_path(const Chain& chain, const PoseTask& task, const std::vector<LinkPose>& keys,
                     const VectorXd& times, const MotionLimits& limits, bool at_rest,
                     const MatrixXd& q, int iterations) {
  Smoother smoother(chain, task, keys, times, limits, at_rest);
  MatrixXd path = q;
  for (double wall : wall_weights) path = smoother.smoothed(path, iterations, wall);
  return path;
}

}  // namespace diffsim
