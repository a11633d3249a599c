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

// Tetrahedra in the order of their lowest point: neighbours in memory are neighbours in space.
std::vector<int> by_lowest_point(const std::vector<std::array<int, 4>>& tets) {
  std::vector<int> order(tets.size()), lowest(tets.size());
  for (std::size_t e = 0; e < tets.size(); ++e) {
    lowest[e] = *std::min_element(tets[e].begin(), tets[e].end());
  }
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lowest[a] < lowest[b]; });
  return order;
}

using View = BodyPoints::View;

TetShape shape_of(const View& view, const TetRest& rest, const TetBatch& b) {
  return {rest, gather3(view.x, b.at[0]), gather3(view.x, b.at[1]), gather3(view.x, b.at[2]),
          gather3(view.x, b.at[3])};
}

TetRates rates_of(const View& view, const TetRest& rest, const TetBatch& b, const TetShape& shape,
                  const Wide& viscosity) {
  TetRates r;
  const Wide3 v0 = gather3(view.v, b.at[0]);
  for (int a = 0; a < 3; ++a) r.edot[a] = gather3(view.v, b.at[a + 1]) - v0;
  times_symmetric(shape.e, rest.gram, r.h);
  times_symmetric(r.edot, rest.gram, r.w);
  r.weight = viscosity * rest.volume;
  return r;
}

}  // namespace

Solid::Solid(std::string name, const PointSet* points, const Matrix3X& X,
             const std::vector<std::array<int, 4>>& tets, SolidMaterial material, SolidModel model,
             ViscosityModel viscosity)
    : Element(std::move(name)),
      points_(points),
      material_(std::move(material)),
      model_(model),
      viscosity_(viscosity) {
  const std::vector<int> order = by_lowest_point(tets);
  const int count = static_cast<int>(tets.size());
  for (int begin = 0; begin < count; begin += kLanes) {
    TetBatch batch;
    TetRest rest;
    Gradient gradient;
    batch.lanes = std::min(kLanes, count - begin);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int e = order[begin + std::min(lane, batch.lanes - 1)];
      batch.element[lane] = e;
      std::array<int, 4> t = tets[e];
      std::sort(t.begin(), t.end());
      Matrix3d D;
      for (int a = 0; a < 4; ++a) {
        batch.at[a][lane] = 3 * t[a];
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
  auto point = [](const TetBatch& b, int a, int lane) { return b.at[a][lane] / 3; };
  std::vector<std::pair<int, int>> pairs;
  for (const TetBatch& b : batch_) {
    for (int lane = 0; lane < b.lanes; ++lane) {
      for (int k = 0; k < 6; ++k) {
        pairs.emplace_back(point(b, kFirst[k], lane), point(b, kSecond[k], lane));
      }
    }
  }
  edges_.set_pairs(std::move(pairs));
  for (const TetBatch& b : batch_) {
    edge_.emplace_back();
    for (int k = 0; k < 6; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) {
        edge_.back()[k][lane] = edges_.find(point(b, kFirst[k], lane), point(b, kSecond[k], lane));
      }
    }
  }
}

std::vector<std::pair<int, int>> Solid::couplings() const { return edges_.couplings(points_); }

void Solid::bind(const BlockPattern& pattern, const BlockPattern&) {
  edges_.bind(pattern, points_);
}

template <class Law, class Sink>
void Solid::forces(const View& view, const ModuliView& moduli, ViscosityModel viscosity,
                   Sink&& sink) const {
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const TetBatch& b = batch_[k];
    const TetRest& rest = rest_[k];
    const TetShape shape = shape_of(view, rest, b);
    const Moduli m = moduli(b.element);
    Wide T[6];
    for (int i = 0; i < 6; ++i) T[i] = rest.volume * m.mu * rest.gram[i];
    TetRates rates;
    if (viscosity != ViscosityModel::none) rates = rates_of(view, rest, b, shape, m.viscosity);
    if (viscosity == ViscosityModel::invariant) add_viscous(rates.weight, rates.h, rates.w, T);
    Wide3 f[4];
    tet_forces(rest, shape, T, Law::at(shape.J, m, false).q, f);
    if (viscosity == ViscosityModel::linear) add_linear_viscous(gradient_[k].b, rates, f);
    sink(b, f);
  }
}

template <class Law, ViscosityModel kViscosity>
void Solid::blocks(const View& view, const ModuliView& moduli,
                   const EdgeBlocks::Buffer& buffer) const {
  constexpr bool kElastic = kViscosity == ViscosityModel::none;
  constexpr bool kInvariant = kViscosity == ViscosityModel::invariant;
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const TetBatch& b = batch_[k];
    const TetRest& rest = rest_[k];
    const TetShape shape = shape_of(view, rest, b);
    const Moduli m = moduli(b.element);
    Wide T[6];
    for (int i = 0; i < 6; ++i) T[i] = rest.volume * m.mu * rest.gram[i];
    TetRates rates;
    if (!kElastic) rates = rates_of(view, rest, b, shape, m.viscosity);
    if (kInvariant) add_viscous(rates.weight, rates.h, rates.w, T);
    const Volumetric vol = Law::at(shape.J, m, true);
    Wide3 f[4];
    tet_forces(rest, shape, T, vol.q, f);
    if (!kElastic && !kInvariant) add_linear_viscous(gradient_[k].b, rates, f);
    for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, view.r);
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
}

template <class Law>
void Solid::columns(const State& s, const VectorXd& p, ParameterColumns& out) const {
  for (int k = 0; k < kMaterialParts; ++k) {
    const auto part = static_cast<MaterialPart>(k);
    const ElementParameter& parameter = material_.of(part);
    if (!parameter.any_active(out)) continue;
    const ModuliView rate(material_, p, part);
    const ViscosityModel model =
        part == MaterialPart::viscosity ? viscosity_ : ViscosityModel::none;
    if (!parameter.per_element) {
      double* column = out.values.col(out.column(parameter.first)).data();
      const View view = points_.open(s, p, column);
      forces<Law>(view, rate, model, [&](const TetBatch& b, const Wide3 f[4]) {
        for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, view.r);
      });
      points_.close(view, s, p, column);
      continue;
    }
    VectorXd unused(out.values.rows());
    const View view = points_.open(s, p, unused.data());
    forces<Law>(view, rate, model, [&](const TetBatch& b, const Wide3 f[4]) {
      for (int lane = 0; lane < b.lanes; ++lane) {
        const int c = out.column(parameter.first + b.element[lane]);
        for (int a = 0; c >= 0 && a < 4; ++a) {
          const Vector3d force(f[a].x[lane], f[a].y[lane], f[a].z[lane]);
          points_.add(b.at[a][lane] / 3, force, s, p, out.values.col(c).data());
        }
      }
    });
  }
}

template <class Law>
void Solid::add_with(const State& s, const VectorXd& p, const Assembly& out) const {
  const ModuliView moduli(material_, p);
  const ViscosityModel model = material_.viscous(p) ? viscosity_ : ViscosityModel::none;
  const View view = points_.open(s, p, out.r->data());
  if (!out.K) {
    forces<Law>(view, moduli, model, [&](const TetBatch& b, const Wide3 f[4]) {
      for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, view.r);
    });
  } else {
    const EdgeBlocks::Buffer buffer = edges_.buffer(model == ViscosityModel::none ? 1 : 3);
    if (model == ViscosityModel::none) {
      blocks<Law, ViscosityModel::none>(view, moduli, buffer);
    } else if (model == ViscosityModel::invariant) {
      blocks<Law, ViscosityModel::invariant>(view, moduli, buffer);
    } else {
      blocks<Law, ViscosityModel::linear>(view, moduli, buffer);
    }
    edges_.finish(buffer, points_, s, p, view.r, out);
  }
  points_.close(view, s, p, out.r->data());
  if (out.columns) columns<Law>(s, p, *out.columns);
}

void Solid::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  if (model_ == SolidModel::neo_hookean) {
    add_with<NeoHookean>(window.now(), p, out);
  } else {
    add_with<NeoHookeanSafe>(window.now(), p, out);
  }
}

}  // namespace diffsim
