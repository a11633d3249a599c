// Stencils: forces and blocks of many points with a deformation gradient each, eight at a time.
#pragma once

#include "edge_blocks.hpp"
#include "material.hpp"
#include "stencil_kernel.hpp"

namespace diffsim {

/// One stencil: its nodes and, for each of its points, a weight and the nodes' gradients.
struct StencilSpec {
  int element;             // which material it has
  std::vector<int> point;  // points of the body
  std::vector<double> weight;
  std::vector<Matrix3X> gradient;  // (3, nodes) per weight [1/m]
};

class Stencils {
 public:
  /// Largest number of nodes times points of a stencil.
  static constexpr int kCapacity = 96;
  static constexpr int kPoints = 4;  // and of points
  /// All with the same number of weights.
  explicit Stencils(std::vector<StencilSpec> specs);
  /// Point pairs i < j within stencils, appended.
  void append_pairs(std::vector<std::pair<int, int>>& pairs) const;
  void bind(const EdgeBlocks& edges);

  /// Hands (element, lanes, nodes, 3 * point per node, minus the force per node) to sink.
  template <class Law, Dilatation kDilatation = Dilatation::of_points, class Sink>
  void forces(const BodyPoints::View& view, const ModuliView& moduli, ViscosityModel viscosity,
              Sink&& sink) const;
  /// Adds minus the forces to view.r and the blocks to the buffer.
  template <class Law, ViscosityModel kViscosity, Dilatation kDilatation = Dilatation::of_points>
  void blocks(const BodyPoints::View& view, const ModuliView& moduli,
              const EdgeBlocks::Buffer& buffer) const;
  /// Hands (element, lanes, energy stored at its points [J]) to sink.
  template <class Law, Dilatation kDilatation = Dilatation::of_points, class Sink>
  void energy(const BodyPoints::View& view, const ModuliView& moduli, Sink&& sink) const;

 private:
  struct Batch {
    int nodes, lanes, at, pair, gradient, weight;  // the latter: first places in the arrays below
    LaneIndex element;
  };
  struct WideBox {
    Wide value;
  };
  void append(const std::vector<const StencilSpec*>& lanes);
  void gather_nodes(const double* from, const Batch& b, Wide3* to) const;

  int points_;  // weights per stencil
  std::vector<Batch> batch_;
  std::vector<LaneIndex> at_;    // 3 * point per node, ascending in each lane; padded
  std::vector<LaneIndex> pair_;  // per pair a < b of nodes
  std::vector<Wide3> gradient_;  // point by point, node by node; zero where padded
  std::vector<WideBox> weight_;
};

/// Adds the first `lanes` vectors to what lies at the given offsets.
inline void scatter(const Wide3& f, const int* at, int lanes, double* to) {
  for (int lane = 0; lane < lanes; ++lane) {
    double* place = to + at[lane];
    place[0] += f.x[lane];
    place[1] += f.y[lane];
    place[2] += f.z[lane];
  }
}

template <class Law, Dilatation kDilatation, class Sink>
void Stencils::forces(const BodyPoints::View& view, const ModuliView& moduli,
                      ViscosityModel viscosity, Sink&& sink) const {
  constexpr bool kMean = kDilatation == Dilatation::mean;
  Wide3 x[kCapacity], v[kCapacity], f[kCapacity];
  PointResponse point[kPoints];
  for (const Batch& b : batch_) {
    gather_nodes(view.x, b, x);
    if (viscosity != ViscosityModel::none) gather_nodes(view.v, b, v);
    for (int a = 0; a < b.nodes; ++a) f[a] = zero3();
    const Moduli m = moduli(b.element);
    for (int q = 0; q < points_; ++q) {
      const Wide3* g = &gradient_[b.gradient + q * b.nodes];
      PointResponse& r = point[q];
      r.F = gradient_of(x, g, b.nodes);
      if (viscosity != ViscosityModel::none) r.rate = gradient_of(v, g, b.nodes);
      r.set(PointLaw<Law, kDilatation>(), m, weight_[b.weight + q].value, false);
    }
    if constexpr (kMean) add_mean_dilatation<Law>(point, points_, m, false);
    for (int q = 0; q < points_; ++q) {
      const Wide3* g = &gradient_[b.gradient + q * b.nodes];
      const Wide33 P = point[q].stress(viscosity);
      for (int a = 0; a < b.nodes; ++a) f[a] = f[a] + P * g[a];
    }
    sink(b.element, b.lanes, b.nodes, &at_[b.at], f);
  }
}

template <class Law, Dilatation kDilatation, class Sink>
void Stencils::energy(const BodyPoints::View& view, const ModuliView& moduli, Sink&& sink) const {
  Wide3 x[kCapacity];
  for (const Batch& b : batch_) {
    gather_nodes(view.x, b, x);
    const Moduli m = moduli(b.element);
    Wide volume = wide(0), swept = wide(0), stored = wide(0);
    for (int q = 0; q < points_; ++q) {
      const Wide33 F = gradient_of(x, &gradient_[b.gradient + q * b.nodes], b.nodes);
      const Wide I = dot(F.row[0], F.row[0]) + dot(F.row[1], F.row[1]) + dot(F.row[2], F.row[2]);
      const Wide J = dot(F.row[0], cross(F.row[1], F.row[2]));
      const Wide& w = weight_[b.weight + q].value;
      stored += w * PointLaw<Law, kDilatation>::energy(I, J, m);
      volume += w;
      swept += w * J;
    }
    if constexpr (kDilatation == Dilatation::mean) {
      stored += volume * Law::energy(wide(3), swept / volume, Law::volume(m));
    }
    sink(b.element, b.lanes, stored);
  }
}

template <class Law, ViscosityModel kViscosity, Dilatation kDilatation>
void Stencils::blocks(const BodyPoints::View& view, const ModuliView& moduli,
                      const EdgeBlocks::Buffer& buffer) const {
  constexpr bool kElastic = kViscosity == ViscosityModel::none;
  constexpr bool kInvariant = kViscosity == ViscosityModel::invariant;
  constexpr bool kMean = kDilatation == Dilatation::mean;
  Wide3 x[kCapacity], v[kCapacity], f[kCapacity], mean[kCapacity];
  NodeResponse node[kCapacity];
  PointResponse point[kPoints];
  ViscousProducts products[kPoints];
  for (const Batch& b : batch_) {
    const int n = b.nodes;
    const Wide3* g = &gradient_[b.gradient];
    gather_nodes(view.x, b, x);
    if (!kElastic) gather_nodes(view.v, b, v);
    for (int a = 0; a < n; ++a) f[a] = zero3();
    const Moduli m = moduli(b.element);
    for (int q = 0; q < points_; ++q) {
      PointResponse& r = point[q];
      r.F = gradient_of(x, g + q * n, n);
      if (!kElastic) r.rate = gradient_of(v, g + q * n, n);
      r.set(PointLaw<Law, kDilatation>(), m, weight_[b.weight + q].value, true);
      if (kInvariant) products[q].set(r);
    }
    Wide slope = wide(0);
    if constexpr (kMean) slope = add_mean_dilatation<Law>(point, points_, m, true);
    for (int q = 0; q < points_; ++q) {
      const PointResponse& r = point[q];
      const Wide33 P = r.stress(kViscosity);
      for (int a = 0; a < n; ++a) {
        const Wide3& own = g[q * n + a];
        f[a] = f[a] + P * own;
        node[q * n + a].k = r.cof * own;
        if (!kInvariant) continue;
        node[q * n + a].h = r.F * own;
        node[q * n + a].w = r.rate * own;
      }
    }
    for (int a = 0; a < n; ++a) scatter(f[a], at_[b.at + a].data(), b.lanes, view.r);
    if (kMean) mean_slopes(point, node, points_, n, mean);
    int pair = b.pair;
    for (int a = 0; a < n; ++a) {
      for (int c = a + 1; c < n; ++c, ++pair) {
        Wide E[9] = {}, K[9] = {}, Kt[9] = {}, B[9] = {};
        for (int q = 0; q < points_; ++q) {
          const Wide3 &ga = g[q * n + a], &gc = g[q * n + c];
          const NodeResponse &ra = node[q * n + a], &rc = node[q * n + c];
          add_elastic(point[q], ga, gc, ra, rc, E);
          if (kInvariant) add_invariant(point[q], products[q], ga, gc, ra, rc, K, Kt, B);
          if (!kInvariant && !kElastic) add_linear(point[q], ga, gc, B);
        }
        if (kMean) add_outer(slope, mean[a], mean[c], E);
        const int* at = pair_[pair].data();
        if (kElastic) {
          buffer.add(E, 0, at, b.lanes);
          continue;
        }
        for (int i = 0; i < 9; ++i) {
          K[i] += E[i];
          Kt[i] += E[3 * (i % 3) + i / 3];
        }
        buffer.add(K, 0, at, b.lanes);
        buffer.add(Kt, 1, at, b.lanes);
        buffer.add(B, 2, at, b.lanes);
      }
    }
  }
}

}  // namespace diffsim
