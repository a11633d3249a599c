// The rate of momentum sum_k gamma_k m_{n-k} of a step: the part of r that elements with a momentum
// take with the scheme's gamma. Steps that look back on forces know by it what the forces were:
//
//   F_n = sum_k gamma_k m_{n-k} - sum_{k>=1} lag_k F_{n-k}      (r_n = 0)
#pragma once

#include "scene.hpp"

namespace diffsim {

/// Adds - sum_{k>=1} lag_k F_{n-k} to r (ndof).
void add_past_forces(const Window& window, VectorXd& r);

/// F_n (ndof) where window.now() solves the step; 0 for driven nodes.
VectorXd force(const Scene& scene, const Window& window, const VectorXd& p);

/// Derivatives of the rate of momentum by the states of a step and by parameters.
struct MomentumRate {
  BlockMatrix K[3], B[3];                     // by x_{n-k}, v_{n-k}
  std::vector<ParameterColumns::Entry> by_p;  // columns as given
  void evaluate(const Scene& scene, const Window& window, const VectorXd& p,
                const std::vector<int>& column_of);
};

}  // namespace diffsim
