#include "solid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace diffsim {
namespace {

// Adds the first `lanes` forces to what lies at the given offsets.
void scatter(const Wide3& f, const int* at, int lanes, double* to) {
  for (int lane = 0; lane < lanes; ++lane) {
    double* place = to + at[lane];
    place[0] += f.x[lane];
    place[1] += f.y[lane];
    place[2] += f.z[lane];
  }
}

// Tetrahedra in the order of their lowest node: neighbours in memory are neighbours in space.
std::vector<int> by_lowest_node(const std::vector<std::array<int, 4>>& tets) {
  std::vector<int> order(tets.size()), lowest(tets.size());
  for (std::size_t e = 0; e < tets.size(); ++e) {
    lowest[e] = *std::min_element(tets[e].begin(), tets[e].end());
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lowest[a] < lowest[b]; });
  return order;
}

}  // namespace

struct Solid::Instant {
  const double *x, *v;
  TetShape shape(const TetRest& rest, const Batch& b) const {
    return {rest, gather3(x, b.at[0]), gather3(x, b.at[1]), gather3(x, b.at[2]),
            gather3(x, b.at[3])};
  }
  TetRates rates(const TetRest& rest, const Batch& b, const TetShape& shape,
                 const Wide& viscosity) const {
    TetRates r;
    const Wide3 v0 = gather3(v, b.at[0]);
    for (int a = 0; a < 3; ++a) r.edot[a] = gather3(v, b.at[a + 1]) - v0;
    times_symmetric(shape.e, rest.gram, r.h);
    times_symmetric(r.edot, rest.gram, r.w);
    r.weight = viscosity * rest.volume;
    return r;
  }
};

Solid::Solid(std::string name, const PointSet* points, const Matrix3X& X,
             const std::vector<std::array<int, 4>>& tets, SolidMaterial material, SolidModel model,
             ViscosityModel viscosity)
    : Element(std::move(name)),
      points_(points),
      material_(std::move(material)),
      model_(model),
      viscosity_(viscosity) {
  first_node_ = *std::min_element(points->node.begin(), points->node.end());
  first_dof_ = points->nodes[first_node_].dof;
  const std::vector<int> order = by_lowest_node(tets);
  const int count = static_cast<int>(tets.size());
  for (int begin = 0; begin < count; begin += kLanes) {
    Batch batch;
    TetRest rest;
    Gradient gradient;
    batch.lanes = std::min(kLanes, count - begin);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int e = order[begin + std::min(lane, batch.lanes - 1)];
      batch.element[lane] = e;
      std::array<int, 4> t = tets[e];
      std::sort(t.begin(), t.end(),
                [&](int a, int b) { return points->node[a] < points->node[b]; });
      Matrix3d D;
      for (int a = 0; a < 4; ++a) {
        batch.at[a][lane] = 3 * (points->node[t[a]] - first_node_);
        if (a > 0) D.col(a - 1) = X.col(t[a]) - X.col(t[0]);
      }
      const Matrix3d b = D.inverse(), G = b * b.transpose();  // rows of b: gradients
      const double volume = D.determinant() / 6;
      rest.volume[lane] = std::abs(volume);
      for (int i = 0; i < 9; ++i) gradient.b[i / 3][i % 3][lane] = b(i / 3, i % 3);
      rest.sign[lane] = volume > 0 ? 1 : -1;
      for (int i = 1; i <= 3; ++i) {
        for (int j = i; j <= 3; ++j) rest.gram[symmetric(i, j)][lane] = G(i - 1, j - 1);
      }
    }
    batch_.push_back(batch);
    rest_.push_back(rest);
    if (viscosity_ == ViscosityModel::linear) gradient_.push_back(gradient);
  }
  find_edges();
}

void Solid::find_edges() {
  auto node = [&](const Batch& b, int a, int lane) { return first_node_ + b.at[a][lane] / 3; };
  std::vector<std::pair<int, int>> pairs;
  for (const Batch& b : batch_) {
    for (int lane = 0; lane < b.lanes; ++lane) {
      for (int k = 0; k < 6; ++k) {
        pairs.emplace_back(node(b, kFirst[k], lane), node(b, kSecond[k], lane));
      }
    }
  }
  edges_.set_pairs(std::move(pairs));
  for (const Batch& b : batch_) {
    edge_.emplace_back();
    for (int k = 0; k < 6; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) {
        edge_.back()[k][lane] = edges_.find(node(b, kFirst[k], lane), node(b, kSecond[k], lane));
      }
    }
  }
}

void Solid::bind(const BlockPattern& pattern, const BlockPattern&) { edges_.bind(pattern); }

template <class Law, class Sink>
void Solid::forces(const Instant& now, const ModuliView& moduli, ViscosityModel viscosity,
                   Sink&& sink) const {
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const Batch& b = batch_[k];
    const TetRest& rest = rest_[k];
    const TetShape shape = now.shape(rest, b);
    const Moduli m = moduli(b.element);
    Wide T[6];
    for (int i = 0; i < 6; ++i) T[i] = rest.volume * m.mu * rest.gram[i];
    TetRates rates;
    if (viscosity != ViscosityModel::none) rates = now.rates(rest, b, shape, m.viscosity);
    if (viscosity == ViscosityModel::invariant) add_viscous(rates.weight, rates.h, rates.w, T);
    Wide3 f[4];
    tet_forces(rest, shape, T, Law::at(shape.J, m, false).q, f);
    if (viscosity == ViscosityModel::linear) add_linear_viscous(gradient_[k].b, rates, f);
    sink(b, f);
  }
}

template <class Law, ViscosityModel kViscosity>
void Solid::blocks(const Instant& now, const ModuliView& moduli, const Assembly& out) const {
  constexpr bool kElastic = kViscosity == ViscosityModel::none;
  constexpr bool kInvariant = kViscosity == ViscosityModel::invariant;
  double* r = out.r->data() + first_dof_;
  const EdgeBlocks::Buffer buffer = edges_.buffer(kElastic ? 1 : 3);
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const Batch& b = batch_[k];
    const TetRest& rest = rest_[k];
    const TetShape shape = now.shape(rest, b);
    const Moduli m = moduli(b.element);
    Wide T[6];
    for (int i = 0; i < 6; ++i) T[i] = rest.volume * m.mu * rest.gram[i];
    TetRates rates;
    if (!kElastic) rates = now.rates(rest, b, shape, m.viscosity);
    if (kInvariant) add_viscous(rates.weight, rates.h, rates.w, T);
    const Volumetric vol = Law::at(shape.J, m, true);
    Wide3 f[4];
    tet_forces(rest, shape, T, vol.q, f);
    if (!kElastic && !kInvariant) add_linear_viscous(gradient_[k].b, rates, f);
    for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, r);
    const ElasticBlocks elastic(rest, shape, T, vol);
    const auto viscous = [&] {
      if constexpr (kViscosity == ViscosityModel::linear) {
        return LinearViscousBlocks(rest, gradient_[k].b, rates.weight);
      } else {
        return ViscousBlocks(rest, shape, rates);  // unused where elastic
      }
    }();
    for (int pair = 0; pair < 6; ++pair) {
      Wide K[9];
      elastic.at(pair, K);
      const int* at = edge_[k][pair].data();
      if constexpr (kElastic) {
        buffer.add(K, 0, at, b.lanes);
      } else {
        Wide Kt[9], B[9];
        for (int i = 0; i < 9; ++i) Kt[i] = K[3 * (i % 3) + i / 3];
        viscous.at(pair, K, Kt, B);
        buffer.add(K, 0, at, b.lanes);
        buffer.add(Kt, 1, at, b.lanes);
        buffer.add(B, 2, at, b.lanes);
      }
    }
  }
  if (kElastic) {
    edges_.finish_symmetric(buffer, *out.K);
  } else {
    edges_.finish(buffer, *out.K, *out.B);
  }
}

template <class Law>
void Solid::columns(const Instant& now, const VectorXd& p, ParameterColumns& out) const {
  for (int part = 0; part < kMaterialParts; ++part) {
    const ElementParameter& parameter = material_.part[part];
    const ModuliView rate(material_, p, static_cast<MaterialPart>(part));
    const bool viscous = static_cast<MaterialPart>(part) == MaterialPart::viscosity;
    const ViscosityModel model = viscous ? viscosity_ : ViscosityModel::none;
    if (!parameter.per_element) {
      const int c = out.column(parameter.first);
      if (c < 0) continue;
      double* column = out.values.col(c).data() + first_dof_;
      forces<Law>(now, rate, model, [&](const Batch& b, const Wide3 f[4]) {
        for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, column);
      });
      continue;
    }
    forces<Law>(now, rate, model, [&](const Batch& b, const Wide3 f[4]) {
      for (int lane = 0; lane < b.lanes; ++lane) {
        const int c = out.column(parameter.first + b.element[lane]);
        if (c < 0) continue;
        for (int a = 0; a < 4; ++a) {
          double* place = out.values.col(c).data() + first_dof_ + b.at[a][lane];
          for (int i = 0; i < 3; ++i) place[i] += f[a][i][lane];
        }
      }
    });
  }
}

template <class Law>
void Solid::add_with(const Instant& now, const VectorXd& p, const Assembly& out) const {
  const ModuliView moduli(material_, p);
  const ElementParameter& eta = material_.of(MaterialPart::viscosity);
  const bool viscous = eta.per_element || p[eta.first] != 0;
  const ViscosityModel model = viscous ? viscosity_ : ViscosityModel::none;
  if (!out.K) {
    double* r = out.r->data() + first_dof_;
    forces<Law>(now, moduli, model, [&](const Batch& b, const Wide3 f[4]) {
      for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, r);
    });
  } else if (model == ViscosityModel::none) {
    blocks<Law, ViscosityModel::none>(now, moduli, out);
  } else if (model == ViscosityModel::invariant) {
    blocks<Law, ViscosityModel::invariant>(now, moduli, out);
  } else {
    blocks<Law, ViscosityModel::linear>(now, moduli, out);
  }
  if (out.columns) columns<Law>(now, p, *out.columns);
}

void Solid::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  const Instant now{s.c.data() + 3 * first_node_, s.v.data() + 3 * first_node_};
  if (model_ == SolidModel::neo_hookean) {
    add_with<NeoHookean>(now, p, out);
  } else {
    add_with<NeoHookeanSafe>(now, p, out);
  }
}

}  // namespace diffsim
