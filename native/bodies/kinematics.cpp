#include "kinematics.hpp"

#include <type_traits>

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

// f(number of rows at compile time, number of rows): of a node's rows that are no rotation's.
template <class F>
void with_straight_rows(const Node& n, F&& f) {
  if (n.has_place()) {
    f(std::integral_constant<int, 3>(), 3);
  } else if (n.kind == NodeKind::coordinates) {
    f(std::integral_constant<int, Eigen::Dynamic>(), n.count);
  }
}

}  // namespace

State make_state(const std::vector<Node>& nodes) {
  State s;
  const auto n = static_cast<Eigen::Index>(nodes.size());
  s.c.setZero(3, n);
  s.v.setZero(3, n);
  s.dc.setZero(3, n);
  std::size_t frames = 0;
  Eigen::Index coordinates = 0;
  for (const Node& node : nodes) {
    frames += node.turns();
    coordinates += node.count;
  }
  s.R.assign(frames, Matrix3d::Identity());
  s.w.assign(frames, Vector3d::Zero());
  s.theta.assign(frames, Vector3d::Zero());
  s.thetadot.assign(frames, Vector3d::Zero());
  for (VectorXd* x : {&s.q, &s.qdot, &s.dq}) x->setZero(coordinates);
  return s;
}

void advance(const std::vector<Node>& nodes, const Window& window, const VectorXd& u, State& out) {
  const TimeScheme &own = window.scheme, plain = own.plain();
  const State& prev = *window.at[1];
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node& n = nodes[i];
    if (n.dependent) continue;
    const TimeScheme& scheme = n.driven ? plain : own;
    if (n.kind == NodeKind::coordinates) {
      const auto rate = u.segment(n.dof, n.count);
      out.qdot.segment(n.first, n.count) = rate;
      out.dq.segment(n.first, n.count) =
          scheme.alpha * rate + scheme.carry * prev.dq.segment(n.first, n.count);
      for (int k = 1; scheme.lags() && k <= scheme.order; ++k) {
        out.dq.segment(n.first, n.count) +=
            scheme.alpha * scheme.lag[k] * window.at[k]->qdot.segment(n.first, n.count);
      }
      out.q.segment(n.first, n.count) =
          prev.q.segment(n.first, n.count) + out.dq.segment(n.first, n.count);
    }
    if (n.has_place()) {
      out.v.col(i) = u.segment<3>(n.dof);
      out.dc.col(i) = scheme.alpha * u.segment<3>(n.dof) + scheme.carry * prev.dc.col(i);
      if (scheme.lags()) {
        out.dc.col(i) += scheme.alpha * scheme.lag[1] * prev.v.col(i);
        if (window.at[2]) out.dc.col(i) += scheme.alpha * scheme.lag[2] * window.at[2]->v.col(i);
      }
      out.c.col(i) = prev.c.col(i) + out.dc.col(i);
    }
    if (!n.turns()) continue;
    const int f = n.frame;
    out.thetadot[f] = u.segment<3>(n.turn());
    out.theta[f] = scheme.alpha * out.thetadot[f] + scheme.carry * prev.theta[f];
    if (scheme.lags()) out.theta[f] += scheme.alpha * lagging_spin(window, f);
    const Matrix3d E = exp_rotation(out.theta[f]);
    out.R[f] = E * prev.R[f];
    out.w[f] = (scheme.lags() ? E : left_jacobian(out.theta[f])) * out.thetadot[f];
  }
}

void rates(const std::vector<Node>& nodes, const State& s, VectorXd& u) {
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    const Node& n = nodes[i];
    if (n.dependent) {
      u.segment(n.dof, n.size()).setZero();
      continue;
    }
    if (n.kind == NodeKind::coordinates) {
      u.segment(n.dof, n.count) = s.qdot.segment(n.first, n.count);
    }
    if (n.has_place()) u.segment<3>(n.dof) = s.v.col(i);
    // In the chart centred at this very state, theta_dot = omega.
    if (n.turns()) u.segment<3>(n.turn()) = s.w[n.frame];
  }
}

StepMap::StepMap(const std::vector<Node>& nodes, const Window& window)
    : nodes_(&nodes), scheme_(window.scheme) {
  const State &now = window.now(), &prev = *window.at[1];
  const TimeScheme plain = scheme_.plain();
  frames_.resize(now.theta.size());
  for (const Node& n : nodes) {
    if (!n.turns() || n.dependent) continue;
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
    const int rows = P.size[P.row[b]];
    if (!n.turns() || P.size[P.col[b]] == 0 || rows == 0) continue;
    const Frame& m = frames_[n.frame];
    const int turn = rows * (n.turn() - n.dof);  // where its columns begin
    if (m.alpha != scheme_.alpha) {
      const auto places = [&](const BlockMatrix& M) { return VectorXd::Map(M.block(b), 3 * rows); };
      VectorXd::Map(A.block(b), 3 * rows) = m.alpha * places(K) + places(B);
    }
    using Columns = Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, 3>>;
    const Columns k(K.block(b) + turn, rows, 3), d(B.block(b) + turn, rows, 3);
    Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, 3>> a(A.block(b) + turn, rows, 3);
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
    if (n.dependent) continue;
    const TimeScheme& scheme = n.driven ? plain : scheme_;
    with_straight_rows(n, [&](auto fixed, int rows) {
      constexpr int N = decltype(fixed)::value;
      auto h = Hx.middleRows<N>(n.dof, rows);
      h = x[1].middleRows<N>(n.dof, rows);
      if (scheme.carry != 0) {
        h += scheme.carry * (x[1].middleRows<N>(n.dof, rows) - x[2].middleRows<N>(n.dof, rows));
      }
      for (int k = 1; scheme.lags() && k <= scheme.order; ++k) {
        h += scheme.alpha * scheme.lag[k] * v[k].middleRows<N>(n.dof, rows);
      }
    });
    if (!n.turns()) continue;
    const int turn = n.turn();
    const Frame& m = frames_[n.frame];
    const auto psi1 = x[1].middleRows<3>(turn);
    Hx.middleRows<3>(turn).noalias() = m.E * psi1;
    if (!m.two && !m.lags) continue;
    MatrixXd theta;
    if (m.two) theta = m.C1 * psi1 + m.C2 * x[2].middleRows<3>(turn);
    if (m.lags) {
      if (!m.two) theta.setZero(3, x[1].cols());
      theta += m.alpha * scheme.lag[1] * v[1].middleRows<3>(turn);
      if (m.two) theta += m.G2 * v[2].middleRows<3>(turn);
    }
    Hx.middleRows<3>(turn).noalias() += m.J * theta;
    Hv.middleRows<3>(turn).noalias() = m.D * theta;
  }
}

void StepMap::add_rates(const MatrixXd& U, MatrixXd& x, MatrixXd& v) const {
  for (const Node& n : *nodes_) {
    if (n.dependent) continue;
    const double alpha = n.driven ? scheme_.plain().alpha : scheme_.alpha;
    with_straight_rows(n, [&](auto fixed, int rows) {
      constexpr int N = decltype(fixed)::value;
      x.middleRows<N>(n.dof, rows) += alpha * U.middleRows<N>(n.dof, rows);
      v.middleRows<N>(n.dof, rows) += U.middleRows<N>(n.dof, rows);
    });
    if (!n.turns()) continue;
    const Frame& m = frames_[n.frame];
    const auto ut = U.middleRows<3>(n.turn());
    x.middleRows<3>(n.turn()).noalias() += m.alpha * m.J * ut;
    v.middleRows<3>(n.turn()).noalias() += (m.W + m.alpha * m.D) * ut;
  }
}

void StepMap::history_transposed(MatrixXd* x, MatrixXd* v) const {
  const TimeScheme plain = scheme_.plain();
  for (const Node& n : *nodes_) {
    if (n.dependent) continue;
    const TimeScheme& scheme = n.driven ? plain : scheme_;
    with_straight_rows(n, [&](auto fixed, int rows) {
      constexpr int N = decltype(fixed)::value;
      const auto h = x[0].middleRows<N>(n.dof, rows);
      x[1].middleRows<N>(n.dof, rows) += (1 + scheme.carry) * h;
      if (scheme.carry != 0) x[2].middleRows<N>(n.dof, rows) -= scheme.carry * h;
      for (int k = 1; scheme.lags() && k <= scheme.order; ++k) {
        v[k].middleRows<N>(n.dof, rows) += scheme.alpha * scheme.lag[k] * h;
      }
    });
    if (!n.turns()) continue;
    const int turn = n.turn();
    const Frame& m = frames_[n.frame];
    const auto hp = x[0].middleRows<3>(turn);
    x[1].middleRows<3>(turn).noalias() += m.E.transpose() * hp;
    if (!m.two && !m.lags) continue;
    const MatrixXd theta = m.J.transpose() * hp + m.D.transpose() * v[0].middleRows<3>(turn);
    if (m.two) {
      x[1].middleRows<3>(turn).noalias() += m.C1.transpose() * theta;
      x[2].middleRows<3>(turn).noalias() += m.C2.transpose() * theta;
    }
    if (!m.lags) continue;
    v[1].middleRows<3>(turn) += m.alpha * scheme.lag[1] * theta;
    if (m.two) v[2].middleRows<3>(turn).noalias() += m.G2.transpose() * theta;
  }
}

MatrixXd StepMap::rates_transposed(const MatrixXd& x, const MatrixXd& v) const {
  MatrixXd u(x.rows(), x.cols());
  for (const Node& n : *nodes_) {
    if (n.dependent) {
      u.middleRows(n.dof, n.size()).setZero();
      continue;
    }
    const double alpha = n.driven ? scheme_.plain().alpha : scheme_.alpha;
    with_straight_rows(n, [&](auto fixed, int rows) {
      constexpr int N = decltype(fixed)::value;
      u.middleRows<N>(n.dof, rows) =
          alpha * x.middleRows<N>(n.dof, rows) + v.middleRows<N>(n.dof, rows);
    });
    if (!n.turns()) continue;
    const int turn = n.turn();
    const Frame& m = frames_[n.frame];
    u.middleRows<3>(turn).noalias() = m.alpha * (m.J.transpose() * x.middleRows<3>(turn));
    u.middleRows<3>(turn).noalias() += (m.W + m.alpha * m.D).transpose() * v.middleRows<3>(turn);
  }
  return u;
}

}  // namespace diffsim
