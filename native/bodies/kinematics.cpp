#include "kinematics.hpp"

#include "../rotation.hpp"

namespace diffsim {

namespace {

// sum_k lag_k R_{n-1} Omega_{n-k}
Vector3d lagging_spin(const Window& window, int f) {
  const double* lag = window.scheme.lag;
  const State* before = window.at[2];
  Vector3d spin = lag[1] * window.at[1]->w[f];
  if (before) spin += lag[2] * (exp_rotation(window.at[1]->theta[f]) * before->w[f]);
  return spin;
}

}  // namespace

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

void advance(const std::vector<Node>& nodes, const Window& window, const VectorXd& u, State& out) {
  const TimeScheme &own = window.scheme, plain = own.plain();
  const State& prev = *window.at[1];
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node& n = nodes[i];
    const TimeScheme& scheme = n.driven ? plain : own;
    out.v.col(i) = u.segment<3>(n.dof);
    out.dc.col(i) = scheme.alpha * u.segment<3>(n.dof) + scheme.carry * prev.dc.col(i);
    if (scheme.lags()) {
      out.dc.col(i) += scheme.alpha * scheme.lag[1] * prev.v.col(i);
      if (window.at[2]) out.dc.col(i) += scheme.alpha * scheme.lag[2] * window.at[2]->v.col(i);
    }
    out.c.col(i) = prev.c.col(i) + out.dc.col(i);
    if (n.kind == NodeKind::point) continue;
    const int f = n.frame;
    out.thetadot[f] = u.segment<3>(n.dof + 3);
    out.theta[f] = scheme.alpha * out.thetadot[f] + scheme.carry * prev.theta[f];
    if (scheme.lags()) out.theta[f] += scheme.alpha * lagging_spin(window, f);
    const Matrix3d E = exp_rotation(out.theta[f]);
    out.R[f] = E * prev.R[f];
    out.w[f] = (scheme.lags() ? E : left_jacobian(out.theta[f])) * out.thetadot[f];
  }
}

void rates(const std::vector<Node>& nodes, const State& s, VectorXd& u) {
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    u.segment<3>(nodes[i].dof) = s.v.col(i);
    // In the chart centred at this very state, theta_dot = omega.
    if (nodes[i].kind == NodeKind::frame) u.segment<3>(nodes[i].dof + 3) = s.w[nodes[i].frame];
  }
}

StepMap::StepMap(const std::vector<Node>& nodes, const Window& window)
    : nodes_(&nodes), scheme_(window.scheme) {
  const State &now = window.now(), &prev = *window.at[1];
  const TimeScheme plain = scheme_.plain();
  frames_.resize(now.theta.size());
  for (const Node& n : nodes) {
    if (n.kind == NodeKind::point) continue;
    const int f = n.frame;
    Frame& m = frames_[f];
    const TimeScheme& scheme = n.driven ? plain : scheme_;
    m.alpha = scheme.alpha;
    m.lags = scheme.lags();
    m.two = scheme.carry != 0 || scheme.lag[2] != 0;
    m.J = left_jacobian(now.theta[f]);
    m.E = exp_rotation(now.theta[f]);
    m.W = m.lags ? m.E : m.J;
    m.D = m.lags ? Matrix3d(-skew(now.w[f]) * m.J)
                 : left_jacobian_derivative(now.theta[f], now.thetadot[f]);
    if (!m.two) continue;
    // R_{n-1} = exp(theta') R_{n-2}: d psi_{n-1} = J_l d theta' + exp(theta') d psi_{n-2}
    const Matrix3d E = exp_rotation(prev.theta[f]);
    m.C1 = scheme.carry * left_jacobian_inverse(prev.theta[f]);
    m.C2 = -m.C1 * E;
    if (!m.lags) continue;
    const double lag = scheme.alpha * scheme.lag[2];
    const Vector3d& w = window.at[2]->w[f];
    m.G2 = lag * E;
    m.C1 -= lag * skew(E * w);
    m.C2 += m.G2 * skew(w);
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
    if (m.alpha != scheme_.alpha) {
      const auto places = [&](const BlockMatrix& M) { return VectorXd::Map(M.block(b), 3 * rows); };
      VectorXd::Map(A.block(b), 3 * rows) = m.alpha * places(K) + places(B);
    }
    using Columns = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, 3>>;
    const Columns k(K.block(b) + 3 * rows, rows, 3), d(B.block(b) + 3 * rows, rows, 3);
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, 3>> a(A.block(b) + 3 * rows, rows, 3);
    const Matrix3d Xu = m.alpha * m.J, Vu = m.W + m.alpha * m.D;
    a.noalias() = k.lazyProduct(Xu);
    a.noalias() += d.lazyProduct(Vu);
  }
}

void StepMap::history(MatrixXd* x, MatrixXd* v) const {
  MatrixXd &Hx = x[0], &Hv = v[0];
  Hx.setZero(x[1].rows(), x[1].cols());
  Hv.setZero(x[1].rows(), x[1].cols());
  const TimeScheme plain = scheme_.plain();
  for (const Node& n : *nodes_) {
    const TimeScheme& scheme = n.driven ? plain : scheme_;
    Hx.middleRows<3>(n.dof) = x[1].middleRows<3>(n.dof);
    if (scheme.carry != 0) {
      Hx.middleRows<3>(n.dof) +=
          scheme.carry * (x[1].middleRows<3>(n.dof) - x[2].middleRows<3>(n.dof));
    }
    for (int k = 1; scheme.lags() && k <= scheme.order; ++k) {
      Hx.middleRows<3>(n.dof) += scheme.alpha * scheme.lag[k] * v[k].middleRows<3>(n.dof);
    }
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    const auto psi1 = x[1].middleRows<3>(n.dof + 3);
    Hx.middleRows<3>(n.dof + 3).noalias() = m.E * psi1;
    if (!m.two && !m.lags) continue;
    MatrixXd theta;
    if (m.two) theta = m.C1 * psi1 + m.C2 * x[2].middleRows<3>(n.dof + 3);
    if (m.lags) {
      if (!m.two) theta.setZero(3, x[1].cols());
      theta += m.alpha * scheme.lag[1] * v[1].middleRows<3>(n.dof + 3);
      if (m.two) theta += m.G2 * v[2].middleRows<3>(n.dof + 3);
    }
    Hx.middleRows<3>(n.dof + 3).noalias() += m.J * theta;
    Hv.middleRows<3>(n.dof + 3).noalias() = m.D * theta;
  }
}

void StepMap::add_rates(const MatrixXd& U, MatrixXd& x, MatrixXd& v) const {
  for (const Node& n : *nodes_) {
    const auto uc = U.middleRows<3>(n.dof);
    const double alpha = n.driven ? scheme_.plain().alpha : scheme_.alpha;
    x.middleRows<3>(n.dof) += alpha * uc;
    v.middleRows<3>(n.dof) += uc;
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    const auto ut = U.middleRows<3>(n.dof + 3);
    x.middleRows<3>(n.dof + 3).noalias() += m.alpha * m.J * ut;
    v.middleRows<3>(n.dof + 3).noalias() += (m.W + m.alpha * m.D) * ut;
  }
}

void StepMap::history_transposed(MatrixXd* x, MatrixXd* v) const {
  const TimeScheme plain = scheme_.plain();
  for (const Node& n : *nodes_) {
    const TimeScheme& scheme = n.driven ? plain : scheme_;
    const auto hc = x[0].middleRows<3>(n.dof);
    x[1].middleRows<3>(n.dof) += (1 + scheme.carry) * hc;
    if (scheme.carry != 0) x[2].middleRows<3>(n.dof) -= scheme.carry * hc;
    for (int k = 1; scheme.lags() && k <= scheme.order; ++k) {
      v[k].middleRows<3>(n.dof) += scheme.alpha * scheme.lag[k] * hc;
    }
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    const auto hp = x[0].middleRows<3>(n.dof + 3);
    x[1].middleRows<3>(n.dof + 3).noalias() += m.E.transpose() * hp;
    if (!m.two && !m.lags) continue;
    const MatrixXd theta = m.J.transpose() * hp + m.D.transpose() * v[0].middleRows<3>(n.dof + 3);
    if (m.two) {
      x[1].middleRows<3>(n.dof + 3).noalias() += m.C1.transpose() * theta;
      x[2].middleRows<3>(n.dof + 3).noalias() += m.C2.transpose() * theta;
    }
    if (!m.lags) continue;
    v[1].middleRows<3>(n.dof + 3) += m.alpha * scheme.lag[1] * theta;
    if (m.two) v[2].middleRows<3>(n.dof + 3).noalias() += m.G2.transpose() * theta;
  }
}

MatrixXd StepMap::rates_transposed(const MatrixXd& x, const MatrixXd& v) const {
  MatrixXd u(x.rows(), x.cols());
  for (const Node& n : *nodes_) {
    const double alpha = n.driven ? scheme_.plain().alpha : scheme_.alpha;
    u.middleRows<3>(n.dof) = alpha * x.middleRows<3>(n.dof) + v.middleRows<3>(n.dof);
    if (n.kind == NodeKind::point) continue;
    const Frame& m = frames_[n.frame];
    u.middleRows<3>(n.dof + 3).noalias() = m.alpha * (m.J.transpose() * x.middleRows<3>(n.dof + 3));
    u.middleRows<3>(n.dof + 3).noalias() +=
        (m.W + m.alpha * m.D).transpose() * v.middleRows<3>(n.dof + 3);
  }
  return u;
}

}  // namespace diffsim
