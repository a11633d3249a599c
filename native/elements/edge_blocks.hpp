// Assembly of a body's K and B whose rows sum to zero, by pairs of points.
//
// Forces inside a body do not change when all of it is shifted, so a row of K sums to zero, and
// likewise of B: diagonal blocks are minus the sum of the others and no element computes them.
// Elements add the blocks of their point pairs i < j to a buffer with one record per pair; `finish`
// moves the buffer to K and B once, through J where a point is glued. Symmetric matrices need one
// block per pair.
#pragma once

#include <utility>
#include <vector>

#include "body_points.hpp"
#include "wide.hpp"

namespace diffsim {

class EdgeBlocks {
 public:
  /// Pairs of points i < j, each once, sorted.
  void set_pairs(std::vector<std::pair<int, int>> pairs);
  /// Place of a pair, i < j.
  int find(int i, int j) const;
  /// The pairs' nodes.
  std::vector<std::pair<int, int>> couplings(const BodyPoints& points) const;
  void bind(const BlockPattern& pattern, const BodyPoints& points);

  /// Where elements add: `blocks` column-major 3x3 blocks per pair.
  struct Buffer {
    double* values;
    int blocks;    // 1: K_ij = K_ji^T; 2: A_ij, A_ji; 3: K_ij, K_ji, B_ij = B_ji^T
    double alpha;  // not 0: A = alpha K + B is meant in place of K and B
    bool joined() const { return alpha != 0; }
    double* at(int pair, int which) const { return values + 9 * (blocks * pair + which); }
    /// Adds nine numbers with a block per lane to block `which` of the pairs pair[lane].
    DIFFSIM_INLINE void add(const Wide nine[9], int which, const int* pair, int lanes) const {
      each_block(nine, lanes, [&](int lane, const Block& b) { b.add_to(at(pair[lane], which)); });
    }
  };
  /// This thread's buffer, all zero; one user at a time. `finish` leaves it zero again. alpha: see
  /// Assembly, 0: K and B apart.
  Buffer buffer(int blocks, double alpha) const;
  /// r: minus the force on each point, 3 numbers per point.
  void finish(const Buffer& buffer, const BodyPoints& points, const State& s, const VectorXd& p,
              const double* r, const Assembly& out) const;

 private:
  struct Place {  // value offsets
    int ij, ji, ii, jj;
  };
  struct Mixed {  // a pair with a glued point: its place, points, and blocks (-1: none)
    int pair, i, j, ij, ji, ii, jj;
  };
  static void put(const Place& at, const Block& ij, const Block& ji, double* to);
  void finish_symmetric(const Buffer& buffer, BlockMatrix& to) const;
  void finish_joined(const Buffer& buffer, BlockMatrix& A) const;
  void finish_full(const Buffer& buffer, BlockMatrix& K, BlockMatrix& B) const;
  void finish_mixed(const Buffer& buffer, const BodyPoints& points, const State& s,
                    const VectorXd& p, const Assembly& out) const;

  std::vector<std::pair<int, int>> pairs_;
  std::vector<Place> place_;  // of the pairs of nodes
  std::vector<int> at_;       // and their place in the buffer
  std::vector<Mixed> mixed_;
};

}  // namespace diffsim
