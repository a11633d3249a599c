#include "solid.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace diffsim {
namespace {

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

}  // namespace

TetBatches::TetBatches(const Matrix3X& X, const std::vector<std::array<int, 4>>& tets) {
  const std::vector<int> order = by_lowest_point(tets);
  const int count = static_cast<int>(tets.size());
  for (int begin = 0; begin < count; begin += kLanes) {
    TetBatch b;
    b.lanes = std::min(kLanes, count - begin);
    rest.emplace_back();
    gradient.emplace_back();
    for (int lane = 0; lane < kLanes; ++lane) {
      const int e = order[begin + std::min(lane, b.lanes - 1)];
      b.element[lane] = e;
      std::array<int, 4> t = tets[e];
      std::sort(t.begin(), t.end());
      for (int a = 0; a < 4; ++a) b.at[a][lane] = 3 * t[a];
      set_rest(X, t, lane);
    }
    batch.push_back(b);
  }
}

void TetBatches::set_rest(const Matrix3X& X, const std::array<int, 4>& t, int lane) {
  Matrix3d D;
  for (int a = 0; a < 3; ++a) D.col(a) = X.col(t[a + 1]) - X.col(t[0]);
  const Matrix3d b = D.inverse(), G = b * b.transpose();  // rows of b: gradients
  const double volume = D.determinant() / 6;
  rest.back().volume[lane] = std::abs(volume);
  rest.back().sign[lane] = volume > 0 ? 1 : -1;
  for (int i = 0; i < 9; ++i) gradient.back().b[i / 3][i % 3][lane] = b(i / 3, i % 3);
  for (int i = 1; i <= 3; ++i) {
    for (int j = i; j <= 3; ++j) rest.back().gram[symmetric(i, j)][lane] = G(i - 1, j - 1);
  }
}

std::vector<std::pair<int, int>> TetBatches::pairs() const {
  std::vector<std::pair<int, int>> all;
  for (const TetBatch& b : batch) {
    for (int lane = 0; lane < b.lanes; ++lane) {
      for (int k = 0; k < 6; ++k) all.push_back(b.pair(k, lane));
    }
  }
  return all;
}

std::vector<std::array<LaneIndex, 6>> TetBatches::places(const EdgeBlocks& edges) const {
  std::vector<std::array<LaneIndex, 6>> all(batch.size());
  for (std::size_t n = 0; n < batch.size(); ++n) {
    for (int k = 0; k < 6; ++k) {
      for (int lane = 0; lane < kLanes; ++lane) {
        const auto [i, j] = batch[n].pair(k, lane);
        all[n][k][lane] = edges.find(i, j);
      }
    }
  }
  return all;
}

Solid::Solid(std::string name, const PointSet* points, const Matrix3X& X,
             const std::vector<std::array<int, 4>>& tets, SolidMatter matter)
    : SolidBody(std::move(name), points, std::move(matter), X, tets.size()),
      cell_(tets),
      tets_(X, tets) {
  if (matter_.viscosity != ViscosityModel::linear) tets_.gradient.clear();
  edges_.set_pairs(tets_.pairs());
  edge_ = tets_.places(edges_);
}

StressLayout Solid::stress_layout() const {
  StressLayout layout;
  layout.of_samples = layout.of_volumes = matter_.material;
  for (int e = 0; e < cells_; ++e) {
    layout.volume.push_back({{{layout.add_tetrahedron(X_, cell_[e]), 1}}});
    layout.cell.push_back({{{e, e, 1}}, {{e, e, 1}}});
  }
  return layout;
}

}  // namespace diffsim
