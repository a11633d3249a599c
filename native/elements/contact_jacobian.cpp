// Derivatives of contact forces by both nodes' poses and velocities and by parameters.
//
// Seen from the obstacle only two motions count, both without what a common rotation does:
//   xi   = dx - dc_b - dpsi_b x sigma          (the point's way through the obstacle's frame)
//   zeta = dw - dpsi_b x w                     (the relative velocity's change in that frame)
// With dn = kappa xi, dd = -n . xi and so on, df = F_x xi + F_w zeta + dpsi_b x f.
#include "contact.hpp"
#include "contact_touch.hpp"

namespace diffsim {

/// One end: where the force acts on it and how f and both levers to x_c move with it.
struct Contact::End {
  int node;
  bool frame;
  double sign;            // of f on it
  Vector3d lever;         // to x_c
  Matrix36 f_x, f_v;      // df by the node's (c, psi), (v, omega)
  Matrix36 arm_a, arm_b;  // d rho_c, d sigma_c by (c, psi)
  const Matrix36& arm(const End& column) const { return sign > 0 ? column.arm_a : column.arm_b; }
};

namespace {

struct ForceSlope {
  Matrix3d x, w;  // F_x, F_w
};

// block -= sign (top; bottom): the derivative of -(force; torque).
void subtract(BlockMatrix& M, int block, bool frame_row, bool frame_column, double sign,
              const Matrix36& top, const Matrix36& bottom) {
  const int rows = frame_row ? 6 : 3, columns = frame_column ? 6 : 3;
  Eigen::Map<MatrixXd> b(M.block(block), rows, columns);
  b.topRows<3>() -= sign * top.leftCols(columns);
  if (frame_row) b.bottomRows<3>() -= sign * bottom.leftCols(columns);
}

}  // namespace

std::vector<std::pair<int, int>> Contact::couplings() const {
  std::vector<std::pair<int, int>> pairs;
  if (carrier_.node < 0) return pairs;
  for (int node : points_->node) {
    if (node >= 0) pairs.emplace_back(node, carrier_.node);
  }
  return pairs;
}

void Contact::bind(const BlockPattern& pattern, const BlockPattern&) {
  blocks_.clear();
  if (carrier_.node < 0) return;
  for (int node : points_->node) {
    blocks_.emplace_back(node < 0 ? -1 : pattern.index(node, carrier_.node),
                         node < 0 ? -1 : pattern.index(carrier_.node, node));
  }
}

static ForceSlope slope_of(const Vector3d& n, const Matrix3d& kappa, const Vector3d& w, double rate,
                           const Vector3d& v_t, const NormalForce& normal,
                           const FrictionSlope& slope, double by_fn) {
  // dd = -n.xi, dn = kappa xi, d' = -n.w  =>  d d' = -n.zeta - w.kappa xi
  const Eigen::RowVector3d rate_x = -w.transpose() * kappa;
  const Eigen::RowVector3d fn_x = -normal.by_d * n.transpose() + normal.by_rate * rate_x;
  const Eigen::RowVector3d fn_w = -normal.by_rate * n.transpose();
  // v_t = w - n (n.w)  =>  dv_t = T zeta + n d d' (its xi part) - (n.w) dn
  const Matrix3d vt_x = n * rate_x + rate * kappa;
  const Matrix3d T = Matrix3d::Identity() - n * n.transpose();
  // df_t = -s dv_t - v_t (by_speed v_t.dv_t + by_fn df_n)
  const Matrix3d S = -slope.s * Matrix3d::Identity() - slope.by_speed * v_t * v_t.transpose();
  const Vector3d along = n - by_fn * v_t;  // df/df_n
  return {along * fn_x + normal.f * kappa + S * vt_x, along * fn_w + S * T};
}

void Contact::add_jacobian(const Touch& t, const Assembly& out) const {
  const Vector3d& n = t.sdf.n;
  const ForceSlope F = slope_of(n, t.sdf.kappa, t.w, t.rate, t.v_t, t.normal, t.slope, t.by_fn);
  if (carrier_.node < 0 && !t.frame) {  // a free node against a fixed obstacle: xi = dx, zeta = dv
    Eigen::Map<Matrix3d>(out.K->block(t.node)) -= F.x;
    Eigen::Map<Matrix3d>(out.B->block(t.node)) -= F.w;
    return;
  }
  const Matrix3d Wa = skew(t.omega_a), Wb = skew(t.omega_b);
  const Matrix3d rk = t.reach * t.sdf.kappa, P = Matrix3d::Identity() - rk;
  // zeta holds -(r omega_a x kappa + omega_b x P) xi, through the levers
  const Matrix3d Fx = F.x - F.w * (Wa * rk + Wb * P);
  const Matrix3d rho = skew(t.rho);
  End a{t.node, t.frame, 1, t.rho_c, {}, {}, {}, {}};
  a.f_x << Fx, -(Fx + F.w * Wa) * rho;
  a.f_v << F.w, -F.w * skew(t.rho_c);
  a.arm_a << -rk, -P * rho;
  a.arm_b << P, -P * rho;
  // diagonal blocks come first in the pattern
  if (t.node >= 0) add_blocks(t, a, a, t.node, out);
  if (carrier_.node < 0) return;
  const Matrix3d sigma = skew(t.sigma), sigma_c = skew(t.sigma_c), rn = t.reach * skew(n);
  End b{carrier_.node, true, -1, t.sigma_c, {}, {}, {}, {}};
  b.f_x << -Fx, Fx * sigma + F.w * (Wa * rn + Wb * sigma_c + skew(t.w)) - skew(t.f);
  b.f_v << -F.w, F.w * sigma_c;
  b.arm_a << rk, -rk * sigma + rn;
  b.arm_b << -P, P * sigma - sigma_c;
  add_blocks(t, b, b, carrier_.node, out);
  if (t.node < 0) return;
  add_blocks(t, a, b, blocks_[t.point].first, out);
  add_blocks(t, b, a, blocks_[t.point].second, out);
}

void Contact::add_blocks(const Touch& t, const End& row, const End& column, int block,
                         const Assembly& out) const {
  Matrix36 turn_x, turn_v;  // d(lever x f)
  if (row.frame) {
    const Matrix3d lever = skew(row.lever);
    turn_x = lever * column.f_x - skew(t.f) * row.arm(column);
    turn_v = lever * column.f_v;
  }
  subtract(*out.K, block, row.frame, column.frame, row.sign, column.f_x, turn_x);
  subtract(*out.B, block, row.frame, column.frame, row.sign, column.f_v, turn_v);
}

void Contact::add_columns(const Touch& t, const State& s, ParameterColumns& out) const {
  const double weight = weights_[t.point];
  const Vector3d along = t.sdf.n - t.by_fn * t.v_t;
  const double damping_weight = params_.law == Damping::continuous ? 1 : weight;
  const std::pair<int, Vector3d> own[] = {
      {params_.k_n, weight * t.normal.by_k * along},
      {params_.damping, damping_weight * t.normal.by_damping * along},
      {params_.d_0, t.normal.by_d_0 * along},
      {params_.k_t, -weight * t.slope.by_kt * t.v_t},
      {params_.c_f, -t.slope.by_limit * t.limit.by_cf * t.v_t},
      {params_.c_s, -t.slope.by_limit * t.limit.by_cs * t.v_t},
      {params_.f_0, -t.slope.by_limit * t.limit.by_f0 * t.v_t}};
  for (const auto& [parameter, df] : own) {
    const int c = out.column(parameter);
    if (c >= 0) add_column(t, df, Vector3d::Zero(), Vector3d::Zero(), c, out);
  }
  if (const int c = out.column(points_->p_scale); c >= 0) {
    add_shape_column(t, points_->lever_by_scale(t.point, s), 0, c, out);
  }
  if (const int c = out.column(points_->p_radius); c >= 0) {
    add_shape_column(t, points_->lever_by_radius(t.point, s), 1, c, out);
  }
}

void Contact::add_column(const Touch& t, const Vector3d& df, const Vector3d& drho_c,
                         const Vector3d& dsigma_c, int column, ParameterColumns& out) const {
  add_force_column(*points_, t.point, t.f, df, t.rho_c, drho_c, column, out);
  if (carrier_.node < 0) return;
  auto values = out.values.col(column);
  const int dof = carrier_.dof;
  values.segment<3>(dof) += df;
  values.segment<3>(dof + 3) += t.sigma_c.cross(df) + dsigma_c.cross(t.f);
}

void Contact::add_shape_column(const Touch& t, const Vector3d& drho, double dradius, int column,
                               ParameterColumns& out) const {
  const Vector3d& n = t.sdf.n;
  const Vector3d dn = t.sdf.kappa * drho;
  const double dd = dradius - n.dot(drho);
  const Vector3d dx_c = drho - t.reach * dn - (t.node < 0 || t.frame ? dradius : 0.) * n;
  const Vector3d dw = (t.omega_a - t.omega_b).cross(dx_c);
  const double drate = -n.dot(dw) - t.w.dot(dn);
  const double dfn = t.normal.by_d * dd + t.normal.by_rate * drate;
  const Vector3d dvt = dw + drate * n + t.rate * dn;
  const double dslope = t.slope.by_speed * t.v_t.dot(dvt) + t.by_fn * dfn;
  const Vector3d df = dfn * n + t.normal.f * dn - t.slope.s * dvt - dslope * t.v_t;
  add_column(t, df, dx_c, dx_c, column, out);
}

}  // namespace diffsim
