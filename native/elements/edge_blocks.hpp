// Assembly of element matrices whose rows sum to zero, edge by edge.
//
// Forces inside a body do not change when all of it is shifted, so a row of K sums to zero, and
// likewise of B: diagonal blocks are minus the sum of the others and no element computes them.
// Elements add the blocks of their node pairs i < j to a buffer with one record per pair; `finish`
// moves the buffer to K and B once. Symmetric matrices need one block per pair.
#pragma once

#include <utility>
#include <vector>

#include "../block_matrix.hpp"
#include "wide.hpp"

namespace diffsim {

class EdgeBlocks {
 public:
  /// Pairs of nodes i < j, each once, sorted.
  void set_pairs(std::vector<std::pair<int, int>> pairs);
  const std::vector<std::pair<int, int>>& pairs() const { return pairs_; }
  /// Place of a pair, i < j.
  int find(int i, int j) const;
  void bind(const BlockPattern& pattern);

  /// Where elements add: `blocks` 3x3 blocks per pair, each as eight numbers and a ninth.
  struct Buffer {
    Wide* eight;
    double* ninth;
    int blocks;
    /// Adds column-major 3x3 blocks, one per lane, to block `which` of the pairs at[lane].
    void add(const Wide block[9], int which, const int* at, int lanes) const {
      Wide row[kLanes];
      for (int i = 0; i < kLanes; ++i) row[i] = block[i];
      transpose(row);
      for (int lane = 0; lane < lanes; ++lane) {
        const int place = blocks * at[lane] + which;
        eight[place] += row[lane];
        ninth[place] += block[8][lane];
      }
    }
  };
  /// This thread's buffer, all zero; one user at a time. Give it back by one of the two below.
  Buffer buffer(int blocks) const;
  /// One block per pair, K_ij = K_ji^T.
  void finish_symmetric(const Buffer& buffer, BlockMatrix& K) const;
  /// Three blocks per pair: K_ij, K_ji and B_ij = B_ji^T.
  void finish(const Buffer& buffer, BlockMatrix& K, BlockMatrix& B) const;

 private:
  struct Place {  // value offsets
    int ij, ji, ii, jj;
  };
  std::vector<std::pair<int, int>> pairs_;
  std::vector<Place> place_;
};

}  // namespace diffsim
