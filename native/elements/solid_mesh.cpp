#include "solid_mesh.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace diffsim {
namespace {

// Six times the volume over the cube of the root-mean-square edge: 0.71 for a regular tetrahedron,
// 0 for a flat one.
constexpr double kSolidSliver = 1e-3;

// Nodes of the middles' edges.
constexpr int kEdge[6][2] = {{0, 1}, {1, 2}, {0, 2}, {0, 3}, {1, 3}, {2, 3}};

double quality(const Matrix3X& X, const std::array<int, 4>& t, double volume) {
  double sum = 0;
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) sum += (X.col(t[i]) - X.col(t[j])).squaredNorm();
  }
  return 6 * volume / std::pow(sum / 6, 1.5);
}

double volume_of(const Matrix3X& X, const std::array<int, 4>& t) {
  const Vector3d a = X.col(t[1]) - X.col(t[0]), b = X.col(t[2]) - X.col(t[0]);
  return a.dot(b.cross(X.col(t[3]) - X.col(t[0]))) / 6;
}

// int N_i N_j dV / V of straight tetrahedra.
double linear_mass(int i, int j) { return i == j ? 0.1 : 0.05; }

double quadratic_mass(int i, int j) {
  if (i == j) return (i < 4 ? 6 : 32) / 420.;
  if (i < 4 && j < 4) return 1 / 420.;
  if (i >= 4 && j >= 4) {
    const int *a = kEdge[i - 4], *b = kEdge[j - 4];
    const bool touching = a[0] == b[0] || a[0] == b[1] || a[1] == b[0] || a[1] == b[1];
    return (touching ? 16 : 8) / 420.;
  }
  const int corner = std::min(i, j), *edge = kEdge[std::max(i, j) - 4];
  return (corner == edge[0] || corner == edge[1] ? -4 : -6) / 420.;
}

}  // namespace

SolidMesh::SolidMesh(const std::string& place, const Matrix3X& vertices,
                     const Eigen::Matrix<int, Eigen::Dynamic, Eigen::Dynamic>& given,
                     bool quadratic)
    : X(vertices) {
  const int nodes = quadratic ? 10 : 4;
  const auto n = static_cast<int>(X.cols());
  if (!X.allFinite()) refuse(place + ": vertices", "must be finite [m]", "nan or inf");
  if (given.rows() == 0) refuse(place + ": tets", "must hold at least one tetrahedron", 0);
  if (given.cols() != nodes) {
    refuse(place + ": tets", "must have " + std::to_string(nodes) + " vertices each", given.cols(),
           quadratic ? "meshes.quadratic() adds the middles of the edges" : "");
  }
  for (int e = 0; e < given.rows(); ++e) {
    for (int a = 0; a < nodes; ++a) {
      if (given(e, a) >= 0 && given(e, a) < n) continue;
      refuse(place + ": tets[" + std::to_string(e) + "]",
             "vertex index must be in [0, " + std::to_string(n - 1) + "]", given(e, a));
    }
    tets.push_back({given(e, 0), given(e, 1), given(e, 2), given(e, 3)});
    if (quadratic) {
      ten.emplace_back();
      for (int a = 0; a < 10; ++a) ten.back()[a] = given(e, a);
    }
    check_corners(place, e);
  }
  std::map<std::array<int, 4>, std::size_t> seen;
  for (std::size_t e = 0; e < tets.size(); ++e) {
    std::array<int, 4> sorted = tets[e];
    std::sort(sorted.begin(), sorted.end());
    if (const auto [twin, fresh] = seen.emplace(sorted, e); !fresh) {
      refuse(place + ": tets[" + std::to_string(e) + "]", "must differ from all others",
             "the vertices of tets[" + std::to_string(twin->second) + "]", "remove one of the two");
    }
  }
  check_unused(place);
}

void SolidMesh::check_corners(const std::string& place, int e) {
  const std::string here = place + ": tets[" + std::to_string(e) + "]";
  std::vector<int> sorted(tets[e].begin(), tets[e].end());
  if (!ten.empty()) sorted.assign(ten[e].begin(), ten[e].end());
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) refuse(here, "must have different vertices", *twice, "mesh again");
  const double straight = volume_of(X, tets[e]), q = quality(X, tets[e], straight);
  if (q < 0) {
    refuse(here, "must be positively oriented: (x1 - x0).((x2 - x0) x (x3 - x0)) > 0", 6 * straight,
           "swap two of its vertices");
  }
  if (!(q >= kSolidSliver)) {
    refuse(here, "must not be flat: 6 volume/(rms edge)^3 >= 1e-3 (0.71 for a regular one)", q,
           "mesh again or merge vertices");
  }
  double total = straight;
  if (!ten.empty()) {
    const StencilSpec spec = quadratic_stencil(X, ten[e], e);
    total = 0;
    for (double w : spec.weight) {
      total += w;
      if (w > 0) continue;
      refuse(here, "must not be folded: a positive volume at every quadrature point", w,
             "move its middle nodes to the middles of its edges, in VTK's order");
    }
  }
  volume.push_back(total);
}

void SolidMesh::check_unused(const std::string& place) const {
  std::vector<bool> used(X.cols(), false);
  for (const auto& t : tets) {
    for (int v : t) used[v] = true;
  }
  for (const TenNodes& t : ten) {
    for (int v : t) used[v] = true;
  }
  const auto unused = std::find(used.begin(), used.end(), false);
  if (unused == used.end()) return;
  refuse(place + ": vertices[" + std::to_string(unused - used.begin()) + "]",
         "must belong to a tetrahedron", "none", "remove unused vertices");
}

VectorXd SolidMesh::lumped(const std::vector<double>& field) const {
  VectorXd share = VectorXd::Zero(X.cols());
  for (std::size_t e = 0; e < tets.size(); ++e) {
    const double mass = volume[e] * (field.empty() ? 1 : field[e]);
    if (ten.empty()) {
      for (int v : tets[e]) share[v] += mass / 4;
    } else {
      for (int a = 0; a < 10; ++a) share[ten[e][a]] += mass * (a < 4 ? kVertexShare : kMiddleShare);
    }
  }
  return share;
}

std::vector<ConsistentMass::Entry> SolidMesh::beyond_lumped(
    const std::vector<double>& field) const {
  std::map<std::pair<int, int>, double> sum;
  const int nodes = ten.empty() ? 4 : 10;
  for (std::size_t e = 0; e < tets.size(); ++e) {
    const double mass = volume[e] * (field.empty() ? 1 : field[e]);
    const int* node = ten.empty() ? tets[e].data() : ten[e].data();
    for (int i = 0; i < nodes; ++i) {
      for (int j = 0; j < nodes; ++j) {
        sum[{node[i], node[j]}] += mass * (ten.empty() ? linear_mass(i, j) : quadratic_mass(i, j));
      }
    }
  }
  const VectorXd lump = lumped(field);
  std::vector<ConsistentMass::Entry> entries;
  for (const auto& [at, share] : sum) {
    entries.push_back({at.first, at.second, share - (at.first == at.second ? lump[at.first] : 0)});
  }
  return entries;
}

}  // namespace diffsim
