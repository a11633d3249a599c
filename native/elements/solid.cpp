#include "solid.hpp"

#include <algorithm>
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

// Adds the first `lanes` column-major 3x3 blocks to the values at the given offsets.
void scatter(const Wide block[9], const int* at, int lanes, double* values) {
  typedef double Row __attribute__((vector_size(8 * kLanes), aligned(8), may_alias));
  Wide row[kLanes];
  for (int i = 0; i < kLanes; ++i) row[i] = block[i];
  transpose(row);
  for (int lane = 0; lane < lanes; ++lane) {
    double* place = values + at[lane];
    Row& first = *reinterpret_cast<Row*>(place);
    first += row[lane];
    place[8] += block[8][lane];
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
    batch.lanes = std::min(kLanes, count - begin);
    for (int lane = 0; lane < kLanes; ++lane) {
      const int e = order[begin + std::min(lane, batch.lanes - 1)];
      batch.element[lane] = e;
      Matrix3d D;
      for (int a = 0; a < 4; ++a) {
        batch.at[a][lane] = 3 * (points->node[tets[e][a]] - first_node_);
        if (a > 0) D.col(a - 1) = X.col(tets[e][a]) - X.col(tets[e][0]);
      }
      const Matrix3d b = D.inverse(), G = b * b.transpose();  // rows of b: gradients
      rest.volume[lane] = D.determinant() / 6;
      for (int i = 1; i <= 3; ++i) {
        for (int j = i; j <= 3; ++j) rest.gram[symmetric(i, j)][lane] = G(i - 1, j - 1);
      }
    }
    batch_.push_back(batch);
    rest_.push_back(rest);
  }
}

std::vector<std::pair<int, int>> Solid::couplings() const {
  std::vector<std::pair<int, int>> pairs;
  for (const Batch& b : batch_) {
    for (int lane = 0; lane < b.lanes; ++lane) {
      for (int i = 0; i < 4; ++i) {
        for (int j = i + 1; j < 4; ++j) {
          pairs.emplace_back(first_node_ + b.at[i][lane] / 3, first_node_ + b.at[j][lane] / 3);
        }
      }
    }
  }
  return pairs;
}

void Solid::bind(const BlockPattern& pattern, const BlockPattern&) {
  block_.resize(batch_.size());
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const Batch& b = batch_[k];
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        for (int lane = 0; lane < kLanes; ++lane) {
          block_[k][4 * i + j][lane] = pattern.offset[pattern.index(
              first_node_ + b.at[i][lane] / 3, first_node_ + b.at[j][lane] / 3)];
        }
      }
    }
  }
}

template <class Law, class Sink>
void Solid::forces(const Instant& now, const ModuliView& moduli, bool viscous, Sink&& sink) const {
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const Batch& b = batch_[k];
    const TetRest& rest = rest_[k];
    const TetShape shape = now.shape(rest, b);
    const Moduli m = moduli(b.element);
    Wide T[6];
    for (int i = 0; i < 6; ++i) T[i] = rest.volume * m.mu * rest.gram[i];
    if (viscous) {
      const TetRates rates = now.rates(rest, b, shape, m.viscosity);
      add_viscous(rates.weight, rates.h, rates.w, T);
    }
    Wide3 f[4];
    tet_forces(shape, T, Law::at(shape.J, m, false).q, f);
    sink(b, f);
  }
}

template <class Law, bool kViscous>
void Solid::blocks(const Instant& now, const ModuliView& moduli, const Assembly& out) const {
  double* r = out.r->data() + first_dof_;
  double *K_values = out.K->values.data(), *B_values = out.B->values.data();
  for (std::size_t k = 0; k < batch_.size(); ++k) {
    const Batch& b = batch_[k];
    const TetRest& rest = rest_[k];
    const TetShape shape = now.shape(rest, b);
    const Moduli m = moduli(b.element);
    Wide T[6];
    for (int i = 0; i < 6; ++i) T[i] = rest.volume * m.mu * rest.gram[i];
    TetRates rates;
    if (kViscous) {
      rates = now.rates(rest, b, shape, m.viscosity);
      add_viscous(rates.weight, rates.h, rates.w, T);
    }
    const Volumetric vol = Law::at(shape.J, m, true);
    Wide3 f[4];
    tet_forces(shape, T, vol.q, f);
    for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, r);
    const auto& block = block_[k];
    tet_blocks<kViscous>(rest, shape, T, vol, rates,
                         [&](int i, int j, const Wide K[9], const Wide B[9]) {
                           const int* at = block[4 * i + j].data();
                           scatter(K, at, b.lanes, K_values);
                           if (kViscous) scatter(B, at, b.lanes, B_values);
                         });
  }
}

template <class Law>
void Solid::columns(const Instant& now, const VectorXd& p, ParameterColumns& out) const {
  for (int part = 0; part < kMaterialParts; ++part) {
    const ElementParameter& parameter = material_.part[part];
    const ModuliView rate(material_, p, static_cast<MaterialPart>(part));
    const bool viscous = static_cast<MaterialPart>(part) == MaterialPart::viscosity;
    if (!parameter.per_element) {
      const int c = out.column(parameter.first);
      if (c < 0) continue;
      double* column = out.values.col(c).data() + first_dof_;
      forces<Law>(now, rate, viscous, [&](const Batch& b, const Wide3 f[4]) {
        for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, column);
      });
      continue;
    }
    forces<Law>(now, rate, viscous, [&](const Batch& b, const Wide3 f[4]) {
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

bool Solid::viscous(const VectorXd& p) const {
  const ElementParameter& v = material_.of(MaterialPart::viscosity);
  return v.per_element || p[v.first] != 0;
}

template <class Law>
void Solid::add_with(const Instant& now, const VectorXd& p, const Assembly& out) const {
  const ModuliView moduli(material_, p);
  if (!out.K) {
    double* r = out.r->data() + first_dof_;
    forces<Law>(now, moduli, viscous(p), [&](const Batch& b, const Wide3 f[4]) {
      for (int a = 0; a < 4; ++a) scatter(f[a], b.at[a], b.lanes, r);
    });
  } else if (viscous(p)) {
    blocks<Law, true>(now, moduli, out);
  } else {
    blocks<Law, false>(now, moduli, out);
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
