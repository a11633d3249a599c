// Solid: elastic and viscous forces of a body of linear tetrahedra (kernel: tet_kernel.hpp).
//
// They lock: in bending by a few elements over the thickness, and more the nearer Poisson's ratio
// is to 1/2. SolidSmoothed does so less, SolidQuadratic with a mean dilatation hardly.
#pragma once

#include "solid_body.hpp"

namespace diffsim {

struct TetBatch {               // eight tetrahedra; the last batch repeats its last one
  std::array<LaneIndex, 4> at;  // 3 * point, ascending
  LaneIndex element;            // index of the tetrahedron as it was given
  int lanes;
  /// Points of pair k (kFirst, kSecond).
  std::pair<int, int> pair(int k, int lane) const {
    return {at[kFirst[k]][lane] / 3, at[kSecond[k]][lane] / 3};
  }
};

struct TetGradient {
  Wide3 b[3];  // of the shape functions of nodes 1..3
};

/// Tetrahedra by eights, in the order of their lowest point.
struct TetBatches {
  std::vector<TetBatch> batch;
  std::vector<TetRest> rest;
  std::vector<TetGradient> gradient;

  TetBatches(const Matrix3X& X, const std::vector<std::array<int, 4>>& tets);
  std::vector<std::pair<int, int>> pairs() const;
  /// Per batch, pair and lane: place of the pair among the edges.
  std::vector<std::array<LaneIndex, 6>> places(const EdgeBlocks& edges) const;

 private:
  void set_rest(const Matrix3X& X, const std::array<int, 4>& tet, int lane);
};

class Solid : public SolidBody<Solid> {
 public:
  /// X: rest places of the points of `points` (3, points) [m], in the orientation about which the
  /// linear viscosity is linear. All points are nodes that follow each other, or glued.
  Solid(std::string name, const PointSet* points, const Matrix3X& X,
        const std::vector<std::array<int, 4>>& tets, SolidMatter matter);

 private:
  friend class SolidBody<Solid>;
  using View = BodyPoints::View;
  static constexpr bool kJoins = true;
  template <class Law, class Sink>
  void forces(const View& view, const VectorXd& p, DerivativeBy by, ViscosityModel viscosity,
              Sink&& sink) const;
  template <class Law, ViscosityModel kViscosity>
  void blocks(const View& view, const VectorXd& p, const EdgeBlocks::Buffer& buffer) const {
    buffer.joined() ? fill<Law, kViscosity, true>(view, p, buffer)
                    : fill<Law, kViscosity, false>(view, p, buffer);
  }
  template <class Law, ViscosityModel kViscosity, bool kJoined>
  void fill(const View& view, const VectorXd& p, const EdgeBlocks::Buffer& buffer) const;
  template <class Law, class Sink>
  void energy(const View& view, const VectorXd& p, DerivativeBy by, Sink&& sink) const;

  StressLayout stress_layout() const;

  std::vector<std::array<int, 4>> cell_;  // as given
  TetBatches tets_;                       // gradients for the linear viscosity only
  std::vector<std::array<LaneIndex, 6>> edge_;
};

DIFFSIM_INLINE TetShape shape_of(const double* x, const TetRest& rest, const TetBatch& b) {
  return {rest, gather3(x, b.at[0].data()), gather3(x, b.at[1].data()), gather3(x, b.at[2].data()),
          gather3(x, b.at[3].data())};
}

DIFFSIM_INLINE TetRates rates_of(const double* v, const TetRest& rest, const TetBatch& b,
                                 const TetShape& shape, const Wide& viscosity) {
  TetRates r;
  const Wide3 v0 = gather3(v, b.at[0].data());
  for (int a = 0; a < 3; ++a) r.edot[a] = gather3(v, b.at[a + 1].data()) - v0;
  times_symmetric(shape.e, rest.gram, r.h);
  times_symmetric(r.edot, rest.gram, r.w);
  r.weight = viscosity * rest.volume;
  return r;
}

template <class Law, class Sink>
void Solid::forces(const View& view, const VectorXd& p, DerivativeBy by, ViscosityModel viscosity,
                   Sink&& sink) const {
  const ModuliView moduli = moduli_of(matter_.material, p, by);
  for (std::size_t k = 0; k < tets_.batch.size(); ++k) {
    const TetBatch& b = tets_.batch[k];
    const TetRest& rest = tets_.rest[k];
    const TetShape shape = shape_of(view.x, rest, b);
    const Moduli m = moduli(b.element);
    Wide T[6];
    for (int i = 0; i < 6; ++i) T[i] = rest.volume * m.mu * rest.gram[i];
    TetRates rates;
    if (viscosity != ViscosityModel::none) rates = rates_of(view.v, rest, b, shape, m.viscosity);
    if (viscosity == ViscosityModel::invariant) add_viscous(rates.weight, rates.h, rates.w, T);
    Wide3 f[4];
    tet_forces(rest, shape, T, Law::at(shape.J, m, false).q, f);
    if (viscosity == ViscosityModel::linear) add_linear_viscous(tets_.gradient[k].b, rates, f);
    sink(b.element, b.lanes, 4, b.at.data(), f);
  }
}

template <class Law, ViscosityModel kViscosity, bool kJoined>
void Solid::fill(const View& view, const VectorXd& p, const EdgeBlocks::Buffer& buffer) const {
  constexpr bool kElastic = kViscosity == ViscosityModel::none;
  constexpr bool kInvariant = kViscosity == ViscosityModel::invariant;
  const ModuliView moduli(matter_.material, p);
  for (std::size_t k = 0; k < tets_.batch.size(); ++k) {
    const TetBatch& b = tets_.batch[k];
    const TetRest& rest = tets_.rest[k];
    const TetShape shape = shape_of(view.x, rest, b);
    const Moduli m = moduli(b.element);
    Wide T[6];
    for (int i = 0; i < 6; ++i) T[i] = rest.volume * m.mu * rest.gram[i];
    TetRates rates;
    if (!kElastic) rates = rates_of(view.v, rest, b, shape, m.viscosity);
    if (kInvariant) add_viscous(rates.weight, rates.h, rates.w, T);
    Volumetric vol = Law::at(shape.J, m, true);
    Wide3 f[4];
    tet_forces(rest, shape, T, vol.q, f);
    if (!kElastic && !kInvariant) add_linear_viscous(tets_.gradient[k].b, rates, f);
    for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a].data(), b.lanes, view.r);
    if constexpr (kJoined) {
      for (Wide& t : T) t *= buffer.alpha;
      vol.q *= buffer.alpha;
      vol.slope *= buffer.alpha;
      if (kInvariant) ViscousBlocks::join(shape, buffer.alpha, rates);
    }
    const ElasticBlocks elastic(rest, shape, T, vol);
    const auto viscous = [&] {
      if constexpr (kViscosity == ViscosityModel::linear) {
        return LinearViscousBlocks(rest, tets_.gradient[k].b, rates.weight);
      } else {
        return ViscousBlocks(rest, shape, rates);  // unused where elastic
      }
    }();
    for (int pair = 0; pair < 6; ++pair) {
      Wide K[9], Kt[9], B[9];
      elastic.at(pair, K);
      const int* at = edge_[k][pair].data();
      if constexpr (kElastic) {
        buffer.add(K, 0, at, b.lanes);
        continue;
      }
      for (int i = 0; i < 9; ++i) Kt[i] = K[3 * (i % 3) + i / 3];
      viscous.add(pair, K, Kt);
      if constexpr (!kJoined || !kInvariant) viscous.rate(pair, B);
      for (int i = 0; kJoined && !kInvariant && i < 9; ++i) {
        K[i] += B[i];
        Kt[i] += B[3 * (i % 3) + i / 3];
      }
      buffer.add(K, 0, at, b.lanes);
      buffer.add(Kt, 1, at, b.lanes);
      if constexpr (!kJoined) buffer.add(B, 2, at, b.lanes);
    }
  }
}

template <class Law, class Sink>
void Solid::energy(const View& view, const VectorXd& p, DerivativeBy by, Sink&& sink) const {
  const ModuliView moduli = moduli_of(matter_.material, p, by);
  for (std::size_t k = 0; k < tets_.batch.size(); ++k) {
    const TetBatch& b = tets_.batch[k];
    const TetRest& rest = tets_.rest[k];
    const TetShape shape = shape_of(view.x, rest, b);
    Wide3 h[3];  // F b_a, so that I_C = sum_a e_a . (F b_a)
    times_symmetric(shape.e, rest.gram, h);
    const Wide I = dot(shape.e[0], h[0]) + dot(shape.e[1], h[1]) + dot(shape.e[2], h[2]);
    sink(b.element, b.lanes, rest.volume * Law::energy(I, shape.J, moduli(b.element)));
  }
}

}  // namespace diffsim
