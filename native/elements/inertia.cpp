#include "inertia.hpp"

#include "../bodies/rigid_body.hpp"

namespace diffsim {
namespace {

using Eigen::Map;

// Adds gamma times d(momentum)/d(x, v) at one state to a node's diagonal blocks.
void add_momentum_jacobian(const State& s, const Node& n, int node, const NodeMass& mass,
                           const VectorXd& p, double gamma, BlockMatrix& K, BlockMatrix& B) {
  const double m = gamma * mass.value(p);
  if (n.kind == NodeKind::point) {
    Map<Matrix3d>(B.block(node)).diagonal().array() += m;
    return;
  }
  const Matrix3d& R = s.R[n.frame];
  const Matrix3d I = R * inertia_matrix(p.segment<6>(mass.inertia)) * R.transpose();
  const Vector3d& w = s.w[n.frame];
  Map<Matrix6> b(B.block(node)), k(K.block(node));
  b.topLeftCorner<3, 3>().diagonal().array() += m;
  b.bottomRightCorner<3, 3>() += gamma * I;
  // delta L = delta psi x L - I_c (delta psi x omega)
  k.bottomRightCorner<3, 3>() += gamma * (I * skew(w) - skew(I * w));
}

}  // namespace

void Inertia::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& n = nodes_[i];
    if (masses_[i].mass < 0) continue;
    const double m = masses_[i].value(p);
    for (int k = 0; k <= window.depth(); ++k) {
      const State& s = *window.at[k];
      const double gamma = window.scheme.gamma[k];
      out.r->segment<3>(n.dof) += gamma * m * s.v.col(i);
      if (n.kind == NodeKind::point) continue;
      const Matrix3d I0 = inertia_matrix(p.segment<6>(masses_[i].inertia));
      const Matrix3d& R = s.R[n.frame];
      const Vector3d L = R * (I0 * (R.transpose() * s.w[n.frame]));
      out.r->segment<3>(n.dof + 3) += gamma * L;
    }
    if (out.K) {
      add_momentum_jacobian(window.now(), n, i, masses_[i], p, window.scheme.gamma[0], *out.K,
                            *out.B);
    }
    if (out.symmetric && n.kind == NodeKind::frame) *out.symmetric = false;
    if (out.columns) add_columns(window, i, p, *out.columns);
  }
}

void Inertia::add_energy(const State& s, const VectorXd& p, Energy& to) const {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& n = nodes_[i];
    if (masses_[i].mass < 0) continue;
    to.kinetic += masses_[i].value(p) * s.v.col(i).squaredNorm() / 2;
    if (n.kind == NodeKind::point) continue;
    const Vector3d spin = s.R[n.frame].transpose() * s.w[n.frame];
    to.kinetic += spin.dot(inertia_matrix(p.segment<6>(masses_[i].inertia)) * spin) / 2;
  }
}

void Inertia::add_energy_slopes(const State& s, const VectorXd& p, OutputJacobian& by) const {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const Node& n = nodes_[i];
    if (masses_[i].mass < 0) continue;
    const Vector3d v = s.v.col(i);
    by.add_v(Energy::kKinetic, n.dof, RowVector3d(masses_[i].value(p) * v.transpose()));
    masses_[i].for_each_slope(p, [&](int parameter, double dm) {
      by.add_p(Energy::kKinetic, parameter, dm * v.squaredNorm() / 2);
    });
    if (n.kind == NodeKind::point) continue;
    const Matrix3d& R = s.R[n.frame];
    const Vector3d w = s.w[n.frame], spin = R.transpose() * w;
    const Vector3d L = R * (inertia_matrix(p.segment<6>(masses_[i].inertia)) * spin);
    by.add_v(Energy::kKinetic, n.dof + 3, RowVector3d(L.transpose()));
    by.add_x(Energy::kKinetic, n.dof + 3, RowVector3d(L.cross(w).transpose()));
    for (int e = 0; e < 6; ++e) {
      by.add_p(Energy::kKinetic, masses_[i].inertia + e,
               spin.dot(inertia_matrix(Vector6::Unit(e)) * spin) / 2);
    }
  }
}

void Inertia::add_columns(const Window& window, int i, const VectorXd& p,
                          ParameterColumns& columns) const {
  const Node& n = nodes_[i];
  for (int k = 0; k <= window.depth(); ++k) {
    const State& s = *window.at[k];
    const double gamma = window.scheme.gamma[k];
    masses_[i].for_each_slope(p, [&](int parameter, double dm) {
      const int c = columns.column(parameter);
      if (c >= 0) columns.add(n.dof, c, gamma * dm * s.v.col(i));
    });
    if (n.kind == NodeKind::point) continue;
    for (int e = 0; e < 6; ++e) {
      const int c = columns.column(masses_[i].inertia + e);
      if (c < 0) continue;
      const Matrix3d& R = s.R[n.frame];
      const Vector3d L = R * (inertia_matrix(Vector6::Unit(e)) * (R.transpose() * s.w[n.frame]));
      columns.add(n.dof + 3, c, gamma * L);
    }
  }
}

void Inertia::add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                          BlockMatrix& B) const {
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    if (masses_[i].mass < 0) continue;
    add_momentum_jacobian(*window.at[k], nodes_[i], i, masses_[i], p, window.scheme.gamma[k], K, B);
  }
}

}  // namespace diffsim
