#include "contact.hpp"

#include <algorithm>

#include "../scene.hpp"

namespace diffsim {

// Everything about one point in contact; df = F_x dx + F_w dw, and F_d = df/dd at fixed x, w.
struct Contact::Touch {
  int point;
  SdfSample sdf;
  double radius, d, rate;
  Vector3d rho, rho_c, w,
      v_t;  // levers to x and x_c, material velocity at x_c, its tangential part
  NormalForce normal;
  FrictionLimit limit;
  double by_fn;  // d(friction slope)/d f_n
  FrictionSlope slope;
  Vector3d f;
};

ContactStiffness Contact::stiffness(int i, const VectorXd& p) const {
  const double weight = weights_[i];
  const double damping = p[params_.damping];
  auto optional = [&](int parameter) { return parameter < 0 ? 0 : p[parameter]; };
  return {p[params_.k_n] * weight,
          p[params_.k_t] * weight,
          params_.law == Damping::continuous ? damping : damping * weight,
          optional(params_.d_0),
          p[params_.c_f],
          optional(params_.c_s),
          optional(params_.f_0)};
}

bool Contact::touch(int i, const State& s, const VectorXd& p, const Vector3d& x,
                    const SdfSample& sample, Touch& t) const {
  t.radius = points_->radius(p);
  t.d = t.radius - sample.g;
  if (!(t.d > 0)) return false;
  t.point = i;
  t.sdf = sample;
  const Vector3d& n = t.sdf.n;
  t.rho = points_->node[i] < 0 ? x : Vector3d(x - s.c.col(points_->node[i]));
  t.rho_c = t.rho - t.radius * n;
  t.w = points_->velocity(i, s, t.rho_c);
  t.rate = -n.dot(t.w);
  t.v_t = t.w + t.rate * n;
  const ContactStiffness k = stiffness(i, p);
  t.normal = normal_force(k, params_.law, t.d, t.rate);
  t.limit = friction_limit(k, t.normal.f);
  t.slope = friction_slope(k.k_t, params_.friction, t.v_t.norm(), t.limit.f);
  t.by_fn = t.slope.by_limit * t.limit.by_fn;
  t.f = t.normal.f * n - t.slope.s * t.v_t;
  return true;
}

template <class F>
void Contact::for_each_touch(const State& s, const VectorXd& p, F&& f) const {
  thread_local Matrix3X x;
  thread_local std::vector<SdfSample> samples;
  x.resize(3, points_->size());
  for (int i = 0; i < points_->size(); ++i) x.col(i) = points_->position(i, s, p);
  sdf_->evaluate(x, samples);
  Touch t;
  for (int i = 0; i < points_->size(); ++i) {
    if (touch(i, s, p, x.col(i), samples[i], t)) f(t);
  }
}

void Contact::add(const Window& window, const VectorXd& p, const Assembly& out) const {
  const State& s = window.now();
  for_each_touch(s, p, [&](const Touch& t) {
    add_force(*points_, t.point, t.f, t.rho_c, *out.r);
    if (out.K) add_jacobian(t, s, out);
    if (out.symmetric) *out.symmetric = false;
    if (out.columns) add_columns(t, s, *out.columns);
  });
}

void Contact::add_jacobian(const Touch& t, const State& s, const Assembly& out) const {
  const Vector3d& n = t.sdf.n;
  const Matrix3d& kappa = t.sdf.kappa;
  const Matrix3d T = Matrix3d::Identity() - n * n.transpose();
  // dd = -n.dx, dn = kappa dx, d' = -n.w  =>  d d' = -n.dw - w.kappa dx
  const Eigen::RowVector3d rate_x = -t.w.transpose() * kappa;
  const Eigen::RowVector3d fn_x = -t.normal.by_d * n.transpose() + t.normal.by_rate * rate_x;
  const Eigen::RowVector3d fn_w = -t.normal.by_rate * n.transpose();
  // v_t = w - n (n.w)  =>  dv_t = T dw + n d d' (its x part) - (n.w) dn
  const Matrix3d vt_x = n * rate_x + t.rate * kappa;
  // df_t = -s dv_t - v_t (by_speed v_t.dv_t + by_fn df_n)
  const Matrix3d S =
      -t.slope.s * Matrix3d::Identity() - t.slope.by_speed * t.v_t * t.v_t.transpose();
  const Vector3d along = n - t.by_fn * t.v_t;  // df/df_n
  const Matrix3d F_x = along * fn_x + t.normal.f * kappa + S * vt_x;
  const Matrix3d F_w = along * fn_w + S * T;
  const Matrix3d slope = -t.radius * kappa;
  const PointJacobian J =
      point_jacobian(*points_, t.point, s, t.rho, t.rho_c, slope.isZero(0) ? nullptr : &slope);
  const int block = points_->node[t.point];  // diagonal blocks come first
  add_force_jacobian(*points_, t.point, t.rho_c, points_->on_frame(t.point),
                     force_jacobian(*points_, t.point, J, F_x, F_w), 1, block, out);
  add_lever_jacobian(*points_, t.point, J, t.f, block, out);
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
    if (c < 0) continue;
    add_force_column(*points_, t.point, t.f, df, t.rho_c, Vector3d::Zero(), c, out);
  }
  if (const int c = out.column(points_->p_scale); c >= 0) {
    add_shape_column(t, s, points_->lever_by_scale(t.point, s), 0, c, out);
  }
  if (const int c = out.column(points_->p_radius); c >= 0) {
    add_shape_column(t, s, points_->lever_by_radius(t.point, s), 1, c, out);
  }
}

void Contact::add_shape_column(const Touch& t, const State& s, const Vector3d& drho, double dradius,
                               int column, ParameterColumns& out) const {
  const Vector3d& n = t.sdf.n;
  const Vector3d dn = t.sdf.kappa * drho;
  const double dd = dradius - n.dot(drho);
  Vector3d drho_c = drho - t.radius * dn - dradius * n, dw = Vector3d::Zero();
  if (points_->on_frame(t.point)) {
    dw = s.w[points_->nodes[points_->node[t.point]].frame].cross(drho_c);
  } else {
    drho_c.setZero();
  }
  const double drate = -n.dot(dw) - t.w.dot(dn);
  const double dfn = t.normal.by_d * dd + t.normal.by_rate * drate;
  const Vector3d dvt = dw + drate * n + t.rate * dn;
  const double dslope = t.slope.by_speed * t.v_t.dot(dvt) + t.by_fn * dfn;
  const Vector3d df = dfn * n + t.normal.f * dn - t.slope.s * dvt - dslope * t.v_t;
  add_force_column(*points_, t.point, t.f, df, t.rho_c, drho_c, column, out);
}

bool Contact::guard(const State& from, const State& to, const VectorXd& p, VectorXd& u,
                    std::vector<unsigned char>& used) const {
  constexpr unsigned char kMost = 3;  // per node and step: without a bound Newton may cycle
  thread_local Matrix3X x;
  thread_local std::vector<SdfSample> sample;
  bool any = false;
  for_each_touch(to, p, [&](const Touch& t) {
    const int node = points_->node[t.point];
    if (points_->on_frame(t.point) || used[node] >= kMost) return;
    x = points_->position(t.point, from, p);
    sdf_->evaluate(x, sample);
    Touch before;
    const bool touched = touch(t.point, from, p, x.col(0), sample[0], before);
    if (touched) {
      const double slip = before.limit.f / stiffness(t.point, p).k_t;
      const Vector3d way = t.v_t - before.v_t;
      const double along = -before.v_t.dot(way) / way.squaredNorm();
      if (!(before.v_t.norm() > slip) || t.v_t.dot(before.v_t) >= 0) return;
      if ((before.v_t + along * way).norm() > slip) return;
    }
    u.segment<3>(points_->dof(t.point)) -= t.v_t;
    ++used[node];
    any = true;
  });
  return any;
}

void Contact::modes(const Window& window, const VectorXd& p, std::uint16_t* out) const {
  std::fill(out, out + points_->size(), std::uint16_t{0});
  for_each_touch(window.now(), p, [&](const Touch& t) {
    unsigned code = t.slope.slip ? kSlip : kStick;
    if (t.normal.clamped) code |= kClamped;
    out[t.point] = static_cast<std::uint16_t>(code + 8 * (1 + t.sdf.region));
  });
}

void Contact::forces(const State& s, const VectorXd& p, Matrix3X& force, Matrix3X& place) const {
  force.setZero(3, points_->size());
  place.resize(3, points_->size());
  for (int i = 0; i < points_->size(); ++i) place.col(i) = points_->position(i, s, p);
  for_each_touch(s, p, [&](const Touch& t) {
    force.col(t.point) = t.f;
    place.col(t.point) -= t.radius * t.sdf.n;
  });
}

void add_contact(Scene& scene, const std::string& name, const ContactSet& set) {
  scene.check_new("contact", name);
  const std::string place = "contact '" + name + "'";
  const PointSet& points = scene.point_set(set.points);
  if (!set.sdf) refuse(place + ": sdf", "must be given", "none");
  if (std::count(points.node.begin(), points.node.end(), -1) > 0) {
    refuse(place + ": points", "must all be on bodies", "points fixed to the world");
  }
  VectorXd weights = set.weights;
  if (weights.size() == 0) weights = VectorXd::Constant(points.size(), 1. / points.size());
  if (weights.size() != points.size() || !weights.allFinite() || weights.minCoeff() < 0 ||
      std::abs(weights.sum() - 1) > 1e-9) {
    refuse(place + ": weights",
           "must be " + std::to_string(points.size()) + " numbers >= 0 with sum 1",
           weights.transpose());
  }
  ParameterTable& table = scene.table();
  ContactParameters params;
  params.k_n = table.add(name + ".k_n", "N/m", set.k_n, 0, kInfinity);
  params.k_t = table.add(name + ".k_t", "N s/m", set.k_t, 0, kInfinity);
  const bool continuous = set.law == Damping::continuous;
  params.damping = table.add(name + (continuous ? ".c_n" : ".k_d"), continuous ? "s/m" : "N s/m",
                             set.damping, 0, kInfinity);
  if (set.law == Damping::ramped) {
    params.d_0 = table.add(name + ".d_0", "m", set.d_0, 1e-9, kInfinity);
  }
  params.c_f = table.add(name + ".c_f", "1", set.c_f, 0, kInfinity);
  if (set.f_0 > 0) {
    params.c_s = table.add(name + ".c_s", "1", set.c_s, 0, kInfinity);
    params.f_0 = table.add(name + ".f_0", "N", set.f_0, 1e-9, kInfinity);
  }
  params.friction = set.friction;
  params.law = set.law;
  scene.add_element(std::make_unique<Contact>(name, &points, set.sdf, weights, params));
}

}  // namespace diffsim
