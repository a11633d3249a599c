#include "krylov_solver.hpp"

#include <utility>

namespace diffsim {
namespace {

// Further than this single precision gains less per product than a fresh start.
constexpr double kDeepest = 1e-5;
constexpr double kTwinAsymmetry = 1e-5;
constexpr double kNearSolution = 0.1;  // residual of a start that is of use

// r <- residual columns first, first + 1, ... each divided by its norm.
template <class K>
void load(const SweepPattern& P, const MatrixXd& r, const VectorXd& norms, Eigen::Index first,
          KrylovVectors<K>& w) {
  const Eigen::Index count = std::min<Eigen::Index>(K::columns, r.cols() - first);
  for (int s = 0; s < 4 * P.groups; ++s) {
    for (int row = 0; row < 3; ++row) {
      for (Eigen::Index c = 0; c < K::columns; ++c) {
        const bool filled = P.dof[s] >= 0 && c < count && norms[first + c] > 0;
        K::at(w.r[s / 4], s % 4, row, static_cast<int>(c)) =
            filled ? static_cast<float>(r(P.dof[s] + row, first + c) / norms[first + c]) : 0;
      }
    }
  }
}

// x += norm * T x_scaled.
template <class K>
void unload(const SweepPattern& P, const SweepMatrix& M, const VectorXd& norms, Eigen::Index first,
            const KrylovVectors<K>& w, MatrixXd& x) {
  const Eigen::Index count = std::min<Eigen::Index>(K::columns, x.cols() - first);
  typename K::Cell cell;
  for (int s = 0; s < 4 * P.groups; ++s) {
    if (s % 4 == 0) K::transform(M.right[s / 4], w.x[s / 4], cell.v);
    if (P.dof[s] < 0) continue;
    for (Eigen::Index c = 0; c < count; ++c) {
      for (int row = 0; row < 3; ++row) {
        x(P.dof[s] + row, first + c) +=
            norms[first + c] * K::at(cell, s % 4, row, static_cast<int>(c));
      }
    }
  }
}

}  // namespace

bool KrylovSolver::prepare(const BlockMatrix& A, bool symmetric, bool transposed, bool kept) {
  direct_ready_ = mirrored_ready_ = false;
  twin_ = symmetric && nearly_symmetric(A);
  const bool mirrored = transposed && !twin_;
  const bool regular = ensure(A, mirrored, kept && !mirrored);
  definite_ = symmetric && (mirrored ? mirrored_ : direct_).definite;
  return regular;
}

// Whether its diagonal blocks tell of no larger asymmetry than a pass in single precision leaves.
bool KrylovSolver::nearly_symmetric(const BlockMatrix& A) const {
  for (std::size_t s = 0; s < P_->dof.size(); ++s) {
    if (P_->dof[s] < 0) continue;
    const double* a = A.values.data() + P_->diagonal[s].offset;
    const int stride = P_->diagonal[s].stride;
    const double skew = std::abs(a[stride] - a[1]) + std::abs(a[2 * stride] - a[2]) +
                        std::abs(a[2 * stride + 1] - a[stride + 2]);
    const double whole = std::abs(a[0]) + std::abs(a[stride + 1]) + std::abs(a[2 * stride + 2]);
    if (!(skew <= kTwinAsymmetry * whole)) return false;
  }
  return true;
}

bool KrylovSolver::ensure(const BlockMatrix& A, bool mirrored, bool kept) {
  bool& ready = mirrored ? mirrored_ready_ : direct_ready_;
  if (!ready) ready = (mirrored ? mirrored_ : direct_).prepare(*P_, A.values, mirrored, kept);
  return ready;
}

SolveReport KrylovSolver::solve(const BlockMatrix& A, MatrixXd& x, double tolerance) {
  return refine(A, x, tolerance, false, {});
}

SolveReport KrylovSolver::solve_positive(const BlockMatrix& A, MatrixXd& x, double tolerance,
                                         int limit) {
  const int held = std::exchange(max_products, limit);
  positive_ = true;
  SolveReport report = refine(A, x, tolerance, false, {});
  positive_ = false;
  max_products = held;
  if (report.reached && !(scratch_.b.col(0).dot(x.col(0)) > 0)) report.indefinite = true;
  if (report.indefinite) report.reached = false;
  return report;
}

SolveReport KrylovSolver::solve_transposed(const BlockMatrix& A, MatrixXd& x, double tolerance,
                                           const MatrixXd& from) {
  return refine(A, x, tolerance, true, from);
}

template <class K>
void KrylovSolver::correct(KrylovVectors<K>& w, const SweepMatrix& M, const VectorXd& eta,
                           Eigen::Index first, bool& reached, SolveReport& report) {
  w.resize(P_->groups);
  const VectorXd& norms = scratch_.norm;
  load(*P_, scratch_.r, norms, first, w);
  typename K::Scalars wanted;
  for (int c = 0; c < K::columns; ++c) {
    wanted[c] = first + c < norms.size() ? static_cast<float>(eta[first + c]) : 1.f;
  }
  int products = 0;
  KrylovMethods<K> methods(*P_, M, w, products, max_products - report.products, positive_);
  methods.precondition();
  const KrylovEnd end = definite_ ? methods.conjugate_gradients(wanted) : methods.bicgstab(wanted);
  if (end != KrylovEnd::reached) definite_ = false;  // BiCGSTAB from here on
  report.indefinite = positive_ && end == KrylovEnd::indefinite;
  reached = reached && end == KrylovEnd::reached;
  scratch_.products = std::max(scratch_.products, products);
  unload(*P_, M, norms, first, w, scratch_.d);
}

// One correction of all columns of x, in single precision.
bool KrylovSolver::pass(const SweepMatrix& M, const VectorXd& start, double tolerance, MatrixXd& x,
                        SolveReport& report) {
  Scratch& s = scratch_;
  VectorXd eta = VectorXd::Ones(start.size());
  for (Eigen::Index k = 0; k < eta.size(); ++k) {
    if (s.norm[k] <= tolerance * start[k]) {
      s.norm[k] = 0;
    } else {
      eta[k] = std::clamp(tolerance * start[k] / s.norm[k], kDeepest, 1.);
    }
  }
  s.d.setZero(x.rows(), x.cols());
  s.products = 0;
  bool reached = true;
  for (Eigen::Index first = 0; first < x.cols();) {
    if (x.cols() - first == 1) {
      correct(s.one, M, eta, first++, reached, report);
    } else {
      correct(s.eight, M, eta, first, reached, report);
      first += EightColumns::columns;
    }
  }
  report.products += s.products;
  s.best = x;
  x += s.d;
  return reached;
}

// r = b - A x and its norms; the largest relative to b.
double KrylovSolver::measure(const BlockMatrix& A, const VectorXd& start, bool transposed,
                             const MatrixXd& x) {
  Scratch& s = scratch_;
  s.r = s.b;
  s.product.subtract_product(*P_, A.values, transposed, x, s.r);
  s.norm = s.r.colwise().norm().transpose();
  double largest = 0;
  for (Eigen::Index k = 0; k < start.size(); ++k) {
    const double left = start[k] == 0 ? 0 : s.norm[k] / start[k];
    largest = larger(largest, left);
  }
  return largest;
}

// Refinement: corrections until the residual in double precision is small.
SolveReport KrylovSolver::refine(const BlockMatrix& A, MatrixXd& x, double tolerance,
                                 bool transposed, const MatrixXd& from) {
  Scratch& s = scratch_;
  s.b = x;
  s.r = x;
  x.setZero();
  const VectorXd start = s.b.colwise().norm().transpose();
  s.norm = start;
  SolveReport report;
  report.residual = start.sum() == 0 ? 0 : 1;  // NaN is not zero
  if (from.size() > 0 && report.residual > 0) {
    x = from;
    report.residual = measure(A, start, transposed, x);
    if (!(report.residual < kNearSolution)) {
      x.setZero();
      s.r = s.b;
      s.norm = start;
      report.residual = 1;
    }
  }
  while (report.residual > tolerance && report.products < max_products) {
    const bool twin = transposed && twin_;
    const bool mirrored = transposed && !twin;
    if (!ensure(A, mirrored)) break;
    const bool definite = definite_;
    const bool reached = pass(mirrored ? mirrored_ : direct_, start, tolerance, x, report);
    if (reached && tolerance >= kLoose && !twin) {
      report.residual = tolerance;
      return report;
    }
    if (report.indefinite) break;
    const double before = report.residual;
    report.residual = measure(A, start, transposed, x);
    const bool fell = report.residual < 0.5 * before;
    const bool poor = !(report.residual <= 10 * std::max(tolerance, kDeepest * before));
    if (!(report.residual < before)) {
      x = s.best;
      report.residual = measure(A, start, transposed, x);
    }
    if (poor && twin) {
      twin_ = false;  // only nearly symmetric, and not near enough
    } else if (!fell && !definite) {
      break;
    } else if (!fell) {
      definite_ = false;
    }
  }
  report.reached = report.residual <= tolerance;
  return report;
}

}  // namespace diffsim
