#include "level_set.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {
namespace {

constexpr int kSide = kTile + 3;    // its coefficients along an axis, nodes -1 to 9
constexpr int kValues = kSide + 2;  // its values, nodes -2 to 10
constexpr int kBlend = 3;           // width of the blend of fine and coarse [h]

// Weights of the uniform cubic B-spline and of its first two derivatives at t in [0, 1).
struct Weights {
  double w[3][4];
  explicit Weights(double t) {
    const double s = 1 - t;
    const double value[] = {s * s * s / 6, (3 * t * t * t - 6 * t * t + 4) / 6,
                            (3 * s * s * s - 6 * s * s + 4) / 6, t * t * t / 6};
    const double slope[] = {-s * s / 2, (3 * t - 4) * t / 2, -(3 * s - 4) * s / 2, t * t / 2};
    const double bend[] = {s, 3 * t - 2, 3 * s - 2, t};
    std::copy(value, value + 4, w[0]);
    std::copy(slope, slope + 4, w[1]);
    std::copy(bend, bend + 4, w[2]);
  }
};

// Value, gradient and Hessian of the spline with spacing h from its 4^3 coefficients at c. The
// last axis is kept as one vector of four until the end.
SdfSample spline(const float* c, int stride_i, int stride_j, const Vector3d& t, double h) {
  const Weights x(t.x()), y(t.y()), z(t.z());
  Eigen::Array4d over_x[3][4];
  for (int j = 0; j < 4; ++j) {
    for (auto& rows : over_x) rows[j].setZero();
    for (int i = 0; i < 4; ++i) {
      const Eigen::Array4d row =
          Eigen::Map<const Eigen::Array4f>(c + i * stride_i + j * stride_j).cast<double>();
      for (int d = 0; d < 3; ++d) over_x[d][j] += x.w[d][i] * row;
    }
  }
  const auto sum = [&](int dx, int dy, int dz) {
    Eigen::Array4d row = y.w[dy][0] * over_x[dx][0];
    for (int j = 1; j < 4; ++j) row += y.w[dy][j] * over_x[dx][j];
    return (row * Eigen::Map<const Eigen::Array4d>(z.w[dz])).sum();
  };
  SdfSample s;
  s.g = sum(0, 0, 0);
  s.n = Vector3d(sum(1, 0, 0), sum(0, 1, 0), sum(0, 0, 1)) / h;
  const double xy = sum(1, 1, 0), xz = sum(1, 0, 1), yz = sum(0, 1, 1);
  s.kappa << sum(2, 0, 0), xy, xz, xy, sum(0, 2, 0), yz, xz, yz, sum(0, 0, 2);
  s.kappa /= h * h;
  return s;
}

// A weight S((q - start) / width) that rises with a quantity q of gradient n and Hessian kappa.
struct Rise {
  double w, by_q, by_qq;
  Rise(double q, double start, double width) {
    const double t = std::clamp((q - start) / width, 0., 1.), s = 1 - t;
    w = t * t * t * (10 - 15 * t + 6 * t * t);
    by_q = 30 * t * t * s * s / width;
    by_qq = 60 * t * s * (1 - 2 * t) / (width * width);
  }
};

// (1 - w) a + w b with w a function of the sample q.
SdfSample blend(const SdfSample& a, const SdfSample& b, const Rise& rise, const SdfSample& q) {
  SdfSample s;
  const double apart = b.g - a.g;
  const Vector3d dw = rise.by_q * q.n, turn = b.n - a.n;
  s.g = a.g + rise.w * apart;
  s.n = a.n + rise.w * turn + apart * dw;
  s.kappa = a.kappa + rise.w * (b.kappa - a.kappa) + dw * turn.transpose() + turn * dw.transpose() +
            apart * (rise.by_qq * q.n * q.n.transpose() + rise.by_q * q.kappa);
  return s;
}

int floor_div(int a, int b) { return a >= 0 ? a / b : -((b - 1 - a) / b); }

// (-f_{i-1} + 8 f_i - f_{i+1}) / 6 along each axis: n -> n - 2 nodes an axis, in place order.
std::vector<float> coefficients(std::vector<double> f, Index3 n) {
  for (int axis = 0; axis < 3; ++axis) {
    Index3 m = n;
    m[axis] -= 2;
    const Index3 step = {n[1] * n[2], n[2], 1};
    std::vector<double> c;
    c.reserve(static_cast<std::size_t>(m[0]) * m[1] * m[2]);
    for (int i = 0; i < m[0]; ++i) {
      for (int j = 0; j < m[1]; ++j) {
        for (int k = 0; k < m[2]; ++k) {
          const double* at = &f[static_cast<std::size_t>(i) * step[0] + j * step[1] + k];
          c.push_back((8 * at[step[axis]] - at[0] - at[2 * step[axis]]) / 6);
        }
      }
    }
    f = std::move(c);
    n = m;
  }
  return std::vector<float>(f.begin(), f.end());
}

}  // namespace

double level_set_margin(const LevelSetValues& v, int k) {
  const double first = std::max(0.2 * (v.high - v.low).norm(), 2. * (v.band + 2) * v.voxel);
  return std::ldexp(first, k);
}

LevelSet::LevelSet(LevelSetValues values)
    : values_(std::move(values)),
      middle_((values_.low + values_.high) / 2),
      bounds_((values_.high - values_.low) / 2) {
  fill_tiles();
  fill_coarse();
}

std::size_t LevelSet::memory() const {
  std::size_t numbers = tile_.size() + fine_.size();
  for (const auto& c : coarse_) numbers += c.size();
  return 4 * numbers;
}

void LevelSet::fill_tiles() {
  if (values_.fine.empty()) refuse("level set: fine grid", "must not be empty", 0);
  Index3 low = {1 << 30, 1 << 30, 1 << 30}, high = {-(1 << 30), -(1 << 30), -(1 << 30)};
  for (const auto& block : values_.fine) {
    for (int a = 0; a < 3; ++a) {
      const int tile = floor_div(block.origin[a], kTile);
      low[a] = std::min(low[a], tile);
      high[a] = std::max(high[a], tile);
    }
  }
  // One tile more on each side, so that every block's 26 neighbours can be looked up.
  Index3 count;
  for (int a = 0; a < 3; ++a) {
    --low[a];
    count[a] = high[a] + 2 - low[a];
  }
  std::vector<int> block(static_cast<std::size_t>(count[0]) * count[1] * count[2], -1);
  auto flat = [&](const Index3& t) {
    return (static_cast<std::size_t>(t[0] - low[0]) * count[1] + t[1] - low[1]) * count[2] + t[2] -
           low[2];
  };
  std::vector<Index3> tiles;
  for (std::size_t b = 0; b < values_.fine.size(); ++b) {
    Index3 tile;
    for (int a = 0; a < 3; ++a) tile[a] = floor_div(values_.fine[b].origin[a], kTile);
    block[flat(tile)] = static_cast<int>(b);
    tiles.push_back(tile);
  }
  tile_low_ = low;
  tile_count_ = count;
  tile_.assign(block.size(), -1);
  for (const Index3& tile : tiles) fill_tile(block, low, count, tile);
}

// Gathers the 13^3 values of a tile; a tile that lacks one stays absent.
void LevelSet::fill_tile(const std::vector<int>& block, const Index3& low, const Index3& count,
                         const Index3& tile) {
  std::vector<double> f;
  f.reserve(kValues * kValues * kValues);
  for (int i = -2; i < kValues - 2; ++i) {
    for (int j = -2; j < kValues - 2; ++j) {
      for (int k = -2; k < kValues - 2; ++k) {
        const int u = floor_div(i, kTile), v = floor_div(j, kTile), w = floor_div(k, kTile);
        const int b = block[(static_cast<std::size_t>(tile[0] + u - low[0]) * count[1] + tile[1] +
                             v - low[1]) *
                                count[2] +
                            tile[2] + w - low[2]];
        if (b < 0) return;
        const int at = ((i - u * kTile) * kTile + j - v * kTile) * kTile + k - w * kTile;
        if (!values_.fine[b].known[at]) return;
        f.push_back(values_.fine[b].value[at]);
      }
    }
  }
  const std::vector<float> c = coefficients(std::move(f), {kValues, kValues, kValues});
  const std::size_t at =
      (static_cast<std::size_t>(tile[0] - low[0]) * count[1] + tile[1] - low[1]) * count[2] +
      tile[2] - low[2];
  tile_[at] = static_cast<std::int32_t>(fine_.size() / c.size());
  fine_.insert(fine_.end(), c.begin(), c.end());
}

void LevelSet::fill_coarse() {
  for (const auto& grid : values_.coarse) {
    const Index3& n = grid.size;
    if (*std::min_element(n.begin(), n.end()) < 6 ||
        grid.value.size() != static_cast<std::size_t>(n[0]) * n[1] * n[2]) {
      refuse("level set: coarse grid", "must hold its whole box", grid.value.size());
    }
    coarse_.push_back(coefficients({grid.value.begin(), grid.value.end()}, n));
  }
  if (coarse_.empty()) refuse("level set: coarse grids", "must be at least one", 0);
}

bool LevelSet::fine(const Vector3d& x, SdfSample& s) const {
  const Vector3d u = x / values_.voxel, cell = u.array().floor();
  std::size_t tile = 0;
  int at = 0;
  for (int a = 0; a < 3; ++a) {
    const int c = static_cast<int>(cell[a]), t = floor_div(c, kTile) - tile_low_[a];
    if (t < 0 || t >= tile_count_[a]) return false;
    tile = tile * tile_count_[a] + t;
    at = at * kSide + c - (t + tile_low_[a]) * kTile;
  }
  if (tile_[tile] < 0) return false;
  const float* c = &fine_[static_cast<std::size_t>(tile_[tile]) * kSide * kSide * kSide + at];
  s = spline(c, kSide * kSide, kSide, u - cell, values_.voxel);
  return true;
}

SdfSample LevelSet::coarse(std::size_t k, const Vector3d& x) const {
  const LevelSetValues::Grid& grid = values_.coarse[k];
  const Vector3d u = x / grid.spacing, cell = u.array().floor();
  std::size_t at = 0;
  for (int a = 0; a < 3; ++a) {  // first of four coefficients, which begin one node after values
    const int first = static_cast<int>(cell[a]) - 1 - (grid.origin[a] + 1);
    at = at * (grid.size[a] - 2) + std::clamp(first, 0, grid.size[a] - 6);
  }
  const int nz = grid.size[2] - 2;
  return spline(&coarse_[k][at], (grid.size[1] - 2) * nz, nz, u - cell, grid.spacing);
}

// The fine grid in its band, grid 0 outside of it.
SdfSample LevelSet::near(const Vector3d& x) const {
  const double start = (values_.band - kBlend) * values_.voxel, width = kBlend * values_.voxel;
  SdfSample s;
  if (!fine(x, s) || std::abs(s.g) >= start + width) return coarse(0, x);
  if (std::abs(s.g) <= start) return s;
  SdfSample size = s;  // |g|
  if (s.g < 0) {
    size.g = -s.g;
    size.n = -s.n;
    size.kappa = -s.kappa;
  }
  return blend(s, coarse(0, x), Rise(size.g, start, width), size);
}

SdfSample LevelSet::at(const Vector3d& x) const {
  const Vector3d from = x - middle_;
  const double q = (from.cwiseAbs() - (values_.high - values_.low) / 2).cwiseMax(0).norm();
  std::size_t k = 0;
  while (k < coarse_.size() && !(q < level_set_margin(values_, static_cast<int>(k)))) ++k;
  if (k == coarse_.size()) {
    SdfSample box = bounds_.at(from);
    ++box.region;
    return box;
  }
  SdfSample s = k == 0 ? near(x) : coarse(k, x);
  const double half = level_set_margin(values_, static_cast<int>(k)) / 2;
  if (q > half || k > 0) {
    const SdfSample box = bounds_.at(from);
    if (q > half) {
      s = blend(s, k + 1 < coarse_.size() ? coarse(k + 1, x) : box, Rise(q, half, half), box);
    }
    s.region = 1 + box.region;
  }
  return s;
}

void LevelSet::evaluate(const Matrix3X& x, const double*, std::vector<SdfSample>& out) const {
  out.resize(x.cols());
  for (int i = 0; i < x.cols(); ++i) out[i] = at(x.col(i));
}

}  // namespace diffsim
