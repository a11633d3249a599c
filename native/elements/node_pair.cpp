#include "node_pair.hpp"

namespace diffsim {

NodePair::NodePair(const std::vector<Node>& nodes, int a, int b) {
  const int node[2] = {a, b};
  for (int m = 0; m < 2; ++m) {
    end_[m] = {node[m], 0, 0, -1};
    if (node[m] < 0) continue;
    const Node& n = nodes[node[m]];
    end_[m] = {node[m], n.dof, n.size(), n.frame};
  }
}

std::vector<std::pair<int, int>> NodePair::couplings() const {
  if (end_[0].node < 0 || end_[1].node < 0) return {};
  return {{end_[0].node, end_[1].node}};
}

void NodePair::bind(const BlockPattern& pattern) {
  for (int row = 0; row < 2; ++row) {
    for (int col = 0; col < 2; ++col) {
      if (end_[row].node < 0 || end_[col].node < 0) continue;
      block_[2 * row + col] = pattern.index(end_[row].node, end_[col].node);
    }
  }
}

NodePair::Pose NodePair::pose(int m, const State& s) const {
  Pose pose{Matrix3d::Identity(), Vector3d::Zero(), Vector3d::Zero(), Vector3d::Zero()};
  const End& end = end_[m];
  if (end.node < 0) return pose;
  pose.c = s.c.col(end.node);
  pose.v = s.v.col(end.node);
  if (end.frame < 0) return pose;
  pose.R = s.R[end.frame];
  pose.w = s.w[end.frame];
  return pose;
}

void NodePair::add(const Vector12& f, VectorXd& r) const {
  for (int m = 0; m < 2; ++m) {
    r.segment(end_[m].dof, end_[m].size) -= f.segment(6 * m, end_[m].size);
  }
}

void NodePair::add(const Matrix12& df, BlockMatrix& M) const {
  for (int row = 0; row < 2; ++row) {
    for (int col = 0; col < 2; ++col) {
      const int block = block_[2 * row + col], rows = end_[row].size, cols = end_[col].size;
      if (block < 0) continue;
      if (rows == 6 && cols == 6) {
        Eigen::Map<Matrix6>(M.block(block)) -= df.block<6, 6>(6 * row, 6 * col);
      } else {
        Eigen::Map<MatrixXd>(M.block(block), rows, cols) -= df.block(6 * row, 6 * col, rows, cols);
      }
    }
  }
}

void NodePair::add(const Vector12& df, int column, ParameterColumns& out) const {
  for (int m = 0; m < 2; ++m) {
    for (int row = 0; row < end_[m].size; row += 3) {
      out.add(end_[m].dof + row, column, -df.segment<3>(6 * m + row));
    }
  }
}

}  // namespace diffsim
