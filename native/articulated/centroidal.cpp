#include "centroidal.hpp"

#include <algorithm>

namespace diffsim {
namespace {

Plxb pose_of(const TreeBodies& tree, const DynamicsWorkspace& work, int link) {
  const LinkPlace& place = tree.places[link];
  if (place.body < 0) return {place.pose.E, place.pose.r - work.origin};
  const BodyState& state = work.states[place.body];
  return Plxb{state.R, state.r} * place.pose;
}

}  // namespace

void link_poses(const TreeBodies& tree, DynamicsWorkspace& work, const double* q, double* poses) {
  for (int i = 0; i < tree.size(); ++i) place_body(tree, i, q, work);
  for (std::size_t link = 0; link < tree.places.size(); ++link) {
    const Plxb pose = pose_of(tree, work, static_cast<int>(link));
    const Vector3d at = pose.r + work.origin;
    double* out = poses + 16 * link;
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) out[4 * i + j] = pose.E(i, j);
      out[4 * i + 3] = at[i];
    }
    out[12] = out[13] = out[14] = 0;
    out[15] = 1;
  }
}

void link_jacobian(const TreeBodies& tree, DynamicsWorkspace& work, const double* q, int link,
                   double* J) {
  const int n = tree.coordinates();
  std::fill(J, J + 6 * static_cast<std::ptrdiff_t>(n), 0.0);
  for (int i = 0; i <= tree.places[link].body; ++i) place_body(tree, i, q, work);
  const Vector3d at = pose_of(tree, work, link).r;
  visit_motions(tree, work, tree.places[link].body, [&](int column, const MotionVector& S) {
    const Vector3d v = S.v + S.w.cross(at);
    for (int m = 0; m < 3; ++m) {
      J[m * n + column] = S.w[m];
      J[(m + 3) * n + column] = v[m];
    }
  });
}

Centroidal centroidal(const TreeBodies& tree, DynamicsWorkspace& work, const double* q,
                      const double* qd, double* A) {
  place_composites(tree, work, q);
  RigidInertia whole;
  for (int b = 0; b < tree.size(); ++b) {
    if (tree.bodies[b].parent < 0) whole += work.composites[b].I;
  }
  const Vector3d com = whole.h / whole.m;
  Centroidal found{whole.m, com + work.origin, Vector6::Zero()};
  const int n = tree.coordinates();
  for (int b = 0; b < tree.size(); ++b) {
    const TreeBody& body = tree.bodies[b];
    for (int k = 0; k < body.count; ++k) {
      const ForceVector T = work.composites[b].I * work.coordinates[body.first + k].S;
      const Vector6 column = ForceVector{T.n - com.cross(T.f), T.f}.vector();
      const int at = body.velocity_at + k;
      for (int m = 0; m < 6; ++m) A[m * n + at] = column[m];
      found.momentum += column * qd[at];
    }
  }
  return found;
}

}  // namespace diffsim
