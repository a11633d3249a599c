#include "linear_solver.hpp"

namespace diffsim {
namespace {

constexpr int kHandful = 25;      // nodes
constexpr int kFirstPenalty = 8;  // matrices
constexpr int kLongestPenalty = 64;
constexpr int kFewProducts = 200;
constexpr double kSolveRounding = 1e-13;  // residual that a direct solve is content with
constexpr double kLastPlaces = 4;  // of A x: a residual below them cannot be told from rounding
constexpr int kRefinements = 2;    // of a direct solve

// Norm that rounding alone gives to each column of b - A x, by the diagonal blocks: where stiff
// directions are part of a soft solution, that is more than a small share of b.
VectorXd rounding(const BlockMatrix& A, const MatrixXd& x) {
  VectorXd sum = VectorXd::Zero(x.cols());
  const BlockPattern& P = *A.pattern;
  for (int i = 0; i < P.nodes(); ++i) {
    const Eigen::Map<const MatrixXd> block(A.block(i), P.size[i], P.size[i]);
    const VectorXd weight = block.colwise().squaredNorm();
    sum += x.middleRows(P.dof[i], P.size[i]).cwiseAbs2().transpose() * weight;
  }
  return kLastPlaces * std::numeric_limits<double>::epsilon() * sum.cwiseSqrt();
}

// Whether what x leaves of b is but rounding.
bool at_rounding(const BlockMatrix& A, const MatrixXd& x, const MatrixXd& b, bool transposed) {
  MatrixXd r = -b;
  transposed ? A.multiply_transposed_add(x, r) : A.multiply_add(x, r);
  return (r.colwise().norm().transpose().array() <= rounding(A, x).array()).all();
}

// Products of eight columns that cost as much as a new factor and its passes over all columns.
int worth_of_products(const MatrixXd& x) {
  const double columns = static_cast<double>(x.cols());
  return static_cast<int>((factorization_cost(x.rows()) + 2 * columns) / std::ceil(columns / 8));
}

}  // namespace

LinearPattern::LinearPattern(const BlockPattern& pattern, bool stiff)
    : pattern_(&pattern), stiff_(stiff), general_(!pattern.multipliers.empty()) {
  for (const int size : pattern.size) {
    count_ += size > 0;
    general_ = general_ || (size != 3 && size != 6);
  }
}

bool LinearPattern::tree_like() const {
  const int couplings = (pattern_->blocks() - pattern_->nodes()) / 2;
  return count_ <= kHandful || 2 * couplings <= 3 * count_;
}

const BlockSymbolic& LinearPattern::block() const {
  std::call_once(block_made_, [&] { block_ = BlockSymbolic(*pattern_); });
  return block_;
}

std::shared_ptr<const SweepPattern> LinearPattern::sweep() const {
  std::call_once(sweep_made_, [&] { sweep_ = std::make_shared<const SweepPattern>(*pattern_); });
  return sweep_;
}

std::shared_ptr<const FrontalPattern> LinearPattern::frontal() const {
  std::call_once(frontal_made_,
                 [&] { frontal_ = std::make_shared<const FrontalPattern>(*pattern_); });
  return frontal_;
}

LinearSolver::LinearSolver(std::shared_ptr<const LinearPattern> pattern, Method method)
    : pattern_(std::move(pattern)), method_(method) {
  const bool direct = pattern_->tree_like() || pattern_->general();
  if (method_ == Method::automatic && direct) method_ = Method::direct;
  if (method_ == Method::automatic || method_ == Method::krylov) {
    make_krylov();
  }
  if (method_ == Method::direct && pattern_->tree_like()) block_ = BlockLU(pattern_->block());
}

void LinearSolver::make_krylov() {
  krylov_ = KrylovSolver(pattern_->sweep());
  // About what a factorization costs, in products.
  krylov_.max_products = 200 + pattern_->sweep()->groups;
}

bool LinearSolver::factor(const BlockMatrix& A, bool symmetric, bool transposed, bool kept) {
  kept_ = kept && krylov_holds_;
  krylov_holds_ = false;
  symmetric_ = symmetric;
  transposed_ = transposed;
  active_ = method_;
  if (method_ == Method::automatic) {
    active_ = avoid_krylov_ > 0 ? Method::lagged : Method::krylov;
    if (avoid_krylov_ > 0) --avoid_krylov_;
  }
  return prepare(A) || escalate(A);
}

// Makes the active member ready for A.
bool LinearSolver::prepare(const BlockMatrix& A) {
  switch (active_) {
    case Method::krylov:
      if (!krylov_.prepare(A, symmetric_, transposed_, kept_)) return false;
      krylov_holds_ = !transposed_;
      return true;
    case Method::lagged:
      if (!lagged_.ready()) lagged_ = LaggedLU(pattern_->sweep(), pattern_->frontal());
      return lagged_.factor(A);
    default:
      if (pattern_->tree_like()) return block_.factor(A);
      if (!frontal_.ready()) frontal_ = MultifrontalLU<double>(pattern_->frontal());
      return frontal_.factor(A);
  }
}

// To the next member that A can be prepared for; false where there is none.
bool LinearSolver::escalate(const BlockMatrix& A) {
  if (method_ != Method::automatic) return false;
  while (active_ != Method::direct) {
    if (active_ == Method::krylov) {
      penalty_ = std::min(std::max(2 * penalty_, kFirstPenalty), kLongestPenalty);
      avoid_krylov_ = penalty_;
      active_ = Method::lagged;
    } else {
      active_ = Method::direct;
    }
    if (prepare(A)) return true;
  }
  return false;
}

SolveReport LinearSolver::solve(const BlockMatrix& A, MatrixXd& x, double tolerance) {
  return run(A, x, tolerance, false, {});
}

SolveReport LinearSolver::solve_positive(const BlockMatrix& A, bool symmetric, MatrixXd& x,
                                         double tolerance) {
  symmetric_ = symmetric;
  transposed_ = false;
  active_ = Method::krylov;
  if (!krylov_.ready()) make_krylov();
  SolveReport report;
  report.reached = false;
  krylov_holds_ = krylov_.prepare(A, symmetric);
  if (!krylov_holds_) return report;
  return krylov_.solve_positive(A, x, tolerance, kFewProducts);
}

SolveReport LinearSolver::solve_transposed(const BlockMatrix& A, MatrixXd& x, double tolerance,
                                           const MatrixXd& start) {
  return run(A, x, tolerance, true, start);
}

SolveReport LinearSolver::run(const BlockMatrix& A, MatrixXd& x, double tolerance, bool transposed,
                              const MatrixXd& start) {
  if (active_ != Method::direct) b_ = x;
  for (;;) {
    SolveReport report;
    if (active_ == Method::krylov) {
      const int most = krylov_.max_products;
      if (method_ == Method::automatic && x.cols() >= LaggedLU::kTogether) {
        krylov_.max_products = std::min(most, worth_of_products(x));
      }
      report = transposed ? krylov_.solve_transposed(A, x, tolerance, start)
                          : krylov_.solve(A, x, tolerance);
      krylov_.max_products = most;
    } else if (active_ == Method::lagged) {
      report =
          transposed ? lagged_.solve_transposed(A, x, tolerance) : lagged_.solve(A, x, tolerance);
    } else {
      return solve_directly(A, x, tolerance, transposed);
    }
    report.reached = report.reached || at_rounding(A, x, b_, transposed);
    if (report.reached) {
      if (active_ == Method::krylov) penalty_ = 0;
      return report;
    }
    if (!escalate(A)) return report;
    x = b_;
  }
}

namespace {

// A x - b, summed in long double: what refining gains where entries span so many decades that their
// rounding hides the soft directions.
MatrixXd residual(const BlockMatrix& A, const MatrixXd& x, const MatrixXd& b, bool transposed) {
  using Wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
  const BlockPattern& P = *A.pattern;
  const Wide y = x.cast<long double>();
  Wide r = -b.cast<long double>();
  for (int k = 0; k < P.blocks(); ++k) {
    const int i = P.row[k], j = P.col[k];
    const Eigen::Map<const MatrixXd> block(A.block(k), P.size[i], P.size[j]);
    const Wide M = block.cast<long double>();
    if (transposed) {
      r.middleRows(P.dof[j], P.size[j]) += M.transpose() * y.middleRows(P.dof[i], P.size[i]);
    } else {
      r.middleRows(P.dof[i], P.size[i]) += M * y.middleRows(P.dof[j], P.size[j]);
    }
  }
  return r.cast<double>();
}

}  // namespace

SolveReport LinearSolver::solve_directly(const BlockMatrix& A, MatrixXd& x, double tolerance,
                                         bool transposed) {
  const bool blocks = pattern_->tree_like();
  auto solve = [&](MatrixXd& y) {
    if (blocks) {
      transposed ? block_.solve_transposed(y) : block_.solve(y);
    } else {
      transposed ? frontal_.solve_transposed(y) : frontal_.solve(y);
    }
  };
  if (blocks && !pattern_->stiff()) {
    solve(x);
    SolveReport report;
    report.reached = x.allFinite();
    return report;
  }
  b_ = x;
  solve(x);
  SolveReport report;
  for (int refinements = 0;; ++refinements) {
    if (pattern_->stiff()) {
      r_ = residual(A, x, b_, transposed);
    } else {
      r_ = -b_;
      transposed ? A.multiply_transposed_add(x, r_) : A.multiply_add(x, r_);
    }
    report.residual = 0;
    report.reached = true;
    const VectorXd least = rounding(A, x);
    for (Eigen::Index k = 0; k < x.cols(); ++k) {
      const double whole = b_.col(k).norm(), left = r_.col(k).norm();
      const double share = left > 0 ? left / whole : left;
      report.residual = larger(report.residual, share);
      report.reached &= share <= std::max(tolerance, kSolveRounding) || left <= least[k];
    }
    // Where entries span many decades a small residual hides errors in the soft directions.
    const bool done = report.reached && !pattern_->stiff();
    if (done || refinements == kRefinements) return report;
    solve(r_);
    x -= r_;
  }
}

}  // namespace diffsim
