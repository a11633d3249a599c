// How nodes move in one step, and the exact derivative of that: the chart and the scheme live here.
//
// A frame's chart is re-centred at every step: R_n = exp([theta_n]x) R_{n-1}, so |theta| is the
// rotation of one step and no singularity of exponential coordinates is ever near ([G 4.6.2]
// changes chart at |theta| = pi instead). u = (c_dot, theta_dot) is Newton's unknown;
//   theta_n = alpha u + carry theta_{n-1}' , omega_n = J_l(theta_n) theta_dot_n ,
// with theta_{n-1}' the previous step's theta: minus it is R_{n-2} seen in the new chart, exactly.
#pragma once

#include <vector>

#include "../block_matrix.hpp"
#include "../state.hpp"

namespace diffsim {

/// A state with all arrays of the right size, at rest.
State make_state(const std::vector<Node>& nodes);

/// out = the state `u` (ndof) leads to from prev. Exact increments; nothing is differenced.
void advance(const std::vector<Node>& nodes, const TimeScheme& scheme, const State& prev,
             const VectorXd& u, State& out);

/// u of a state (inverse of advance's last line): node velocities and theta_dot.
void rates(const std::vector<Node>& nodes, const State& s, VectorXd& u);

/// Derivatives of one step's motion in intrinsic tangent coordinates (x: c, psi; v: v, omega):
///   dx_n = X_u du + H_x,  dv_n = V_u du + H_v,
/// where H collects what the two past poses do at fixed u.
class StepMap {
 public:
  StepMap() = default;
  StepMap(const std::vector<Node>& nodes, const TimeScheme& scheme, const State& now,
          const State& prev);
  /// A = K X_u + B V_u, the Jacobian of r by u.
  void combine(const BlockMatrix& K, const BlockMatrix& B, BlockMatrix& A) const;

  void history(const MatrixXd& x1, const MatrixXd& x2, MatrixXd& Hx, MatrixXd& Hv) const;
  /// x += X_u U, v += V_u U.
  void add_rates(const MatrixXd& U, MatrixXd& x, MatrixXd& v) const;

  /// Transposes of the two above, for the adjoint.
  void history_transposed(const MatrixXd& hx, const MatrixXd& hv, MatrixXd& x1, MatrixXd& x2) const;
  MatrixXd rates_transposed(const MatrixXd& x, const MatrixXd& v) const;

 private:
  struct Frame {
    Matrix3d J;       // J_l(theta_n)
    Matrix3d D;       // d(J_l(theta) theta_dot)/d theta
    Matrix3d E;       // exp([theta_n]x)
    Matrix3d C1, C2;  // d(carry theta_{n-1})/d psi_{n-1}, /d psi_{n-2}
  };
  const std::vector<Node>* nodes_ = nullptr;
  TimeScheme scheme_{};
  std::vector<Frame> frames_;
};

}  // namespace diffsim
