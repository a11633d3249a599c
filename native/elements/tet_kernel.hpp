// Eight linear tetrahedra at a time: forces and their Jacobians in closed form.
//
// With edges e_a = x_a - x_0, rest gradients b_a of the shape functions and their Gram matrix
// G_ab = b_a.b_b (a, b = 1..3), F = sum_a e_a b_a^T and the force on node a is V P b_a. Nothing but
// G and the volume V of the rest shape is needed:
//   J = e_1.(e_2 x e_3)/(6V),  k_a = cof(F) b_a = (e_b x e_c)/(6V),  h_a = F b_a = sum_c e_c G_ca
// Neo-Hookean (solid_law): P = mu F + q(J) cof F. Rotation-invariant viscosity: P = 2 nu F D,
// D = (F^T F' + F'^T F)/2, b_a.D b_b = (h_a.w_b + w_a.h_b)/2 with w_a = F' b_a. Together
//   f_a = V (sum_c e_c T_ca + q k_a),   T_ca = mu G_ca + 2 nu b_c.D b_a,
//   df_a/dx_b = V (T_ab I + c k_a k_b^T - q [F (b_a x b_b)]x + nu (h_b w_a^T + G_ab N)),
//   df_a/dv_b = V nu (h_b h_a^T + G_ab M),   N = F F'^T,  M = F F^T,  c = dq/dJ,
// where F (b_a x b_b) is an edge of the deformed tetrahedron divided by 6V. Quantities of node 0
// are minus the sum of the others'. The elastic part and B are symmetric.
#pragma once

#include "wide.hpp"

namespace diffsim {

/// Rest shape of eight tetrahedra.
struct TetRest {
  Wide volume;   // [m^3]
  Wide sign;     // of its orientation: nodes are in ascending order
  Wide gram[6];  // G_11 G_22 G_33 G_12 G_13 G_23 [1/m^2]
};

/// Place of b_a.b_b among the six numbers of a symmetric matrix, a, b = 1..3.
constexpr int symmetric(int a, int b) { return a == b ? a - 1 : a + b; }

/// Lame's constants [Pa] and viscosity [Pa s] per element; forces are linear in them.
struct Moduli {
  Wide mu, lambda, viscosity;
};

/// q = (dPsi/dJ of the terms in J) and dq/dJ.
struct Volumetric {
  Wide q, slope;
};

/// What every law here has: Psi = Psi_mu(F) + Psi_lambda(J), each linear in its modulus. Psi_mu is
/// without stress at rest, and at small strain it is mu eps:eps; Psi_lambda has no slope at J = 1,
/// and lambda/2 (tr eps)^2. So an element may take J of Psi_lambda as a mean over several points:
/// Psi_mu alone holds every single one of them.
struct SplitLaw {
  /// Moduli that leave Psi_mu and viscosity, or Psi_lambda.
  static Moduli shear(const Moduli& m) { return {m.mu, wide(0), m.viscosity}; }
  static Moduli volume(const Moduli& m) { return {wide(0), m.lambda, wide(0)}; }
};

/// Psi_mu = mu/2 (I_C - 3) - mu ln J, Psi_lambda = lambda/2 (ln J)^2.
struct NeoHookean : SplitLaw {
  /// Energy per volume; I = I_C.
  static Wide energy(const Wide& I, const Wide& J, const Moduli& m) {
    const Wide l = log(J);
    return 0.5 * m.mu * (I - 3.0) - m.mu * l + 0.5 * m.lambda * l * l;
  }
  static Volumetric at(const Wide& J, const Moduli& m, bool with_slope) {
    const Wide inverse = 1.0 / J, s = m.lambda * log(J) - m.mu;
    return {s * inverse, with_slope ? (m.lambda - s) * inverse * inverse : wide(0)};
  }
};

/// Psi_mu = mu/2 (I_C - 3 - 2 (J - 1) + (J - 1)^2), Psi_lambda = lambda/2 (J - 1)^2: finite for
/// any J, and neither is negative.
struct NeoHookeanSafe : SplitLaw {
  static Wide energy(const Wide& I, const Wide& J, const Moduli& m) {
    const Wide s = J - 1.0;
    return 0.5 * m.mu * (I - 3.0) - m.mu * s + 0.5 * (m.lambda + m.mu) * s * s;
  }
  static Volumetric at(const Wide& J, const Moduli& m, bool) {
    const Wide both = m.lambda + m.mu;
    return {both * (J - 1.0) - m.mu, both};
  }
};

/// Edges of eight tetrahedra and what follows from them without any material.
struct TetShape {
  Wide3 e[3], k[3];  // edges; 6V cof(F) b_a times the sign
  Wide J;

  DIFFSIM_INLINE TetShape(const TetRest& rest, const Wide3& x0, const Wide3& x1, const Wide3& x2,
                          const Wide3& x3) {
    e[0] = x1 - x0;
    e[1] = x2 - x0;
    e[2] = x3 - x0;
    k[0] = cross(e[1], e[2]);
    k[1] = cross(e[2], e[0]);
    k[2] = cross(e[0], e[1]);
    J = dot(e[0], k[0]) * rest.sign / (6.0 * rest.volume);
  }
};

/// What viscosity needs besides.
struct TetRates {
  Wide3 h[3], w[3], edot[3];
  Wide weight;  // V nu
};

/// sum_c e_c G_ca for a = 1..3.
DIFFSIM_INLINE void times_symmetric(const Wide3 e[3], const Wide G[6], Wide3 out[3]) {
  for (int a = 1; a <= 3; ++a) {
    out[a - 1] = G[symmetric(1, a)] * e[0] + G[symmetric(2, a)] * e[1] + G[symmetric(3, a)] * e[2];
  }
}

/// 2 nu V b_a.D b_b added to T.
DIFFSIM_INLINE void add_viscous(const Wide& weight, const Wide3 h[3], const Wide3 w[3], Wide T[6]) {
  for (int a = 0; a < 3; ++a) T[a] += weight * 2.0 * dot(h[a], w[a]);
  T[3] += weight * (dot(h[0], w[1]) + dot(w[0], h[1]));
  T[4] += weight * (dot(h[0], w[2]) + dot(w[0], h[2]));
  T[5] += weight * (dot(h[1], w[2]) + dot(w[1], h[2]));
}

/// Forces of the linear viscosity P = nu (F' + F'^T) on nodes 1..3: V nu (w_a + F'^T b_a).
DIFFSIM_INLINE void add_linear_viscous(const Wide3 b[3], const TetRates& r, Wide3 f[4]) {
  for (int a = 0; a < 3; ++a) {
    Wide3 sum = r.w[a];
    for (int c = 0; c < 3; ++c) sum = sum + dot(r.edot[c], b[a]) * b[c];
    sum = r.weight * sum;
    f[a + 1] = f[a + 1] + sum;
    f[0] = f[0] - sum;
  }
}

/// f_a from V T and q.
DIFFSIM_INLINE void tet_forces(const TetRest& rest, const TetShape& s, const Wide T[6],
                               const Wide& q, Wide3 f[4]) {
  times_symmetric(s.e, T, f + 1);
  const Wide sixth = q * rest.sign * (1.0 / 6.0);
  for (int a = 0; a < 3; ++a) f[a + 1] = f[a + 1] + sixth * s.k[a];
  f[0] = -(f[1] + f[2] + f[3]);
}

/// The same for all four nodes: node 0's is minus the others' sum.
DIFFSIM_INLINE void with_node_0(const Wide3 of[3], Wide3 all[4]) {
  all[0] = -(of[0] + of[1] + of[2]);
  for (int a = 0; a < 3; ++a) all[a + 1] = of[a];
}

/// The six pairs a < b in the order 01 02 03 12 13 23.
constexpr int kFirst[6] = {0, 0, 0, 1, 1, 2}, kSecond[6] = {1, 2, 3, 2, 3, 3};
DIFFSIM_INLINE void of_pairs(const Wide G[6], Wide pair[6]) {
  pair[0] = -(G[0] + G[3] + G[4]);
  pair[1] = -(G[3] + G[1] + G[5]);
  pair[2] = -(G[4] + G[5] + G[2]);
  for (int i = 0; i < 3; ++i) pair[3 + i] = G[3 + i];
}

/// Elastic blocks of the pairs.
class ElasticBlocks {
 public:
  DIFFSIM_INLINE ElasticBlocks(const TetRest& rest, const TetShape& s, const Wide T[6],
                               const Volumetric& vol) {
    of_pairs(T, t_);
    with_node_0(s.k, k_);
    const Wide c = vol.slope / (36.0 * rest.volume);
    for (int a = 0; a < 3; ++a) ck_[a] = c * k_[a];
    const Wide sixth = vol.q * rest.sign * (1.0 / 6.0);
    edge_[0] = sixth * (s.e[2] - s.e[1]);
    edge_[1] = sixth * (s.e[0] - s.e[2]);
    edge_[2] = sixth * (s.e[1] - s.e[0]);
    edge_[3] = sixth * s.e[2];
    edge_[4] = -(sixth * s.e[1]);
    edge_[5] = sixth * s.e[0];
  }
  /// K_ab of a pair, column by column; K_ba is the transpose.
  DIFFSIM_INLINE void at(int pair, Wide K[9]) const {
    const Wide3 &left = ck_[kFirst[pair]], &right = k_[kSecond[pair]], &u = edge_[pair];
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) K[3 * j + i] = left[i] * right[j];
      K[4 * j] += t_[pair];
    }
    K[3] += u.z, K[6] -= u.y, K[7] += u.x;  // - [u]x
    K[1] -= u.z, K[2] += u.y, K[5] -= u.x;
  }

 private:
  Wide t_[6];
  Wide3 k_[4], ck_[3], edge_[6];
};

/// Viscous blocks of the pairs. Those of alpha K + B are those of K with alpha F' + F in place of
/// F': join().
class ViscousBlocks {
 public:
  DIFFSIM_INLINE ViscousBlocks(const TetRest& rest, const TetShape& s, const TetRates& rates) {
    of_pairs(rest.gram, g_);
    with_node_0(rates.h, h_);
    with_node_0(rates.w, w_);
    for (int a = 0; a < 4; ++a) nh_[a] = rates.weight * h_[a];
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) {
        N_[3 * j + i] = nh_[1][i] * rates.edot[0][j] + nh_[2][i] * rates.edot[1][j] +
                        nh_[3][i] * rates.edot[2][j];
        M_[3 * j + i] = nh_[1][i] * s.e[0][j] + nh_[2][i] * s.e[1][j] + nh_[3][i] * s.e[2][j];
      }
    }
  }
  /// Adds to K_ab and K_ba of a pair.
  DIFFSIM_INLINE void add(int pair, Wide K[9], Wide Kt[9]) const {
    const int a = kFirst[pair], b = kSecond[pair];
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) {
        const Wide n = g_[pair] * N_[3 * j + i];
        K[3 * j + i] += nh_[b][i] * w_[a][j] + n;
        Kt[3 * j + i] += nh_[a][i] * w_[b][j] + n;
      }
    }
  }
  /// B_ab; B_ba is its transpose.
  DIFFSIM_INLINE void rate(int pair, Wide B[9]) const {
    const int a = kFirst[pair], b = kSecond[pair];
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) {
        B[3 * j + i] = nh_[b][i] * h_[a][j] + g_[pair] * M_[3 * j + i];
      }
    }
  }
  /// F' becomes alpha F' + F.
  DIFFSIM_INLINE static void join(const TetShape& s, double alpha, TetRates& rates) {
    for (int a = 0; a < 3; ++a) {
      rates.w[a] = wide(alpha) * rates.w[a] + rates.h[a];
      rates.edot[a] = wide(alpha) * rates.edot[a] + s.e[a];
    }
  }

 private:
  Wide g_[6], N_[9], M_[9];
  Wide3 h_[4], w_[4], nh_[4];
};

/// B_ab = V nu (G_ab I + b_b b_a^T) of the linear viscosity.
class LinearViscousBlocks {
 public:
  DIFFSIM_INLINE LinearViscousBlocks(const TetRest& rest, const Wide3 b[3], const Wide& weight) {
    of_pairs(rest.gram, g_);
    with_node_0(b, b_);
    for (int a = 0; a < 4; ++a) nb_[a] = weight * b_[a];
    for (Wide& g : g_) g *= weight;
  }
  void add(int, Wide[9], Wide[9]) const {}
  DIFFSIM_INLINE void rate(int pair, Wide B[9]) const {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) B[3 * j + i] = nb_[kSecond[pair]][i] * b_[kFirst[pair]][j];
      B[4 * j] += g_[pair];
    }
  }

 private:
  Wide g_[6];
  Wide3 b_[4], nb_[4];
};

}  // namespace diffsim
