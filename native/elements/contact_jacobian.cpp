// Derivatives of contact forces by both nodes' poses and velocities and by parameters.
//
// Seen from the obstacle only three motions count, all without what a common rotation does:
//   xi    = dx - dc_b - dpsi_b x sigma      (the point's displacement in the obstacle's frame)
//   zeta  = dw - dpsi_b x w                 (the relative velocity's change in that frame)
//   theta = dOmega - dpsi_b x Omega         (likewise of the relative angular velocity)
// With dn = kappa xi, dd = -n . xi and so on, df = F_x xi + F_w zeta + dpsi_b x f.
#include "contact.hpp"
#include "contact_touch.hpp"

namespace diffsim {

/// df or d tau by xi, zeta, theta.
struct Contact::Slope {
  Matrix3d x, w, o;
};

/// One end: where the force acts on it, and how f, tau and both moment arms to x_c move with it.
struct Contact::End {
  int node;
  bool frame;
  double sign;            // of f on it
  Vector3d moment_arm;    // to x_c
  Matrix36 f_x, f_v;      // df by the node's (c, psi), (v, omega)
  Matrix36 tau_x, tau_v;  // d tau likewise, where there is a rolling torque
  Matrix36 arm_a, arm_b;  // d rho_c, d sigma_c by (c, psi)
  const Matrix36& arm_by(const End& column) const { return sign > 0 ? column.arm_a : column.arm_b; }
};

namespace {

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

void Contact::bind(const BlockPattern& pattern, const BlockPattern& past) {
  blocks_.clear();
  past_blocks_.clear();
  if (carrier_.node < 0) return;
  const auto find = [&](const BlockPattern& in, int node) {
    return node < 0 ? std::pair{-1, -1}
                    : std::pair{in.index(node, carrier_.node), in.index(carrier_.node, node)};
  };
  for (int node : points_->node) {
    blocks_.push_back(find(pattern, node));
    if (looks_back()) past_blocks_.push_back(find(past, node));
  }
}

/// d f_n = fn_x xi + fn_w zeta, likewise the load, d v_t = vt_x xi + vt_w zeta, d d' = rate_x xi -
/// n . zeta.
struct Contact::Motion {
  Eigen::RowVector3d rate_x, fn_x, fn_w, load_x, load_w;
  Matrix3d vt_x, vt_w;
};

Contact::Motion Contact::motion(const Touch& t) {
  const Vector3d& n = t.sdf.n;
  Motion by;
  // dd = -n.xi, dn = kappa xi, d' = -n.w  =>  d d' = -n.zeta - w.kappa xi
  by.rate_x = -t.w.transpose() * t.sdf.kappa;
  by.fn_x = -t.normal.by_d * n.transpose() + t.normal.by_rate * by.rate_x;
  by.fn_w = -t.normal.by_rate * n.transpose();
  by.load_x = -t.load.by_d * n.transpose() + t.load.by_rate * by.rate_x;
  by.load_w = -t.load.by_rate * n.transpose();
  // v_t = w - m (m.w)  =>  dv_t = T zeta - m (w.dm) - (m.w) dm
  by.vt_x = -t.m * (t.w.transpose() * t.m_x) - t.m.dot(t.w) * t.m_x;
  by.vt_w = Matrix3d::Identity() - t.m * t.m.transpose();
  return by;
}

Contact::Slope Contact::slope(const Touch& t, const RollingSlope* rolling, Slope* torque) {
  const Vector3d& n = t.sdf.n;
  const Motion by = motion(t);
  if (rolling) {
    *torque = {rolling->by_n * t.m_x + rolling->by_fn * by.fn_x, rolling->by_fn * by.fn_w,
               rolling->by_omega};
  }
  // df_t = -s dv_t - v_t (by_speed v_t.dv_t + by_fn dload + by_d dd + by_rate dd')
  const Matrix3d S =
      -t.slope.s * Matrix3d::Identity() - t.slope.by_speed * t.v_t * t.v_t.transpose();
  const Vector3d grip = t.by_fn * t.v_t;
  Slope force{n * by.fn_x - grip * by.load_x + t.normal.f * t.sdf.kappa + S * by.vt_x,
              n * by.fn_w - grip * by.load_w + S * by.vt_w, Matrix3d::Zero()};
  if (t.by_d != 0 || t.by_rate != 0) {
    force.x -= t.v_t * (-t.by_d * n.transpose() + t.by_rate * by.rate_x);
    force.w += t.by_rate * t.v_t * n.transpose();
  }
  return force;
}

Contact::Slope Contact::pull_slope(const Touch& t, double by_pull, double by_limit) {
  const Motion by = motion(t);
  const double speed = t.v_t.norm();
  const Vector3d direction = speed > 0 ? Vector3d(t.v_t / speed) : Vector3d::Zero();
  Slope q{Matrix3d::Zero(), Matrix3d::Zero(), Matrix3d::Zero()};
  const Eigen::RowVector3d by_vt = by_pull * t.k_t * direction.transpose();
  q.x.row(0) = by_vt * by.vt_x + by_limit * t.limit.by_fn * by.load_x;
  q.w.row(0) = by_vt * by.vt_w + by_limit * t.limit.by_fn * by.load_w;
  return q;
}

// x_c moves by (1 - lag) xi in the obstacle's frame: x_c = x - r n, or x - g n.
Matrix3d Contact::lag(const Touch& t) const {
  Matrix3d lag = t.offset * t.sdf.kappa;
  const bool turns = t.frame || t.node < 0;
  if (turns && at_surface()) lag += t.sdf.n * t.sdf.n.transpose();
  return lag;
}

void Contact::move(const Touch& t, Slope d, const Vector3d& value, Matrix36 End::* by_x,
                   Matrix36 End::* by_v, End& a, End& b) const {
  const Matrix3d Wa = skew(t.omega_a), Wb = skew(t.omega_b), rho = skew(t.rho);
  // zeta holds -(omega_a x lag + omega_b x (1 - lag)) xi, through the moment arms
  const Matrix3d lag = this->lag(t);
  d.x -= d.w * (Wa * lag + Wb * (Matrix3d::Identity() - lag));
  a.*by_x << d.x, -(d.x + d.w * Wa) * rho;
  a.*by_v << d.w, d.o - d.w * skew(t.rho_c);
  if (carrier_.node < 0) return;
  const Matrix3d sigma = skew(t.sigma), sigma_c = skew(t.sigma_c), rn = t.offset * skew(t.sdf.n);
  b.*by_x << -d.x, d.x * sigma + d.w * (Wa * rn + Wb * sigma_c + skew(t.w)) +
                       d.o * skew(t.omega_a - t.omega_b) - skew(value);
  b.*by_v << -d.w, d.w * sigma_c - d.o;
}

void Contact::add_jacobian(const Touch& t, const VectorXd& p, const Blocks& blocks, BlockMatrix& K,
                           BlockMatrix& B) const {
  RollingSlope rolling;
  if (rolls(t)) rolling = rolling_slope(law_at(law_, p, weights_[t.point]), t.rolling, t.m);
  Slope torque;
  const Slope force = slope(t, rolls(t) ? &rolling : nullptr, &torque);
  if (carrier_.node < 0 && !t.frame) {  // a free node, a fixed obstacle: xi = dx, zeta = dv
    Eigen::Map<Matrix3d>(K.block(t.node)) -= force.x;
    Eigen::Map<Matrix3d>(B.block(t.node)) -= force.w;
    return;
  }
  End a{t.node, t.frame, 1, t.rho_c, {}, {}, {}, {}, {}, {}};
  End b{carrier_.node, true, -1, t.sigma_c, {}, {}, {}, {}, {}, {}};
  move(t, force, t.f, &End::f_x, &End::f_v, a, b);
  if (rolls(t)) move(t, torque, t.rolling.tau, &End::tau_x, &End::tau_v, a, b);
  const Matrix3d lag = this->lag(t), P = Matrix3d::Identity() - lag, rho = skew(t.rho);
  a.arm_a << -lag, -P * rho;
  a.arm_b << P, -P * rho;
  // diagonal blocks come first in the pattern
  if (t.node >= 0) add_blocks(t, a, a, t.node, K, B);
  if (carrier_.node < 0) return;
  const Matrix3d sigma = skew(t.sigma);
  b.arm_a << lag, t.offset * skew(t.sdf.n) - lag * sigma;
  b.arm_b << -P, P * sigma - skew(t.sigma_c);
  add_blocks(t, b, b, carrier_.node, K, B);
  if (t.node < 0) return;
  add_blocks(t, a, b, blocks[t.point].first, K, B);
  add_blocks(t, b, a, blocks[t.point].second, K, B);
}

void Contact::add_blocks(const Touch& t, const End& row, const End& column, int block,
                         BlockMatrix& K, BlockMatrix& B) const {
  Matrix36 turn_x, turn_v;  // d(arm x f + tau)
  if (row.frame) {
    const Matrix3d arm = skew(row.moment_arm);
    turn_x = arm * column.f_x - skew(t.f) * row.arm_by(column);
    turn_v = arm * column.f_v;
    if (rolls(t)) {
      turn_x += column.tau_x;
      turn_v += column.tau_v;
    }
  }
  subtract(K, block, row.frame, column.frame, row.sign, column.f_x, turn_x);
  subtract(B, block, row.frame, column.frame, row.sign, column.f_v, turn_v);
}

void Contact::add_columns(const Touch& t, const Window& window, const VectorXd& p,
                          ParameterColumns& out) const {
  const State *s = window.at[0], *other = window.at[1];
  if (t.left) std::swap(s, other);
  const bool open = t.open_at_one_end();
  const double weight = weights_[t.point];
  const Vector3d zero = Vector3d::Zero();
  RollingSlope rolling{Matrix3d::Zero(), Matrix3d::Zero(), zero};
  if (rolls(t)) rolling = rolling_slope(law_at(law_, p, weight), t.rolling, t.m);
  auto add = [&](int parameter, double dfn, const Vector3d& df_t, const Vector3d& dtau) {
    const int c = out.column(parameter);
    if (c < 0) return;
    add_column(t, dfn * t.sdf.n + df_t, dfn * rolling.by_fn + dtau, zero, c, out);
  };
  const bool both = t.by_sampled != 0;  // friction by the sampled force too
  const auto add_normal = [&](int parameter, double share, double NormalForce::* by) {
    const double more = both ? t.by_sampled * t.sampled_limit.by_fn * t.sampled.*by : 0;
    add(parameter, share * t.normal.*by, -share * (t.by_fn * t.load.*by + more) * t.v_t, zero);
  };
  const auto add_limit = [&](int parameter, double FrictionLimit::* by) {
    const double more = both ? t.by_sampled * t.sampled_limit.*by : 0;
    add(parameter, 0, -(t.slope.by_limit * t.limit.*by + more) * t.v_t, zero);
  };
  add_normal(law_.k_n, weight, &NormalForce::by_k_n);
  add_normal(law_.c_n, 1, &NormalForce::by_c_n);
  add_normal(law_.k_d, weight, &NormalForce::by_k_d);
  add_normal(law_.d_0, 1, &NormalForce::by_d_0);
  add(law_.k_t, 0, -weight * t.slope.by_kt * t.v_t, zero);
  add_limit(law_.c_f, &FrictionLimit::by_cf);
  add_limit(law_.c_s, &FrictionLimit::by_cs);
  add_limit(law_.f_0, &FrictionLimit::by_f0);
  if (rolls(t)) {
    const FrictionSlope &roll = t.rolling.rolling, &spin = t.rolling.spinning;
    const Vector3d spun = t.rolling.spin * t.m;
    add(law_.c_roll, 0, zero, -t.normal.f * roll.by_limit * t.rolling.roll);
    add(law_.c_spin, 0, zero, -t.normal.f * spin.by_limit * spun);
    add(law_.k_roll, 0, zero, -weight * (roll.by_kt * t.rolling.roll + spin.by_kt * spun));
  }
  if (t.past) add_past_columns(t, *window.at[1], p, out);
  if (const int c = out.column(points_->p_scale); c >= 0) {
    const double before = open ? t.n_before.dot(points_->arm_by_scale(t.point, *other)) : 0;
    add_shape_column(t, rolling, {points_->arm_by_scale(t.point, *s), 0, before}, c, out);
  }
  if (const int c = out.column(points_->p_radius); c >= 0) {
    const double before = open ? t.n_before.dot(points_->arm_by_radius(t.point, *other)) - 1 : 0;
    add_shape_column(t, rolling, {points_->arm_by_radius(t.point, *s), 1, before}, c, out);
  }
  if (!sizes_wanted(out)) return;
  const std::vector<SizeSlope> here = surface_slopes(t.point, *s, p);
  std::vector<SizeSlope> there(here.size());
  if (open) there = surface_slopes(t.point, *other, p);
  for (int k = 0; k < surface_.count; ++k) {
    if (const int c = out.column(surface_.first + k); c >= 0) {
      add_shape_column(t, rolling, {zero, 0, there[k].g, here[k]}, c, out);
    }
  }
}

bool Contact::sizes_wanted(const ParameterColumns& out) const {
  for (int k = 0; k < surface_.count; ++k) {
    if (out.column(surface_.first + k) >= 0) return true;
  }
  return false;
}

// With y = x/s: dg/ds = g_sdf(y) - n.y, dn/ds = -kappa_sdf(y) y/s; by a size s dg_sdf and dn_sdf.
std::vector<SizeSlope> Contact::surface_slopes(int i, const State& s, const VectorXd& p) const {
  const double scale = surface_scale(p);
  const Vector3d y = in_frame_of_sdf(s, points_->position(i, s, p)) / scale;
  std::vector<SizeSlope> by(surface_.count);
  const SdfSample at = sdf_->slopes(y, surface_sizes(p), by.data() + 2);
  by[0] = {-1, Vector3d::Zero()};
  by[1] = {at.g - at.n.dot(y), -at.kappa * y / scale};
  for (int k = 2; k < surface_.count; ++k) by[k].g *= scale;
  if (carrier_.node < 0) return by;
  for (SizeSlope& slope : by) slope.n = s.R[carrier_.frame] * slope.n;
  return by;
}

void Contact::add_column(const Touch& t, const Vector3d& df, const Vector3d& dtau,
                         const Vector3d& dx_c, int column, ParameterColumns& out) const {
  add_force_column(*points_, t.point, t.f, df, t.rho_c, dx_c, column, out);
  if (t.frame && rolls(t)) out.add(points_->dof(t.point) + 3, column, -dtau);
  if (carrier_.node < 0) return;
  out.add(carrier_.dof, column, df);
  out.add(carrier_.dof + 3, column, t.sigma_c.cross(df) + dx_c.cross(t.f) + dtau);
}

Contact::ShapeMotion Contact::shape_motion(const Touch& t, const ShapeSlope& by) const {
  const auto& [drho, dradius, dbefore, surface] = by;
  const Vector3d& n = t.sdf.n;
  const double dd = dradius - n.dot(drho) - surface.g;
  ShapeMotion to;
  to.dn = t.sdf.kappa * drho + surface.n;
  to.dx_c = drho - lag(t) * drho - t.offset * surface.n;
  if (t.node < 0 || t.frame) to.dx_c -= (at_surface() ? surface.g : dradius) * n;
  const Vector3d dw = (t.omega_a - t.omega_b).cross(to.dx_c);
  const double drate = -n.dot(dw) - t.w.dot(to.dn);
  to.dfn = t.normal.by_d * dd + t.normal.by_rate * drate + t.normal.by_before * dbefore;
  const double dload = t.load.by_d * dd + t.load.by_rate * drate + t.load.by_before * dbefore;
  to.dslope = t.by_fn * dload + t.by_d * dd + t.by_rate * drate + t.by_before * dbefore;
  to.dm = t.m_x * drho + (surface.n - t.m.dot(surface.n) * t.m) / n.norm();
  to.dvt = dw - (t.m.dot(dw) + t.w.dot(to.dm)) * t.m - t.m.dot(t.w) * to.dm;
  return to;
}

void Contact::add_shape_column(const Touch& t, const RollingSlope& rolling, const ShapeSlope& by,
                               int column, ParameterColumns& out) const {
  const ShapeMotion to = shape_motion(t, by);
  const double dslope = t.slope.by_speed * t.v_t.dot(to.dvt) + to.dslope;
  const Vector3d df = to.dfn * t.sdf.n + t.normal.f * to.dn - t.slope.s * to.dvt - dslope * t.v_t;
  add_column(t, df, rolling.by_n * to.dm + rolling.by_fn * to.dfn, to.dx_c, column, out);
}

void Contact::add_past_columns(const Touch& t, const State& past, const VectorXd& p,
                               ParameterColumns& out) const {
  const Touch& q = *t.past;
  const double weight = weights_[t.point], speed = q.v_t.norm();
  const Vector3d zero = Vector3d::Zero();
  const auto add = [&](int parameter, double dpull, double dlimit) {
    const int c = out.column(parameter);
    const double dslope = t.by_past_pull * dpull + t.by_past_limit * dlimit;
    if (c >= 0) add_column(t, -dslope * t.v_t, zero, zero, c, out);
  };
  add(law_.k_t, weight * speed, 0);
  add(law_.k_n, 0, q.limit.by_fn * weight * q.normal.by_k_n);
  add(law_.c_n, 0, q.limit.by_fn * q.normal.by_c_n);
  add(law_.k_d, 0, q.limit.by_fn * weight * q.normal.by_k_d);
  add(law_.d_0, 0, q.limit.by_fn * q.normal.by_d_0);
  add(law_.c_f, 0, q.limit.by_cf);
  add(law_.c_s, 0, q.limit.by_cs);
  add(law_.f_0, 0, q.limit.by_f0);
  const auto add_shape = [&](int parameter, const ShapeSlope& by) {
    const ShapeMotion to = shape_motion(q, by);
    const double along = speed > 0 ? q.v_t.dot(to.dvt) / speed : 0;
    add(parameter, q.k_t * along, q.limit.by_fn * to.dfn);
  };
  add_shape(points_->p_scale, {points_->arm_by_scale(t.point, past), 0, 0});
  add_shape(points_->p_radius, {points_->arm_by_radius(t.point, past), 1, 0});
  if (!sizes_wanted(out)) return;
  const std::vector<SizeSlope> by = surface_slopes(t.point, past, p);
  for (int k = 0; k < surface_.count; ++k) add_shape(surface_.first + k, {zero, 0, 0, by[k]});
}

void Contact::add_product(const Touch& t, const Blocks& blocks, const Vector3d& df,
                          const Vector3d& torque, const Vector6& by_a, const Vector6& by_b,
                          BlockMatrix& M) const {
  const auto add = [&](int block, const Vector6& r, bool row_frame, const Vector6& by,
                       bool column_frame) {
    const int rows = row_frame ? 6 : 3, columns = column_frame ? 6 : 3;
    Eigen::Map<MatrixXd>(M.block(block), rows, columns) +=
        r.head(rows) * by.head(columns).transpose();
  };
  Vector6 r_a, r_b;
  r_a << -df, -t.rho_c.cross(df) - torque;
  r_b << df, t.sigma_c.cross(df) + torque;
  if (t.node >= 0) add(t.node, r_a, t.frame, by_a, t.frame);
  if (carrier_.node < 0) return;
  add(carrier_.node, r_b, true, by_b, true);
  if (t.node < 0) return;
  add(blocks[t.point].first, r_a, t.frame, by_b, true);
  add(blocks[t.point].second, r_b, true, by_a, t.frame);
}

void Contact::add_gap_jacobian(const Touch& t, const VectorXd& p, const Blocks& blocks,
                               BlockMatrix& K) const {
  const Vector3d df =
      t.normal.by_before * t.sdf.n - (t.by_fn * t.load.by_before + t.by_before) * t.v_t;
  Vector3d torque = Vector3d::Zero();
  if (rolls(t)) {
    const ContactLaw law = law_at(law_, p, weights_[t.point]);
    torque = t.normal.by_before * rolling_slope(law, t.rolling, t.m).by_fn;
  }
  Vector6 by_a, by_b;
  by_a << t.n_before, t.rho_before.cross(t.n_before);
  by_b << -t.n_before, -t.sigma_before.cross(t.n_before);
  add_product(t, blocks, df, torque, by_a, by_b, K);
}

void Contact::add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                          BlockMatrix& B) const {
  if (k != 1) return;
  for_each_force(window, p, [&](const Touch& t) {
    if (t.left) return add_jacobian(t, p, past_blocks_, K, B);
    if (t.before > 0) add_gap_jacobian(t, p, past_blocks_, K);
    if (!t.past) return;
    const Touch& q = *t.past;
    End a{q.node, q.frame, 1, q.rho_c, {}, {}, {}, {}, {}, {}};
    End b{carrier_.node, true, -1, q.sigma_c, {}, {}, {}, {}, {}, {}};
    b.f_x.setZero();
    b.f_v.setZero();
    const Slope by = pull_slope(q, t.by_past_pull, t.by_past_limit);
    move(q, by, Vector3d::Zero(), &End::f_x, &End::f_v, a, b);
    const Vector3d df = -t.v_t, none = Vector3d::Zero();
    const auto row = [](const Matrix36& M) { return Vector6(M.row(0).transpose()); };
    add_product(t, past_blocks_, df, none, row(a.f_x), row(b.f_x), K);
    add_product(t, past_blocks_, df, none, row(a.f_v), row(b.f_v), B);
  });
}

}  // namespace diffsim
