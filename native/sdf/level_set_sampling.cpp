// From a triangle mesh to the values of a level set: exact distances at every node.
#include <algorithm>
#include <cmath>

#include "level_set.hpp"

namespace diffsim {
namespace {

constexpr int kBelow = 2, kAbove = 10;              // nodes a tile needs: -2 to 10
constexpr double kMostTiles = 60000;                // about 0.6 GB
constexpr int kMostCoarse = 200000, kCoarsest = 8;  // of grid 0; its spacing [h]
constexpr int kFarGrids = 6, kFarNodes = 24;        // beyond it; nodes along the longest side

// A box of tiles with one number each.
struct TileMap {
  Index3 low, count;
  std::vector<int> value;
  TileMap(const Index3& low_, const Index3& high)
      : low(low_), count{high[0] - low_[0] + 1, high[1] - low_[1] + 1, high[2] - low_[2] + 1} {
    value.assign(static_cast<std::size_t>(count[0]) * count[1] * count[2], -1);
  }
  int& at(const Index3& t) {
    return value[(static_cast<std::size_t>(t[0] - low[0]) * count[1] + t[1] - low[1]) * count[2] +
                 t[2] - low[2]];
  }
};

template <class F>
void for_each(const Index3& low, const Index3& high, F&& f) {
  for (int i = low[0]; i <= high[0]; ++i) {
    for (int j = low[1]; j <= high[1]; ++j) {
      for (int k = low[2]; k <= high[2]; ++k) f(Index3{i, j, k});
    }
  }
}

Index3 plus(const Index3& a, const Index3& b) { return {a[0] + b[0], a[1] + b[1], a[2] + b[2]}; }

Vector3d node_at(const Index3& node, double h) { return h * Vector3d(node[0], node[1], node[2]); }

// A TileMap is held of the whole box: refuse where that alone, or the tiles of the surface, would
// not fit in memory.
void check_size(const TriangleMesh& mesh, double h) {
  const double surface_tiles = [&] {
    double area = 0;
    for (const Triangle& t : mesh.triangles()) {
      const auto& v = mesh.vertices();
      area += (v[t[1]] - v[t[0]]).cross(v[t[2]] - v[t[0]]).norm() / 2;
    }
    return 4 * area / std::pow(kTile * h, 2);
  }();
  const double box_tiles = ((mesh.high() - mesh.low()) / (kTile * h)).array().ceil().prod();
  const double excess = std::max(surface_tiles / kMostTiles, box_tiles / (1000 * kMostTiles));
  if (excess > 1) {
    refuse("level set: voxel", "must not be too small for memory [m]", h,
           "at least " + std::to_string(h * std::sqrt(excess)) + " for this mesh");
  }
}

class Sampling {
 public:
  Sampling(const TriangleMesh& mesh, const LevelSetOptions& options)
      : mesh_(mesh),
        h_(options.voxel),
        reach_(static_cast<int>(std::ceil(3 * options.smoothing / options.voxel))),
        map_(low_tile(options), high_tile(options)) {
    find_tiles(options);
    sample();
    if (options.smoothing > 0) smooth(options.smoothing / h_);
  }
  std::vector<LevelSetValues::Block> take() { return std::move(blocks_); }

 private:
  // One tile of margin about all that may lie in the band, for the neighbours.
  Index3 low_tile(const LevelSetOptions& o) const {
    Index3 low;
    for (int a = 0; a < 3; ++a) {
      low[a] = static_cast<int>(std::floor((mesh_.low()[a] / h_ - o.band) / kTile)) - 2;
    }
    return low;
  }
  Index3 high_tile(const LevelSetOptions& o) const {
    Index3 high;
    for (int a = 0; a < 3; ++a) {
      high[a] = static_cast<int>(std::floor((mesh_.high()[a] / h_ + o.band) / kTile)) + 2;
    }
    return high;
  }

  // Tiles that may hold a point within the band, then blocks for all nodes that they need.
  void find_tiles(const LevelSetOptions& options) {
    const double half = kTile / 2. * h_, within = options.band * h_ + std::sqrt(3.) * half;
    const Index3 high = plus(map_.low, plus(map_.count, {-2, -2, -2}));
    for_each(plus(map_.low, {1, 1, 1}), high, [&](const Index3& t) {
      const Vector3d centre = kTile * h_ * Vector3d(t[0], t[1], t[2]) + Vector3d::Constant(half);
      if (mesh_.near(centre, within)) tiles_.push_back(t);
    });
    for (const Index3& t : tiles_) {
      for_each({-1, -1, -1}, {1, 1, 1}, [&](const Index3& d) {
        int& block = map_.at(plus(t, d));
        if (block < 0) {
          block = static_cast<int>(blocks_.size());
          blocks_.emplace_back();
          blocks_.back().origin = {kTile * (t[0] + d[0]), kTile * (t[1] + d[1]),
                                   kTile * (t[2] + d[2])};
          blocks_.back().known.fill(0);
          blocks_.back().value.fill(0);
        }
        mark(blocks_[block], d);
      });
    }
  }

  // Marks the nodes of a block that the tile at offset -d from it needs.
  void mark(LevelSetValues::Block& block, const Index3& d) const {
    Index3 low, high;
    for (int a = 0; a < 3; ++a) {
      low[a] = std::max(0, -kBelow - reach_ - kTile * d[a]);
      high[a] = std::min(kTile - 1, kAbove + reach_ - kTile * d[a]);
    }
    for_each(low, high, [&](const Index3& n) { block.known[flat(n)] = 1; });
  }
  static int flat(const Index3& n) { return (n[0] * kTile + n[1]) * kTile + n[2]; }

  void sample() {
    const Index3 last = {kTile - 1, kTile - 1, kTile - 1};
    for (auto& block : blocks_) {
      double before = kUnbounded;  // distance at the node before, one voxel or a few away
      Index3 at{};
      for_each({0, 0, 0}, last, [&](const Index3& n) {
        if (!block.known[flat(n)]) return;
        const double moved = (node_at(n, h_) - node_at(at, h_)).norm();
        const Vector3d x = node_at(plus(block.origin, n), h_);
        const double d = mesh_.distance(x, (std::abs(before) + moved) * (1 + 1e-9));
        block.value[flat(n)] = static_cast<float>(d);
        before = d;
        at = n;
      });
    }
  }

  // Gaussian of `sigma` voxels, cut at 3 sigma, along each axis of every tile's window.
  void smooth(double sigma) {
    std::vector<double> kernel;
    double total = 0;
    for (int i = -reach_; i <= reach_; ++i) {
      kernel.push_back(std::exp(-0.5 * i * i / (sigma * sigma)));
      total += kernel.back();
    }
    for (double& k : kernel) k /= total;
    std::vector<LevelSetValues::Block> smoothed = blocks_;
    for (auto& block : smoothed) block.known.fill(0);
    for (const Index3& t : tiles_) {
      const std::vector<double> f = filtered(t, kernel);
      std::size_t i = 0;
      for_each({-kBelow, -kBelow, -kBelow}, {kAbove, kAbove, kAbove}, [&](const Index3& n) {
        const auto [block, at] = find(t, n);
        smoothed[block].value[at] = static_cast<float>(f[i++]);
        smoothed[block].known[at] = 1;
      });
    }
    blocks_ = std::move(smoothed);
  }

  // Block and place in it of node n counted from a tile's origin.
  std::pair<int, int> find(const Index3& tile, const Index3& n) {
    Index3 t = tile, in;
    for (int a = 0; a < 3; ++a) {
      const int shift = n[a] < 0 ? -1 : (n[a] >= kTile ? 1 : 0);
      t[a] += shift;
      in[a] = n[a] - kTile * shift;
    }
    return {map_.at(t), flat(in)};
  }

  std::vector<double> filtered(const Index3& tile, const std::vector<double>& kernel) {
    std::vector<double> f;
    const int low = -kBelow - reach_, high = kAbove + reach_;
    for_each({low, low, low}, {high, high, high}, [&](const Index3& n) {
      const auto [block, at] = find(tile, n);
      f.push_back(blocks_[block].value[at]);
    });
    Index3 n = {high - low + 1, high - low + 1, high - low + 1};
    for (int axis = 0; axis < 3; ++axis) {
      const Index3 step = {n[1] * n[2], n[2], 1};
      Index3 m = n;
      m[axis] -= 2 * reach_;
      std::vector<double> sum;
      for_each({0, 0, 0}, plus(m, {-1, -1, -1}), [&](const Index3& at) {
        const double* first = &f[at[0] * step[0] + at[1] * step[1] + at[2]];
        double s = 0;
        for (std::size_t i = 0; i < kernel.size(); ++i) s += kernel[i] * first[i * step[axis]];
        sum.push_back(s);
      });
      f = std::move(sum);
      n = m;
    }
    return f;
  }

  const TriangleMesh& mesh_;
  double h_;
  int reach_;
  TileMap map_;
  std::vector<Index3> tiles_;
  std::vector<LevelSetValues::Block> blocks_;
};

// The box of a coarse grid: its spline needs 1 node before and 2 after, its filter 1 more.
LevelSetValues::Grid coarse_box(const LevelSetValues& v, double spacing, double margin) {
  LevelSetValues::Grid grid;
  grid.spacing = spacing;
  for (int a = 0; a < 3; ++a) {
    grid.origin[a] = static_cast<int>(std::floor((v.low[a] - margin) / spacing)) - 2;
    grid.size[a] =
        static_cast<int>(std::floor((v.high[a] + margin) / spacing)) + 4 - grid.origin[a];
  }
  return grid;
}

LevelSetValues::Grid first_coarse_box(const LevelSetValues& v) {
  for (int factor = 2;; ++factor) {
    const auto grid = coarse_box(v, factor * v.voxel, level_set_margin(v, 0));
    const double count = 1. * grid.size[0] * grid.size[1] * grid.size[2];
    if (count <= kMostCoarse || factor == kCoarsest) return grid;
  }
}

void sample_coarse(const TriangleMesh& mesh, LevelSetValues& out) {
  out.coarse.push_back(first_coarse_box(out));
  for (int k = 1; k <= kFarGrids; ++k) {
    const double margin = level_set_margin(out, k);
    const double side = (out.high - out.low).maxCoeff() + 2 * margin;
    out.coarse.push_back(coarse_box(out, side / kFarNodes, margin));
  }
  for (auto& grid : out.coarse) {
    double before = kUnbounded;
    Vector3d at = Vector3d::Zero();
    for_each({0, 0, 0}, plus(grid.size, {-1, -1, -1}), [&](const Index3& n) {
      const Vector3d x = node_at(plus(grid.origin, n), grid.spacing);
      before = mesh.distance(x, (std::abs(before) + (x - at).norm()) * (1 + 1e-9));
      at = x;
      grid.value.push_back(static_cast<float>(before));
    });
  }
}

}  // namespace

LevelSetValues sample_mesh(const TriangleMesh& mesh, const LevelSetOptions& options) {
  const double h = options.voxel;
  if (!(h > 0) || !std::isfinite(h)) refuse("level set: voxel", "must be > 0 and finite [m]", h);
  if (options.band < 5 || options.band > 32) {
    refuse("level set: band", "must be 5 to 32 voxels", options.band);
  }
  if (!(options.smoothing >= 0) || options.smoothing > 1.5 * h) {
    refuse("level set: smoothing", "must be 0 to 1.5 voxels [m]", options.smoothing,
           "take a larger voxel to round off more");
  }
  const double thickness = mesh.thickness();  // a thinner wall could lie between nodes unseen
  if (!(2 * h <= thickness)) {
    refuse("level set: voxel", "must be at most half the mesh's thickness [m]", h,
           "its walls are as thin as " + std::to_string(thickness) + " m");
  }
  check_size(mesh, h);
  LevelSetValues out;
  out.voxel = h;
  out.band = options.band;
  out.smoothing = options.smoothing;
  out.thickness = thickness;
  out.low = mesh.low();
  out.high = mesh.high();
  out.fine = Sampling(mesh, options).take();
  sample_coarse(mesh, out);
  return out;
}

}  // namespace diffsim
