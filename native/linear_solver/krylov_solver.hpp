// Iterative solver of step matrices: Krylov methods with block SGS, residuals in double precision.
#pragma once

#include "krylov_methods.hpp"
#include "report.hpp"
#include "residual.hpp"

namespace diffsim {

/// Solves A x = b with conjugate gradients where the caller says that A is symmetric, or nearly so,
/// and with BiCGSTAB otherwise or where these do not get on. Copies share the symbolic part;
/// scratch is not copied. One thread at a time.
class KrylovSolver {
 public:
  KrylovSolver() = default;
  explicit KrylovSolver(std::shared_ptr<const SweepPattern> pattern) : P_(std::move(pattern)) {}

  bool ready() const { return P_ != nullptr; }

  /// Scales and converts A, or A^T where that is what will be solved with first; the other on
  /// demand. False where a diagonal block is singular or not finite. kept: all but diagonal blocks
  /// are those of the last call, which succeeded for A itself.
  bool prepare(const BlockMatrix& A, bool symmetric, bool transposed = false, bool kept = false);
  /// x <- A^-1 x or A^-T x up to |b - A x| <= tolerance |b| per column; A as in prepare(), whose
  /// values residuals are taken from. On failure x holds the best iterate reached.
  /// Tolerances above kLoose are judged by the single precision recurrence, else by b - A x itself.
  SolveReport solve(const BlockMatrix& A, MatrixXd& x, double tolerance);
  /// One column, at most max_products; ends without x (`indefinite`) where A has a direction of
  /// negative curvature among those it goes through, or x is one with b.
  SolveReport solve_positive(const BlockMatrix& A, MatrixXd& x, double tolerance, int max_products);
  /// from: where to begin, if that is near the solution; empty: zero.
  SolveReport solve_transposed(const BlockMatrix& A, MatrixXd& x, double tolerance,
                               const MatrixXd& from = {});

  static constexpr double kLoose = 1e-4;
  int max_products = 400;  // per right-hand side (eight of them advance together)

 private:
  struct Scratch {
    KrylovVectors<OneColumn> one;
    KrylovVectors<EightColumns> eight;
    MatrixXd b, r, d, best;
    VectorXd norm;
    Residual product;
    int products = 0;
    Scratch() = default;
    Scratch(const Scratch&) {}
    Scratch& operator=(const Scratch&) { return *this; }
    Scratch(Scratch&&) = default;
    Scratch& operator=(Scratch&&) = default;
  };

  SolveReport refine(const BlockMatrix& A, MatrixXd& x, double tolerance, bool transposed,
                     const MatrixXd& from);
  bool ensure(const BlockMatrix& A, bool mirrored, bool kept = false);
  bool nearly_symmetric(const BlockMatrix& A) const;
  bool pass(const SweepMatrix& M, const VectorXd& start, double tolerance, MatrixXd& x,
            SolveReport& report);
  double measure(const BlockMatrix& A, const VectorXd& start, bool transposed, const MatrixXd& x);
  /// d += the correction of residual columns from `first` on, reduced to eta of their norms.
  template <class K>
  void correct(KrylovVectors<K>& vectors, const SweepMatrix& M, const VectorXd& eta,
               Eigen::Index first, bool& reached, SolveReport& report);

  std::shared_ptr<const SweepPattern> P_;
  SweepMatrix direct_, mirrored_;
  bool positive_ = false;  // solve_positive
  bool twin_ = false;      // twin_: A may stand in for its transpose
  bool definite_ = false, direct_ready_ = false, mirrored_ready_ = false;
  Scratch scratch_;
};

}  // namespace diffsim
