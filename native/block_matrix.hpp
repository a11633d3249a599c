// Sparse matrices of dense node blocks, with a structurally symmetric pattern, and their LU.
#pragma once

#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "math.hpp"

namespace diffsim {

/// Which node pairs couple. Block i < nodes() is the diagonal block of node i.
class BlockPattern {
 public:
  BlockPattern() = default;
  /// sizes: degrees of freedom per node; pairs: coupled nodes (either order, repeats allowed).
  /// dofs: the first of each; empty: one node after the other.
  BlockPattern(std::vector<int> sizes, const std::vector<std::pair<int, int>>& pairs,
               std::vector<int> dofs = {});

  int nodes() const { return static_cast<int>(size.size()); }
  int blocks() const { return static_cast<int>(row.size()); }
  int index(int i, int j) const { return lookup_.at({i, j}); }
  bool contains(int i, int j) const { return lookup_.count({i, j}) > 0; }

  std::vector<int> size, dof;         // per node
  std::vector<int> multipliers;       // nodes with no diagonal block of their own
  std::vector<int> row, col, offset;  // per block; offset of its column-major values
  int values = 0, ndof = 0;
  bool points_only = false;  // all nodes have three degrees of freedom
  /// Number of values of the diagonal blocks, which come first.
  int diagonal_values() const { return blocks() > nodes() ? offset[nodes()] : values; }

 private:
  std::map<std::pair<int, int>, int> lookup_;
};

struct BlockMatrix {
  const BlockPattern* pattern = nullptr;
  VectorXd values;

  void reset(const BlockPattern& p) {
    pattern = &p;
    values.setZero(p.values);
  }
  /// The same for the diagonal blocks alone; the others hold anything.
  void reset_diagonal(const BlockPattern& p) {
    pattern = &p;
    values.resize(p.values);
    values.head(p.diagonal_values()).setZero();
  }
  double* block(int b) { return values.data() + pattern->offset[b]; }
  const double* block(int b) const { return values.data() + pattern->offset[b]; }
  /// y += this x and y += this^T x for any number of columns.
  void multiply_add(const MatrixXd& x, MatrixXd& y) const;
  void multiply_transposed_add(const MatrixXd& x, MatrixXd& y) const;
};

/// Elimination order, fill and update list of a pattern: minimum degree, made once per scene. A
/// node of multipliers comes after all that it couples with: only their fill makes it a pivot.
class BlockSymbolic {
 public:
  BlockSymbolic() = default;
  explicit BlockSymbolic(const BlockPattern& pattern) {
    analyse(pattern, std::numeric_limits<long>::max());
  }
  /// False, and unusable, where elimination takes more than `most` block products.
  bool analyse(const BlockPattern& pattern, long most);

 private:
  friend class BlockLU;
  struct Update {
    int target, left, right;  // value offsets: target -= left * right
    int rows, inner, cols;
  };
  struct Coupling {
    int node;          // later in the order than the pivot
    int lower, upper;  // offsets of blocks (node, pivot), (pivot, node)
  };
  struct Pivot {
    int node, diagonal, inverse;
    std::vector<Coupling> couplings;
    std::vector<Update> updates;
  };
  std::vector<int> size_, dof_;
  std::vector<Pivot> pivots_;  // in elimination order
  std::vector<int> scatter_;   // pattern block -> offset in the factor
  std::vector<int> lengths_;   // its number of values
  int values_ = 0, inverses_ = 0;
};

/// LU by node blocks, partial pivoting inside diagonal blocks only. That is enough here: a step's
/// matrix is inertia/h plus damping and stiffness, whose diagonal blocks dominate; a vanishing
/// pivot is reported as singular.
class BlockLU {
 public:
  BlockLU() = default;
  explicit BlockLU(const BlockSymbolic& symbolic) : symbolic_(&symbolic) {}
  /// False when a diagonal block is singular to working precision or not finite.
  bool factor(const BlockMatrix& A);
  void solve(MatrixXd& x) const;             // x <- A^-1 x
  void solve_transposed(MatrixXd& x) const;  // x <- A^-T x

 private:
  const BlockSymbolic* symbolic_ = nullptr;
  VectorXd values_, inverse_;  // factors; inverses of the diagonal blocks
};

}  // namespace diffsim
