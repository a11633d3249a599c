// Two nodes that one force couples, as the twelve directions (c, psi)_a, (c, psi)_b.
//
// A point node has no psi and the world (node -1) has neither: their rows are left out on writing.
#pragma once

#include <array>

#include "element.hpp"

namespace diffsim {

using Vector12 = Eigen::Matrix<double, 12, 1>;
using Matrix12 = Eigen::Matrix<double, 12, 12>;
using Matrix3x12 = Eigen::Matrix<double, 3, 12>;

class NodePair {
 public:
  /// a, b: indices into nodes, -1 = the world.
  NodePair(const std::vector<Node>& nodes, int a, int b);
  int node(int end) const { return end_[end].node; }
  std::vector<std::pair<int, int>> couplings() const;
  void bind(const BlockPattern& pattern);

  struct Pose {
    Matrix3d R;
    Vector3d c, v, w;
  };
  Pose pose(int end, const State& s) const;

  /// r -= f; M -= df; column -= df.
  void add(const Vector12& f, VectorXd& r) const;
  void add(const Matrix12& df, BlockMatrix& M) const;
  void add(const Vector12& df, int column, ParameterColumns& out) const;
  /// Calls f(first degree of freedom, its part of a row by the twelve directions) for each node.
  template <class F>
  void each_part(const Vector12& row, F&& f) const {
    for (int m = 0; m < 2; ++m) {
      if (end_[m].size > 0) f(end_[m].dof, row.segment(6 * m, end_[m].size).transpose());
    }
  }

 private:
  struct End {
    int node, dof, size, frame;  // size 0: the world
  };
  std::array<End, 2> end_;
  std::array<int, 4> block_{-1, -1, -1, -1};  // aa, ab, ba, bb
};

}  // namespace diffsim
