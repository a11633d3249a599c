// Ground below z = h(x, y), interpolated between heights on a grid.
#pragma once

#include <algorithm>
#include <cmath>

#include "closest.hpp"

namespace diffsim {

/// h passes through the heights with a continuous slope and stays between those of a cell's edges:
/// cubic, the slopes at the grid harmonic means of those on both sides, 0 where their signs differ
/// (Fritsch and Butland). Beyond the grid it goes on level from the border. The distance is exact
/// to the closest point that a descent from the place above or below x finds: rough ground has
/// others, which may be closer.
class HeightField : public Sdf {
 public:
  /// heights (nx, ny) [m] at the grid's points, from (-half_x, -half_y) to (half_x, half_y) [m].
  HeightField(const MatrixXd& heights, double half_x, double half_y)
      : heights_(heights), half_(half_x, half_y) {
    if (heights.rows() < 2 || heights.cols() < 2) {
      refuse("height field: heights", "must be at least 2 along x and along y", heights.rows(),
             std::to_string(heights.cols()) + " along y");
    }
    if (!heights.allFinite()) refuse("height field: heights", "must be finite [m]", "NaN or inf");
    if (!half_.allFinite() || !(half_.minCoeff() > 0)) {
      refuse("height field: half_x, half_y", "must be > 0 and finite [m]", half_.transpose());
    }
    cells_ << static_cast<int>(heights.rows()) - 1, static_cast<int>(heights.cols()) - 1;
    along_x_ = slopes(heights);
    along_y_ = slopes(heights.transpose()).transpose();
    highest_ = heights.maxCoeff();
  }

  void evaluate(const Matrix3X& x, const double*, std::vector<SdfSample>& out) const override {
    out.resize(x.cols());
    for (int i = 0; i < x.cols(); ++i) out[i] = at(x.col(i));
  }
  int regions() const override { return cells_[0] * cells_[1] * 9; }  // beyond which borders
  double thickness(const double*) const override { return kUnbounded; }
  Eigen::AlignedBox3d bounds(double level, const double*) const override {
    Eigen::AlignedBox3d box = everywhere();
    box.max()[2] = highest_ + std::max(level, 0.);
    return box;
  }

 private:
  using Vector2d = Eigen::Vector2d;
  using Matrix2d = Eigen::Matrix2d;
  static constexpr int kMostIterations = 50, kMostHalvings = 30;
  static constexpr double kRounding = 1e-12;  // share by which a squared distance may seem to grow

  struct Ground {  // h with its slope and second derivatives, and the smooth piece
    double h = 0;
    Vector2d slope = Vector2d::Zero();
    Matrix2d second = Matrix2d::Zero();
    int region = 0;
  };

  // Per cell, down each column.
  static MatrixXd slopes(const MatrixXd& heights) {
    const int n = static_cast<int>(heights.rows());
    MatrixXd found(n, heights.cols());
    for (int j = 0; j < heights.cols(); ++j) {
      for (int i = 0; i < n; ++i) {
        const double before =
            i > 0 ? heights(i, j) - heights(i - 1, j) : heights(1, j) - heights(0, j);
        const double after = i < n - 1 ? heights(i + 1, j) - heights(i, j) : before;
        found(i, j) = before * after > 0 ? 2 * before * after / (before + after) : 0;
      }
    }
    return found;
  }

  // Hermite's basis at a share t of a cell: of the heights, then the slopes, at its two ends; value
  // and derivatives by t.
  static Eigen::Matrix<double, 4, 3> basis(double t) {
    const double s = t * t, c = s * t;
    Eigen::Matrix<double, 4, 3> w;
    w << 1 - 3 * s + 2 * c, 6 * s - 6 * t, 12 * t - 6,  //
        3 * s - 2 * c, 6 * t - 6 * s, 6 - 12 * t,       //
        t - 2 * s + c, 1 - 4 * t + 3 * s, 6 * t - 4,    //
        c - s, 3 * s - 2 * t, 6 * t - 2;
    return w;
  }

  Ground ground(const Vector2d& place) const {
    Ground found;
    int cell[2], beyond[2];
    Vector2d rate;
    Eigen::Matrix<double, 4, 3> w[2];
    for (int a = 0; a < 2; ++a) {
      const double u = (place[a] + half_[a]) / (2 * half_[a]) * cells_[a];
      beyond[a] = u < 0 ? 1 : u > cells_[a] ? 2 : 0;
      const double inside = std::clamp(u, 0., static_cast<double>(cells_[a]));
      cell[a] = std::min(static_cast<int>(inside), cells_[a] - 1);
      rate[a] = beyond[a] ? 0 : cells_[a] / (2 * half_[a]);
      w[a] = basis(inside - cell[a]);
    }
    found.region = (cell[0] * cells_[1] + cell[1]) * 9 + beyond[0] * 3 + beyond[1];
    Eigen::Matrix4d around = Eigen::Matrix4d::Zero();
    around.topLeftCorner<2, 2>() = heights_.block<2, 2>(cell[0], cell[1]);
    around.bottomLeftCorner<2, 2>() = along_x_.block<2, 2>(cell[0], cell[1]);
    around.topRightCorner<2, 2>() = along_y_.block<2, 2>(cell[0], cell[1]);
    const Eigen::Matrix3d m = w[0].transpose() * around * w[1];  // (i, j): derivatives by u, v
    found.h = m(0, 0);
    found.slope << m(1, 0) * rate[0], m(0, 1) * rate[1];
    const double mixed = m(1, 1) * rate[0] * rate[1];
    found.second << m(2, 0) * rate[0] * rate[0], mixed, mixed, m(0, 2) * rate[1] * rate[1];
    return found;
  }

  SdfSample at(const Vector3d& x) const {
    const auto away = [&](const Vector2d& place, const Ground& g) {
      return (place - x.head<2>()).squaredNorm() + (g.h - x[2]) * (g.h - x[2]);
    };
    Vector2d place = x.head<2>();
    Ground g = ground(place);
    for (int k = 0; k < kMostIterations; ++k) {
      const double up = g.h - x[2];
      const Vector2d residual = place - x.head<2>() + up * g.slope;
      const Matrix2d flat = Matrix2d::Identity() + g.slope * g.slope.transpose();
      Matrix2d slope = flat + up * g.second;
      if (!(slope.determinant() > 0.01 * flat.determinant() && slope.trace() > 0)) slope = flat;
      Vector2d step = -slope.inverse() * residual;
      if (!(step.norm() > 1e-15 * half_.maxCoeff())) break;
      const double before = away(place, g);
      Ground next;
      int halved = 0;
      for (; halved < kMostHalvings; ++halved, step /= 2) {
        next = ground(place + step);
        const double slack = kRounding * (before + step.squaredNorm());
        if (away(place + step, next) <= before + slack) break;
      }
      if (halved == kMostHalvings) break;
      place += step;
      g = next;
    }
    const Vector3d normal(-g.slope[0], -g.slope[1], 1);
    const Vector3d n = normal.normalized();
    Matrix3d second = Matrix3d::Zero();  // of F = z - h
    second.topLeftCorner<2, 2>() = -g.second;
    SdfSample s = sample_by_closest(x, {place[0], place[1], g.h}, n,
                                    shape_operator(n, normal.norm(), second));
    s.region = g.region;
    return s;
  }

  MatrixXd heights_, along_x_, along_y_;  // slopes per cell
  Vector2d half_;
  Eigen::Vector2i cells_;
  double highest_ = 0;
};

}  // namespace diffsim
