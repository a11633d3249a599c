#include "solid_quadratic.hpp"

#include <cmath>
#include <numeric>

namespace diffsim {
namespace {

constexpr int kMiddleEdge[6][2] = {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}};

// d(shape functions)/d(barycentric coordinates) at `at`: columns by node.
Eigen::Matrix<double, 4, 10> slopes(const Eigen::Vector4d& at) {
  Eigen::Matrix<double, 4, 10> d = Eigen::Matrix<double, 4, 10>::Zero();
  for (int i = 0; i < 4; ++i) d(i, i) = 4 * at[i] - 1;  // N = l (2 l - 1)
  for (int e = 0; e < 6; ++e) {                         // N = 4 l_i l_j
    d(kMiddleEdge[e][0], 4 + e) = 4 * at[kMiddleEdge[e][1]];
    d(kMiddleEdge[e][1], 4 + e) = 4 * at[kMiddleEdge[e][0]];
  }
  return d;
}

std::vector<StencilSpec> stencils_of(const Matrix3X& X, const std::vector<TenNodes>& tets) {
  std::vector<StencilSpec> all;
  for (std::size_t e = 0; e < tets.size(); ++e) {
    all.push_back(quadratic_stencil(X, tets[e], static_cast<int>(e)));
  }
  return all;
}

}  // namespace

StencilSpec quadratic_stencil(const Matrix3X& X, const TenNodes& tet, int element) {
  StencilSpec spec{element, {tet.begin(), tet.end()}, {}, {}};
  const double far = (5 + 3 * std::sqrt(5.)) / 20, near = (5 - std::sqrt(5.)) / 20;
  for (int q = 0; q < 4; ++q) {
    Eigen::Vector4d at = Eigen::Vector4d::Constant(near);
    at[q] = far;
    const Eigen::Matrix<double, 4, 10> d = slopes(at);
    // l_0 = 1 - l_1 - l_2 - l_3: slopes by the other three.
    const Eigen::Matrix<double, 3, 10> by = d.bottomRows<3>().rowwise() - d.row(0);
    Matrix3d D = Matrix3d::Zero();  // dX/d(l_1, l_2, l_3)
    for (int a = 0; a < 10; ++a) D += X.col(tet[a]) * by.col(a).transpose();
    spec.weight.push_back(D.determinant() / 24);
    spec.gradient.push_back(D.inverse().transpose() * by);
  }
  return spec;
}

template <Dilatation kDilatation>
SolidQuadratic<kDilatation>::SolidQuadratic(std::string name, const PointSet* points,
                                            const Matrix3X& X, const std::vector<TenNodes>& tets,
                                            SolidMatter matter)
    : Base(std::move(name), points, std::move(matter), X, tets.size()),
      cell_(tets),
      stencils_(stencils_of(X, tets)) {
  std::vector<std::pair<int, int>> pairs;
  stencils_.append_pairs(pairs);
  edges_.set_pairs(std::move(pairs));
  stencils_.bind(edges_);
}

template <Dilatation kDilatation>
StressLayout SolidQuadratic<kDilatation>::stress_layout() const {
  StressLayout layout;
  layout.of_samples = layout.of_volumes = matter_.material;
  for (int e = 0; e < cells_; ++e) {
    const StencilSpec spec = quadratic_stencil(X_, cell_[e], e);
    const double volume = std::accumulate(spec.weight.begin(), spec.weight.end(), 0.);
    StressLayout::Cell cell;
    StressLayout::Volume mean;
    for (std::size_t q = 0; q < spec.weight.size(); ++q) {
      const int sample = static_cast<int>(layout.sample.size());
      const double share = spec.weight[q] / volume;
      layout.sample.push_back({spec.point, spec.gradient[q]});
      cell.samples.push_back({sample, e, share});
      mean.of.emplace_back(sample, share);
      if (kDilatation == Dilatation::mean) continue;
      cell.volumes.push_back({static_cast<int>(layout.volume.size()), e, share});
      layout.volume.push_back({{{sample, 1}}});
    }
    if (kDilatation == Dilatation::mean) {
      cell.volumes.push_back({e, e, 1});
      layout.volume.push_back(std::move(mean));
    }
    layout.cell.push_back(std::move(cell));
  }
  return layout;
}

template class SolidQuadratic<Dilatation::of_points>;
template class SolidQuadratic<Dilatation::mean>;

}  // namespace diffsim
