#include "matrix_adjoint.hpp"

namespace diffsim {
namespace {

// Plain copies, multiplied in one place for each kind of matrix: Eigen compiles a product of its
// own for each combination of transposes, and none of these is in a hot loop.
template <class M>
M product(const M& a, const M& b) {
  return a.lazyProduct(b);
}
template <class M>
M transposed(const M& a) {
  return a.transpose();
}

template <class M>
std::pair<M, M> congruence(const M& a, const M& b, const M& bar) {
  const M ab = product(a, bar);
  return {product(transposed(b), ab) + product(b, product(a, transposed(bar))),
          product(ab, transposed(a))};
}

}  // namespace

std::pair<MatrixXd, MatrixXd> product_adjoint(const MatrixXd& a, const MatrixXd& b,
                                              const MatrixXd& bar) {
  return {product(bar, transposed(b)), product(transposed(a), bar)};
}

std::pair<MatrixXd, MatrixXd> congruence_adjoint(const MatrixXd& a, const MatrixXd& b,
                                                 const MatrixXd& bar) {
  return congruence(a, b, bar);
}

std::pair<Matrix6, Matrix6> congruence_adjoint(const Matrix6& a, const Matrix6& b,
                                               const Matrix6& bar) {
  return congruence(a, b, bar);
}

MatrixXd matrix_inverse_adjoint(const MatrixXd& inverse, const MatrixXd& bar) {
  const MatrixXd flipped = transposed(inverse);
  return -product(product(flipped, bar), flipped);
}

std::tuple<MatrixXd, MatrixXd, MatrixXd> triple_product_adjoint(const MatrixXd& a,
                                                                const MatrixXd& b,
                                                                const MatrixXd& c,
                                                                const MatrixXd& bar) {
  const MatrixXd bar_c = product(bar, transposed(c)), at = transposed(a), bt = transposed(b);
  return {product(bar_c, bt), product(at, bar_c), product(bt, product(at, bar))};
}

}  // namespace diffsim
