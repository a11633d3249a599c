#include "outline.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {
namespace {

class Nets {
 public:
  Nets(const Sdf& sdf, const Eigen::AlignedBox3d& box, int cells)
      : sdf_(sdf), low_(box.min()), step_(box.sizes().maxCoeff() / cells) {
    for (int a = 0; a < 3; ++a) {
      nodes_[a] = std::max(2, static_cast<int>(std::ceil(box.sizes()[a] / step_ - 1e-9)) + 1);
    }
    sample();
    place_vertices();
    settle();
    connect();
  }
  Outline take() { return std::move(out_); }

 private:
  int flat(int i, int j, int k) const { return (i * nodes_[1] + j) * nodes_[2] + k; }
  Vector3d at(int i, int j, int k) const { return low_ + step_ * Vector3d(i, j, k); }

  // Plane by plane: the samples of all nodes at once would take gigabytes.
  void sample() {
    Matrix3X x(3, nodes_[1] * nodes_[2]);
    std::vector<SdfSample> samples;
    for (int i = 0; i < nodes_[0]; ++i) {
      for (int j = 0; j < nodes_[1]; ++j) {
        for (int k = 0; k < nodes_[2]; ++k) x.col(flat(0, j, k)) = at(i, j, k);
      }
      samples.clear();
      sdf_.evaluate(x, samples);
      for (const SdfSample& s : samples) g_.push_back(s.g);
    }
  }

  // Mean of the crossings of the 12 edges of cell (i, j, k); false where there are none.
  bool crossing(int i, int j, int k, Vector3d& mean) const {
    int count = 0;
    mean.setZero();
    for (int edge = 0; edge < 12; ++edge) {
      const int axis = edge / 4, u = edge & 1, v = edge >> 1 & 1;
      int a[3] = {i, j, k};
      a[(axis + 1) % 3] += u;
      a[(axis + 2) % 3] += v;
      int b[3] = {a[0], a[1], a[2]};
      ++b[axis];
      const double g = g_[flat(a[0], a[1], a[2])], h = g_[flat(b[0], b[1], b[2])];
      if ((g < 0) == (h < 0)) continue;
      mean += at(a[0], a[1], a[2]) + step_ * g / (g - h) * Vector3d::Unit(axis);
      ++count;
    }
    if (count > 0) mean /= count;
    return count > 0;
  }

  void place_vertices() {
    vertex_.assign(g_.size(), -1);
    Vector3d mean;
    for (int i = 0; i + 1 < nodes_[0]; ++i) {
      for (int j = 0; j + 1 < nodes_[1]; ++j) {
        for (int k = 0; k + 1 < nodes_[2]; ++k) {
          if (!crossing(i, j, k, mean)) continue;
          vertex_[flat(i, j, k)] = static_cast<int>(out_.vertices.size());
          out_.vertices.push_back(mean);
        }
      }
    }
  }

  // Newton's method along the gradient, never farther than a cell.
  void settle() {
    Matrix3X x(3, out_.vertices.size());
    std::vector<SdfSample> samples;
    for (int repeat = 0; repeat < 3; ++repeat) {
      for (int v = 0; v < x.cols(); ++v) x.col(v) = out_.vertices[v];
      sdf_.evaluate(x, samples);
      for (int v = 0; v < x.cols(); ++v) {
        const SdfSample& s = samples[v];
        const double square = s.n.squaredNorm();
        if (square < 0.01 || std::abs(s.g) > step_) continue;
        out_.vertices[v] -= s.g / square * s.n;
      }
    }
  }

  // Two triangles about each edge of the grid that the surface crosses.
  void connect() {
    for (int i = 1; i + 1 < nodes_[0]; ++i) {
      for (int j = 1; j + 1 < nodes_[1]; ++j) {
        for (int k = 1; k + 1 < nodes_[2]; ++k) {
          for (int axis = 0; axis < 3; ++axis) connect_edge(i, j, k, axis);
        }
      }
    }
  }
  void connect_edge(int i, int j, int k, int axis) {
    int step[3] = {0, 0, 0}, u[3] = {0, 0, 0}, v[3] = {0, 0, 0};
    step[axis] = u[(axis + 1) % 3] = v[(axis + 2) % 3] = 1;
    const bool inside = g_[flat(i, j, k)] < 0;
    if (inside == (g_[flat(i + step[0], j + step[1], k + step[2])] < 0)) return;
    int quad[4];
    for (int c = 0; c < 4; ++c) {  // the four cells about the edge, turning from u to v
      const int s = c == 1 || c == 2 ? 0 : 1, t = c >= 2 ? 0 : 1;
      quad[c] =
          vertex_[flat(i - s * u[0] - t * v[0], j - s * u[1] - t * v[1], k - s * u[2] - t * v[2])];
    }
    if (!inside) std::swap(quad[1], quad[3]);
    out_.triangles.push_back({quad[0], quad[1], quad[2]});
    out_.triangles.push_back({quad[0], quad[2], quad[3]});
  }

  const Sdf& sdf_;
  Vector3d low_;
  double step_;
  int nodes_[3];
  std::vector<double> g_;
  std::vector<int> vertex_;  // by cell, -1: none
  Outline out_;
};

}  // namespace

Outline outline(const Sdf& sdf, const Eigen::AlignedBox3d& box, int cells) {
  if (cells < 4 || cells > 256) refuse("outline: cells", "must be 4 to 256", cells);
  if (box.isEmpty() || !box.min().allFinite() || !box.max().allFinite() ||
      !(box.sizes().minCoeff() > 0)) {
    std::ostringstream got;
    got << box.min().transpose() << " to " << box.max().transpose();
    refuse("outline: box", "must be finite with low < high [m]", got.str(),
           "give low and high for a surface without bounds");
  }
  return Nets(sdf, box, cells).take();
}

}  // namespace diffsim
