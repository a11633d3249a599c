// Decompositions of small symmetric matrices for code that is not hot. Eigen's, of sizes that only
// the run tells, take 5 to 17 s of compilation wherever they are used.
#pragma once

#include "math.hpp"

namespace diffsim {

/// Eigenvalues (n) of a symmetric matrix (n, n), ascending, by Jacobi's rotations; of NaN NaN.
VectorXd symmetric_eigenvalues(const MatrixXd& A);

/// x of A x = b for a positive definite A, by Cholesky's factor.
Vector6 solve_positive(const Matrix6& A, const Vector6& b);

}  // namespace diffsim
