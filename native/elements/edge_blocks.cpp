#include "edge_blocks.hpp"

#include <algorithm>

namespace diffsim {
namespace {

// A block of a buffer, which is zero from now on.
Block take(double* nine) {
  const Block b = Block::load(nine);
  std::fill_n(nine, 9, 0.);
  return b;
}

Matrix3d take_dense(double* nine) {
  const Matrix3d m = Eigen::Map<const Matrix3d>(nine);
  std::fill_n(nine, 9, 0.);
  return m;
}

}  // namespace

void EdgeBlocks::set_pairs(std::vector<std::pair<int, int>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  pairs_ = std::move(pairs);
}

int EdgeBlocks::find(int i, int j) const {
  const auto at = std::lower_bound(pairs_.begin(), pairs_.end(), std::make_pair(i, j));
  return static_cast<int>(at - pairs_.begin());
}

std::vector<std::pair<int, int>> EdgeBlocks::couplings(const BodyPoints& points) const {
  std::vector<std::pair<int, int>> nodes;
  for (const auto& [i, j] : pairs_) {
    const int a = points.set().node[i], b = points.set().node[j];
    if (a >= 0 && b >= 0 && a != b) nodes.emplace_back(a, b);
  }
  return nodes;
}

void EdgeBlocks::bind(const BlockPattern& pattern, const BodyPoints& points) {
  place_.clear();
  at_.clear();
  mixed_.clear();
  auto index = [&](int a, int b) { return a < 0 || b < 0 ? -1 : pattern.index(a, b); };
  for (int k = 0; k < static_cast<int>(pairs_.size()); ++k) {
    const auto [i, j] = pairs_[k];
    const int a = points.set().node[i], b = points.set().node[j];
    if (points.is_node(i) && points.is_node(j)) {
      at_.push_back(k);
      place_.push_back({pattern.offset[index(a, b)], pattern.offset[index(b, a)], pattern.offset[a],
                        pattern.offset[b]});
    } else {
      mixed_.push_back({k, i, j, index(a, b), index(b, a), index(a, a), index(b, b)});
    }
  }
}

EdgeBlocks::Buffer EdgeBlocks::buffer(int blocks, double alpha) const {
  thread_local std::vector<double> values;
  const std::size_t size = 9 * blocks * pairs_.size();
  if (values.size() < size) values.assign(size, 0);
  return {values.data(), blocks, alpha};
}

// Moves a pair's block and its transposed place's to a matrix.
void EdgeBlocks::put(const Place& at, const Block& ij, const Block& ji, double* to) {
  ij.add_to(to + at.ij);
  ji.add_to(to + at.ji);
  ij.subtract_from(to + at.ii);
  ji.subtract_from(to + at.jj);
}

void EdgeBlocks::finish_symmetric(const Buffer& buffer, BlockMatrix& to) const {
  for (std::size_t e = 0; e < place_.size(); ++e) {
    const Block ij = take(buffer.at(at_[e], 0));
    put(place_[e], ij, ij.transposed(), to.values.data());
  }
}

void EdgeBlocks::finish_joined(const Buffer& buffer, BlockMatrix& A) const {
  for (std::size_t e = 0; e < place_.size(); ++e) {
    double* from = buffer.at(at_[e], 0);
    const Block ij = take(from), ji = take(from + 9);
    put(place_[e], ij, ji, A.values.data());
  }
}

void EdgeBlocks::finish_full(const Buffer& buffer, BlockMatrix& K, BlockMatrix& B) const {
  for (std::size_t e = 0; e < place_.size(); ++e) {
    double* from = buffer.at(at_[e], 0);
    const Block ij = take(from), ji = take(from + 9), B_ij = take(from + 18);
    put(place_[e], ij, ji, K.values.data());
    put(place_[e], B_ij, B_ij.transposed(), B.values.data());
  }
}

void EdgeBlocks::finish_mixed(const Buffer& buffer, const BodyPoints& points, const State& s,
                              const VectorXd& p, const Assembly& out) const {
  const PointSet& set = points.set();
  // The force on `row` is -r: its derivatives by place and velocity of `col` are -K, -B.
  auto put = [&](int row, int col, const Matrix3d& K, const Matrix3d& B, int block) {
    if (block < 0) return;
    const Vector3d rho = set.moment_arm(col, s, p);
    const PointJacobian J = point_jacobian(set, col, s, rho, rho);
    const ForceJacobian df = force_jacobian(set, col, J, -K, -B);
    add_force_jacobian(set, row, set.moment_arm(row, s, p), set.on_frame(col), df, 1, block, out);
  };
  for (const Mixed& m : mixed_) {
    const bool full = buffer.blocks == 3;
    const Matrix3d K_ij = take_dense(buffer.at(m.pair, 0));
    Matrix3d K_ji = K_ij.transpose(), B_ij = Matrix3d::Zero();
    if (full) {
      K_ji = take_dense(buffer.at(m.pair, 1));
      B_ij = take_dense(buffer.at(m.pair, 2));
    }
    put(m.i, m.j, K_ij, B_ij, m.ij);
    put(m.j, m.i, K_ji, B_ij.transpose(), m.ji);
    put(m.i, m.i, -K_ij, -B_ij, m.ii);
    put(m.j, m.j, -K_ji, -B_ij.transpose(), m.jj);
  }
}

void EdgeBlocks::finish(const Buffer& buffer, const BodyPoints& points, const State& s,
                        const VectorXd& p, const double* r, const Assembly& out) const {
  if (buffer.blocks == 1) {
    finish_symmetric(buffer, buffer.joined() ? *out.A : *out.K);
  } else if (buffer.joined()) {
    finish_joined(buffer, *out.A);
  } else {
    finish_full(buffer, *out.K, *out.B);
  }
  if (points.all_nodes()) return;
  finish_mixed(buffer, points, s, p, out);
  const PointSet& set = points.set();
  for (int i : points.glued()) {
    if (!set.on_frame(i)) continue;
    const Vector3d rho = set.moment_arm(i, s, p);
    const PointJacobian J = point_jacobian(set, i, s, rho, rho);
    add_arm_jacobian(set, i, J, -Vector3d::Map(r + 3 * i), set.node[i], out);
  }
}

}  // namespace diffsim
