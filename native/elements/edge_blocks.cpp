#include "edge_blocks.hpp"

#include <algorithm>

namespace diffsim {
namespace {

typedef double Unaligned __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));

struct Block {
  Wide eight;
  double ninth;
  Matrix3d dense() const {
    Matrix3d m;
    for (int i = 0; i < 8; ++i) m.data()[i] = eight[i];
    m.data()[8] = ninth;
    return m;
  }
};

Block transposed(const Block& b) {
  const Wide& e = b.eight;
  return {Wide{e[0], e[3], e[6], e[1], e[4], e[7], e[2], e[5]}, b.ninth};
}

void add(const Block& b, double* to) {
  *reinterpret_cast<Unaligned*>(to) += b.eight;
  to[8] += b.ninth;
}

void subtract(const Block& b, double* from) {
  *reinterpret_cast<Unaligned*>(from) -= b.eight;
  from[8] -= b.ninth;
}

Block take(const EdgeBlocks::Buffer& buffer, std::size_t at) {
  const Block b{buffer.eight[at], buffer.ninth[at]};
  buffer.eight[at] = wide(0);
  buffer.ninth[at] = 0;
  return b;
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

EdgeBlocks::Buffer EdgeBlocks::buffer(int blocks) const {
  struct Aligned {
    Wide value;
  };
  thread_local std::vector<Aligned> eight;
  thread_local std::vector<double> ninth;
  const std::size_t size = blocks * pairs_.size();
  if (eight.size() < size) {
    eight.assign(size, {wide(0)});
    ninth.assign(size, 0);
  }
  return {&eight[0].value, ninth.data(), blocks};
}

void EdgeBlocks::finish_symmetric(const Buffer& buffer, BlockMatrix& K) const {
  double* to = K.values.data();
  for (std::size_t e = 0; e < place_.size(); ++e) {
    const Place& at = place_[e];
    const Block ij = take(buffer, at_[e]), ji = transposed(ij);
    add(ij, to + at.ij);
    add(ji, to + at.ji);
    subtract(ij, to + at.ii);
    subtract(ji, to + at.jj);
  }
}

void EdgeBlocks::finish_full(const Buffer& buffer, BlockMatrix& K, BlockMatrix& B) const {
  double *to = K.values.data(), *to_B = B.values.data();
  for (std::size_t e = 0; e < place_.size(); ++e) {
    const Place& at = place_[e];
    const Block ij = take(buffer, 3 * at_[e]), ji = take(buffer, 3 * at_[e] + 1);
    add(ij, to + at.ij);
    add(ji, to + at.ji);
    subtract(ij, to + at.ii);
    subtract(ji, to + at.jj);
    const Block B_ij = take(buffer, 3 * at_[e] + 2), B_ji = transposed(B_ij);
    add(B_ij, to_B + at.ij);
    add(B_ji, to_B + at.ji);
    subtract(B_ij, to_B + at.ii);
    subtract(B_ji, to_B + at.jj);
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
    const Matrix3d K_ij = take(buffer, buffer.blocks * m.pair).dense();
    Matrix3d K_ji = K_ij.transpose(), B_ij = Matrix3d::Zero();
    if (full) {
      K_ji = take(buffer, 3 * m.pair + 1).dense();
      B_ij = take(buffer, 3 * m.pair + 2).dense();
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
    finish_symmetric(buffer, *out.K);
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
