#include "evaluation.hpp"

namespace diffsim {

Evaluation::Evaluation(const LeggedModel& model, const MotionTask& task, const MotionLayout& layout)
    : model(model),
      task(task),
      layout(layout),
      work_(model.bodies()),
      kinematics_(layout.samples()),
      ground_(static_cast<std::size_t>(layout.samples()) * model.effector_count()),
      wheels_(ground_.size()),
      rates_(layout.samples()),
      momenta_(layout.samples()),
      limbs_(layout.samples()) {}

void Evaluation::look(const MotionPlan& plan, bool slopes) {
  plan_ = &plan;
  slopes_ = slopes;
  turned_ = exp_rotation(Vector3d(0, 0, plan.travel.yaw));
  for (int i = 0; i < samples(); ++i) {
    const MotionSample& s = plan.samples[i];
    model.place(s.q.data(), slopes, work_, kinematics_[i]);
    for (int j = 0; j < model.effector_count(); ++j) {
      ground_[at(i, j)] = ground_at(s.e[j]);
      if (model.effectors()[j].is_wheel()) frame(s, j, ground_[at(i, j)], wheels_[at(i, j)]);
    }
  }
  look_at_limbs();
}

void Evaluation::look_at_limbs() {
  const auto base = [&](Seen s) { return rotation(kinematics_[s.i].R, s); };
  for (int s = 0; s < intervals(); ++s) {
    const Seen to = seen(s + 1);
    rates_[s] =
        mean_rates(plan_->samples[s].q, plan_->samples[to.i].q, base({s, 0}), base(to), task.step);
  }
  const auto between = [&](int s) -> const VectorXd* {
    if (periodic()) s = (s + samples()) % samples();
    return slopes_ && s >= 0 && s < intervals() ? &rates_[s] : nullptr;
  };
  for (int i = 0; i < samples(); ++i) {
    momentum_at(model, plan_->samples[i].q, between(i), between(i - 1), work_, momenta_[i]);
  }
  for (int s = 0; s < intervals(); ++s) {
    const Seen to = seen(s + 1);
    limbs_[s] = limb_momentum(model, momenta_[s], momenta_[to.i], rates_[s], base({s, 0}), base(to),
                              to.turn ? turned_ : Matrix3d::Identity(), task.step, slopes_);
  }
}

GroundFrame Evaluation::ground_at(const Vector3d& e) const {
  GroundFrame out;
  if (!task.ground) {
    out.gap = e.z();
    out.n = Vector3d::UnitZ();
    out.t1 = Vector3d::UnitX();
    out.t2 = Vector3d::UnitY();
    return out;
  }
  std::vector<SdfSample> found;
  task.ground->evaluate(Matrix3X(e), found);
  const double length = found[0].n.norm();
  out.gap = found[0].g;
  out.n = found[0].n / length;
  const Matrix3d across = Matrix3d::Identity() - out.n * out.n.transpose();
  out.n_by_e = across * found[0].kappa / length;
  const Vector3d along = across.col(0);  // the world's x on the ground
  const double size = along.norm();
  out.t1 = along / size;
  out.t2 = out.n.cross(out.t1);
  const Matrix3d along_by_n =
      -(out.n * Vector3d::UnitX().transpose()) - out.n.x() * Matrix3d::Identity();
  out.t1_by_e =
      (Matrix3d::Identity() - out.t1 * out.t1.transpose()) / size * along_by_n * out.n_by_e;
  out.t2_by_e = -skew(out.t1) * out.n_by_e + skew(out.n) * out.t1_by_e;
  out.flat = found[0].kappa.isZero(0);
  return out;
}

void Evaluation::frame(const MotionSample& s, int j, const GroundFrame& ground,
                       WheelFrame& out) const {
  const double r = model.effectors()[j].radius;
  const double cy = std::cos(s.yaw[j]), sy = std::sin(s.yaw[j]);
  const double ct = std::cos(s.tilt[j]), st = std::sin(s.tilt[j]);
  out.t = cy * ground.t1 + sy * ground.t2;
  out.b = ground.n.cross(out.t);
  out.a = ct * out.b + st * ground.n;
  out.rho = r * (st * out.b - ct * ground.n);
  if (!slopes_) return;
  out.t_by_yaw = out.b;
  out.a_by_yaw = -ct * out.t;
  out.rho_by_yaw = -r * st * out.t;
  out.a_by_tilt = ct * ground.n - st * out.b;
  out.rho_by_tilt = r * (ct * out.b + st * ground.n);
  if (ground.flat) return;
  out.t_by_e = cy * ground.t1_by_e + sy * ground.t2_by_e;
  const Matrix3d b_by_e = -skew(out.t) * ground.n_by_e + skew(ground.n) * out.t_by_e;
  out.a_by_e = ct * b_by_e + st * ground.n_by_e;
  out.rho_by_e = r * (st * b_by_e - ct * ground.n_by_e);
}

Evaluation::Seen Evaluation::seen(int s) const {
  if (periodic()) return {s % samples(), s / samples()};
  return {std::clamp(s, 0, samples() - 1), 0};
}

Vector3d Evaluation::point(const Vector3d& p, Seen s) const {
  return s.turn ? Vector3d(turned_ * p + plan_->travel.shift) : p;
}

Vector3d Evaluation::direction(const Vector3d& d, Seen s) const {
  return s.turn ? Vector3d(turned_ * d) : d;
}

Matrix3d Evaluation::rotation(const Matrix3d& R, Seen s) const {
  return s.turn ? Matrix3d(turned_ * R) : R;
}

}  // namespace diffsim
