// Adjoints of products, inverses and norms of matrices and vectors  [Qa App. G (20)-(27)].
//
// ..._adjoint(inputs, bar): gradients by the inputs of a number whose gradient by the output is
// `bar`, entry by entry: d phi = sum_ij bar_ij d out_ij.
#pragma once

#include <tuple>
#include <utility>

#include "../math.hpp"

namespace diffsim {

/// of a b: bar b^T and a^T bar  [Qa (21), (22)].
std::pair<MatrixXd, MatrixXd> product_adjoint(const MatrixXd& a, const MatrixXd& b,
                                              const MatrixXd& bar);

/// of a^T b a  [Qa (23)].
std::pair<MatrixXd, MatrixXd> congruence_adjoint(const MatrixXd& a, const MatrixXd& b,
                                                 const MatrixXd& bar);
std::pair<Matrix6, Matrix6> congruence_adjoint(const Matrix6& a, const Matrix6& b,
                                               const Matrix6& bar);

/// of a^-1, from the inverse itself  [Qa (24)].
MatrixXd matrix_inverse_adjoint(const MatrixXd& inverse, const MatrixXd& bar);

/// of a b c: gradients by a, b and c  [Qa (25)].
std::tuple<MatrixXd, MatrixXd, MatrixXd> triple_product_adjoint(const MatrixXd& a,
                                                                const MatrixXd& b,
                                                                const MatrixXd& c,
                                                                const MatrixXd& bar);

/// of a x b  [Qa (26)].
inline std::pair<Vector3d, Vector3d> cross_adjoint(const Vector3d& a, const Vector3d& b,
                                                   const Vector3d& bar) {
  return {b.cross(bar), bar.cross(a)};
}

/// of |b|, which must not be zero  [Qa (27)].
inline Vector3d norm_adjoint(const Vector3d& b, double bar) { return bar / b.norm() * b; }

/// of skew(a): what of `bar` acts on a  [Qa (48)].
inline Vector3d skew_adjoint(const Matrix3d& bar) {
  return {bar(2, 1) - bar(1, 2), bar(0, 2) - bar(2, 0), bar(1, 0) - bar(0, 1)};
}

}  // namespace diffsim
