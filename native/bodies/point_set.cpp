#include "point_set.hpp"

namespace diffsim {

Vector3d PointSet::lever(int i, const State& s, const VectorXd& p) const {
  const Vector3d place = p[p_scale] * local.col(i) + p[p_radius] * inset.col(i);
  if (node[i] < 0) return place;
  const Node& n = nodes[node[i]];
  return n.kind == NodeKind::frame ? Vector3d(s.R[n.frame] * place) : Vector3d::Zero();
}

Vector3d PointSet::position(int i, const State& s, const VectorXd& p) const {
  const Vector3d rho = lever(i, s, p);
  return node[i] < 0 ? rho : Vector3d(s.c.col(node[i]) + rho);
}

Vector3d PointSet::velocity(int i, const State& s, const Vector3d& lever) const {
  if (node[i] < 0) return Vector3d::Zero();
  const Node& n = nodes[node[i]];
  if (n.kind == NodeKind::point) return s.v.col(node[i]);
  return s.v.col(node[i]) + s.w[n.frame].cross(lever);
}

Vector3d PointSet::acceleration(int i, const State& s, const Vector3d& lever, const Vector3d& a,
                                const Vector3d& alpha) const {
  if (!on_frame(i)) return node[i] < 0 ? Vector3d::Zero() : a;
  const Vector3d& w = s.w[nodes[node[i]].frame];
  return a + alpha.cross(lever) + w.cross(w.cross(lever));
}

Vector3d PointSet::lever_by_scale(int i, const State& s) const {
  if (node[i] < 0) return local.col(i);
  return on_frame(i) ? Vector3d(s.R[nodes[node[i]].frame] * local.col(i)) : Vector3d::Zero();
}

Vector3d PointSet::lever_by_radius(int i, const State& s) const {
  if (node[i] < 0) return inset.col(i);
  return on_frame(i) ? Vector3d(s.R[nodes[node[i]].frame] * inset.col(i)) : Vector3d::Zero();
}

PointJacobian point_jacobian(const PointSet& set, int i, const State& s, const Vector3d& rho,
                             const Vector3d& rho_c, const Matrix3d& lever_slope) {
  PointJacobian J;
  J.X.leftCols<3>().setIdentity();
  J.W.leftCols<3>().setIdentity();
  if (!set.on_frame(i)) {  // right halves are never read
    J.G.setZero();
    J.Q.setZero();
    return J;
  }
  const Matrix3d hat = skew(rho);
  J.X.rightCols<3>() = -hat;
  J.W.rightCols<3>() = -skew(rho_c);
  J.G.leftCols<3>() = lever_slope;
  J.G.rightCols<3>() = -hat - lever_slope * hat;
  J.Q = skew(s.w[set.nodes[set.node[i]].frame]) * J.G;
  return J;
}

void add_force(const PointSet& set, int i, const Vector3d& f, const Vector3d& rho_c, VectorXd& r) {
  if (set.node[i] < 0) return;
  r.segment<3>(set.dof(i)) -= f;
  if (set.on_frame(i)) r.segment<3>(set.dof(i) + 3) -= rho_c.cross(f);
}

namespace {

template <int R, int C>
void subtract(BlockMatrix& M, int block, const Matrix36& top, const Matrix3d& lever) {
  Eigen::Map<Eigen::Matrix<double, R, C>> b(M.block(block));
  b.template topRows<3>() -= top.leftCols<C>();
  if constexpr (R == 6) b.template bottomRows<3>().noalias() -= lever * top.leftCols<C>();
}

void subtract_rows(BlockMatrix& M, int block, bool frame_row, bool frame_col, const Matrix36& top,
                   const Matrix3d& lever) {
  if (frame_row && frame_col) return subtract<6, 6>(M, block, top, lever);
  if (frame_row) return subtract<6, 3>(M, block, top, lever);
  if (frame_col) return subtract<3, 6>(M, block, top, lever);
  subtract<3, 3>(M, block, top, lever);
}

}  // namespace

void add_force_jacobian(const PointSet& rows, int i, const Vector3d& rho_c, const PointSet& cols,
                        int j, const PointJacobian& Jj, const Matrix3d& F_x, const Matrix3d& F_w,
                        int block, const Assembly& out) {
  const bool frame_row = rows.on_frame(i), frame_col = cols.on_frame(j);
  const Matrix3d lever = frame_row ? skew(rho_c) : Matrix3d::Zero();
  Matrix36 x, w;
  if (frame_col) {
    x.noalias() = F_x * Jj.X + F_w * Jj.Q;
    w.noalias() = F_w * Jj.W;
  } else {
    x.leftCols<3>() = F_x;
    w.leftCols<3>() = F_w;
  }
  subtract_rows(*out.K, block, frame_row, frame_col, x, lever);
  subtract_rows(*out.B, block, frame_row, frame_col, w, lever);
}

void add_lever_jacobian(const PointSet& set, int i, const PointJacobian& J, const Vector3d& f,
                        int block, const Assembly& out) {
  if (!set.on_frame(i)) return;
  // tau = rho_c x f, so d tau = -f x d rho_c and the residual's part is +f x d rho_c.
  Eigen::Map<Matrix6>(out.K->block(block)).bottomRows<3>().noalias() += skew(f) * J.G;
}

void add_force_column(const PointSet& set, int i, const Vector3d& f, const Vector3d& df,
                      const Vector3d& rho_c, const Vector3d& drho_c, int column,
                      ParameterColumns& out) {
  if (set.node[i] < 0) return;
  auto values = out.values.col(column);
  values.segment<3>(set.dof(i)) -= df;
  if (set.on_frame(i)) {
    values.segment<3>(set.dof(i) + 3) -= rho_c.cross(df) + drho_c.cross(f);
  }
}

}  // namespace diffsim
