#include "step_solver.hpp"

namespace diffsim {
namespace {

// Block products of an elimination per block of the matrix up to which it is the quickest: chains
// need 1, a cube on its corners 0, a tetrahedral mesh of 100 nodes 20.
constexpr int kDirectUpdates = 12;

}  // namespace

StepSymbolic::StepSymbolic(const BlockPattern& pattern) : pattern_(&pattern) {
  auto elimination = std::make_unique<BlockSymbolic>();
  direct_ = elimination->analyse(pattern, kDirectUpdates * static_cast<long>(pattern.blocks()));
  if (direct_) {
    elimination_ = std::move(elimination);
  } else {
    sweep_ = std::make_shared<const SweepPattern>(pattern);
  }
}

const BlockSymbolic& StepSymbolic::elimination() const {
  std::call_once(once_, [&] {
    if (!elimination_) elimination_ = std::make_unique<BlockSymbolic>(*pattern_);
  });
  return *elimination_;
}

StepSolver::StepSolver(const StepSymbolic& symbolic) : symbolic_(&symbolic) {
  if (!symbolic.direct()) krylov_ = KrylovSolver(symbolic.sweep());
}

bool StepSolver::prepare(bool symmetric, bool exact) {
  symmetric_ = symmetric;
  use_lu_ = exact || symbolic_->direct();
  if (!use_lu_ && krylov_.prepare(A, symmetric)) return true;
  return eliminate();
}

bool StepSolver::eliminate() {
  use_lu_ = true;
  lu_ = BlockLU(symbolic_->elimination());
  return lu_.factor(A);
}

bool StepSolver::iterate(MatrixXd& x, double tolerance, bool transposed) {
  auto run = [&] {
    x = b_;
    return transposed ? krylov_.solve_transposed(A, x, tolerance) : krylov_.solve(A, x, tolerance);
  };
  b_ = x;
  if (run().reached) return true;
  if (symmetric_) {  // only nearly so: conjugate gradients may stop short
    symmetric_ = false;
    if (krylov_.prepare(A, false) && run().reached) return true;
  }
  x = b_;
  return false;
}

bool StepSolver::solve(MatrixXd& x, double tolerance, bool transposed) {
  if (!use_lu_) {
    if (iterate(x, tolerance, transposed)) return true;
    if (!eliminate()) return false;
  }
  transposed ? lu_.solve_transposed(x) : lu_.solve(x);
  return x.allFinite();
}

}  // namespace diffsim
