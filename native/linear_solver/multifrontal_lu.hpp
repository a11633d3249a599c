// Direct solver of step matrices: supernodal multifrontal LU on a structurally symmetric pattern.
#pragma once

#include <memory>

#include "frontal_pattern.hpp"

namespace diffsim {

/// Pivots are sought inside the pivot block of a front only; a step's matrix is inertia/h plus
/// damping and stiffness, whose diagonal dominates, and a vanishing pivot is reported as singular.
/// Copies share the symbolic part; scratch is not copied. One thread at a time.
template <class Scalar>
class MultifrontalLU {
 public:
  using Matrix = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

  MultifrontalLU() = default;
  explicit MultifrontalLU(std::shared_ptr<const FrontalPattern> pattern) : P_(std::move(pattern)) {}

  bool ready() const { return P_ != nullptr; }
  /// False when a pivot vanishes or is not finite.
  bool factor(const BlockMatrix& A);
  void solve(MatrixXd& x);             // x <- A^-1 x
  void solve_transposed(MatrixXd& x);  // x <- A^-T x

 private:
  using Front = FrontalPattern::Front;
  using Values = Eigen::Matrix<Scalar, Eigen::Dynamic, 1>;
  struct Scratch {
    Values work;
    Matrix x, own, rest;
    Scratch() = default;
    Scratch(const Scratch&) {}
    Scratch& operator=(const Scratch&) { return *this; }
    Scratch(Scratch&&) = default;
    Scratch& operator=(Scratch&&) = default;
  };

  void assemble(const Front& front, const double* values);
  bool eliminate(const Front& front);
  void permute(const MatrixXd& from);
  void gather(const Front& front);
  void scatter(const Front& front);
  void restore(MatrixXd& to) const;

  std::shared_ptr<const FrontalPattern> P_;
  Values values_;
  std::vector<int> swap_;  // per unknown in elimination order: the row of its front swapped with
  Scratch scratch_;
};

extern template class MultifrontalLU<double>;
extern template class MultifrontalLU<float>;

}  // namespace diffsim
