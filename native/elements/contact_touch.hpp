// What Contact knows of one point in contact; shared by its forces and its derivatives.
#pragma once

#include <memory>

#include "contact.hpp"
#include "contact_onset.hpp"

namespace diffsim {

/// World frame. rho, rho_c: from the point's node to x, x_c; sigma, sigma_c: from the carrier.
/// A point node cannot take a torque, so there the force acts at the node, x_c = x, on both ends.
/// Hybrid friction acts on the obstacle's surface itself: a rigid body's feet that have sunk in by
/// different depths could not all stick at x - r n while it rocks.
struct Contact::Touch {
  int point, node;  // the point's node, -1 = the world
  bool frame;       // whether that is a frame
  SdfSample sdf;
  double radius, d, rate;
  double offset;  // x_c = x - offset n: the radius, with hybrid friction g; 0 on a point node
  Vector3d rho, rho_c, sigma, sigma_c;
  Vector3d omega_a, omega_b;  // of the point's node and of the carrier, zero where it has none
  Vector3d w, v_t;            // relative velocity at x_c, its tangential part
  Vector3d m;                 // n / |n|, which friction needs where g is no distance
  Matrix3d m_x;               // dm = m_x xi
  NormalForce normal, load;   // load: what friction's limit follows from
  FrictionLimit limit;
  double by_fn;      // d(friction slope)/d load
  StickState stick;  // hybrid only
  double k_t;        // of this point; hybrid: while it is free
  FrictionSlope slope;
  // Where friction depends on the sampled normal force too, by_sampled = ds/d(its limit) != 0:
  NormalForce sampled;
  FrictionLimit sampled_limit;
  double by_sampled;
  double by_d, by_rate, by_before;  // ds without what follows from f_n and v_t
  Vector3d f;
  RollingTorque rolling;  // tau = 0 where there is none
  // Has ended within the step: this is the touch when it began, with what is left of friction.
  bool left = false;
  // Where it is open at one end of the step (the start, or the end of one that has left): gap, its
  // normal in the world, and the arms to x then; not open at either: the gap is 0.
  double before;
  Vector3d n_before, rho_before, sigma_before;
  // The touch when the step began, where it has passed between sticking and sliding since.
  std::shared_ptr<const Touch> past;
  double by_past_pull, by_past_limit;  // d(friction slope)/d k_t |v_t|, d limit of the past touch

  bool open_at_one_end() const { return left || before > 0; }
};

constexpr int kChunk = 64;  // points whose samples stay in the nearest cache

template <class F>
void Contact::for_each_touch(const Window& window, const VectorXd& p, F&& f) const {
  const double radius = points_->radius(p);
  const double scale = surface_scale(p);
  Eigen::AlignedBox3d box = sdf_->bounds((radius + surface_offset(p)) / scale, surface_sizes(p));
  box = {scale * box.min(), scale * box.max()};
  const bool bounded = box.min().maxCoeff() > -kUnbounded || box.max().minCoeff() < kUnbounded;
  thread_local Near near;
  Touch t;
  for (int begin = 0; begin < points_->size(); begin += kChunk) {
    gather(begin, std::min(kChunk, points_->size() - begin), window.now(), p,
           bounded ? &box : nullptr, near);
    const int count = static_cast<int>(near.point.size());
    if (count == 0) continue;
    sample(near.x, p, near.samples);
    for (int k = 0; k < count; ++k) {
      if (!(near.samples[k].g < radius)) continue;
      if (touch(near.point[k], window, p, near.samples[k], t)) f(t);
    }
  }
}

inline bool Contact::rolls(const Touch& t) const { return rolls() && !t.left; }

template <class F>
void Contact::for_each_force(const Window& window, const VectorXd& p, F&& f) const {
  const bool after = end_ == FrictionEnd::after && integrates(window);
  if (!after || window.at[1]->touching.empty()) return for_each_touch(window, p, f);
  thread_local std::vector<unsigned char> now;
  now.assign(points_->size(), 0);
  for_each_touch(window, p, [&](const Touch& t) {
    now[t.point] = 1;
    f(t);
  });
  Touch t;
  for (int i = 0; i < points_->size(); ++i) {
    const bool was = window.at[1]->touching[first_point() + i] != kOpen;
    if (was && !now[i] && leave(i, window, p, t)) f(t);
  }
}

}  // namespace diffsim
