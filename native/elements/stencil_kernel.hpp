// Eight points of a solid at a time, each with a deformation gradient of many nodes:
//
//   F = sum_a x_a b_a^T,   f_a = w P b_a,   P = mu F + q cof F + P_viscous
//   df_a/dx_b = w (T_ab I + c k_a k_b^T - q [F (b_a x b_b)]x + nu (h_b w_a^T + G_ab N))
//   df_a/dv_b = w nu (h_b h_a^T + G_ab M)   or, linear viscosity,   w nu (G_ab I + b_b b_a^T)
// with the symbols of tet_kernel.hpp and any weight w [m^3]: a quadrature point of a quadratic
// tetrahedron, or the patch over which a gradient is averaged. Where the points of a stencil share
// their mean dilatation J = sum w J_i / V, V = sum w, its q is added to each point's, and
//   df_a/dx_b += c/V (sum w k_a)(sum w k_b)^T.
#pragma once

#include <type_traits>

#include "tet_kernel.hpp"

namespace diffsim {

enum class ViscosityModel { none, invariant, linear };

/// Whose J the term Psi_lambda of a law takes: each point's own, or the mean over its stencil.
enum class Dilatation { of_points, mean };

/// Psi_mu of a law.
template <class Law>
struct ShearOnly {
  static Volumetric at(const Wide& J, const Moduli& m, bool with_slope) {
    return Law::at(J, Law::shear(m), with_slope);
  }
  static Wide energy(const Wide& I, const Wide& J, const Moduli& m) {
    return Law::energy(I, J, Law::shear(m));
  }
};

/// The part of a law that each point answers by itself.
template <class Law, Dilatation kDilatation>
using PointLaw = std::conditional_t<kDilatation == Dilatation::mean, ShearOnly<Law>, Law>;

/// Row i of a 3x3 matrix per lane.
struct Wide33 {
  Wide3 row[3];
  Wide3 operator*(const Wide3& b) const { return {dot(row[0], b), dot(row[1], b), dot(row[2], b)}; }
};

inline Wide3 zero3() { return {wide(0), wide(0), wide(0)}; }

/// sum_a x_a b_a^T.
inline Wide33 gradient_of(const Wide3* x, const Wide3* b, int n) {
  Wide33 F{{zero3(), zero3(), zero3()}};
  for (int a = 0; a < n; ++a) {
    for (int i = 0; i < 3; ++i) F.row[i] = F.row[i] + x[a][i] * b[a];
  }
  return F;
}

/// One point's response: what its forces and blocks are made of.
struct PointResponse {
  Wide33 F, rate, cof;
  Volumetric vol;
  Wide mu, eta;  // times the weight, as vol
  Wide weight;

  template <class Law>
  void set(Law, const Moduli& m, const Wide& w, bool with_slope) {
    for (int i = 0; i < 3; ++i) cof.row[i] = cross(F.row[(i + 1) % 3], F.row[(i + 2) % 3]);
    vol = Law::at(J(), m, with_slope);
    vol.q *= w;
    vol.slope *= w;
    mu = w * m.mu;
    eta = w * m.viscosity;
    weight = w;
  }

  Wide J() const { return dot(F.row[0], cof.row[0]); }

  /// w P.
  Wide33 stress(ViscosityModel viscosity) const {
    Wide33 P;
    for (int i = 0; i < 3; ++i) P.row[i] = mu * F.row[i] + vol.q * cof.row[i];
    if (viscosity == ViscosityModel::none) return P;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) {
        if (viscosity == ViscosityModel::linear) {
          P.row[i][j] += eta * (rate.row[i][j] + rate.row[j][i]);
          continue;
        }
        for (int k = 0; k < 3; ++k) P.row[i][j] += eta * F.row[i][k] * twice_strain_rate(k, j);
      }
    }
    return P;
  }
  /// 2 D_kj = (F^T F' + F'^T F)_kj.
  Wide twice_strain_rate(int k, int j) const {
    Wide sum = wide(0);
    for (int l = 0; l < 3; ++l) {
      sum += F.row[l][k] * rate.row[l][j] + rate.row[l][k] * F.row[l][j];
    }
    return sum;
  }
};

/// Adds to the points' q that of V Psi_lambda(sum w J / V), V = sum w; its slope times 1/V.
template <class Law>
Wide add_mean_dilatation(PointResponse* point, int points, const Moduli& m, bool with_slope) {
  Wide volume = wide(0), sum = wide(0);
  for (int q = 0; q < points; ++q) {
    volume += point[q].weight;
    sum += point[q].weight * point[q].J();
  }
  const Volumetric mean = Law::at(sum / volume, Law::volume(m), with_slope);
  for (int q = 0; q < points; ++q) point[q].vol.q += point[q].weight * mean.q;
  return mean.slope / volume;
}

/// Per node of one point.
struct NodeResponse {
  Wide3 k, h, w;  // cof F b, F b, F' b
};

/// Adds a pair's elastic block E_ab (E_ba is its transpose).
inline void add_elastic(const PointResponse& r, const Wide3& ba, const Wide3& bb,
                        const NodeResponse& a, const NodeResponse& b, Wide E[9]) {
  const Wide3 ck = r.vol.slope * a.k, u = r.vol.q * (r.F * cross(ba, bb));
  const Wide t = r.mu * dot(ba, bb);
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) E[3 * j + i] += ck[i] * b.k[j];
    E[4 * j] += t;
  }
  E[3] += u.z, E[6] -= u.y, E[7] += u.x;  // - [u]x
  E[1] -= u.z, E[2] += u.y, E[5] -= u.x;
}

/// sum w k per node, for the blocks of add_mean_dilatation.
inline void mean_slopes(const PointResponse* point, const NodeResponse* node, int points, int n,
                        Wide3* out) {
  for (int a = 0; a < n; ++a) {
    out[a] = zero3();
    for (int q = 0; q < points; ++q) out[a] = out[a] + point[q].weight * node[q * n + a].k;
  }
}

/// Adds slope a b^T.
inline void add_outer(const Wide& slope, const Wide3& a, const Wide3& b, Wide E[9]) {
  const Wide3 left = slope * a;
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) E[3 * j + i] += left[i] * b[j];
  }
}

/// w nu F F'^T and w nu F F^T, column by column.
struct ViscousProducts {
  Wide N[9], M[9];
  void set(const PointResponse& r) {
    for (int j = 0; j < 3; ++j) {
      for (int i = 0; i < 3; ++i) {
        N[3 * j + i] = r.eta * dot(r.F.row[i], r.rate.row[j]);
        M[3 * j + i] = r.eta * dot(r.F.row[i], r.F.row[j]);
      }
    }
  }
};

/// Adds a pair's viscous blocks K_ab, K_ba and B_ab (B_ba is its transpose).
inline void add_invariant(const PointResponse& r, const ViscousProducts& v, const Wide3& ba,
                          const Wide3& bb, const NodeResponse& a, const NodeResponse& b, Wide K[9],
                          Wide Kt[9], Wide B[9]) {
  const Wide g = dot(ba, bb), t = r.eta * (dot(a.h, b.w) + dot(a.w, b.h));
  const Wide3 ha = r.eta * a.h, hb = r.eta * b.h;
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) {
      const Wide n = g * v.N[3 * j + i];
      K[3 * j + i] += hb[i] * a.w[j] + n;
      Kt[3 * j + i] += ha[i] * b.w[j] + n;
      B[3 * j + i] += hb[i] * a.h[j] + g * v.M[3 * j + i];
    }
    K[4 * j] += t;
    Kt[4 * j] += t;
  }
}

inline void add_linear(const PointResponse& r, const Wide3& ba, const Wide3& bb, Wide B[9]) {
  const Wide3 nb = r.eta * bb;
  const Wide g = r.eta * dot(ba, bb);
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) B[3 * j + i] += nb[i] * ba[j];
    B[4 * j] += g;
  }
}

}  // namespace diffsim
