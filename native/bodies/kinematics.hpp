// How nodes move in one step, and the exact derivative of that: the chart and the scheme live here.
//
// A frame's chart is re-centred at every step: R_n = exp([theta_n]x) R_{n-1}, so |theta| is the
// rotation of one step and no singularity of exponential coordinates is ever near ([G 4.6.2]
// changes chart at |theta| = pi instead). u = (c_dot, theta_dot) is Newton's unknown;
//   theta_n = alpha u + carry theta_{n-1}' , omega_n = J_l(theta_n) theta_dot_n ,
// with theta_{n-1}' the previous step's theta: minus it is R_{n-2} seen in the new chart, exactly.
// Schemes with a lag take the body's own angular velocity instead, u = R_{n-1} Omega_n:
//   theta_n = alpha (u + sum_k lag_k R_{n-1} Omega_{n-k}) + carry theta_{n-1}' ,
//   omega_n = exp([theta_n]x) u .
#pragma once

#include <vector>

#include "../block_matrix.hpp"
#include "../state.hpp"

namespace diffsim {

/// A state with all arrays of the right size, at rest.
State make_state(const std::vector<Node>& nodes);

/// out = the state `u` (ndof) leads to from window.at[1]. Exact increments; nothing is differenced.
void advance(const std::vector<Node>& nodes, const Window& window, const VectorXd& u, State& out);

/// u of a state (inverse of advance's last line): node velocities and theta_dot.
void rates(const std::vector<Node>& nodes, const State& s, VectorXd& u);

/// Derivatives of one step's motion in intrinsic tangent coordinates (x: c, psi; v: v, omega):
///   dx_n = X_u du + H_x,  dv_n = V_u du + H_v,
/// where H collects what the two past poses, and with a lag their velocities, do at fixed u.
class StepMap {
 public:
  StepMap() = default;
  StepMap(const std::vector<Node>& nodes, const Window& window);
  /// A = K X_u + B V_u, the Jacobian of r by u.
  void combine(const BlockMatrix& K, const BlockMatrix& B, BlockMatrix& A) const;

  /// x, v: derivatives of three states, newest first; sets those of the newest to Hx, Hv.
  void history(MatrixXd* x, MatrixXd* v) const;
  /// x += X_u U, v += V_u U.
  void add_rates(const MatrixXd& U, MatrixXd& x, MatrixXd& v) const;

  /// Transposes of the two above, for the adjoint.
  void history_transposed(MatrixXd* x, MatrixXd* v) const;
  MatrixXd rates_transposed(const MatrixXd& x, const MatrixXd& v) const;

 private:
  struct Frame {
    double alpha;
    bool two, lags;   // whether theta_n depends on psi_{n-1} and psi_{n-2}, on their velocities
    Matrix3d J;       // J_l(theta_n)
    Matrix3d W;       // d omega_n/du at fixed theta_n: J, with a lag E
    Matrix3d D;       // d omega_n/d theta_n at fixed u
    Matrix3d E;       // exp([theta_n]x)
    Matrix3d C1, C2;  // d theta_n/d psi_{n-1}, /d psi_{n-2} at fixed u
    Matrix3d G2;      // d theta_n/d omega_{n-2}; by omega_{n-1} it is alpha lag_1
  };
  const std::vector<Node>* nodes_ = nullptr;
  TimeScheme scheme_{};
  std::vector<Frame> frames_;
};

}  // namespace diffsim
