#include "half_spaces.hpp"

#include <algorithm>
#include <cmath>

namespace diffsim {
namespace {

constexpr int kMostPlanes = 64;

// Radius of the largest ball in {x : n_i . x <= o_i}: max r with n_i . x + r <= o_i, by the simplex
// method with Bland's rule on its dual, min o . y over y >= 0, sum y_i n_i = 0, sum y_i = 1 (four
// rows; columns m .. m + 3 are artificial). An infeasible dual: balls of any size fit.
class LargestBall {
 public:
  LargestBall(const Matrix3X& normals, const VectorXd& offsets)
      : m_(static_cast<int>(offsets.size())), columns_(4, m_ + 4), cost_(m_ + 4) {
    columns_.topLeftCorner(3, m_) = normals;
    columns_.row(3).head(m_).setOnes();
    columns_.rightCols(4).setIdentity();
    for (int k = 0; k < 4; ++k) basis_[k] = m_ + k;
    const double scale = std::max(offsets.cwiseAbs().maxCoeff(), 1e-300);
    cost_ << VectorXd::Zero(m_), VectorXd::Ones(4);
    if (solve() > 1e-9) {
      radius_ = kUnbounded;
      return;
    }
    cost_ << offsets / scale, VectorXd::Zero(4);
    radius_ = solve() * scale;
  }
  double radius() const { return radius_; }

 private:
  double solve() {
    while (true) {
      Eigen::Matrix4d B;
      Eigen::Vector4d cost;
      for (int k = 0; k < 4; ++k) {
        B.col(k) = columns_.col(basis_[k]);
        cost[k] = cost_[basis_[k]];
      }
      const Eigen::PartialPivLU<Eigen::Matrix4d> lu(B);
      const Eigen::Vector4d value = lu.solve(Eigen::Vector4d::UnitW());
      const Eigen::Vector4d price = lu.transpose().solve(cost);
      int entering = -1;
      for (int j = 0; j < m_ && entering < 0; ++j) {
        if (cost_[j] - price.dot(columns_.col(j)) < -1e-12) entering = j;
      }
      if (entering < 0) return cost.dot(value);
      const int out = leaving(value, lu.solve(columns_.col(entering)));
      if (out < 0) return cost.dot(value);
      basis_[out] = entering;
    }
  }

  // Bland's rule; an artificial column that stayed in the basis at zero goes first.
  int leaving(const Eigen::Vector4d& value, const Eigen::Vector4d& w) const {
    int out = -1;
    double least = kUnbounded;
    for (int k = 0; k < 4; ++k) {
      const bool artificial = basis_[k] >= m_ && std::abs(value[k]) < 1e-12;
      if (!(artificial ? std::abs(w[k]) > 1e-10 : w[k] > 1e-12)) continue;
      const double ratio = artificial ? -1 : value[k] / w[k];
      if (out < 0 || ratio < least || (ratio == least && basis_[k] < basis_[out])) {
        least = ratio;
        out = k;
      }
    }
    return out;
  }

  int m_;
  Eigen::Matrix<double, 4, Eigen::Dynamic> columns_;
  VectorXd cost_;
  int basis_[4];
  double radius_ = 0;
};

}  // namespace

HalfSpaces::HalfSpaces(const Matrix3X& normals, const VectorXd& offsets)
    : normals_(normals), offsets_(offsets) {
  const int m = static_cast<int>(offsets.size());
  if (m < 1 || m > kMostPlanes) refuse("halfspaces: normals", "must be 1 to 64", m);
  if (normals.cols() != m) {
    refuse("halfspaces: offsets", "must be one for each normal", m,
           std::to_string(normals.cols()) + " normals are given");
  }
  if (!offsets.allFinite()) {
    refuse("halfspaces: offsets", "must be finite [m]", offsets.transpose());
  }
  for (int i = 0; i < m; ++i) {
    if (!normals.col(i).allFinite() || normals.col(i).norm() < 1e-12) {
      refuse("halfspaces: normals[" + std::to_string(i) + "]", "must be finite and not zero",
             normals.col(i).transpose());
    }
  }
  normals_.colwise().normalize();
  radius_ = LargestBall(normals_, offsets_).radius();
  const double scale = std::max(offsets.cwiseAbs().maxCoeff(), std::isinf(radius_) ? 0 : radius_);
  tolerance_ = 1e-9 * (scale > 0 ? scale : 1);
  if (!(radius_ > tolerance_)) {
    refuse("halfspaces", "must enclose a volume",
           "largest ball of radius " + std::to_string(radius_) + " m",
           "check the signs: inside is normal . x < offset");
  }
  for (int i = 0; i < m; ++i) {
    for (int j = i + 1; j < m; ++j) add_edge(i, j);
  }
}

int HalfSpaces::regions() const {
  return static_cast<int>(offsets_.size() + edges_.size() + vertices_.size());
}

Eigen::AlignedBox3d HalfSpaces::bounds(double level, const double*) const {
  Eigen::AlignedBox3d box;
  for (const Vector3d& v : vertices_) box.extend(v);
  for (const Edge& edge : edges_) {
    if (edge.vertex_low < 0 || edge.vertex_high < 0) return everywhere();
  }
  return vertices_.empty() ? everywhere() : grown(box, std::max(level, 0.));
}

void HalfSpaces::add_edge(int i, int j) {
  Edge edge;
  edge.along = normals_.col(i).cross(normals_.col(j));
  if (edge.along.norm() < 1e-9) return;
  edge.along.normalize();
  Matrix3d rows;
  rows << normals_.col(i).transpose(), normals_.col(j).transpose(), edge.along.transpose();
  edge.point = rows.partialPivLu().solve(Vector3d(offsets_[i], offsets_[j], 0));
  edge.low = -kUnbounded;
  edge.high = kUnbounded;
  for (int k = 0; k < offsets_.size(); ++k) {
    if (k == i || k == j) continue;
    const double slope = normals_.col(k).dot(edge.along);
    const double room = offsets_[k] - normals_.col(k).dot(edge.point);
    if (std::abs(slope) < 1e-9) {
      if (room < -tolerance_) return;
    } else if (slope > 0) {
      edge.high = std::min(edge.high, room / slope);
    } else {
      edge.low = std::max(edge.low, room / slope);
    }
  }
  if (!(edge.high - edge.low > tolerance_)) return;
  edge.vertex_low = std::isinf(edge.low) ? -1 : add_vertex(edge.point + edge.low * edge.along);
  edge.vertex_high = std::isinf(edge.high) ? -1 : add_vertex(edge.point + edge.high * edge.along);
  edges_.push_back(edge);
}

int HalfSpaces::add_vertex(const Vector3d& at) {
  for (std::size_t v = 0; v < vertices_.size(); ++v) {
    if ((vertices_[v] - at).norm() < 10 * tolerance_) return static_cast<int>(v);
  }
  vertices_.push_back(at);
  return static_cast<int>(vertices_.size()) - 1;
}

bool HalfSpaces::nearest_on_face(const Vector3d& x, const VectorXd& gap, SdfSample& s) const {
  for (int i = 0; i < gap.size(); ++i) {
    if (!(gap[i] > 0)) continue;
    const Vector3d foot = x - gap[i] * normals_.col(i);
    if ((normals_.transpose() * foot - offsets_).maxCoeff() > tolerance_) continue;
    s.g = gap[i];
    s.n = normals_.col(i);
    s.region = i;
    return true;
  }
  return false;
}

SdfSample HalfSpaces::nearest_on_edges(const Vector3d& x) const {
  SdfSample s;
  s.g = kUnbounded;
  const int planes = static_cast<int>(offsets_.size()), edges = static_cast<int>(edges_.size());
  for (int e = 0; e < edges; ++e) {
    const Edge& edge = edges_[e];
    const double t = edge.along.dot(x - edge.point);
    const double clamped = std::clamp(t, edge.low, edge.high);
    const Vector3d away = x - edge.point - clamped * edge.along;
    const double g = away.norm();
    if (!(g < s.g)) continue;
    s.g = g;
    s.n = away / g;
    s.kappa = (Matrix3d::Identity() - s.n * s.n.transpose()) / g;
    s.region = planes + e;
    if (t > clamped) {
      s.region = planes + edges + edge.vertex_high;
    } else if (t < clamped) {
      s.region = planes + edges + edge.vertex_low;
    } else {
      s.kappa -= edge.along * edge.along.transpose() / g;
    }
  }
  return s;
}

SdfSample HalfSpaces::at(const Vector3d& x) const {
  const VectorXd gap = normals_.transpose() * x - offsets_;
  SdfSample s;
  int nearest;
  s.g = gap.maxCoeff(&nearest);
  s.n = normals_.col(nearest);
  s.region = nearest;
  if (s.g <= 0 || nearest_on_face(x, gap, s)) return s;
  const SdfSample off_faces = nearest_on_edges(x);
  return off_faces.g < kUnbounded && off_faces.g > 0 ? off_faces : s;
}

void HalfSpaces::evaluate(const Matrix3X& x, const double*, std::vector<SdfSample>& out) const {
  out.resize(x.cols());
  for (int i = 0; i < x.cols(); ++i) out[i] = at(x.col(i));
}

}  // namespace diffsim
