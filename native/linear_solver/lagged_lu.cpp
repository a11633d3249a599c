#include "lagged_lu.hpp"

#include <cmath>

namespace diffsim {
namespace {

constexpr int kInARow = 16;     // new factors, before an old one is tried again
constexpr double kStays = 0.5;  // share of the residual that is no progress

}  // namespace

double factorization_cost(Eigen::Index unknowns) {
  return 0.08 * std::pow(static_cast<double>(unknowns), 2. / 3.);
}

bool LaggedLU::renew(const BlockMatrix& A) {
  ++factorizations;
  worst_ = 0;
  fresh_ = true;
  return factored_ = lu_.factor(A);
}

bool LaggedLU::factor(const BlockMatrix& A) {
  if (factored_ && worst_ <= kWornOut) {
    fresh_ = false;
    return true;
  }
  return renew(A);
}

SolveReport LaggedLU::solve(const BlockMatrix& A, MatrixXd& x, double tolerance) {
  return run(A, x, tolerance, false);
}

SolveReport LaggedLU::solve_transposed(const BlockMatrix& A, MatrixXd& x, double tolerance) {
  return run(A, x, tolerance, true);
}

void LaggedLU::product(const BlockMatrix& A, const MatrixXd& x, bool transposed, MatrixXd& y) {
  y.setZero(x.rows(), 1);
  residual_.subtract_product(*P_, A.values, transposed, x, y);
  y = -y;
}

// One cycle of GMRES from the residual in r_ (norm `start`); leaves the correction in z_. Returns
// the products taken.
int LaggedLU::cycle(const BlockMatrix& A, double start, double wanted, bool transposed) {
  const Eigen::Index n = r_.rows();
  V_.resize(n, kBasis + 1);
  Z_.resize(n, kBasis);
  H_.setZero(kBasis + 1, kBasis);
  g_.setZero(kBasis + 1);
  cosine_.resize(kBasis);
  sine_.resize(kBasis);
  V_.col(0) = r_ / start;
  g_[0] = start;
  int k = 0;
  while (k < kBasis) {
    z_ = V_.col(k);
    transposed ? lu_.solve_transposed(z_) : lu_.solve(z_);
    Z_.col(k) = z_;
    product(A, z_, transposed, w_);
    for (int i = 0; i <= k; ++i) {
      H_(i, k) = V_.col(i).dot(w_.col(0));
      w_.col(0) -= H_(i, k) * V_.col(i);
    }
    const double length = w_.norm();
    for (int i = 0; i < k; ++i) {
      const double a = H_(i, k), b = H_(i + 1, k);
      H_(i, k) = cosine_[i] * a + sine_[i] * b;
      H_(i + 1, k) = cosine_[i] * b - sine_[i] * a;
    }
    const double hypotenuse = std::hypot(H_(k, k), length);
    if (!(hypotenuse > 0) || !std::isfinite(hypotenuse)) break;
    cosine_[k] = H_(k, k) / hypotenuse;
    sine_[k] = length / hypotenuse;
    H_(k, k) = hypotenuse;
    g_[k + 1] = -sine_[k] * g_[k];
    g_[k] *= cosine_[k];
    ++k;
    if (std::abs(g_[k]) <= wanted || length == 0) break;
    V_.col(k) = w_ / length;
  }
  H_.topLeftCorner(k, k).triangularView<Eigen::Upper>().solveInPlace(g_.head(k));
  z_.noalias() = Z_.leftCols(k) * g_.head(k);
  return k;
}

// Column k of b_ to column k of x. False where the tolerance was not reached with this factor.
bool LaggedLU::column(const BlockMatrix& A, Eigen::Index k, double tolerance, bool transposed,
                      MatrixXd& x, SolveReport& report) {
  const double whole = b_.col(k).norm();
  x.col(k).setZero();
  r_ = b_.col(k);
  double norm = whole;
  int products = 0;
  for (int c = 0; c < kMostCycles && norm > tolerance * whole; ++c) {
    products += cycle(A, norm, 0.5 * tolerance * whole, transposed);
    w_ = x.col(k) + z_;
    z_ = w_;
    r_ = b_.col(k);
    residual_.subtract_product(*P_, A.values, transposed, z_, r_);
    const double next = r_.norm();
    if (!(next < norm)) break;
    norm = next;
    x.col(k) = z_;
  }
  report.products = std::max(report.products, products);
  const double left = whole == 0 ? 0 : norm / whole;  // NaN stays NaN
  report.residual = larger(report.residual, left);
  return left <= tolerance;
}

// x += (LU)^-1 (b - A x), all columns at once, until that no longer helps; returns |b - A x| / |b|.
// A new factor takes two or three passes, an old one many: which is cheaper shows in the first.
VectorXd LaggedLU::refine(const BlockMatrix& A, double tolerance, bool transposed, MatrixXd& x,
                          SolveReport& report) {
  const double columns = static_cast<double>(x.cols());
  const VectorXd whole = b_.colwise().norm().transpose();
  VectorXd left = VectorXd::Ones(x.cols());
  left = (whole.array() == 0).select(0 * left, left);
  x.setZero();
  r_ = b_;
  for (double worst = left.maxCoeff(); worst > tolerance;) {
    z_ = r_;
    transposed ? lu_.solve_transposed(z_) : lu_.solve(z_);
    w_ = x + z_;
    r_ = b_;
    residual_.subtract_product(*P_, A.values, transposed, w_, r_);
    ++report.products;
    for (Eigen::Index k = 0; k < x.cols(); ++k) {
      const double next = r_.col(k).norm() / whole[k];
      if (!(next < left[k])) continue;
      left[k] = next;
      x.col(k) = w_.col(k);
    }
    const double gain = left.maxCoeff() / worst;
    worst = left.maxCoeff();
    if (worst <= tolerance || (fresh_ && gain > kStays)) break;
    if (!fresh_) {
      const double passes = std::log(tolerance / worst) / std::log(std::min(gain, 0.999));
      if (passes > 2 + factorization_cost(x.rows()) / columns && !renew(A)) break;
    }
    r_ = b_;
    residual_.subtract_product(*P_, A.values, transposed, x, r_);
  }
  worst_ = fresh_ && factorizations % kInARow != 0 ? kWornOut + 1 : 0;
  return left;
}

SolveReport LaggedLU::run(const BlockMatrix& A, MatrixXd& x, double tolerance, bool transposed) {
  b_ = x;
  SolveReport report;
  VectorXd left = VectorXd::Ones(x.cols());
  if (x.cols() >= kTogether) left = refine(A, tolerance, transposed, x, report);
  for (Eigen::Index k = 0; k < x.cols(); ++k) {
    if (left[k] <= tolerance) {
      report.residual = larger(report.residual, left[k]);
      continue;
    }
    SolveReport own;
    bool reached = column(A, k, tolerance, transposed, x, own);
    if (!reached && !fresh_ && renew(A)) {
      own = {};
      reached = column(A, k, tolerance, transposed, x, own);
    }
    worst_ = std::max(worst_, own.products);
    report.reached = report.reached && reached;
    report.products = std::max(report.products, own.products);
    report.residual = larger(report.residual, own.residual);
  }
  return report;
}

}  // namespace diffsim
