#include "point_set.hpp"

#include "../scene.hpp"

namespace diffsim {

Vector3d PointSet::moment_arm(int i, const State& s, const VectorXd& p) const {
  Vector3d place = local.col(i);
  if (p_scale >= 0) place *= p[p_scale];
  if (p_radius >= 0) place += p[p_radius] * inset.col(i);
  if (node[i] < 0) return place;
  const Node& n = nodes[node[i]];
  return n.kind == NodeKind::frame ? Vector3d(s.R[n.frame] * place) : Vector3d::Zero();
}

Vector3d PointSet::position(int i, const State& s, const VectorXd& p) const {
  const Vector3d rho = moment_arm(i, s, p);
  return node[i] < 0 ? rho : Vector3d(s.c.col(node[i]) + rho);
}

Vector3d PointSet::velocity(int i, const State& s, const Vector3d& arm) const {
  if (node[i] < 0) return Vector3d::Zero();
  const Node& n = nodes[node[i]];
  if (n.kind == NodeKind::point) return s.v.col(node[i]);
  return s.v.col(node[i]) + s.w[n.frame].cross(arm);
}

Vector3d PointSet::acceleration(int i, const State& s, const Vector3d& arm, const Vector3d& a,
                                const Vector3d& alpha) const {
  if (!on_frame(i)) return node[i] < 0 ? Vector3d::Zero() : a;
  const Vector3d& w = s.w[nodes[node[i]].frame];
  return a + alpha.cross(arm) + w.cross(w.cross(arm));
}

Vector3d PointSet::arm_by_scale(int i, const State& s) const {
  if (node[i] < 0) return local.col(i);
  return on_frame(i) ? Vector3d(s.R[nodes[node[i]].frame] * local.col(i)) : Vector3d::Zero();
}

Vector3d PointSet::arm_by_radius(int i, const State& s) const {
  if (node[i] < 0) return inset.col(i);
  return on_frame(i) ? Vector3d(s.R[nodes[node[i]].frame] * inset.col(i)) : Vector3d::Zero();
}

PointJacobian point_jacobian(const PointSet& set, int i, const State& s, const Vector3d& rho,
                             const Vector3d& rho_c, const Matrix3d* lever_slope) {
  PointJacobian J;
  if (!set.on_frame(i)) return J;  // a point node's J is the identity; nothing here is read
  const Matrix3d hat = skew(rho);
  const Vector3d& w = s.w[set.nodes[set.node[i]].frame];
  J.X.leftCols<3>().setIdentity();
  J.X.rightCols<3>() = -hat;
  J.W.leftCols<3>().setIdentity();
  J.W.rightCols<3>() = -skew(rho_c);
  J.G.leftCols<3>().setZero();
  J.G.rightCols<3>() = -hat;
  J.Q.leftCols<3>().setZero();
  // [w]x [rho]x = rho w^T - (w.rho) I
  J.Q.rightCols<3>() = -rho * w.transpose();
  J.Q.rightCols<3>().diagonal().array() += w.dot(rho);
  if (lever_slope) {
    Matrix36 more;
    more << *lever_slope, -*lever_slope * hat;
    J.G += more;
    J.Q += skew(w) * more;
  }
  return J;
}

void add_force(const PointSet& set, int i, const Vector3d& f, const Vector3d& rho_c, VectorXd& r) {
  if (set.node[i] < 0) return;
  r.segment<3>(set.dof(i)) -= f;
  if (set.on_frame(i)) r.segment<3>(set.dof(i) + 3) -= rho_c.cross(f);
}

ForceJacobian force_jacobian(const PointSet& set, int i, const PointJacobian& J,
                             const Matrix3d& F_x, const Matrix3d& F_w) {
  ForceJacobian df;
  if (set.on_frame(i)) {
    df.x.noalias() = F_x.lazyProduct(J.X);
    df.x.noalias() += F_w.lazyProduct(J.Q);
    df.v.noalias() = F_w.lazyProduct(J.W);
  } else {
    df.x.leftCols<3>() = F_x;
    df.v.leftCols<3>() = F_w;
  }
  return df;
}

namespace {

// block -= sign (top; rho x top), column by column.
template <int R, int C>
void subtract(BlockMatrix& M, int block, const Matrix36& top, const Vector3d& rho, double sign) {
  Eigen::Map<Eigen::Matrix<double, R, C>> b(M.block(block));
  for (int c = 0; c < C; ++c) {
    const Vector3d f = sign * top.col(c);
    b.template block<3, 1>(0, c) -= f;
    if constexpr (R == 6) b.template block<3, 1>(3, c) -= rho.cross(f);
  }
}

void subtract_any(BlockMatrix& M, int block, bool frame_row, bool frame_column, const Matrix36& top,
                  const Vector3d& rho, double sign) {
  if (frame_row && frame_column) return subtract<6, 6>(M, block, top, rho, sign);
  if (frame_row) return subtract<6, 3>(M, block, top, rho, sign);
  if (frame_column) return subtract<3, 6>(M, block, top, rho, sign);
  subtract<3, 3>(M, block, top, rho, sign);
}

}  // namespace

void add_force_jacobian(const PointSet& rows, int i, const Vector3d& rho_c, bool frame_column,
                        const ForceJacobian& df, double sign, int block, const Assembly& out) {
  const bool frame_row = rows.on_frame(i);
  subtract_any(*out.K, block, frame_row, frame_column, df.x, rho_c, sign);
  subtract_any(*out.B, block, frame_row, frame_column, df.v, rho_c, sign);
}

void add_arm_jacobian(const PointSet& set, int i, const PointJacobian& J, const Vector3d& f,
                      int block, const Assembly& out) {
  if (!set.on_frame(i)) return;
  // tau = rho_c x f, so d tau = -f x d rho_c and the residual's part is +f x d rho_c.
  Eigen::Map<Matrix6> K(out.K->block(block));
  for (int c = 0; c < 6; ++c) K.block<3, 1>(3, c) += f.cross(Vector3d(J.G.col(c)));
}

void add_force_column(const PointSet& set, int i, const Vector3d& f, const Vector3d& df,
                      const Vector3d& rho_c, const Vector3d& drho_c, int column,
                      ParameterColumns& out) {
  if (set.node[i] < 0) return;
  out.add(set.dof(i), column, -df);
  if (set.on_frame(i)) out.add(set.dof(i) + 3, column, -rho_c.cross(df) - drho_c.cross(f));
}

void add_points(Scene& scene, const std::string& name, const std::vector<std::string>& bodies,
                const Matrix3X& local, const Matrix3X& inset, double radius, double scale) {
  scene.check_new("points", name);
  const std::string place = "points '" + name + "'";
  if (local.cols() == 0) refuse(place + ": local", "must hold at least one point", 0);
  if (static_cast<Eigen::Index>(bodies.size()) != local.cols()) {
    refuse(place + ": bodies",
           "must name one body per point (" + std::to_string(local.cols()) + ")", bodies.size());
  }
  if (inset.cols() != 0 && inset.cols() != local.cols()) {
    refuse(place + ": inset", "must be empty or of the size of local", inset.cols());
  }
  if (!local.allFinite() || !inset.allFinite()) refuse(place, "must be finite [m]", "nan or inf");
  PointSet set;
  set.name = name;
  for (const std::string& b : bodies) set.node.push_back(b.empty() ? -1 : scene.node_of(b));
  set.local = local;
  set.inset = inset.cols() ? inset : Matrix3X::Zero(3, local.cols());
  set.p_scale = scene.table().add(name + ".scale", "1", scale, 1e-9, kInfinity);
  set.p_radius = scene.table().add(name + ".radius", "m", radius, 0, kInfinity);
  scene.add_point_set(std::move(set));
}

void add_subset(Scene& scene, const std::string& name, const std::string& from,
                const std::vector<int>& index, double radius) {
  scene.check_new("points", name);
  const PointSet& whole = scene.point_set(from);
  const std::string place = "points '" + name + "'";
  if (index.empty()) refuse(place + ": index", "must hold at least one point", 0);
  PointSet set;
  set.name = name;
  const auto n = static_cast<Eigen::Index>(index.size());
  set.local.resize(3, n);
  set.inset.setZero(3, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    if (index[i] < 0 || index[i] >= whole.size()) {
      refuse(place + ": index", "must be in [0, " + std::to_string(whole.size() - 1) + "]",
             index[i]);
    }
    set.node.push_back(whole.node[index[i]]);
    set.local.col(i) = whole.local.col(index[i]);
  }
  set.p_scale = whole.p_scale;
  set.p_radius = scene.table().add(name + ".radius", "m", radius, 0, kInfinity);
  scene.add_point_set(std::move(set));
}

}  // namespace diffsim
