// The matrix A = dr/du of one step and solving with it, by whatever suits the scene.
//
// Small or chain-like scenes: block LU. Others: Krylov with single precision sweeps, and LU where
// that fails. All are exact up to the tolerance asked for; which one ran changes no derivative.
#pragma once

#include <memory>
#include <mutex>

#include "krylov_solver.hpp"

namespace diffsim {

/// What all step matrices of a scene share.
class StepSymbolic {
 public:
  explicit StepSymbolic(const BlockPattern& pattern);
  /// Whether elimination fills so little that nothing beats it.
  bool direct() const { return direct_; }
  const BlockSymbolic& elimination() const;  // made on first need where !direct()
  const std::shared_ptr<const SweepPattern>& sweep() const { return sweep_; }

 private:
  const BlockPattern* pattern_;
  bool direct_;
  mutable std::once_flag once_;
  mutable std::unique_ptr<BlockSymbolic> elimination_;
  std::shared_ptr<const SweepPattern> sweep_;
};

class StepSolver {
 public:
  StepSolver() = default;
  explicit StepSolver(const StepSymbolic& symbolic);

  BlockMatrix A;  // filled by the caller before prepare()

  /// False when A is singular. `exact`: by elimination in any case.
  bool prepare(bool symmetric, bool exact = false);
  /// x <- A^-1 x, |A x - b| <= tolerance |b| per column. False when it cannot be had.
  bool solve(MatrixXd& x, double tolerance) { return solve(x, tolerance, false); }
  bool solve_transposed(MatrixXd& x, double tolerance) { return solve(x, tolerance, true); }
  bool direct() const { return use_lu_; }

 private:
  bool solve(MatrixXd& x, double tolerance, bool transposed);
  bool eliminate();
  bool iterate(MatrixXd& x, double tolerance, bool transposed);

  const StepSymbolic* symbolic_ = nullptr;
  KrylovSolver krylov_;
  BlockLU lu_;
  bool use_lu_ = true, symmetric_ = false;
  MatrixXd b_;
};

}  // namespace diffsim
