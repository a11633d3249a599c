// Where a point was when the step began that brought it into contact, and the derivatives by that.
#include "contact.hpp"
#include "contact_touch.hpp"

namespace diffsim {

void Contact::evaluate_before(const Window& window, const VectorXd& p, Touch& t) const {
  constexpr double kLipschitz = 1.25;  // of any sdf: 1, but for what level sets interpolate
  t.before = 0;
  const State* past = window.at[1];
  // Scenes put bodies on surfaces: a gap of 0 up to rounding says nothing about the first step.
  const bool starts = window.t <= window.scheme.h;
  if (law_.onset == Onset::sampled || !past || starts) return;
  thread_local Matrix3X x(3, 1);
  thread_local std::vector<SdfSample> sample;
  const Vector3d place = points_->position(t.point, *past, p);
  x.col(0) = in_frame_of_sdf(*past, place);
  const Vector3d here = points_->position(t.point, window.now(), p);
  const double moved = (x.col(0) - in_frame_of_sdf(window.now(), here)).norm();
  if (t.d >= kLipschitz * moved) return;  // it touched then already
  sdf_->evaluate(x, sample);
  t.before = std::max(sample[0].g - t.radius, 0.);
  if (t.before == 0) return;
  t.n_before = sample[0].n;
  t.rho_before = points_->moment_arm(t.point, *past, p);
  if (carrier_.node < 0) return;
  t.n_before = past->R[carrier_.frame] * t.n_before;
  t.sigma_before = place - past->c.col(carrier_.node);
}

void Contact::add_history(const Window& window, int k, const VectorXd& p, BlockMatrix& K,
                          BlockMatrix&) const {
  if (k != 1) return;
  for_each_touch(window, p, [&](const Touch& t) {
    if (t.before == 0) return;
    const Vector3d df = t.normal.by_before * (t.sdf.n - t.by_fn * t.v_t) -
                        t.by_share * t.share.by_before * t.v_t;
    Vector3d torque = Vector3d::Zero();
    if (rolls()) {
      const ContactLaw law = law_at(law_, p, weights_[t.point]);
      torque = t.normal.by_before * rolling_slope(law, t.rolling, t.m).by_fn;
    }
    // d(before) by (c, psi) of the point's node and of the carrier; dr likewise by f_n
    Vector6 by_a, by_b, r_a, r_b;
    by_a << t.n_before, t.rho_before.cross(t.n_before);
    by_b << -t.n_before, -t.sigma_before.cross(t.n_before);
    r_a << -df, -t.rho_c.cross(df) - torque;
    r_b << df, t.sigma_c.cross(df) + torque;
    const auto add = [&](int block, const Vector6& r, bool row_frame, const Vector6& by,
                         bool column_frame) {
      const int rows = row_frame ? 6 : 3, columns = column_frame ? 6 : 3;
      Eigen::Map<MatrixXd>(K.block(block), rows, columns) +=
          r.head(rows) * by.head(columns).transpose();
    };
    if (t.node >= 0) add(t.node, r_a, t.frame, by_a, t.frame);
    if (carrier_.node < 0) return;
    add(carrier_.node, r_b, true, by_b, true);
    if (t.node < 0) return;
    add(past_blocks_[t.point].first, r_a, t.frame, by_b, true);
    add(past_blocks_[t.point].second, r_b, true, by_a, t.frame);
  });
}

}  // namespace diffsim
