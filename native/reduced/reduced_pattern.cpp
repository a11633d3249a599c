#include "reduced_pattern.hpp"

#include <algorithm>

#include "twist.hpp"

namespace diffsim {
namespace {

using Step = Articulation::Step;
using PatternRows = Eigen::Matrix<double, Eigen::Dynamic, 6, 0, 6, 6>;  // of a node, by a twist
using PatternColumns = Eigen::Matrix<double, 6, Eigen::Dynamic, 0, 6, 6>;
using Eigen::Map;

// Columns by a frame's (c, psi) to those by its twist about O.
template <class M>
M by_twist(const M& by_frame, const Vector3d& arm) {
  M by(by_frame.rows(), 6);
  by.template leftCols<3>() = by_frame.template rightCols<3>();
  by.template leftCols<3>() -= by_frame.template leftCols<3>().lazyProduct(skew(arm));
  by.template rightCols<3>() = by_frame.template leftCols<3>();
  return by;
}

// Rows of a frame's force and torque to those of a wrench about O.
template <class M>
M to_wrench(const M& of_frame, const Vector3d& arm) {
  M of(6, of_frame.cols());
  of.template topRows<3>() = of_frame.template bottomRows<3>();
  of.template topRows<3>() += skew(arm).lazyProduct(of_frame.template topRows<3>());
  of.template bottomRows<3>() = of_frame.template topRows<3>();
  return of;
}

// Rows of a node by a link's displacement and velocity, as twists. What is left of dV is T dq'.
template <class M>
struct ByTwist {
  M K, B;
  ByTwist(M k, const M& b, const ArticulationMap::LinkMotion& link) {
    k.template leftCols<3>() += b.template leftCols<3>().lazyProduct(skew(link.w));
    B = by_twist(b, link.arm);
    K = by_twist(k, link.arm);
    K -= B.lazyProduct(cross_matrix(link.V));
  }
};

}  // namespace

/// Looks places of axes up while the pattern is made.
class ReducedPattern::Builder {
 public:
  Builder(const Articulation& articulation, const std::vector<Node>& nodes)
      : steps_(articulation.steps()), links_(articulation.links()), link_of_(nodes.size(), -1) {
    for (std::size_t l = 0; l < links_.size(); ++l) {
      link_of_[links_[l].node] = static_cast<int>(l);
    }
    for (int k = 0; k < static_cast<int>(steps_.size()); ++k) {
      first_.push_back(static_cast<int>(axes.size()));
      for (int i = 0; i < steps_[k].columns(); ++i) axes.push_back({k, i});
    }
  }
  int link(int node) const { return link_of_[node]; }
  const Step& step(int axis) const { return steps_[axes[axis].step]; }
  /// Axes that move what step k moves, the last step's first.
  std::vector<int> axes_to(int k) const {
    std::vector<int> to;
    for (; k >= 0; k = steps_[k].parent) {
      for (int i = 0; i < steps_[k].columns(); ++i) to.push_back(first_[k] + i);
    }
    return to;
  }
  std::vector<int> axes_of_link(int link) const { return axes_to(links_[link].step); }
  int row(int axis) const { return step(axis).offset + axes[axis].column; }  // in its node
  Pair pair(const BlockPattern& P, int row_axis, int column_axis) const {
    const int i = step(row_axis).node, j = step(column_axis).node;
    return {row_axis, column_axis,
            P.offset[P.index(i, j)] + row(column_axis) * P.size[i] + row(row_axis)};
  }
  /// Nodes that a node's rows go to.
  std::vector<int> nodes_of(int node) const {
    if (link(node) < 0) return {node};
    std::vector<int> of;
    for (int axis : axes_of_link(link(node))) of.push_back(step(axis).node);
    of.erase(std::unique(of.begin(), of.end()), of.end());
    return of;
  }

  std::vector<Axis> axes;

 private:
  const std::vector<Step>& steps_;
  const std::vector<Articulation::Link>& links_;
  std::vector<int> link_of_, first_;
};

ReducedPattern::ReducedPattern(const Articulation& articulation, const std::vector<Node>& nodes,
                               const BlockPattern& full) {
  const Builder builder(articulation, nodes);
  axes_ = builder.axes;
  std::vector<int> sizes, dofs;
  for (const Node& n : nodes) {
    sizes.push_back(n.dependent ? 0 : n.size());
    dofs.push_back(n.dof);
  }
  std::vector<std::pair<int, int>> pairs;
  for (int b = 0; b < full.blocks(); ++b) {
    for (int x : builder.nodes_of(full.row[b])) {
      for (int y : builder.nodes_of(full.col[b])) pairs.emplace_back(x, y);
    }
  }
  pattern_ = BlockPattern(sizes, pairs, dofs);
  pattern_.multipliers = full.multipliers;
  const BlockPattern& P = pattern_;
  for (int b = 0; b < full.blocks(); ++b) {
    const int i = full.row[b], j = full.col[b];
    Crossed c{b, full.size[i], full.size[j], builder.link(i), builder.link(j), -1, {}, {}};
    if (c.row < 0 && c.column < 0) {
      copied_.push_back({full.offset[b], P.offset[P.index(i, j)], c.rows * c.columns});
      continue;
    }
    if (i == j) {
      own_.push_back({c.row, b});
      continue;
    }
    if (c.row < 0) {
      for (int y : builder.axes_of_link(c.column)) {
        const int at = P.offset[P.index(i, builder.step(y).node)];
        c.runs.push_back({y, at + builder.row(y) * P.size[i], 1});
      }
    } else if (c.column < 0) {
      for (int x : builder.axes_of_link(c.row)) {
        const int node = builder.step(x).node;
        c.runs.push_back({x, P.offset[P.index(node, j)] + builder.row(x), P.size[node]});
      }
    } else {
      const std::vector<int> rows = builder.axes_of_link(c.row);
      const std::vector<int> columns = builder.axes_of_link(c.column);
      const auto in = [](const std::vector<int>& all, int one) {
        return std::find(all.begin(), all.end(), one) != all.end();
      };
      for (int x : rows) {
        if (in(columns, x)) c.common = std::max(c.common, axes_[x].step);
        for (int y : columns) {
          if (!(in(columns, x) && in(rows, y))) c.pairs.push_back(builder.pair(P, x, y));
        }
      }
    }
    crossed_.push_back(std::move(c));
  }
  above_.resize(axes_.size());
  before_.resize(axes_.size());
  for (int y = 0; y < static_cast<int>(axes_.size()); ++y) {
    for (int x : builder.axes_to(axes_[y].step)) {
      above_[y].push_back(builder.pair(P, x, y));
      if (axes_[x].step != axes_[y].step) before_[y].push_back(builder.pair(P, y, x));
    }
  }
}

void ReducedPattern::add_crossed(const Crossed& c, const ArticulationMap& at, const BlockMatrix& K,
                                 const BlockMatrix& B, BlockMatrix& reduced_K,
                                 BlockMatrix& reduced_B) const {
  const auto S = [&](int axis) { return at.axes(axes_[axis].step).col(axes_[axis].column); };
  const auto T = [&](int axis) {
    return at.twisted_axes(axes_[axis].step).col(axes_[axis].column);
  };
  const Map<const MatrixXd> k(K.block(c.block), c.rows, c.columns);
  const Map<const MatrixXd> b(B.block(c.block), c.rows, c.columns);
  if (c.column < 0) {
    const PatternColumns of_pose = to_wrench<PatternColumns>(k, at.link(c.row).arm);
    const PatternColumns of_rate = to_wrench<PatternColumns>(b, at.link(c.row).arm);
    for (const Run& run : c.runs) {
      for (int j = 0; j < c.columns; ++j) {
        reduced_K.values[run.value + j * run.stride] += S(run.axis).dot(of_pose.col(j));
        reduced_B.values[run.value + j * run.stride] += S(run.axis).dot(of_rate.col(j));
      }
    }
    return;
  }
  if (c.row < 0) {
    const ByTwist<PatternRows> by(k, b, at.link(c.column));
    for (const Run& run : c.runs) {
      reduced_K.values.segment(run.value, c.rows) += by.K * S(run.axis) + by.B * T(run.axis);
      reduced_B.values.segment(run.value, c.rows) += by.B * S(run.axis);
    }
    return;
  }
  const ByTwist<Matrix6> by(k, b, at.link(c.column));
  const Matrix6 of_pose = to_wrench(by.K, at.link(c.row).arm);
  const Matrix6 of_rate = to_wrench(by.B, at.link(c.row).arm);
  if (c.common >= 0) {
    at.sums().K[c.common] += of_pose;
    at.sums().B[c.common] += of_rate;
  }
  for (const Pair& pair : c.pairs) {
    const Vector6 force = of_pose * S(pair.column) + of_rate * T(pair.column);
    reduced_K.values[pair.value] += S(pair.row).dot(force);
    reduced_B.values[pair.value] += S(pair.row).dot(of_rate * S(pair.column));
  }
}

void ReducedPattern::reduce(const ArticulationMap& at, const VectorXd& r, const BlockMatrix& K,
                            const BlockMatrix& B, BlockMatrix& reduced_K,
                            BlockMatrix& reduced_B) const {
  const auto& steps = at.articulation().steps();
  reduced_K.reset(pattern_);
  reduced_B.reset(pattern_);
  for (const Copied& c : copied_) {
    reduced_K.values.segment(c.to, c.count) = K.values.segment(c.from, c.count);
    reduced_B.values.segment(c.to, c.count) = B.values.segment(c.from, c.count);
  }
  ArticulationMap::Sums& sums = at.sums();
  sums.K.assign(steps.size(), Matrix6::Zero());
  sums.B.assign(steps.size(), Matrix6::Zero());
  for (const Own& own : own_) {
    const Articulation::Link& link = at.articulation().links()[own.link];
    if (link.step < 0) continue;
    const auto& motion = at.link(own.link);
    const ByTwist<Matrix6> by(Map<const Matrix6>(K.block(own.block)),
                              Map<const Matrix6>(B.block(own.block)), motion);
    Matrix6 k = to_wrench(by.K, motion.arm);
    // The moment of r about O changes as the frame moves: dc x f.
    const Matrix3d f = skew(r.segment<3>(K.pattern->dof[link.node]));
    k.topLeftCorner<3, 3>() += f.lazyProduct(skew(motion.arm));
    k.topRightCorner<3, 3>() -= f;
    sums.K[link.step] += k;
    sums.B[link.step] += to_wrench(by.B, motion.arm);
  }
  for (const Crossed& c : crossed_) add_crossed(c, at, K, B, reduced_K, reduced_B);
  for (int k = static_cast<int>(steps.size()) - 1; k >= 0; --k) {
    if (steps[k].parent < 0) continue;
    sums.K[steps[k].parent] += sums.K[k];
    sums.B[steps[k].parent] += sums.B[k];
  }
  const std::vector<Vector6>& F = at.wrenches(r);
  for (std::size_t y = 0; y < axes_.size(); ++y) {
    const auto [step, column] = axes_[y];
    const Vector6 S = at.axes(step).col(column), T = at.twisted_axes(step).col(column);
    const Vector6 by_rate = sums.B[step] * S, by_pose = sums.K[step] * S + sums.B[step] * T;
    for (const Pair& pair : above_[y]) {
      const Vector6 row = at.axes(axes_[pair.row].step).col(axes_[pair.row].column);
      reduced_K.values[pair.value] += row.dot(by_pose);
      reduced_B.values[pair.value] += row.dot(by_rate);
    }
    const Vector6 of_rate = sums.B[step].transpose() * S;
    // (S_b x S) . F = -S_b . (S x)^T F
    const Vector6 of_pose = sums.K[step].transpose() * S + cross_force(S, F[step]);
    for (const Pair& pair : before_[y]) {
      const Axis& axis = axes_[pair.column];
      const Vector6 before = at.axes(axis.step).col(axis.column);
      reduced_K.values[pair.value] +=
          of_pose.dot(before) + of_rate.dot(at.twisted_axes(axis.step).col(axis.column));
      reduced_B.values[pair.value] += of_rate.dot(before);
    }
  }
}

}  // namespace diffsim
