// The mixed complementarity problem of hard contacts in one step: impulses that keep points from
// passing into obstacles, with Coulomb's friction  [Qa App. C].
//
// In the axes (n, t_1, t_2) of each contact, velocities after the step are c = W lambda + c_0, with
// the Delassus matrix W = J M^-1 J^T, and
//   0 <= lambda_n  complementary to  c_n - b >= 0,
//   cone:    |lambda_t| <= mu lambda_n;  lambda_t = -mu lambda_n c_t/|c_t| where c_t is not 0,
//   pyramid: the same of each tangent component by itself.
// A small compliance, c + compliance lambda in place of c, makes the impulses of redundant contacts
// (a box on its corners) unique.
#pragma once

#include <vector>

#include "../math.hpp"
#include "velocity_options.hpp"

namespace diffsim {

class ContactProblem {
 public:
  enum class Mode : unsigned char { open, stick, slip };  // of the normal: open or not
  struct Contact {
    double bound = 0;  // b [m/s]
    double mu = 0;
    double compliance = 0;  // [m/s per N s]
    Mode mode = Mode::open;
    signed char side[2] = {0, 0};  // pyramid: +-1 where lambda_t = side mu lambda_n, 0: it sticks
  };

  MatrixXd W;
  VectorXd c0;
  std::vector<Contact> contacts;
  FrictionCone cone = FrictionCone::cone;

  VectorXd lambda;  // [N s]: a guess, perhaps, then the solution

  /// Projected Gauss-Seidel, then Newton's method for the branches it ends on. False where that
  /// does not converge within `sweeps`.
  bool solve(int sweeps);
  /// `sweeps` of projected Gauss-Seidel from lambda.
  void sweep(int sweeps);
  /// Largest violation of the laws above, as a velocity [m/s].
  double residual() const;

  /// Contact i's law on its branch, 0 at the solution, and its derivatives:
  /// by_c dc_i + by_lambda dlambda_i + by_bound db_i + by_mu dmu_i = 0.
  struct Law {
    Vector3d value;
    Matrix3d by_c, by_lambda;
    Vector3d by_bound, by_mu;
  };
  Law law(int i) const;
  /// The laws of some contacts by the impulses of the same.
  MatrixXd slopes(const std::vector<int>& of, const std::vector<Law>& laws) const;

  /// Derivatives by W and c_0 at the solution, from those by lambda: the implicit function theorem.
  void gradient(const VectorXd& lambda_bar, MatrixXd& W_bar, VectorXd& c0_bar) const;

  /// [Qa Alg. 1]: derivatives of `sweeps` sweeps by W and c_0 in reverse, from those of lambda at
  /// their end; begins where sweep() began, at lambda = 0.
  void sweep_adjoint(int sweeps, const VectorXd& lambda_bar, MatrixXd& W_bar,
                     VectorXd& c0_bar) const;

 private:
  struct Backward;
  void relax(int i, VectorXd& at) const;
  /// A Newton step on the present branches, shorter where `damped` and the residual is not below
  /// `last`; false where there is none.
  bool correct(bool damped, double last);
  bool newton(double tolerance, bool damped);
  /// Whether lu_ is that of the present branches: those that stick have the same at any impulse.
  bool factored(const std::vector<int>& active) const;
  /// From lambda, which stays where that fails.
  bool try_newton(double tolerance);
  void set_modes();
  Vector3d velocity(int i) const;  // c_i, with what the compliance adds
  double scale(int i) const;       // of tangent directions

  // Of the last Newton step, where all of its contacts stuck; forgotten where a problem is new.
  Eigen::PartialPivLU<MatrixXd> lu_;
  std::vector<int> stuck_, active_;
  std::vector<Law> laws_;
  VectorXd law_values_, start_;
  mutable VectorXd relaxed_;
};

}  // namespace diffsim
