#include "edge_blocks.hpp"

#include <algorithm>

namespace diffsim {
namespace {

typedef double Unaligned __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));

struct Block {
  Wide eight;
  double ninth;
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

void EdgeBlocks::bind(const BlockPattern& pattern) {
  place_.clear();
  for (const auto& [i, j] : pairs_) {
    place_.push_back({pattern.offset[pattern.index(i, j)], pattern.offset[pattern.index(j, i)],
                      pattern.offset[i], pattern.offset[j]});
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
    const Block ij = take(buffer, e), ji = transposed(ij);
    add(ij, to + at.ij);
    add(ji, to + at.ji);
    subtract(ij, to + at.ii);
    subtract(ji, to + at.jj);
  }
}

void EdgeBlocks::finish(const Buffer& buffer, BlockMatrix& K, BlockMatrix& B) const {
  double *to = K.values.data(), *to_B = B.values.data();
  for (std::size_t e = 0; e < place_.size(); ++e) {
    const Place& at = place_[e];
    const Block ij = take(buffer, 3 * e), ji = take(buffer, 3 * e + 1);
    add(ij, to + at.ij);
    add(ji, to + at.ji);
    subtract(ij, to + at.ii);
    subtract(ji, to + at.jj);
    const Block B_ij = take(buffer, 3 * e + 2), B_ji = transposed(B_ij);
    add(B_ij, to_B + at.ij);
    add(B_ji, to_B + at.ji);
    subtract(B_ij, to_B + at.ii);
    subtract(B_ji, to_B + at.jj);
  }
}

}  // namespace diffsim
