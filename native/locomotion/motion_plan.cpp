#include "motion_plan.hpp"

namespace diffsim {

MotionLayout::MotionLayout(const LeggedModel& model, int samples) : samples_(samples) {
  int at = 6;
  for (const EndEffector& one : model.effectors()) {
    effector_at_.push_back(at);
    wheel_.push_back(one.is_wheel());
    at += one.is_wheel() ? 9 : 6;
  }
  q_at_ = at;
  q_size_ = model.velocity_size();
  sample_size_ = at + q_size_;
}

void MotionLayout::move(const Tree& tree, const VectorXd& step, const std::vector<char>& free,
                        MotionPlan& plan) const {
  VectorXd d = step;
  for (int k = 0; k < size(); ++k) {
    if (!free[k]) d[k] = 0;
  }
  for (int i = 0; i < samples_; ++i) {
    MotionSample& s = plan.samples[i];
    s.x += d.segment<3>(x(i));
    s.R = s.R * exp_rotation(d.segment<3>(R(i)));
    for (std::size_t j = 0; j < wheel_.size(); ++j) {
      const int k = static_cast<int>(j);
      s.e[j] += d.segment<3>(e(i, k));
      s.f[j] += d.segment<3>(f(i, k));
      if (!wheel_[j]) continue;
      s.spin[j] += d[spin(i, k)];
      s.yaw[j] += d[yaw(i, k)];
      s.tilt[j] += d[tilt(i, k)];
    }
    s.q = tree.moved(s.q, d.segment(q(i), q_size_));
  }
  plan.travel.shift += d.segment<3>(travel());
  plan.travel.yaw += d[travel() + 3];
}

}  // namespace diffsim
