// Fallback of the Krylov solver: a single precision factor, kept while it serves, inside GMRES.
#pragma once

#include "../math.hpp"
#include "multifrontal_lu.hpp"
#include "report.hpp"
#include "residual.hpp"

namespace diffsim {

/// What an LU costs, in solves of one column with it (measured on tetrahedra, 1400 unknowns; it
/// grows as elimination in three dimensions has it).
double factorization_cost(Eigen::Index unknowns);

/// GMRES in double precision, preconditioned from the right by the LU of this or an earlier matrix.
/// The factor is renewed when solves with it take long. Several columns are refined together, with
/// a new factor where that is cheaper; GMRES takes what this leaves. Copies share the symbolic
/// parts.
class LaggedLU {
 public:
  LaggedLU() = default;
  LaggedLU(std::shared_ptr<const SweepPattern> sweep, std::shared_ptr<const FrontalPattern> frontal)
      : P_(std::move(sweep)), lu_(std::move(frontal)) {}

  bool ready() const { return P_ != nullptr; }
  /// Makes ready for solves with A; factors only if there is no factor or it has become poor.
  bool factor(const BlockMatrix& A);
  /// As KrylovSolver; A is the matrix last given to factor().
  SolveReport solve(const BlockMatrix& A, MatrixXd& x, double tolerance);
  SolveReport solve_transposed(const BlockMatrix& A, MatrixXd& x, double tolerance);

  /// Columns from which on they are refined together.
  static constexpr Eigen::Index kTogether = 4;

  int factorizations = 0;  // so far

 private:
  static constexpr int kBasis = 24;    // vectors before a restart
  static constexpr int kWornOut = 12;  // products of a solve after which the factor is renewed
  static constexpr int kMostCycles = 3;

  bool renew(const BlockMatrix& A);
  SolveReport run(const BlockMatrix& A, MatrixXd& x, double tolerance, bool transposed);
  VectorXd refine(const BlockMatrix& A, double tolerance, bool transposed, MatrixXd& x,
                  SolveReport& report);
  bool column(const BlockMatrix& A, Eigen::Index k, double tolerance, bool transposed, MatrixXd& x,
              SolveReport& report);
  int cycle(const BlockMatrix& A, double start, double wanted, bool transposed);
  void product(const BlockMatrix& A, const MatrixXd& x, bool transposed, MatrixXd& y);

  std::shared_ptr<const SweepPattern> P_;
  MultifrontalLU<float> lu_;
  bool factored_ = false, fresh_ = false;
  int worst_ = 0;  // most products of a solve with this factor, or more where it shall be renewed
  Residual residual_;
  MatrixXd b_, r_, z_, w_, V_, Z_, H_;
  VectorXd g_, cosine_, sine_;
};

}  // namespace diffsim
