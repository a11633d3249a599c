// Adjoints of products, inverses and norms of matrices and vectors  [Qa App. G (20)-(27)].
//
// ..._adjoint(inputs, bar): gradients by the inputs of a number whose gradient by the output is
// `bar`, entry by entry: d phi = sum_ij bar_ij d out_ij.
#pragma once

#include <tuple>
#include <utility>

#include "../math.hpp"

namespace diffsim {

/// of a b: bar b^T and a^T bar; matrices or a matrix and a vector  [Qa (21), (22)].
template <class A, class B, class C>
auto product_adjoint(const Eigen::MatrixBase<A>& a, const Eigen::MatrixBase<B>& b,
                     const Eigen::MatrixBase<C>& bar) {
  return std::pair<typename A::PlainObject, typename B::PlainObject>(bar * b.transpose(),
                                                                     a.transpose() * bar);
}

/// of a^T b a  [Qa (23)].
template <class A, class B, class C>
auto congruence_adjoint(const Eigen::MatrixBase<A>& a, const Eigen::MatrixBase<B>& b,
                        const Eigen::MatrixBase<C>& bar) {
  return std::pair<typename A::PlainObject, typename B::PlainObject>(
      b.transpose() * a * bar + b * a * bar.transpose(), a * bar * a.transpose());
}

/// of a^-1, from the inverse itself  [Qa (24)].
template <class A, class C>
typename A::PlainObject matrix_inverse_adjoint(const Eigen::MatrixBase<A>& inverse,
                                               const Eigen::MatrixBase<C>& bar) {
  return -inverse.transpose() * bar * inverse.transpose();
}

/// of a b c: gradients by a, b and c  [Qa (25)].
template <class A, class B, class C, class D>
auto triple_product_adjoint(const Eigen::MatrixBase<A>& a, const Eigen::MatrixBase<B>& b,
                            const Eigen::MatrixBase<C>& c, const Eigen::MatrixBase<D>& bar) {
  return std::tuple<typename A::PlainObject, typename B::PlainObject, typename C::PlainObject>(
      bar * c.transpose() * b.transpose(), a.transpose() * bar * c.transpose(),
      b.transpose() * a.transpose() * bar);
}

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
