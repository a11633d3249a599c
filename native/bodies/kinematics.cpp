#include "kinematics.hpp"

#include "../rotation.hpp"

namespace diffsim {

State make_state(const std::vector<Node>& nodes) {
  State s;
  const auto n = static_cast<Eigen::Index>(nodes.size());
  s.c.setZero(3, n);
  s.v.setZero(3, n);
  s.dc.setZero(3, n);
  std::size_t frames = 0;
  for (const Node& node : nodes) frames += node.kind == NodeKind::frame;
  s.R.assign(frames, Matrix3d::Identity());
  s.w.assign(frames, Vector3d::Zero());
  s.theta.assign(frames, Vector3d::Zero());
  s.thetadot.assign(frames, Vector3d::Zero());
  return s;
}

void advance(const std::vector<Node>& nodes, const TimeScheme& scheme, const State& prev,
             const VectorXd& u, State& out) {
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node& n = nodes[i];
    out.v.col(i) = u.segment<3>(n.dof);
    out.dc.col(i) = scheme.alpha * u.segment<3>(n.dof) + scheme.carry * prev.dc.col(i);
    out.c.col(i) = prev.c.col(i) + out.dc.col(i);
    if (n.kind == NodeKind::point) continue;
    const int f = n.frame;
    out.thetadot[f] = u.segment<3>(n.dof + 3);
    out.theta[f] = scheme.alpha * out.thetadot[f] + scheme.carry * prev.theta[f];
    out.R[f] = exp_rotation(out.theta[f]) * prev.R[f];
    out.w[f] = left_jacobian(out.theta[f]) * out.thetadot[f];
  }
}

void rates(const std::vector<Node>& nodes, const State& s, VectorXd& u) {
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    u.segment<3>(nodes[i].dof) = s.v.col(i);
    // In the chart centred at this very state, theta_dot = omega.
    if (nodes[i].kind == NodeKind::frame) u.segment<3>(nodes[i].dof + 3) = s.w[nodes[i].frame];
  }
}

StepMap::StepMap(const std::vector<Node>& nodes, const TimeScheme& scheme, const State& now,
                 const State& prev)
    : nodes_(&nodes), scheme_(scheme) {
  frames_.resize(now.theta.size());
  for (std::size_t f = 0; f < frames_.size(); ++f) {
    Frame& m = frames_[f];
    m.J = left_jacobian(now.theta[f]);
    m.D = left_jacobian_derivative(now.theta[f], now.thetadot[f]);
    m.E = exp_rotation(now.theta[f]);
    if (scheme.carry == 0) continue;
    // R_{n-1} = exp(theta') R_{n-2}: d psi_{n-1} = J_l d theta' + exp(theta') d psi_{n-2}
    m.C1 = scheme.carry * left_jacobian_inverse(prev.theta[f]);
    m.C2 = -m.C1 * exp_rotation(prev.theta[f]);
  }
}

void StepMap::combine(const BlockMatrix& K, const BlockMatrix& B, BlockMatrix& A) const {
  const BlockPattern& P = *K.pattern;
  A.pattern = &P;
  A.values = scheme_.alpha * K.values + B.values;
  for (int b = 0; b < P.blocks(); ++b) {
    const Node& n = (*nodes_)[P.col[b]];
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    const int rows = P.size[P.row[b]];
    using Columns = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, 3>>;
    const Columns k(K.block(b) + 3 * rows, rows, 3), d(B.block(b) + 3 * rows, rows, 3);
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, 3>> a(A.block(b) + 3 * rows, rows, 3);
    const Matrix3d Xu = scheme_.alpha * m.J, Vu = m.J + scheme_.alpha * m.D;
    a.noalias() = k.lazyProduct(Xu);
    a.noalias() += d.lazyProduct(Vu);
  }
}

void StepMap::history(const MatrixXd& x1, const MatrixXd& x2, MatrixXd& Hx, MatrixXd& Hv) const {
  Hx.setZero(x1.rows(), x1.cols());
  Hv.setZero(x1.rows(), x1.cols());
  const bool two = scheme_.carry != 0;
  for (const Node& n : *nodes_) {
    Hx.middleRows<3>(n.dof) = x1.middleRows<3>(n.dof);
    if (two) {
      Hx.middleRows<3>(n.dof) +=
          scheme_.carry * (x1.middleRows<3>(n.dof) - x2.middleRows<3>(n.dof));
    }
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    const auto psi1 = x1.middleRows<3>(n.dof + 3);
    Hx.middleRows<3>(n.dof + 3).noalias() = m.E * psi1;
    if (!two) continue;
    const MatrixXd theta = m.C1 * psi1 + m.C2 * x2.middleRows<3>(n.dof + 3);
    Hx.middleRows<3>(n.dof + 3).noalias() += m.J * theta;
    Hv.middleRows<3>(n.dof + 3).noalias() = m.D * theta;
  }
}

void StepMap::add_rates(const MatrixXd& U, MatrixXd& x, MatrixXd& v) const {
  for (const Node& n : *nodes_) {
    const auto uc = U.middleRows<3>(n.dof);
    x.middleRows<3>(n.dof) += scheme_.alpha * uc;
    v.middleRows<3>(n.dof) += uc;
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    const auto ut = U.middleRows<3>(n.dof + 3);
    x.middleRows<3>(n.dof + 3).noalias() += scheme_.alpha * m.J * ut;
    v.middleRows<3>(n.dof + 3).noalias() += (m.J + scheme_.alpha * m.D) * ut;
  }
}

void StepMap::history_transposed(const MatrixXd& hx, const MatrixXd& hv, MatrixXd& x1,
                                 MatrixXd& x2) const {
  const bool two = scheme_.carry != 0;
  for (const Node& n : *nodes_) {
    const auto hc = hx.middleRows<3>(n.dof);
    x1.middleRows<3>(n.dof) += (1 + scheme_.carry) * hc;
    if (two) x2.middleRows<3>(n.dof) -= scheme_.carry * hc;
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    const auto hp = hx.middleRows<3>(n.dof + 3);
    x1.middleRows<3>(n.dof + 3).noalias() += m.E.transpose() * hp;
    if (!two) continue;
    const MatrixXd theta = m.J.transpose() * hp + m.D.transpose() * hv.middleRows<3>(n.dof + 3);
    x1.middleRows<3>(n.dof + 3).noalias() += m.C1.transpose() * theta;
    x2.middleRows<3>(n.dof + 3).noalias() += m.C2.transpose() * theta;
  }
}

MatrixXd StepMap::rates_transposed(const MatrixXd& x, const MatrixXd& v) const {
  MatrixXd u(x.rows(), x.cols());
  for (const Node& n : *nodes_) {
    u.middleRows<3>(n.dof) = scheme_.alpha * x.middleRows<3>(n.dof) + v.middleRows<3>(n.dof);
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    u.middleRows<3>(n.dof + 3).noalias() =
        scheme_.alpha * (m.J.transpose() * x.middleRows<3>(n.dof + 3));
    u.middleRows<3>(n.dof + 3).noalias() +=
        (m.J + scheme_.alpha * m.D).transpose() * v.middleRows<3>(n.dof + 3);
  }
  return u;
}

}  // namespace diffsim
