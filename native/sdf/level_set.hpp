// A sampled signed distance: a fine band about the surface, and coarser grids the farther away.
//
// Distances f on the nodes of a cubic grid become coefficients c of a tricubic B-spline by the
// quasi-interpolant c = (-f_{i-1} + 8 f_i - f_{i+1}) / 6 along each axis (exact for cubics, local),
//   g(x) = sum_ijk B(x/h - i) B(y/h - j) B(z/h - k) c_ijk,
// whose value, gradient and Hessian are evaluated together: they are each other's exact
// derivatives, and g is C2. With S(t) = 10 t^3 - 15 t^4 + 6 t^5 on [0, 1],
//   near    g = (1 - w) g_fine + w g_0,      w = S((|g_fine| - (band - 3) h) / (3 h))
//   far     g = (1 - w) g_k + w g_{k+1},     w = S((q - m_k / 2) / (m_k / 2)),  m_k = 2^k m_0
// where q is the distance to the mesh's bounding box and grid k covers the box and a margin m_k.
// Grid 0 covers the inside too: a deep point feels a force. Beyond the last grid g = q: a lower
// bound, > 0.
#pragma once

#include <array>
#include <cstdint>

#include "primitives.hpp"
#include "triangle_mesh.hpp"

namespace diffsim {

// A tile is a cube of cells that a level set keeps as a whole.
constexpr int kTile = 8;  // cells along a tile

using Index3 = std::array<int, 3>;

/// What is stored of a sampled distance. Node (i, j, k) of a grid lies at spacing * (i, j, k) [m].
struct LevelSetValues {
  struct Grid {
    double spacing = 0;        // [m]
    Index3 origin{}, size{};   // first node, nodes along each axis
    std::vector<float> value;  // index (i * size[1] + j) * size[2] + k
  };
  struct Block {
    Index3 origin;  // multiple of 8
    std::array<float, 512> value;
    std::array<std::uint8_t, 512> known;  // index (i * 8 + j) * 8 + k
  };
  double voxel = 0;      // fine spacing h [m]
  int band = 0;          // half-width of the fine band [h]
  double smoothing = 0;  // standard deviation of the Gaussian applied to the distances [m]
  double thickness = 0;  // [m]
  Vector3d low, high;    // the mesh's bounding box [m]
  std::vector<Block> fine;
  std::vector<Grid> coarse;
};

struct LevelSetOptions {
  double voxel = 0;      // [m]
  int band = 6;          // >= 5 [voxels]
  double smoothing = 0;  // <= 1.5 voxels [m]
};

/// Exact closest-triangle distances at every node that the interpolant needs.
LevelSetValues sample_mesh(const TriangleMesh& mesh, const LevelSetOptions& options);
/// Width of the margin of coarse grid k about the bounding box [m].
double level_set_margin(const LevelSetValues& values, int k);

class LevelSet : public Sdf {
 public:
  explicit LevelSet(LevelSetValues values);
  void evaluate(const Matrix3X& x, const double*, std::vector<SdfSample>& out) const override;
  int regions() const override { return 1 + bounds_.regions(); }  // near; far, by the side of q
  double thickness(const double*) const override { return values_.thickness; }
  /// The mesh's box, grown by what the interpolant falls short of the distance.
  Eigen::AlignedBox3d bounds(double level, const double*) const override {
    return grown({values_.low, values_.high}, values_.voxel + 1.1 * std::max(level, 0.));
  }
  const LevelSetValues& values() const { return values_; }
  /// Bytes held for evaluation.
  std::size_t memory() const;

 private:
  void fill_tiles();
  void fill_tile(const std::vector<int>& block, const Index3& low, const Index3& count,
                 const Index3& tile);
  void fill_coarse();
  bool fine(const Vector3d& x, SdfSample& s) const;
  SdfSample near(const Vector3d& x) const;
  SdfSample coarse(std::size_t k, const Vector3d& x) const;
  SdfSample at(const Vector3d& x) const;

  LevelSetValues values_;
  Vector3d middle_;
  Box bounds_;
  Index3 tile_low_{}, tile_count_{};  // tiles of 8^3 cells; tile_ is -1 or a place in fine_
  std::vector<std::int32_t> tile_;
  std::vector<float> fine_;                 // 11^3 coefficients a tile: nodes -1 to 9
  std::vector<std::vector<float>> coarse_;  // by grid; a node less on each side than the values
};

}  // namespace diffsim
