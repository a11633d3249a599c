#include "small_matrices.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {
namespace {

constexpr int kMostSweeps = 30;  // each squares what is beside the diagonal, once that is small

}  // namespace

VectorXd symmetric_eigenvalues(const MatrixXd& A) {
  const int n = static_cast<int>(A.rows());
  MatrixXd M = A;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    bool rotated = false;
    for (int p = 0; p < n; ++p) {
      for (int q = p + 1; q < n; ++q) {
        const double beside = M(p, q), size = std::abs(M(p, p)) + std::abs(M(q, q));
        if (size + std::abs(beside) == size) continue;  // below rounding
        rotated = true;
        const double theta = (M(q, q) - M(p, p)) / (2 * beside);
        const double t = std::copysign(1., theta) / (std::abs(theta) + std::hypot(theta, 1.));
        const double c = 1 / std::hypot(t, 1.), s = t * c;
        for (int k = 0; k < n; ++k) {
          const double a = M(k, p), b = M(k, q);
          M(k, p) = c * a - s * b;
          M(k, q) = s * a + c * b;
        }
        for (int k = 0; k < n; ++k) {
          const double a = M(p, k), b = M(q, k);
          M(p, k) = c * a - s * b;
          M(q, k) = s * a + c * b;
        }
        M(p, q) = M(q, p) = 0;
      }
    }
    if (!rotated) break;
  }
  VectorXd values = M.diagonal();
  std::sort(values.data(), values.data() + n);
  return values;
}

Vector6 solve_positive(const Matrix6& A, const Vector6& b) {
  Matrix6 L;
  Vector6 x = b;
  for (int j = 0; j < 6; ++j) {
    for (int i = j; i < 6; ++i) {
      double sum = A(i, j);
      for (int k = 0; k < j; ++k) sum -= L(i, k) * L(j, k);
      L(i, j) = i == j ? std::sqrt(sum) : sum / L(j, j);
    }
  }
  for (int i = 0; i < 6; ++i) {
    for (int k = 0; k < i; ++k) x[i] -= L(i, k) * x[k];
    x[i] /= L(i, i);
  }
  for (int i = 5; i >= 0; --i) {
    for (int k = i + 1; k < 6; ++k) x[i] -= L(k, i) * x[k];
    x[i] /= L(i, i);
  }
  return x;
}

}  // namespace diffsim
