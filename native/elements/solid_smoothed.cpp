#include "solid_smoothed.hpp"

#include <algorithm>
#include <map>

namespace diffsim {
namespace {

using Tet = std::array<int, 4>;

struct Gradients {
  double volume;
  Matrix3X b;  // (3, 4)
};

Gradients gradients_of(const Matrix3X& X, const Tet& t) {
  Matrix3d D;
  for (int a = 0; a < 3; ++a) D.col(a) = X.col(t[a + 1]) - X.col(t[0]);
  Gradients g{D.determinant() / 6, Matrix3X(3, 4)};
  g.b.rightCols(3) = D.inverse().transpose();
  g.b.col(0) = -g.b.rightCols(3).rowwise().sum();
  return g;
}

struct EdgePatch {
  double volume = 0;
  std::map<int, Vector3d> gradient;                // per point, times the volume
  std::vector<std::pair<int, double>> tetrahedra;  // and the volume each gives
};

std::vector<EdgePatch> edge_patches(const Matrix3X& X, const std::vector<Tet>& tets) {
  std::map<std::pair<int, int>, EdgePatch> patches;
  for (std::size_t e = 0; e < tets.size(); ++e) {
    const Gradients g = gradients_of(X, tets[e]);
    for (int k = 0; k < 6; ++k) {
      const int i = tets[e][kFirst[k]], j = tets[e][kSecond[k]];
      EdgePatch& patch = patches[{std::min(i, j), std::max(i, j)}];
      patch.volume += g.volume / 6;
      patch.tetrahedra.emplace_back(static_cast<int>(e), g.volume / 6);
      for (int a = 0; a < 4; ++a) {
        auto [at, fresh] = patch.gradient.emplace(tets[e][a], Vector3d::Zero());
        at->second += g.volume / 6 * g.b.col(a);
      }
    }
  }
  std::vector<EdgePatch> all;
  for (auto& [pair, patch] : patches) all.push_back(std::move(patch));
  return all;
}

std::vector<StencilSpec> stencils_of(const std::vector<EdgePatch>& patches) {
  std::vector<StencilSpec> all;
  for (const EdgePatch& patch : patches) {
    StencilSpec spec{static_cast<int>(all.size()), {}, {patch.volume}, {}};
    Matrix3X b(3, static_cast<Eigen::Index>(patch.gradient.size()));
    for (const auto& [point, gradient] : patch.gradient) {
      b.col(static_cast<Eigen::Index>(spec.point.size())) = gradient / patch.volume;
      spec.point.push_back(point);
    }
    if (spec.point.size() > Stencils::kCapacity) {
      refuse("solid: element p1_fbar",
             "an edge's tetrahedra must have at most " + std::to_string(Stencils::kCapacity) +
                 " vertices",
             spec.point.size(), "mesh again");
    }
    spec.gradient.push_back(b);
    all.push_back(std::move(spec));
  }
  return all;
}

// A material whose fields are averages over patches.
template <class Patches>
SolidMaterial averaged(const SolidMaterial& material, const Patches& patches) {
  SolidMaterial result = material;
  for (ElementParameter& part : result.part) {
    if (part.field.empty()) continue;
    std::vector<double> field;
    for (const EdgePatch& patch : patches) {
      double sum = 0;
      for (const auto& [e, volume] : patch.tetrahedra) sum += volume * part.field[e];
      field.push_back(sum / patch.volume);
    }
    part.field = std::move(field);
  }
  return result;
}

std::vector<EdgePatch> node_patches(const Matrix3X& X, const std::vector<Tet>& tets) {
  std::vector<EdgePatch> patches(X.cols());
  for (std::size_t e = 0; e < tets.size(); ++e) {
    const double share = gradients_of(X, tets[e]).volume / 4;
    for (int v : tets[e]) {
      patches[v].volume += share;
      patches[v].tetrahedra.emplace_back(static_cast<int>(e), share);
    }
  }
  return patches;
}

void add_outer_product(const Vector3d& a, const Vector3d& b, double* nine) {
  for (int j = 0; j < 3; ++j) {
    for (int i = 0; i < 3; ++i) nine[3 * j + i] += a[i] * b[j];
  }
}

}  // namespace

SolidSmoothed::SolidSmoothed(std::string name, const PointSet* points, const Matrix3X& X,
                             const std::vector<Tet>& tets, SolidMatter matter)
    : SolidBody(std::move(name), points, std::move(matter), X, tets.size()),
      cell_(tets),
      edges_part_(stencils_of(edge_patches(X, tets))),
      edge_material_(averaged(matter_.material, edge_patches(X, tets))),
      node_material_(averaged(matter_.material, node_patches(X, tets))),
      tets_(X, tets) {
  make_patches();
}

StressLayout SolidSmoothed::stress_layout() const {
  StressLayout layout;
  layout.of_samples = edge_material_;
  layout.of_volumes = node_material_;
  layout.cell.resize(cells_);
  for (const auto& tet : cell_) layout.add_tetrahedron(X_, tet);
  const std::vector<EdgePatch> edges = edge_patches(X_, cell_);
  const std::vector<StencilSpec> stencils = stencils_of(edges);
  for (int i = 0; i < static_cast<int>(edges.size()); ++i) {
    const int sample = static_cast<int>(layout.sample.size());
    layout.sample.push_back({stencils[i].point, stencils[i].gradient[0]});
    for (const auto& [e, volume] : edges[i].tetrahedra) {
      layout.cell[e].samples.push_back({sample, i, 1. / 6});
    }
  }
  for (const EdgePatch& node : node_patches(X_, cell_)) {
    const int i = static_cast<int>(layout.volume.size());
    layout.volume.emplace_back();
    for (const auto& [e, volume] : node.tetrahedra) {
      layout.volume.back().of.emplace_back(e, volume / node.volume);
      layout.cell[e].volumes.push_back({i, i, 1. / 4});
    }
  }
  return layout;
}

void SolidSmoothed::make_patches() {
  patch_.resize(points_.size());
  for (std::size_t k = 0; k < tets_.batch.size(); ++k) {
    const TetBatch& b = tets_.batch[k];
    for (int lane = 0; lane < b.lanes; ++lane) {
      for (int a = 0; a < 4; ++a) {
        Patch& patch = patch_[b.at[a][lane] / 3];
        patch.volume += tets_.rest[k].volume[lane] / 4;
        patch.tet.emplace_back(static_cast<int>(k) * kLanes + lane, std::array<int, 4>{});
        for (int c = 0; c < 4; ++c) patch.point.push_back(b.at[c][lane] / 3);
      }
    }
  }
  std::vector<std::pair<int, int>> pairs;
  edges_part_.append_pairs(pairs);
  for (Patch& patch : patch_) {
    auto& point = patch.point;
    std::sort(point.begin(), point.end());
    point.erase(std::unique(point.begin(), point.end()), point.end());
    for (std::size_t i = 0; i < point.size(); ++i) {
      for (std::size_t j = i + 1; j < point.size(); ++j) pairs.emplace_back(point[i], point[j]);
    }
    for (auto& [place, at] : patch.tet) {
      for (int c = 0; c < 4; ++c) {
        const int own = tets_.batch[place / kLanes].at[c][place % kLanes] / 3;
        at[c] = static_cast<int>(std::lower_bound(point.begin(), point.end(), own) - point.begin());
      }
    }
  }
  edges_.set_pairs(std::move(pairs));
  edges_part_.bind(edges_);
  edge_ = tets_.places(edges_);
  for (Patch& patch : patch_) {
    for (std::size_t i = 0; i < patch.point.size(); ++i) {
      for (std::size_t j = i + 1; j < patch.point.size(); ++j) {
        patch.pair.push_back(edges_.find(patch.point[i], patch.point[j]));
      }
    }
  }
}

SolidSmoothed::Scratch& SolidSmoothed::scratch() {
  thread_local Scratch s;
  return s;
}

void SolidSmoothed::average_volumes(const View& view) const {
  Scratch& s = scratch();
  s.J.assign(patch_.size(), 0);
  s.q.resize(patch_.size());
  s.slope.resize(patch_.size());
  for (std::size_t k = 0; k < tets_.batch.size(); ++k) {
    const TetBatch& b = tets_.batch[k];
    const Wide volume = shape_of(view.x, tets_.rest[k], b).J * tets_.rest[k].volume;
    for (int a = 0; a < 4; ++a) {
      for (int lane = 0; lane < b.lanes; ++lane) s.J[b.at[a][lane] / 3] += volume[lane];
    }
  }
  for (std::size_t i = 0; i < patch_.size(); ++i) s.J[i] /= 4 * patch_[i].volume;
}

Wide SolidSmoothed::mean_pressure(const TetBatch& b) const {
  const std::vector<double>& q = scratch().q;
  Wide sum = wide(0);
  for (int a = 0; a < 4; ++a) {
    for (int lane = 0; lane < kLanes; ++lane) sum[lane] += q[b.at[a][lane] / 3];
  }
  return 0.25 * sum;
}

void SolidSmoothed::volume_forces(const View& view, std::size_t batch, Wide3 f[4]) const {
  const TetBatch& b = tets_.batch[batch];
  const Wide none[6] = {};
  tet_forces(tets_.rest[batch], shape_of(view.x, tets_.rest[batch], b), none, mean_pressure(b), f);
}

void SolidSmoothed::add_volume_blocks(const View& view, const EdgeBlocks::Buffer& buffer) const {
  Scratch& s = scratch();
  s.k.resize(tets_.batch.size() * kLanes * 12);
  const Wide none[6] = {};
  for (std::size_t n = 0; n < tets_.batch.size(); ++n) {
    const TetBatch& b = tets_.batch[n];
    const TetShape shape = shape_of(view.x, tets_.rest[n], b);
    const Wide q = mean_pressure(b);
    Wide3 f[4], k[4];
    tet_forces(tets_.rest[n], shape, none, q, f);
    with_node_0(shape.k, k);
    for (int a = 0; a < 4; ++a) {
      scatter(f[a], b.at[a].data(), b.lanes, view.r);
      const Wide3 slope = tets_.rest[n].sign * (1. / 24) * k[a];
      for (int lane = 0; lane < b.lanes; ++lane) {
        for (int i = 0; i < 3; ++i) s.k[((n * kLanes + lane) * 4 + a) * 3 + i] = slope[i][lane];
      }
    }
    const ElasticBlocks elastic(tets_.rest[n], shape, none, {q, wide(0)});
    for (int pair = 0; pair < 6; ++pair) {
      Wide K[9], Kt[9];
      elastic.at(pair, K);
      buffer.add(K, 0, edge_[n][pair].data(), b.lanes);
      if (buffer.blocks == 1) continue;
      for (int i = 0; i < 9; ++i) Kt[i] = K[3 * (i % 3) + i / 3];
      buffer.add(Kt, 1, edge_[n][pair].data(), b.lanes);
    }
  }
  for (std::size_t i = 0; i < patch_.size(); ++i) {
    add_patch(patch_[i], s.slope[i] / patch_[i].volume, buffer);
  }
}

void SolidSmoothed::add_patch(const Patch& patch, double slope,
                              const EdgeBlocks::Buffer& buffer) const {
  const std::vector<double>& k = scratch().k;
  thread_local Matrix3X sum;  // d(V_n J_n)/dx per point
  sum.setZero(3, static_cast<Eigen::Index>(patch.point.size()));
  for (const auto& [place, at] : patch.tet) {
    for (int a = 0; a < 4; ++a) sum.col(at[a]) += Vector3d::Map(&k[(place * 4 + a) * 3]);
  }
  const int* pair = patch.pair.data();
  for (Eigen::Index i = 0; i < sum.cols(); ++i) {
    const Vector3d own = slope * sum.col(i);
    for (Eigen::Index j = i + 1; j < sum.cols(); ++j, ++pair) {
      const Vector3d other = sum.col(j);
      add_outer_product(own, other, buffer.at(*pair, 0));
      if (buffer.blocks > 1) add_outer_product(other, own, buffer.at(*pair, 1));
    }
  }
}

}  // namespace diffsim
