// The engine's solver of A x = b: picks a member by size and falls back when one does not get
// there.
#pragma once

#include <mutex>

#include "krylov_solver.hpp"
#include "lagged_lu.hpp"

namespace diffsim {

/// Everything symbolic about a pattern, each part made when first wanted (safe between threads).
class LinearPattern {
 public:
  /// `pattern` must outlive this. stiff: entries may span so many decades (held friction) that
  /// eliminations by blocks are worth refining.
  explicit LinearPattern(const BlockPattern& pattern, bool stiff = false);
  bool stiff() const { return stiff_; }
  /// Whether some nodes have other sizes than 3 and 6, or are multipliers: eliminations alone take
  /// those.
  bool general() const { return general_; }

  /// Chains, trees and a handful of nodes: BlockLU has hardly any fill there and the least
  /// overhead.
  bool tree_like() const;
  const BlockSymbolic& block() const;
  std::shared_ptr<const SweepPattern> sweep() const;
  std::shared_ptr<const FrontalPattern> frontal() const;

 private:
  const BlockPattern* pattern_;
  bool stiff_, general_ = false;
  int count_ = 0;  // of nodes with degrees of freedom
  mutable std::once_flag block_made_, sweep_made_, frontal_made_;
  mutable BlockSymbolic block_;
  mutable std::shared_ptr<const SweepPattern> sweep_;
  mutable std::shared_ptr<const FrontalPattern> frontal_;
};

/// Members, each the next one's better in speed where it works:
///   krylov    block SGS in single precision, nothing factored;
///   lagged    GMRES around a single precision LU that is kept from matrix to matrix;
///   direct    LU in double precision: BlockLU where tree_like(), else multifrontal.
/// automatic starts at krylov (tree_like(): direct). A solve that misses its tolerance goes on with
/// the next member, and the following matrices start there for a while.
class LinearSolver {
 public:
  enum class Method { automatic, krylov, lagged, direct };

  LinearSolver() = default;
  explicit LinearSolver(std::shared_ptr<const LinearPattern> pattern,
                        Method method = Method::automatic);

  /// False when A is singular to working precision or not finite. symmetric: A is, or
  /// nearly so (a hint to use conjugate gradients; residuals tell A from its transpose).
  /// transposed: solve_transposed() comes first (saves preparing for the other). kept: all but
  /// diagonal blocks are those of the last matrix.
  bool factor(const BlockMatrix& A, bool symmetric, bool transposed = false, bool kept = false);
  /// x <- A^-1 x or A^-T x up to |b - A x| <= tolerance |b| per column, or as far as rounding
  /// lets that be told. A is the matrix last given
  /// to factor(), whose values the iterative members take residuals from: keep it as long as this.
  SolveReport solve(const BlockMatrix& A, MatrixXd& x, double tolerance);
  /// start: where the Krylov member may begin, if that is near the solution; empty: zero.
  SolveReport solve_transposed(const BlockMatrix& A, MatrixXd& x, double tolerance,
                               const MatrixXd& start = {});
  /// In place of factor() and solve(), for one column: x <- A^-1 x by the Krylov member alone, if
  /// that takes few products and meets no direction of negative curvature (else not `reached`).
  /// Not for tree_like() patterns.
  SolveReport solve_positive(const BlockMatrix& A, bool symmetric, MatrixXd& x, double tolerance);

  bool ready() const { return pattern_ != nullptr; }
  Method active() const { return active_; }  // which member the last factor() or solve ended with

 private:
  void make_krylov();
  bool prepare(const BlockMatrix& A);
  bool escalate(const BlockMatrix& A);
  SolveReport run(const BlockMatrix& A, MatrixXd& x, double tolerance, bool transposed,
                  const MatrixXd& start);
  SolveReport solve_directly(const BlockMatrix& A, MatrixXd& x, double tolerance, bool transposed);

  std::shared_ptr<const LinearPattern> pattern_;
  Method method_ = Method::automatic, active_ = Method::direct;
  bool symmetric_ = false, transposed_ = false, kept_ = false;
  bool krylov_holds_ = false;  // it has prepared the last matrix itself
  int avoid_krylov_ = 0,
      penalty_ = 0;  // matrices left to solve without it; and after the next miss
  KrylovSolver krylov_;
  LaggedLU lagged_;
  MultifrontalLU<double> frontal_;
  BlockLU block_;
  MatrixXd b_, r_;
};

}  // namespace diffsim
